//! Names that are the protocol's own and not the user's (wire-rules 20, D3, H2).

/// Whether an entry of this name is left out when a header block is written:
/// pseudo-headers, the fields the stack sets itself, and hop-by-hop fields,
/// which HTTP/2 forbids (RFC 9113 8.2.2).
pub fn is_reserved_on_send(name: &[u8]) -> bool {
    name == b"user-agent" || is_reserved_on_receipt(name)
}

/// Whether a received field of this name stays out of the user's metadata.
/// Unlike for sending, `user-agent` is let through: handlers read it.
pub fn is_reserved_on_receipt(name: &[u8]) -> bool {
    match name {
        [b':', ..]
        | b"connection"
        | b"content-length"
        | b"content-type"
        | b"host"
        | b"keep-alive"
        | b"proxy-connection"
        | b"te"
        | b"transfer-encoding"
        | b"upgrade" => true,
        [b'g', b'r', b'p', b'c', b'-', rest @ ..] => {
            // These are the application's or an interceptor's to set.
            !matches!(rest, b"previous-rpc-attempts" | b"retry-pushback-ms" | b"tags-bin" | b"trace-bin")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules 20
    #[test]
    fn the_protocols_own_names_are_reserved_both_ways() {
        let names = [
            ":path",
            ":anything",
            "content-type",
            "te",
            "host",
            "connection",
            "transfer-encoding",
            "upgrade",
            "keep-alive",
            "proxy-connection",
            "content-length",
            "grpc-status",
            "grpc-message",
            "grpc-timeout",
            "grpc-encoding",
            "grpc-accept-encoding",
            "grpc-message-type",
            "grpc-status-details-bin",
            "grpc-",
            "grpc-unheard-of",
        ];
        for name in names {
            assert!(is_reserved_on_send(name.as_bytes()), "{name}");
            assert!(is_reserved_on_receipt(name.as_bytes()), "{name}");
        }
    }

    // wire-rules 20
    #[test]
    fn exempt_and_ordinary_names_are_free() {
        let names = [
            "grpc-previous-rpc-attempts",
            "grpc-retry-pushback-ms",
            "grpc-trace-bin",
            "grpc-tags-bin",
            "grpc",
            "grpcx-status",
            "x-grpc-status",
            "authorization",
            "date",
            "",
        ];
        for name in names {
            assert!(!is_reserved_on_send(name.as_bytes()), "{name}");
            assert!(!is_reserved_on_receipt(name.as_bytes()), "{name}");
        }
    }

    // wire-rules 17: the user's text goes before ours by an option, not by metadata.
    #[test]
    fn user_agent_is_read_but_not_set() {
        assert!(is_reserved_on_send(b"user-agent"));
        assert!(!is_reserved_on_receipt(b"user-agent"));
    }
}
