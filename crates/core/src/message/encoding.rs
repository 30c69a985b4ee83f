//! Message encodings and their negotiation (wire-rules 18, N4, N5).
//!
//! Called by the server and the client when they read a head. Which flag bytes
//! an encoding allows is judged in [`parse_prefix`](crate::message::parse_prefix).

use std::fmt;

/// How the messages of one direction of a call may be compressed.
///
/// All are always named; those whose cargo feature is on are [supported](Self::is_supported).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Not at all: messages are what their codec wrote (wire-rules B6).
    #[default]
    Identity,
    /// `gzip`, RFC 1952. Feature `gzip`.
    Gzip,
    /// `deflate`: a zlib stream, RFC 1950. Feature `deflate`.
    Deflate,
    /// `zstd`, RFC 8878. Feature `zstd`.
    Zstd,
    /// `snappy`, in its framing format. Feature `snappy`.
    Snappy,
}

impl Encoding {
    /// All but identity, preferred ones first: zstd packs best for its time, every peer has gzip.
    pub const COMPRESSED: [Self; 4] = [Self::Zstd, Self::Gzip, Self::Deflate, Self::Snappy];

    /// The value of `grpc-accept-encoding` that names all we can decode (37): those compiled in, and identity.
    pub const SUPPORTED: &'static str = {
        match std::str::from_utf8(SUPPORTED.0.split_at(SUPPORTED.1).0) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    };

    /// The name used in `grpc-encoding`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
        }
    }

    /// Whether it is compiled in.
    pub const fn is_supported(self) -> bool {
        match self {
            Self::Identity => true,
            Self::Gzip => cfg!(feature = "gzip"),
            Self::Deflate => cfg!(feature = "deflate"),
            Self::Zstd => cfg!(feature = "zstd"),
            Self::Snappy => cfg!(feature = "snappy"),
        }
    }

    /// The encoding of this very name, compiled in or not (N4).
    pub fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"identity" => Some(Self::Identity),
            b"gzip" => Some(Self::Gzip),
            b"deflate" => Some(Self::Deflate),
            b"zstd" => Some(Self::Zstd),
            b"snappy" => Some(Self::Snappy),
            _ => None,
        }
    }

    /// Reads a `grpc-encoding` value; an empty one counts as absent (N5).
    ///
    /// # Errors
    /// An encoding that is not compiled in.
    pub fn from_wire(value: &[u8]) -> Result<Self, UnsupportedEncoding> {
        match value.trim_ascii() {
            b"" => Ok(Self::Identity),
            name => Self::from_name(name)
                .filter(|encoding| encoding.is_supported())
                .ok_or_else(|| UnsupportedEncoding::new(name)),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text of [`Encoding::SUPPORTED`] and its length, put together at compile time: all that can be read is in it
/// (wire-rules 37).
static SUPPORTED: ([u8; 64], usize) = {
    let mut text = [0; 64];
    let mut len = 0;
    let mut index = 0;
    while index <= Encoding::COMPRESSED.len() {
        let is_last = index == Encoding::COMPRESSED.len();
        let encoding = if is_last { Encoding::Identity } else { Encoding::COMPRESSED[index] };
        if encoding.is_supported() {
            let name = encoding.name().as_bytes();
            let mut at = 0;
            while at < name.len() {
                text[len] = name[at];
                len += 1;
                at += 1;
            }
            if !is_last {
                text[len] = b',';
                len += 1;
            }
        }
        index += 1;
    }
    (text, len)
};

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
        for value in [&b"br"[..], b"Identity", b"GZIP", b"x-gzip", b"identity,gzip", b"\xff"] {
            assert!(Encoding::from_wire(value).is_err());
        }
        for encoding in Encoding::COMPRESSED {
            let read = Encoding::from_wire(encoding.name().as_bytes());
            assert_eq!(read.is_ok(), encoding.is_supported(), "{encoding}");
        }
        let error = Encoding::from_wire(b"foo\xff").unwrap_err();
        assert_eq!(error.name(), "foo\\xff");
        assert!(error.to_string().ends_with(&format!("supported: {}", Encoding::SUPPORTED)));
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
