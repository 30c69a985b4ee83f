//! JSON of messages as users see it: what is printed and read, type by type, and beside another implementation.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lint takes for code")]

mod differential;
mod faults;
mod older;
mod printing;
mod reading;
mod support;
