//! What the programs that make load share: their words, windows, clocks, and the line that they print at the end.

pub mod args;
pub mod cpu;
pub mod phase;
pub mod resident;
