//! What a connection tells its owner.

use std::sync::Arc;

use crate::{ErrorCode, Head, StreamId, StreamKey};

/// What [`Connection::handle_input`](crate::Connection::handle_input) made of the front of its input.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Octets used up; 0 asks for more input before anything can be done.
    pub consumed: usize,
    /// What the frame means to the upper layer, if anything.
    pub event: Option<Event<'a>>,
}

/// Something the upper layer must know.
///
/// `'a` is the lifetime of the input it was parsed from; events out of
/// [`Connection::poll_event`](crate::Connection::poll_event) borrow nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Server: a new, well-formed request. Client: the final response head (1xx responses are skipped).
    Headers {
        /// The stream.
        stream: StreamKey,
        /// Its head, possibly shared with earlier calls.
        head: Arc<Head>,
        /// Nothing follows: the peer's side has ended.
        end_stream: bool,
    },
    /// Server: a new, well-formed request with all its data; the peer's side has ended. Only with
    /// [`Config::whole_requests`](crate::Config::whole_requests), and equal to [`Event::Headers`] and the
    /// [`Event::Data`] that ends the stream.
    Request {
        /// The stream.
        stream: StreamKey,
        /// Its head, possibly shared with earlier calls.
        head: Arc<Head>,
        /// The data; may be empty.
        data: &'a [u8],
    },
    /// A header list longer than we accept. It was decoded for the compression table's sake, its text is
    /// gone. On a server, a first one opened the stream so that it can be answered (HTTP 431).
    HeadersTooLarge {
        /// The stream.
        stream: StreamKey,
        /// Size of the list in octets (RFC 9113 6.5.2).
        size: usize,
        /// What we advertised.
        limit: usize,
        /// The peer's side has ended.
        end_stream: bool,
    },
    /// Stream data. Give back its length with [`Connection::release`](crate::Connection::release) as it is
    /// used.
    Data {
        /// The stream.
        stream: StreamKey,
        /// The data, without padding; may be empty if it ends the stream.
        data: &'a [u8],
        /// Nothing follows: the peer's side has ended.
        end_stream: bool,
    },
    /// Trailers; the peer's side has ended.
    Trailers {
        /// The stream.
        stream: StreamKey,
        /// The trailers.
        head: Arc<Head>,
    },
    /// The stream is gone, with all that was queued on it.
    Reset {
        /// The stream.
        stream: StreamKey,
        /// Why.
        code: ErrorCode,
        /// Who ended it.
        initiator: Initiator,
    },
    /// There is room again after [`Connection::poll_writable`](crate::Connection::poll_writable) said no. Ask
    /// once more: other streams may have taken it since.
    Writable {
        /// The stream.
        stream: StreamKey,
    },
    /// The peer takes no more streams. Those it has not processed come as [`Event::Refused`] out of
    /// [`Connection::poll_event`](crate::Connection::poll_event).
    GoAway {
        /// The highest stream of ours that the peer may have processed.
        last_stream: StreamId,
        /// Why.
        code: ErrorCode,
        /// Free text of the peer, not to be trusted.
        debug: &'a [u8],
    },
    /// Client: the stream is gone and was certainly not processed; the call may be made again elsewhere.
    Refused {
        /// The stream.
        stream: StreamKey,
    },
    /// What [`Connection::is_congested`](crate::Connection::is_congested) complained of is over. Ask again before each
    /// reply that was put off: the first ones may bring it back.
    Relieved,
    /// The peer's SETTINGS are in force. The first ones make the connection ready.
    Settings,
    /// The peer acknowledged a PING of [`Connection::ping`](crate::Connection::ping).
    Pong {
        /// As it was sent.
        payload: [u8; 8],
    },
}

/// Who ended a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initiator {
    /// The peer sent RST_STREAM.
    Remote,
    /// The engine sent RST_STREAM because the peer broke a rule of the stream.
    Engine,
}
