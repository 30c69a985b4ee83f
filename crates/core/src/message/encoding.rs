//! Message encodings and their negotiation (wire-rules 18, N4, N5).

use std::fmt;

/// How the messages of one direction of a call may be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
}

impl Encoding {
    /// The value of `grpc-accept-encoding` that names all we can decode.
    pub const SUPPORTED: &'static str = "identity";

    /// The name used in `grpc-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
        }
    }

    /// Reads a `grpc-encoding` value (N5).
    ///
    /// # Errors
    /// An encoding that is not compiled in.
    pub fn from_wire(_value: &[u8]) -> Result<Self, UnsupportedEncoding> {
        todo!()
    }
}

/// What the peer can decode, from its `grpc-accept-encoding` fields. Identity
/// is always among it (P1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedEncodings {
    /// No encoding besides identity exists yet.
    _private: (),
}

impl AcceptedEncodings {
    /// Adds the items of one field; repeated fields are joined by calling this for each.
    pub fn observe(&mut self, value: &[u8]) {
        for token in tokens(value) {
            let _ = Encoding::from_wire(token);
        }
    }

    /// Whether the peer takes messages in `encoding`.
    pub fn contains(self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Identity => true,
        }
    }
}

/// The items of a comma-separated list, trimmed of SP and HTAB, empty ones
/// left out (N4).
pub fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

/// A `grpc-encoding` that is not compiled in: UNIMPLEMENTED with
/// `grpc-accept-encoding` on a server (34), INTERNAL on a client (35).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedEncoding {
    name: Box<str>,
}

impl UnsupportedEncoding {
    /// The name the peer used, unprintable bytes escaped.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnsupportedEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message encoding {:?} is not supported; supported: {}", self.name, Encoding::SUPPORTED)
    }
}

impl std::error::Error for UnsupportedEncoding {}
