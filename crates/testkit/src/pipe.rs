//! An in-memory connection: two ends, each an `AsyncRead + AsyncWrite`.
//!
//! Unlike a socket it lets the test decide how bytes arrive ([`Slicing`]), how much fits before a writer has to
//! wait ([`PipeEnd::set_capacity`]), and when the line is cut ([`PipeEnd::cut`]). It counts the writes of each
//! direction, so that a test can assert how often a server would have called the kernel.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that one direction holds before its writer waits, unless set otherwise.
const CAPACITY: usize = 256 * 1024;

/// A connected pair.
pub fn pipe() -> (PipeEnd, PipeEnd) {
    let there = Arc::new(Mutex::new(Lane::default()));
    let back = Arc::new(Mutex::new(Lane::default()));
    let end = PipeEnd { incoming: Arc::clone(&back), outgoing: Arc::clone(&there) };
    (end, PipeEnd { incoming: there, outgoing: back })
}

/// How the bytes of one direction reach its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slicing {
    /// A read gets all that is there and fits.
    #[default]
    Merged,
    /// A read gets at most what one write brought.
    AsWritten,
    /// A read gets at most so many bytes.
    Every(usize),
}

/// One end of a [`pipe`]. Dropping it closes both directions: the other end reads what is left, then the end,
/// and can no longer write.
#[derive(Debug)]
pub struct PipeEnd {
    incoming: Arc<Mutex<Lane>>,
    outgoing: Arc<Mutex<Lane>>,
}

impl PipeEnd {
    /// How what this end writes reaches the other one.
    pub fn set_slicing(&self, slicing: Slicing) {
        lock(&self.outgoing).slicing = slicing;
    }

    /// Bytes that may be on their way to this end before the other one's writes wait.
    pub fn set_capacity(&self, bytes: usize) {
        let mut lane = lock(&self.incoming);
        lane.capacity = bytes;
        wake(&mut lane.writer);
    }

    /// Cuts the line: what was on its way is lost, both ends get `ConnectionReset`.
    pub fn cut(&self) {
        for lane in [&self.incoming, &self.outgoing] {
            let mut lane = lock(lane);
            lane.state = LaneState::Cut;
            lane.pieces.clear();
            lane.held = 0;
            lane.wake_all();
        }
    }

    /// Writes that the other end has made so far.
    pub fn writes_of_other_end(&self) -> usize {
        lock(&self.incoming).writes
    }
}

impl AsyncRead for PipeEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        lock(&self.incoming).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.outgoing).poll_write(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        lock(&self.outgoing).poll_write(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.outgoing).close();
        Poll::Ready(Ok(()))
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        lock(&self.outgoing).close();
        let mut incoming = lock(&self.incoming);
        if incoming.state != LaneState::Cut {
            incoming.state = LaneState::Unread;
        }
        incoming.wake_all();
    }
}

/// One direction.
#[derive(Debug)]
struct Lane {
    /// What was written and not read, one entry a write.
    pieces: VecDeque<Vec<u8>>,
    /// Bytes in `pieces`.
    held: usize,
    capacity: usize,
    slicing: Slicing,
    state: LaneState,
    writes: usize,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneState {
    Open,
    /// The writer has ended; what is held can still be read.
    Ended,
    /// The reader is gone.
    Unread,
    Cut,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            pieces: VecDeque::new(),
            held: 0,
            capacity: CAPACITY,
            slicing: Slicing::default(),
            state: LaneState::Open,
            writes: 0,
            reader: None,
            writer: None,
        }
    }
}

impl Lane {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.state == LaneState::Cut {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if self.pieces.is_empty() {
            if self.state == LaneState::Ended {
                return Poll::Ready(Ok(()));
            }
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let mut room = match self.slicing {
            Slicing::Every(bytes) => bytes.max(1).min(buffer.remaining()),
            Slicing::Merged | Slicing::AsWritten => buffer.remaining(),
        };
        while room > 0 {
            let Some(piece) = self.pieces.front_mut() else { break };
            let count = piece.len().min(room);
            buffer.put_slice(&piece[..count]);
            piece.drain(..count);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
            self.held -= count;
            room -= count;
            if self.slicing == Slicing::AsWritten {
                break;
            }
        }
        wake(&mut self.writer);
        Poll::Ready(Ok(()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.state {
            LaneState::Open => {}
            LaneState::Ended | LaneState::Unread => {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            LaneState::Cut => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
        }
        let room = self.capacity.saturating_sub(self.held);
        if room == 0 {
            self.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let mut piece = Vec::new();
        for slice in slices {
            let count = slice.len().min(room - piece.len());
            piece.extend_from_slice(&slice[..count]);
        }
        let count = piece.len();
        if count > 0 {
            self.held += count;
            self.writes += 1;
            self.pieces.push_back(piece);
            wake(&mut self.reader);
        }
        Poll::Ready(Ok(count))
    }

    fn close(&mut self) {
        if self.state == LaneState::Open {
            self.state = LaneState::Ended;
        }
        self.wake_all();
    }

    fn wake_all(&mut self) {
        wake(&mut self.reader);
        wake(&mut self.writer);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::runtime::virtual_time;

    async fn read(end: &mut PipeEnd) -> Vec<u8> {
        let mut buffer = vec![0; 64];
        let count = end.read(&mut buffer).await.unwrap();
        buffer.truncate(count);
        buffer
    }

    #[test]
    fn bytes_arrive_as_the_slicing_says() {
        virtual_time(async {
            let (mut near, mut far) = pipe();
            for (slicing, pieces) in [
                (Slicing::Merged, vec!["abcdef"]),
                (Slicing::AsWritten, vec!["abcd", "ef"]),
                (Slicing::Every(4), vec!["abcd", "ef"]),
                (Slicing::Every(5), vec!["abcde", "f"]),
            ] {
                near.set_slicing(slicing);
                near.write_all(b"abcd").await.unwrap();
                near.write_all(b"ef").await.unwrap();
                for piece in pieces {
                    assert_eq!(read(&mut far).await, piece.as_bytes(), "{slicing:?}");
                }
            }
            assert_eq!(far.writes_of_other_end(), 8);
        });
    }

    #[test]
    fn a_full_pipe_holds_its_writer_back() {
        virtual_time(async {
            let (mut near, mut far) = pipe();
            far.set_capacity(3);
            assert_eq!(near.write(b"abcdef").await.unwrap(), 3);
            let (written, bytes) = tokio::join!(near.write(b"def"), read(&mut far));
            assert_eq!((written.unwrap(), &bytes[..]), (3, &b"abc"[..]));
        });
    }

    #[test]
    fn a_closed_end_lets_the_rest_be_read_and_a_cut_one_does_not() {
        virtual_time(async {
            let (mut near, mut far) = pipe();
            near.write_all(b"last").await.unwrap();
            near.shutdown().await.unwrap();
            assert_eq!(read(&mut far).await, b"last");
            assert_eq!(read(&mut far).await, b"");
            far.write_all(b"half-closed only").await.unwrap();
            drop(far);
            assert_eq!(read(&mut near).await, b"half-closed only");

            let (mut near, mut far) = pipe();
            near.write_all(b"lost").await.unwrap();
            near.cut();
            assert_eq!(far.read(&mut [0; 8]).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
            assert_eq!(far.write(b"x").await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        });
    }
}
