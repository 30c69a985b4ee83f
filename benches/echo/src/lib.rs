//! The bench service as a library, for `bench-server` and for the counts that guard its cost.

mod raw;
pub mod service;
