//! Message encodings and their negotiation (wire-rules 18, N4, N5).
//!
//! Called by the server and the client when they read a head. Which flag bytes
//! an encoding allows is judged in [`parse_prefix`](crate::message::parse_prefix).

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
    /// The value of `grpc-accept-encoding` that names all we can decode (37).
    pub const SUPPORTED: &'static str = "identity";

    /// The name used in `grpc-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
        }
    }

    /// Reads a `grpc-encoding` value; an empty one counts as absent (N5).
    ///
    /// # Errors
    /// An encoding that is not compiled in.
    pub fn from_wire(value: &[u8]) -> Result<Self, UnsupportedEncoding> {
        match value.trim_ascii() {
            b"" | b"identity" => Ok(Self::Identity),
            other => Err(UnsupportedEncoding::new(other)),
        }
    }
}

/// The items of a comma-separated list such as `grpc-accept-encoding`, trimmed
/// of white space, empty ones left out. Compare them whole (N4).
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
    fn new(name: &[u8]) -> Self {
        let shown = &name[..name.len().min(MAX_NAME_SHOWN)];
        Self { name: shown.escape_ascii().to_string().into() }
    }

    /// The name the peer used, unprintable bytes escaped, cut at 64 bytes.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnsupportedEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message encoding \"{}\" is not supported; supported: {}", self.name, Encoding::SUPPORTED)
    }
}

impl std::error::Error for UnsupportedEncoding {}

/// Bytes of a name that an error repeats.
const MAX_NAME_SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn list(value: &[u8]) -> Vec<&[u8]> {
        tokens(value).collect()
    }

    // wire-rules N4
    #[test]
    fn lists_are_split_and_trimmed() {
        assert_eq!(list(b"gzip"), [b"gzip"]);
        assert_eq!(list(b"identity,gzip"), [&b"identity"[..], b"gzip"]);
        assert_eq!(list(b"deflate, gzip"), [&b"deflate"[..], b"gzip"]);
        assert_eq!(list(b" gzip ,"), [b"gzip"]);
        assert_eq!(list(b"\tgzip\t,,\t, x"), [&b"gzip"[..], b"x"]);
        assert!(list(b"").is_empty() && list(b" , ,").is_empty());
        for other in [&b"x-gzip"[..], b"notgzip", b"gzipx"] {
            assert!(!list(other).contains(&&b"gzip"[..]));
        }
        assert_eq!(list(b"\xff\xfe,gzip"), [&b"\xff\xfe"[..], b"gzip"]);
        assert_eq!(tokens(&b"gzip,".repeat(8192 / 5)).count(), 8192 / 5);
    }

    // wire-rules N5, 34
    #[test]
    fn only_known_encodings_are_accepted() {
        assert_eq!(Encoding::from_wire(b"identity"), Ok(Encoding::Identity));
        assert_eq!(Encoding::from_wire(b" identity "), Ok(Encoding::Identity));
        assert_eq!(Encoding::from_wire(b""), Ok(Encoding::Identity));
        for value in [&b"gzip"[..], b"Identity", b"identity,gzip", b"\xff"] {
            assert!(Encoding::from_wire(value).is_err());
        }
        let error = Encoding::from_wire(b"foo\xff").unwrap_err();
        assert_eq!(error.name(), "foo\\xff");
        assert!(error.to_string().contains("supported: identity"));
        assert!(Encoding::from_wire(&[b'x'; 9000]).unwrap_err().name().len() <= 64);
    }

    // wire-rules 37, B6
    #[test]
    fn the_supported_list_names_what_is_accepted() {
        for token in tokens(Encoding::SUPPORTED.as_bytes()) {
            let encoding = Encoding::from_wire(token).unwrap();
            assert_eq!(encoding.name().as_bytes(), token);
        }
    }
}
