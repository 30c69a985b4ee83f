//! Hostile peers against Peregrine's server: every class of attack in the list of `http2-abuse`, and the ones that
//! only this design could suffer from.
//!
//! An [`Attack`] is what one hostile client does, what the server has to answer, and what it may cost. The tests
//! run each over an in-memory connection in virtual time; the program `abuse` runs the same over loopback TCP
//! against a server in a process of its own and measures. Everything is bounded in count and in time, and only
//! ever pointed at a server that the test itself has started.
//!
//! | module | holds |
//! |---|---|
//! | [`attacks`] | the attacks by what they abuse, and the list of all |
//! | [`ground`] | how an attack reaches its server |
//! | [`seen`] | what came back, in the words of the table |

pub mod attacks;
pub mod ground;
pub mod seen;

pub use self::attacks::Attack;
pub use self::ground::{Ground, Line};
pub use self::seen::Seen;
