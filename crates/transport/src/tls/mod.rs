//! TLS by rustls, for both roles.
//!
//! The server's accept path runs [`ServerTls::accept`] in the task of the new connection, the client's attempt to
//! connect runs [`ClientTls::connect`]; both get a [`TlsStream`] that the drivers use like a socket. What fails on the
//! way is a [`HandshakeError`], sorted by what a person has to do about it.
//!
//! The cryptography is aws-lc-rs (feature `tls`) or ring (feature `tls-ring`), named explicitly: no process-wide default
//! is read or set, so that a program with both in its tree does not fail when it starts. TLS 1.2 and 1.3; the ALPN
//! protocol must be `h2` on both ends (wire-rules 95, RFC 9113 3.2). No early data and no renegotiation; rustls itself
//! bounds key updates (32 in a row) and the size of handshake messages (64 KiB).

mod client;
mod current;
mod error;
mod first_bytes;
mod material;
mod pem;
mod reload;
mod server;
mod stream;
mod version;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

pub use self::client::ClientTls;
pub use self::error::{HandshakeError, HandshakeErrorKind};
pub use self::server::ServerTls;
pub use self::stream::TlsStream;
pub use self::version::TlsVersion;

/// HTTP/2 over TLS in ALPN (RFC 9113 3.1).
// [9113-3.2-1]
const ALPN: &[u8] = b"h2";

/// The cryptography of every configuration that is made here: aws-lc-rs if it is compiled in.
fn provider() -> Arc<CryptoProvider> {
    #[cfg(feature = "tls")]
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    #[cfg(all(feature = "tls-ring", not(feature = "tls")))]
    let provider = rustls::crypto::ring::default_provider();
    #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
    compile_error!("the feature `_tls` needs `tls` (aws-lc-rs) or `tls-ring`");
    Arc::new(provider)
}
