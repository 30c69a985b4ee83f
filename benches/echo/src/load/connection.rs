//! One connection: its calls, their windows, and what is to be written.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::Tally;
use super::frames::{
    self, DATA, END_STREAM, FIRST_WINDOW, GOAWAY, HEADERS, PADDED, PING, RST_STREAM, SETTINGS, WINDOW,
    WINDOW_UPDATE,
};
use super::parser::{Head, Parser, Piece};
use super::plan::{Plan, Then};

/// A connection and its calls. A call that ends begins the next one.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    parser: Parser,
    output: Vec<u8>,
    /// Bytes of `output` that the socket has taken.
    written: usize,
    /// Calls at their stream's place: stream ids of client and server go up by two, so the calls that run are mostly
    /// neighbours, and a stream finds its call without a search.
    calls: Vec<Call>,
    /// Calls that run once the server has sent its settings.
    wanted: usize,
    is_running: bool,
    next_stream: u32,
    /// Streams whose request waits for a window, in order.
    blocked: Vec<u32>,
    /// What the server lets us send, on the connection, and on a new stream.
    window: i64,
    stream_window: i64,
    /// Bytes that came since the server was last told to send more.
    taken: u32,
}

/// A call that runs, or none.
#[derive(Clone, Debug, Default)]
struct Call {
    /// 0 if none.
    stream: u32,
    begun: u64,
    sent: usize,
    window: i64,
    received: usize,
    is_wrong: bool,
}

