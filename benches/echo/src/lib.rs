//! The bench service as a library, for `bench-server` and for the counts that guard its cost; and what the programs
//! that call it share.

pub mod measure;
mod raw;
pub mod service;
