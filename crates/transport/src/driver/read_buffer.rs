//! The buffer that a connection reads into and parses in place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes that one read asks for. Holds four frames of the default maximum size, so that a large message costs
/// a read per 64 KiB.
const CAPACITY: usize = 64 * 1024;

/// Longest partial frame that an idle connection keeps in memory of its own, in bytes. A sixteenth of the buffer:
/// what a peer has to send to make us hold one.
const PARKED: usize = 4 * 1024;

/// A contiguous read buffer. Frames are parsed where they lie; only an incomplete one at the end is moved to
/// the front before the next read.
///
/// Memory: 64 KiB while bytes flow; once the connection is idle none, or what a short partial frame needs.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    /// An empty buffer without memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes read and not consumed.
    pub fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Drops `count` bytes from the front.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end, "consumed more than was read");
        if self.start >= self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Reads once. `Ok(0)` means that the peer closed.
    ///
    /// # Errors
    /// The socket's own.
    pub fn poll_fill<IO: AsyncRead>(
        &mut self,
        io: Pin<&mut IO>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut buffer = ReadBuf::new(&mut self.bytes[self.end..]);
        ready!(io.poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(Ok(count))
    }

    /// Gives the memory back. A short partial frame is moved out of the way first, so that a peer which sends one
    /// byte and falls silent does not hold a whole buffer; a long one keeps it.
    pub fn on_idle(&mut self) {
        let left = self.end - self.start;
        if self.bytes.len() < CAPACITY || left > PARKED {
            return;
        }
        let parked = self.filled().to_vec();
        lend::give_back(std::mem::replace(&mut self.bytes, parked));
        self.start = 0;
        self.end = left;
    }

    /// Drops what is left and gives all memory back: nothing is read any more.
    pub fn release(&mut self) {
        lend::give_back(std::mem::take(&mut self.bytes));
        self.start = 0;
        self.end = 0;
    }

    fn make_room(&mut self) {
        if self.bytes.len() < CAPACITY {
            let parked = std::mem::replace(&mut self.bytes, lend::take());
            self.bytes[..self.end].copy_from_slice(&parked[..self.end]);
        }
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            // One frame larger than the buffer: the peer may send up to our SETTINGS_MAX_FRAME_SIZE.
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }
}

/// Read buffers of this thread that no connection holds. Connections lend one while bytes flow, so that ten
/// thousand idle connections hold none, and a busy one does not allocate at each turn.
mod lend {
    use std::cell::RefCell;

    use super::CAPACITY;

    /// Buffers kept: 1 MiB a thread.
    const KEPT: usize = 16;

    thread_local! {
        static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn take() -> Vec<u8> {
        POOL.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; CAPACITY])
    }

    pub(super) fn give_back(buffer: Vec<u8>) {
        POOL.with_borrow_mut(|pool| {
            if pool.len() < KEPT && buffer.len() == CAPACITY {
                pool.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn fill(buffer: &mut ReadBuffer, mut source: &[u8]) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        match buffer.poll_fill(Pin::new(&mut source), &mut cx) {
            Poll::Ready(Ok(count)) => count,
            other => panic!("a slice is always ready: {other:?}"),
        }
    }

    #[test]
    fn an_incomplete_frame_is_kept_in_front_of_the_next_read() {
        let mut buffer = ReadBuffer::new();
        assert_eq!(fill(&mut buffer, b"abcdef"), 6);
        buffer.consume(4);
        assert_eq!(fill(&mut buffer, b"ghi"), 3);
        assert_eq!(buffer.filled(), b"efghi");
    }

    #[test]
    fn a_frame_larger_than_the_buffer_makes_it_grow() {
        let mut buffer = ReadBuffer::new();
        let source = vec![7; CAPACITY + 1];
        assert_eq!(fill(&mut buffer, &source), CAPACITY);
        assert_eq!(fill(&mut buffer, &source[CAPACITY..]), 1);
        assert_eq!(buffer.filled(), &source[..]);
    }

    // http2-abuse 42: connections that are cut by their timers all at once.
    #[test]
    fn a_released_buffer_holds_no_memory() {
        let mut buffer = ReadBuffer::new();
        fill(&mut buffer, b"abc");
        buffer.release();
        assert_eq!((buffer.filled(), buffer.bytes.capacity()), (&b""[..], 0));
    }

    #[test]
    fn an_idle_buffer_holds_no_memory_and_a_partial_frame_survives_idleness() {
        let mut buffer = ReadBuffer::new();
        fill(&mut buffer, b"abc");
        buffer.on_idle();
        assert_eq!(buffer.filled(), b"abc");
        buffer.consume(3);
        buffer.on_idle();
        fill(&mut buffer, b"d");
        buffer.consume(1);
        buffer.on_idle();
        assert_eq!(buffer.bytes.capacity(), 0);
    }

    #[test]
    fn a_few_bytes_and_silence_do_not_hold_a_buffer() {
        // http2-abuse 42
        let mut buffer = ReadBuffer::new();
        for round in 0..3 {
            fill(&mut buffer, b"abcd");
            buffer.consume(1);
            buffer.on_idle();
            assert!(buffer.bytes.capacity() <= 64, "{}", buffer.bytes.capacity());
            assert_eq!(buffer.filled().len(), 3 * (round + 1));
        }
        assert_eq!(buffer.filled(), b"dabcdabcd");
        buffer.consume(9);
        fill(&mut buffer, &vec![1; PARKED + 1]);
        buffer.on_idle();
        assert_eq!(buffer.bytes.len(), CAPACITY, "a long partial frame is not copied to and fro");
    }
}
