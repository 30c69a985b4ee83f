//! Errors, split by whose fault they are.

use std::error::Error;
use std::fmt;

use crate::ErrorCode;

/// Why a connection is over. The GOAWAY that says so is already queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    code: ErrorCode,
    reason: &'static str,
    blame: Blame,
}

impl ConnectionError {
    pub(crate) const fn new(code: ErrorCode, reason: &'static str, blame: Blame) -> Self {
        ConnectionError { code, reason, blame }
    }

    /// The peer broke a rule of the protocol.
    pub(crate) const fn peer(code: ErrorCode, reason: &'static str) -> Self {
        ConnectionError::new(code, reason, Blame::Peer)
    }

    /// The code sent in GOAWAY.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// What happened, in words; also the debug data of the GOAWAY. For an exceeded limit, the limit's name.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Whose doing it was.
    pub fn blame(&self) -> Blame {
        self.blame
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.blame {
            Blame::Peer => "the peer broke HTTP/2",
            Blame::NotHttp2 => return write!(f, "{} instead of HTTP/2", self.reason),
            Blame::Limit => "the peer exceeded a limit",
            Blame::Timeout => "the peer did not answer in time",
            Blame::Local => "the connection was ended on this side",
        };
        write!(f, "{who}: {} ({})", self.reason, self.code)
    }
}

impl Error for ConnectionError {}

/// Whose doing the end of a connection was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blame {
    /// The peer broke a rule of the protocol.
    Peer,
    /// The peer speaks another protocol; the reason names it. No GOAWAY was sent.
    NotHttp2,
    /// The peer asked for more work than a limit of ours allows.
    Limit,
    /// The peer did not answer within a timeout of ours.
    Timeout,
    /// This side ended it ([`Connection::abort`](crate::Connection::abort)).
    Local,
}

/// Why no stream was opened. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A server opens no streams.
    NotAClient,
    /// The connection is shutting down or over; use another one.
    GoingAway,
    /// Three quarters of the connection's stream ids are used up; use another one.
    IdsExhausted,
    /// The peer's limit of concurrent streams is reached; wait until a stream ends.
    StreamLimit {
        /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS.
        limit: u32,
    },
    /// The header list is longer than the peer accepts.
    HeaderListTooLarge {
        /// Its size in octets (RFC 9113 6.5.2).
        size: usize,
        /// The peer's SETTINGS_MAX_HEADER_LIST_SIZE.
        limit: u32,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotAClient => f.write_str("a server cannot open streams"),
            OpenError::GoingAway => f.write_str("the connection takes no new streams"),
            OpenError::IdsExhausted => f.write_str("the connection has used up its stream ids"),
            OpenError::StreamLimit { limit } => write!(f, "the peer allows {limit} concurrent streams"),
            OpenError::HeaderListTooLarge { size, limit } => header_list_too_large(f, *size, *limit),
        }
    }
}

impl Error for OpenError {}

/// Why a command on a stream was not carried out. Nothing of it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream is gone: ended on both sides, or reset by either.
    Gone,
    /// Our side of the stream has ended (or is about to, once its queue is sent).
    Ended,
    /// Data before the head, or a second head.
    OutOfOrder,
    /// [`DataWrite::commit`](crate::DataWrite::commit) found another length than was announced.
    LengthMismatch {
        /// What was announced.
        announced: usize,
        /// What was written.
        written: usize,
    },
    /// The header list is longer than the peer accepts.
    HeaderListTooLarge {
        /// Its size in octets (RFC 9113 6.5.2).
        size: usize,
        /// The peer's SETTINGS_MAX_HEADER_LIST_SIZE.
        limit: u32,
    },
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Gone => f.write_str("the stream is gone"),
            StreamError::Ended => f.write_str("this side of the stream has ended"),
            StreamError::OutOfOrder => f.write_str("head and data of the stream are out of order"),
            StreamError::LengthMismatch { announced, written } => {
                write!(f, "{announced} bytes of stream data were announced and {written} written")
            }
            StreamError::HeaderListTooLarge { size, limit } => header_list_too_large(f, *size, *limit),
        }
    }
}

impl Error for StreamError {}

fn header_list_too_large(f: &mut fmt::Formatter<'_>, size: usize, limit: u32) -> fmt::Result {
    write!(f, "the header list has {size} octets and the peer accepts {limit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_connection_says_who_why_and_the_code() {
        let text = |blame| ConnectionError::new(ErrorCode::CANCEL, "the reason", blame).to_string();
        assert_eq!(text(Blame::Peer), "the peer broke HTTP/2: the reason (CANCEL)");
        assert_eq!(text(Blame::NotHttp2), "the reason instead of HTTP/2");
        assert_eq!(text(Blame::Limit), "the peer exceeded a limit: the reason (CANCEL)");
        assert_eq!(text(Blame::Timeout), "the peer did not answer in time: the reason (CANCEL)");
        assert_eq!(text(Blame::Local), "the connection was ended on this side: the reason (CANCEL)");
    }

    #[test]
    fn refusals_name_the_limit_that_was_met() {
        let too_large = "the header list has 9 octets and the peer accepts 8";
        let texts = [
            (OpenError::NotAClient, "a server cannot open streams"),
            (OpenError::GoingAway, "the connection takes no new streams"),
            (OpenError::IdsExhausted, "the connection has used up its stream ids"),
            (OpenError::StreamLimit { limit: 7 }, "the peer allows 7 concurrent streams"),
            (OpenError::HeaderListTooLarge { size: 9, limit: 8 }, too_large),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
        let mismatch = StreamError::LengthMismatch { announced: 3, written: 2 };
        let texts = [
            (StreamError::Gone, "the stream is gone"),
            (StreamError::Ended, "this side of the stream has ended"),
            (StreamError::OutOfOrder, "head and data of the stream are out of order"),
            (mismatch, "3 bytes of stream data were announced and 2 written"),
            (StreamError::HeaderListTooLarge { size: 9, limit: 8 }, too_large),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
    }
}
