//! Sources of messages: streams made from what a user has at hand.

mod channel;
mod iter;
mod unfold;

pub use futures_core::Stream;

pub use crate::stream::channel::{Channel, Receiver, Sender, channel, pipe, take_flush_request};
pub use crate::stream::iter::{Iter, iter};
pub use crate::stream::unfold::{Unfold, unfold};