impl Connection {
    pub(crate) fn open(
        address: SocketAddr,
        calls: usize,
        registry: &Registry,
        number: usize,
    ) -> Result<Self> {
        let socket = std::net::TcpStream::connect(address).context("cannot connect")?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let mut socket = TcpStream::from_std(socket);
        registry.register(&mut socket, Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let mut output = Vec::new();
        frames::open(&mut output);
        Ok(Self {
            socket,
            parser: Parser::default(),
            output,
            written: 0,
            calls: vec![Call::default(); (calls * PLACES_A_CALL).next_power_of_two()],
            wanted: calls,
            is_running: false,
            next_stream: 1,
            blocked: Vec::new(),
            window: i64::from(FIRST_WINDOW),
            stream_window: i64::from(FIRST_WINDOW),
            taken: 0,
        })
    }

    /// Reads what there is, takes it, begins new calls, writes.
    pub(crate) fn on_ready(
        &mut self,
        event: &Event,
        input: &mut [u8],
        plan: &Plan,
        tally: &mut Tally,
        now: u64,
    ) -> Result<()> {
        let mut is_drained = !event.is_readable();
        while !is_drained {
            match self.socket.read(input) {
                Ok(0) => bail!("the server closed a connection"),
                Ok(read) => {
                    // The rest of the socket's buffer fitted: there is no more.
                    is_drained = read < input.len();
                    self.handle_input(&input[..read], plan, tally, now)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => is_drained = true,
                Err(error) => return Err(error).context("cannot read"),
            }
        }
        // Large requests go out piece by piece, so that what was made is written while the caches still have it.
        while self.flush()? && self.push_blocked(plan) {}
        Ok(())
    }

    fn handle_input(&mut self, mut input: &[u8], plan: &Plan, tally: &mut Tally, now: u64) -> Result<()> {
        while let Some(piece) = self.parser.next(&mut input) {
            match piece {
                Piece::Data { head, bytes, is_last } => {
                    self.on_data(head, bytes, plan, tally)?;
                    if is_last && head.flags & END_STREAM != 0 {
                        self.on_end(head.stream, plan, tally, now);
                    }
                }
                Piece::Frame(head) => self.on_frame(head, plan, tally, now)?,
            }
        }
        Ok(())
    }

    fn on_data(&mut self, head: Head, bytes: &[u8], plan: &Plan, tally: &mut Tally) -> Result<()> {
        if head.flags & PADDED != 0 {
            bail!("the server pads its frames, which this program cannot read");
        }
        self.taken += bytes.len() as u32;
        if self.taken > WINDOW / 4 {
            frames::window_update(self.taken, &mut self.output);
            self.taken = 0;
        }
        match self.call(head.stream) {
            Some(call) => {
                let expected = plan.reply.get(call.received..call.received + bytes.len());
                call.is_wrong |= expected != Some(bytes);
                call.received += bytes.len();
                if plan.then == Then::StayOpen && call.received == plan.reply.len() {
                    tally.done += 1;
                }
            }
            None => tally.errors += 1,
        }
        Ok(())
    }

    fn on_frame(&mut self, head: Head, plan: &Plan, tally: &mut Tally, now: u64) -> Result<()> {
        match head.kind {
            HEADERS if head.flags & END_STREAM != 0 => self.on_end(head.stream, plan, tally, now),
            RST_STREAM => {
                if let Some(call) = self.call(head.stream) {
                    call.is_wrong = true;
                }
                self.on_end(head.stream, plan, tally, now);
            }
            SETTINGS if head.flags & END_STREAM == 0 => {
                self.on_settings()?;
                frames::frame(SETTINGS, END_STREAM, 0, &[], &mut self.output);
                if !self.is_running {
                    self.is_running = true;
                    (0..self.wanted).for_each(|_| self.begin(plan, now));
                }
            }
            PING if head.flags & END_STREAM == 0 => {
                frames::frame(PING, END_STREAM, 0, self.parser.payload(), &mut self.output);
            }
            GOAWAY => bail!("the server says GOAWAY: {}", self.parser.payload().escape_ascii()),
            WINDOW_UPDATE => {
                let by = self.parser.payload().try_into().map(u32::from_be_bytes);
                let by = i64::from(by.context("a WINDOW_UPDATE of a wrong size")? & WINDOW);
                if head.stream == 0 {
                    self.window += by;
                } else if let Some(call) = self.call(head.stream) {
                    call.window += by;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn on_settings(&mut self) -> Result<()> {
        let payload = self.parser.payload().to_vec();
        for entry in payload.chunks_exact(6) {
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            match u16::from_be_bytes([entry[0], entry[1]]) {
                // HEADER_TABLE_SIZE: the heads that are sent are indexes into that table.
                1 if value < 512 => bail!("the server's header table is too small for this program"),
                // INITIAL_WINDOW_SIZE, which changes that of the streams there are (RFC 9113 6.9.2).
                4 => {
                    let by = i64::from(value) - self.stream_window;
                    self.stream_window += by;
                    self.calls.iter_mut().for_each(|call| call.window += by);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A stream has ended: its call is judged, and the next one begins.
    fn on_end(&mut self, stream: u32, plan: &Plan, tally: &mut Tally, now: u64) {
        let Some(call) = self.call(stream) else {
            tally.errors += 1;
            return;
        };
        if call.is_wrong || call.received != plan.reply.len() || plan.then == Then::StayOpen {
            tally.errors += 1;
        }
        let begun = call.begun;
        *call = Call::default();
        if tally.is_measured {
            tally.latencies.push((now - begun).min(u64::from(u32::MAX)) as u32);
        }
        tally.done += 1;
        if plan.then == Then::Again {
            self.begin(plan, now);
        }
    }

    fn begin(&mut self, plan: &Plan, now: u64) {
        // A call that takes very long keeps its place; ids may be left out (RFC 9113 5.1.1).
        while self.calls[self.place(self.next_stream)].stream != 0 {
            self.next_stream += 2;
        }
        let stream = self.next_stream;
        self.next_stream += 2;
        let place = self.place(stream);
        self.calls[place] = Call { stream, begun: now, window: self.stream_window, ..Call::default() };
        if stream == 1 {
            frames::first_head(stream, plan.path, &mut self.output);
        } else {
            frames::next_head(stream, &mut self.output);
        }
        if !self.blocked.is_empty() || !self.push(stream, plan) {
            self.blocked.push(stream);
        }
    }

    /// Sends what the windows allow of a request; whether that was the rest.
    fn push(&mut self, stream: u32, plan: &Plan) -> bool {
        let place = self.place(stream);
        let call = &mut self.calls[place];
        if call.stream != stream {
            // Answered before it was asked for good, or reset.
            return true;
        }
        loop {
            let left = &plan.request[call.sent..];
            if self.output.len() > OUTPUT && plan.request.len() > FRAME {
                return false;
            }
            let wanted = left.len().min(FRAME);
            let open = self.window.min(call.window).max(0) as usize;
            // A small request goes out in one frame or not at all: there are servers that take no other.
            if open < wanted && (open == 0 || plan.request.len() <= FRAME) {
                return false;
            }
            let (now, rest) = left.split_at(wanted.min(open));
            let is_end = rest.is_empty() && plan.then != Then::StayOpen;
            let flags = if is_end { END_STREAM } else { 0 };
            frames::frame(DATA, flags, stream, now, &mut self.output);
            call.sent += now.len();
            call.window -= now.len() as i64;
            self.window -= now.len() as i64;
            if rest.is_empty() {
                return true;
            }
        }
    }

    /// Whether there is more to write now.
    fn push_blocked(&mut self, plan: &Plan) -> bool {
        if !self.blocked.is_empty() && self.window > 0 {
            let blocked = std::mem::take(&mut self.blocked);
            self.blocked = blocked.into_iter().filter(|&stream| !self.push(stream, plan)).collect();
        }
        !self.output.is_empty()
    }

    /// Whether all was written. If not, the socket's next event goes on here.
    fn flush(&mut self) -> Result<bool> {
        while self.written < self.output.len() {
            match self.socket.write(&self.output[self.written..]) {
                Ok(taken) => self.written += taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error).context("cannot write"),
            }
        }
        self.output.clear();
        self.written = 0;
        Ok(true)
    }

    fn place(&self, stream: u32) -> usize {
        (stream >> 1) as usize & (self.calls.len() - 1)
    }

    fn call(&mut self, stream: u32) -> Option<&mut Call> {
        let place = self.place(stream);
        Some(&mut self.calls[place]).filter(|call| call.stream == stream && stream != 0)
    }
}

/// Bytes of a DATA frame at most (RFC 9113 6.5.2).
const FRAME: usize = 16_384;
/// Bytes that wait to be written before large requests pause.
const OUTPUT: usize = 128 << 10;
/// How far the streams of calls that run may lie apart before ids are left out.
const PLACES_A_CALL: usize = 16;
