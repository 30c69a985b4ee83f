//! Is a request or response gRPC at all? (wire-rules 9, 10, N1, N2)
//!
//! Called by the server on every request head and by the client on every
//! response head, unless the head memo has the answer.

use crate::format::Format;

/// The value both sides send for protobuf, and the start of every other one.
pub const GRPC: &[u8] = b"application/grpc";

/// What a `content-type` value means to gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType<'a> {
    /// `application/grpc`, or that with the subtype of a format, as in `application/grpc+proto`.
    Grpc(Format),
    /// gRPC with a message format that nobody here knows, named after the `+` (UNIMPLEMENTED on a server).
    OtherFormat(&'a [u8]),
    /// Not gRPC (HTTP 415 on a server).
    NotGrpc,
}

/// Classifies a `content-type` field value.
///
/// Type and subtype are compared without regard to case (RFC 9110 8.3.1);
/// parameters after `;` are ignored.
pub fn classify(value: &[u8]) -> ContentType<'_> {
    if value == GRPC {
        return ContentType::Grpc(Format::Proto);
    }
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let Some((kind, rest)) = essence.split_at_checked(GRPC.len()) else { return ContentType::NotGrpc };
    if !kind.eq_ignore_ascii_case(GRPC) {
        return ContentType::NotGrpc;
    }
    match rest.split_first() {
        None => ContentType::Grpc(Format::Proto),
        Some((b'+', subtype)) => {
            Format::from_subtype(subtype).map_or(ContentType::OtherFormat(subtype), ContentType::Grpc)
        }
        Some(_) => ContentType::NotGrpc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules 9, N1: the value decides, not where it is stored or how it is cased.
    #[test]
    fn twelve_spellings_of_grpc_are_recognised() {
        let spellings: [&[u8]; 12] = [
            b"application/grpc",
            b"application/grpc+proto",
            b"Application/GRPC",
            b"APPLICATION/GRPC+PROTO",
            b"application/grpc;charset=utf-8",
            b"application/grpc; charset=utf-8",
            b"application/grpc ; charset=utf-8",
            b"application/grpc+proto;charset=utf-8",
            b"application/grpc+proto ; a=b; c=d",
            b" application/grpc ",
            b"application/grpc;",
            b"application/grpc;charset=application/json",
        ];
        for spelling in spellings {
            let elsewhere = spelling.to_vec();
            let expected = ContentType::Grpc(Format::Proto);
            assert_eq!(classify(&elsewhere), expected, "{}", spelling.escape_ascii());
        }
    }

    // wire-rules 9, 10, N2
    #[test]
    fn other_types_are_not_grpc() {
        let others: [&[u8]; 10] = [
            b"",
            b";",
            b"application/grpcfoo",
            b"application/grpc-web",
            b"application/grpc-web+proto",
            b"text/grpc",
            b"application/json",
            b"application/grp",
            b"application/grpc/x",
            b"xapplication/grpc",
        ];
        for other in others {
            assert_eq!(classify(other), ContentType::NotGrpc, "{}", other.escape_ascii());
        }
    }

    // wire-rules N1
    #[test]
    fn json_is_a_format_however_it_is_spelled() {
        let spellings: [&[u8]; 3] =
            [b"application/grpc+json", b"Application/gRPC+JSON", b"application/grpc+json; charset=utf-8"];
        for spelling in spellings {
            assert_eq!(classify(spelling), ContentType::Grpc(Format::Json), "{}", spelling.escape_ascii());
        }
    }

    // wire-rules N2
    #[test]
    fn another_format_is_named() {
        assert_eq!(classify(b"application/grpc+foo"), ContentType::OtherFormat(b"foo"));
        assert_eq!(classify(b"application/grpc+jsonx; charset=utf-8"), ContentType::OtherFormat(b"jsonx"));
        assert_eq!(classify(b"application/grpc+"), ContentType::OtherFormat(b""));
    }
}
