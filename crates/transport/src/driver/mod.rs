//! One task drives one connection: read, parse, work, write, sleep.
//!
//! The loop is the only place where bytes of a socket meet the HTTP/2 engine on the server side. An [`Endpoint`]
//! owns the engine and what hangs on its streams; [`drive`] owns the socket. Nothing is written while input is
//! still being parsed, so the replies to everything that one read brought leave in one vectored write.
//!
//! Order of one turn, which the engine's own documentation asks for:
//! 1. read what the socket has, hand every complete frame to the endpoint;
//! 2. fire timers;
//! 3. run the calls that were woken;
//! 4. write everything.

mod closed;
mod read_buffer;
mod refusals;
mod write;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use peregrine_core::stream::DEFAULT_BATCH_SIZE;
use peregrine_http2::{Connection, ConnectionError, Event};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;

pub use self::closed::Closed;
pub use self::read_buffer::ReadBuffer;
pub use self::refusals::Refusals;
pub use self::write::poll_write_output;

/// What hangs on the streams of one connection: the calls of a server, for instance.
///
/// [`drive`] calls the methods in the order that its module documents. `now` is the time at which the turn
/// began; it is read once a turn.
pub trait Endpoint {
    /// The engine. The driver feeds it input and takes its output.
    fn connection(&mut self) -> &mut Connection;

    /// Takes what lies at the front of `input` in a shorter way than by an event; answers how many bytes that are. 0 leaves
    /// it to [`Connection::handle_input`].
    fn take_input(&mut self, input: &[u8], now: Instant) -> usize {
        let _ = (input, now);
        0
    }

