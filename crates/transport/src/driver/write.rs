//! Writing an engine's output: one vectored write for what all streams have gathered.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use peregrine_http2::Connection;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::farewell;

/// Slices of one vectored write. Linked payloads take two each (the frame header before, the payload).
const SLICES: usize = 64;

/// Writes until the engine has no output left or the socket takes no more. Ready means that the socket has everything,
/// what an encrypting stream held back included.
///
/// # Errors
/// The socket's own; `WriteZero` when it takes nothing without saying why.
pub fn poll_write_output<IO: AsyncWrite>(
    mut io: Pin<&mut IO>,
    connection: &mut Connection,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    while connection.poll_output() {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let count = connection.output_slices(&mut slices);
        let written = if count == 1 {
            ready!(io.as_mut().poll_write(cx, &slices[0]))?
        } else {
            ready!(io.as_mut().poll_write_vectored(cx, &slices[..count]))?
        };
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        connection.advance_output(written);
    }
    let flushed = io.poll_flush(cx);
    connection.set_held_back(flushed.is_pending());
    flushed
}

/// Sends what is left, closes our side, and reads until the peer has closed its own or a bound is reached.
pub(super) async fn close<IO: AsyncRead + AsyncWrite>(mut io: Pin<&mut IO>, connection: &mut Connection) {
    let closing = async {
        poll_fn(|cx| poll_write_output(io.as_mut(), connection, cx)).await?;
        farewell::drain(io).await
    };
    // A peer that neither reads nor closes must not hold the task: whatever is left after that is cut.
    let _cut = tokio::time::timeout(farewell::LINGER, closing).await;
}
