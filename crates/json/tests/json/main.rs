//! JSON of messages as users see it: what is printed and read, type by type, and beside another implementation.

mod differential;
mod faults;
mod older;
mod printing;
mod reading;
mod support;