    /// Takes one event. Borrowed bytes are those of the read buffer and are gone after the call.
    fn handle_event(&mut self, event: Event<'_>, now: Instant);

    /// Runs the work that was woken since the last turn. Registers `cx` for the next wake-up.
    ///
    /// Returns whether more work is ready already: the driver then comes back before it sleeps, and does not
    /// write small output in between.
    fn poll_work(&mut self, cx: &mut Context<'_>, now: Instant) -> bool;

    /// The earliest instant at which [`Endpoint::handle_timeout`] has to be called, engine timers left aside.
    fn next_timeout(&self) -> Option<Instant>;

    /// Fires what is due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Output in bytes at which a turn writes even though more work is ready (wire-rules B1).
    fn batch_size(&self) -> usize {
        DEFAULT_BATCH_SIZE
    }

    /// True once the connection has nothing more to do and may close after its output has left.
    fn is_finished(&self) -> bool;

    /// The connection is over. Output that is left still goes out, within a bound; nothing else happens any more,
    /// so whatever hangs on a stream can be let go.
    fn on_closed(&mut self, closed: &Closed);
}

/// Turns before other tasks of the runtime get their chance.
const TURNS_PER_POLL: usize = 8;
/// Turns that may put off writing small output while work is ready, and for how long, so that busy work cannot starve
/// replies. A source that merely yields comes back within microseconds.
const TURNS_WITHOUT_WRITE: u32 = 32;
const TIME_WITHOUT_WRITE: Duration = Duration::from_micros(50);

/// Drives `endpoint` over `io` until the connection ends.
///
/// The future is cancel-safe in the sense that dropping it drops the connection: the socket closes and the
/// endpoint, with every call it holds, is dropped.
pub async fn drive<IO, E>(io: IO, endpoint: &mut E) -> Closed
where
    IO: AsyncRead + AsyncWrite,
    E: Endpoint,
{
    drive_from(io, ReadBuffer::new(), endpoint).await
}

/// [`drive`], when the first bytes were read already: they are in `read`.
pub async fn drive_from<IO, E>(io: IO, read: ReadBuffer, endpoint: &mut E) -> Closed
where
    IO: AsyncRead + AsyncWrite,
    E: Endpoint,
{
    let mut io = pin!(io);
    let mut turn = Turn::new(read);
    let mut sleep = pin!(tokio::time::sleep_until(clock().into()));
    let closed = match turn.parse(endpoint, clock()) {
        Ok(()) => poll_fn(|cx| turn.poll(io.as_mut(), endpoint, sleep.as_mut(), cx)).await,
        Err(error) => Closed::Protocol(error),
    };
    // Taking leave can take a second, and many connections may do so at once.
    turn.read.release();
    endpoint.on_closed(&closed);
    if !matches!(closed, Closed::Io(_)) {
        write::close(io, endpoint.connection()).await;
    }
    closed
}

/// The state of the loop between two polls.
struct Turn {
    read: ReadBuffer,
    /// The instant for which the sleep is armed.
    armed: Option<Instant>,
    /// Since when small output waits, and for how many turns.
    put_off: Option<(Instant, u32)>,
}

impl Turn {
    fn new(read: ReadBuffer) -> Self {
        Self { read, armed: None, put_off: None }
    }

    fn poll<IO, E>(
        &mut self,
        mut io: Pin<&mut IO>,
        endpoint: &mut E,
        mut sleep: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Poll<Closed>
    where
        IO: AsyncRead + AsyncWrite,
        E: Endpoint,
    {
        let mut turns = 0;
        loop {
            let now = clock();
            let (mut read_more, mut more_output) = (false, false);
            // A peer that does not read what it asked for is not asked for more.
            // [9113-5.2.2-1]
            let reading = endpoint.connection().wants_input();
            let filled = if reading { self.read.poll_fill(io.as_mut(), cx) } else { Poll::Pending };
            match filled {
                Poll::Ready(Ok(0)) => return Poll::Ready(Closed::PeerClosed),
                Poll::Ready(Ok(_)) => {
                    read_more = true;
                    if let Err(error) = self.parse(endpoint, now) {
                        return Poll::Ready(Closed::Protocol(error));
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Closed::Io(error)),
                Poll::Pending => {}
            }
            if let Err(error) = fire_timers(endpoint, now) {
                return Poll::Ready(Closed::Protocol(error));
            }
            let more_work = endpoint.poll_work(cx, now);
            drain_events(endpoint, now);
            if self.may_write(endpoint, more_work, now) {
                let took_all = match poll_write_output(io.as_mut(), endpoint.connection(), cx) {
                    Poll::Ready(Err(error)) => return Poll::Ready(Closed::Io(error)),
                    Poll::Ready(Ok(())) if endpoint.is_finished() => return Poll::Ready(Closed::Finished),
                    Poll::Ready(Ok(())) => true,
                    Poll::Pending => false,
                };
                drain_events(endpoint, now);
                // Calls that waited for room have written meanwhile; a socket that is full wakes the task itself.
                more_output = took_all && endpoint.connection().poll_output();
                read_more |= !reading && endpoint.connection().wants_input();
            }
            turns += 1;
            let more = read_more || more_work || more_output;
            if more && turns < TURNS_PER_POLL {
                continue;
            }
            if more {
                cx.waker().wake_by_ref();
            } else {
                self.read.on_idle();
            }
            return self.arm(endpoint, sleep.as_mut(), cx);
        }
    }

    /// Hands every complete frame in the read buffer to the endpoint.
    fn parse<E: Endpoint>(&mut self, endpoint: &mut E, now: Instant) -> Result<(), ConnectionError> {
        let mut parsed = 0;
        let input = self.read.filled();
        let result = loop {
            let rest = &input[parsed..];
            let taken = endpoint.take_input(rest, now);
            if taken > 0 {
                parsed += taken;
                continue;
            }
            match endpoint.connection().handle_input(rest, now) {
                Ok(progress) => {
                    if progress.consumed == 0 {
                        break Ok(());
                    }
                    parsed += progress.consumed;
                    if let Some(event) = progress.event {
                        endpoint.handle_event(event, now);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.read.consume(parsed);
        result
    }

    /// Small output waits while more work is ready, so that a source that merely yields does not cost a write
    /// a batch (wire-rules B1, B2).
    fn may_write<E: Endpoint>(&mut self, endpoint: &mut E, more_work: bool, now: Instant) -> bool {
        if more_work && endpoint.connection().output_len() < endpoint.batch_size() {
            let (since, turns) = self.put_off.unwrap_or((now, 0));
            if turns < TURNS_WITHOUT_WRITE && now.saturating_duration_since(since) < TIME_WITHOUT_WRITE {
                self.put_off = Some((since, turns + 1));
                return false;
            }
        }
        self.put_off = None;
        true
    }

    /// Arms the sleep for the earliest timer of engine and endpoint.
    fn arm<E: Endpoint>(
        &mut self,
        endpoint: &mut E,
        mut sleep: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Poll<Closed> {
        let next = earliest(endpoint.next_timeout(), endpoint.connection().next_timeout());
        if next != self.armed {
            self.armed = next;
            if let Some(at) = next {
                sleep.as_mut().reset(at.into());
            }
        }
        if self.armed.is_some() && sleep.poll(cx).is_ready() {
            self.armed = None;
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// The runtime's clock, by which the sleep goes as well; a test may hold it still.
fn clock() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn fire_timers<E: Endpoint>(endpoint: &mut E, now: Instant) -> Result<(), ConnectionError> {
    if endpoint.connection().next_timeout().is_some_and(|at| at <= now) {
        endpoint.connection().handle_timeout(now)?;
    }
    if endpoint.next_timeout().is_some_and(|at| at <= now) {
        endpoint.handle_timeout(now);
    }
    Ok(())
}

fn drain_events<E: Endpoint>(endpoint: &mut E, now: Instant) {
    while let Some(event) = endpoint.connection().poll_event() {
        endpoint.handle_event(event, now);
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
