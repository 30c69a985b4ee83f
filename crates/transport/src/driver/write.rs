//! Writing an engine's output: one vectored write for what all streams have gathered.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use peregrine_http2::Connection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Slices of one vectored write. Linked payloads take two each (the frame header before, the payload).
const SLICES: usize = 64;
/// How long a closing connection keeps reading, so that unread input does not turn the close into a TCP reset
/// that costs the peer our GOAWAY.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes read and thrown away while closing.
const LINGER_BYTES: usize = 1024 * 1024;

/// Writes until the engine has no output left or the socket takes no more.
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
    Poll::Ready(Ok(()))
}

/// Sends what is left, closes our side, and reads until the peer has closed its own or a bound is reached.
pub(super) async fn close<IO: AsyncRead + AsyncWrite>(mut io: Pin<&mut IO>, connection: &mut Connection) {
    let closing = async {
        poll_fn(|cx| poll_write_output(io.as_mut(), connection, cx)).await?;
        poll_fn(|cx| io.as_mut().poll_shutdown(cx)).await?;
        let mut scratch = [0; 4096];
        let mut discarded = 0;
        while discarded < LINGER_BYTES {
            let mut buffer = ReadBuf::new(&mut scratch);
            poll_fn(|cx| io.as_mut().poll_read(cx, &mut buffer)).await?;
            if buffer.filled().is_empty() {
                break;
            }
            discarded += buffer.filled().len();
        }
        io::Result::Ok(())
    };
    // A peer that neither reads nor closes must not hold the task: whatever is left after that is cut.
    let _cut = tokio::time::timeout(LINGER, closing).await;
}
