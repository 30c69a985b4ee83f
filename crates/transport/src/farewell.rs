//! Last words on a connection: what a client of the wrong protocol is answered, and a close that it survives to read.
//!
//! A socket that is closed with input unread resets the connection, and the reset overtakes what was written last.
//! So every ending that has something to say shuts down its own side first and reads on until the peer is gone, within
//! bounds. Used by the server's accept path, the TLS handshake and both drivers.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::time::{Duration, Instant};

use peregrine_http2::{Config, Connection, ErrorCode, Role};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[cfg(feature = "_tls")]
use crate::sniff::Sniffed;

/// How long a closing connection keeps writing and reading in all.
pub const LINGER: Duration = Duration::from_secs(1);
/// Bytes read and thrown away meanwhile.
const LINGER_BYTES: usize = 1024 * 1024;
/// Output of an engine that has only said goodbye: SETTINGS, window and GOAWAY.
const GOODBYE_SLICES: usize = 8;

/// Writes `words`, closes our side, and reads until the peer has closed its own: one second and 1 MiB at most.
pub async fn send<IO: AsyncRead + AsyncWrite + Unpin>(io: &mut IO, words: &[u8]) {
    let leaving = async {
        let mut rest = words;
        while !rest.is_empty() {
            let written = poll_fn(|cx| Pin::new(&mut *io).poll_write(cx, rest)).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[written..];
        }
        poll_fn(|cx| Pin::new(&mut *io).poll_flush(cx)).await?;
        drain(Pin::new(io)).await
    };
    // A peer that neither reads nor closes must not hold the task: whatever is left after that is cut.
    let _cut = tokio::time::timeout(LINGER, leaving).await;
}

/// Closes our side and reads until the peer has closed its own, or has sent 1 MiB more. The caller has the timer.
///
/// # Errors
/// The socket's own; by then nothing can be done for the peer.
pub async fn drain<IO: AsyncRead + AsyncWrite>(mut io: Pin<&mut IO>) -> io::Result<()> {
    poll_fn(|cx| io.as_mut().poll_shutdown(cx)).await?;
    // Not in the future: every connection would carry it for its whole life.
    let mut scratch = vec![0; 4096];
    let mut discarded = 0;
    while discarded < LINGER_BYTES {
        let mut buffer = ReadBuf::new(&mut scratch);
        poll_fn(|cx| io.as_mut().poll_read(cx, &mut buffer)).await?;
        if buffer.filled().is_empty() {
            break;
        }
        discarded += buffer.filled().len();
    }
    Ok(())
}

/// The answer to an HTTP/1 request on a port that speaks HTTP/2 only. Whatever the request asked for, an upgrade
/// included, it is refused as a whole (RFC 9113 3.1 dropped the upgrade).
pub fn to_http1() -> Vec<u8> {
    http1_refusal(
        "This port speaks gRPC, that is HTTP/2 with prior knowledge. HTTP/1 is not understood here.\n",
    )
}

/// The answer to a client that begins a TLS handshake on a plaintext port. Most TLS stacks say of anything but TLS that
/// this is no TLS; ours recognizes the HTTP/2 and says that.
pub fn to_tls() -> Vec<u8> {
    http2_refusal(ErrorCode::PROTOCOL_ERROR, "this port speaks plaintext")
}

/// The answer to a client that speaks plaintext to a TLS port, in the client's own protocol.
#[cfg(feature = "_tls")]
pub(crate) fn to_plaintext(spoken: Sniffed) -> Vec<u8> {
    match spoken {
        Sniffed::Http1 => {
            http1_refusal("This port speaks TLS. Use https://, and a client that speaks HTTP/2.\n")
        }
        Sniffed::Http2 => http2_refusal(ErrorCode::INADEQUATE_SECURITY, "this port speaks TLS"),
        // A fatal alert, unexpected_message.
        Sniffed::Tls | Sniffed::Unknown => vec![0x15, 0x03, 0x03, 0, 2, 2, 10],
    }
}

fn http1_refusal(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// SETTINGS, because a server's first frame is one, and GOAWAY.
fn http2_refusal(code: ErrorCode, debug: &str) -> Vec<u8> {
    let mut engine = Connection::new(Role::Server, Config::server(), Instant::now());
    engine.abort(code, debug);
    let mut words = Vec::new();
    while engine.poll_output() {
        let mut slices = [IoSlice::new(&[]); GOODBYE_SLICES];
        let count = engine.output_slices(&mut slices);
        let before = words.len();
        slices[..count].iter().for_each(|slice| words.extend_from_slice(slice));
        engine.advance_output(words.len() - before);
    }
    words
}
