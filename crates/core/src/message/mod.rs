//! Messages on the wire: the 5-byte prefix, taking messages out of DATA bytes
//! and putting them into buffers.

mod deframer;
mod encode_buf;
mod encoding;
mod frame;
mod frame_buf;
mod unary;

pub use crate::message::deframer::Deframer;
pub use crate::message::encode_buf::{EncodeBuf, LINK_THRESHOLD};
pub use crate::message::encoding::{Encoding, UnsupportedEncoding, tokens};
pub(crate) use crate::message::frame::write_prefix_with_flag;
pub use crate::message::frame::{MAX_MESSAGE_LEN, PREFIX_LEN, Prefix, parse_prefix, write_prefix};
pub use crate::message::frame_buf::{FrameBuf, GATHERED};
pub(crate) use crate::message::unary::truncated;
pub use crate::message::unary::{UnaryBody, single_message};

/// Receive limit of a message unless the user sets another: 4 MiB.
pub const DEFAULT_MAX_RECEIVE: usize = 4 * 1024 * 1024;
