//! One HTTP/2 connection as a machine: octets, commands and the time go in, events and octets come out.

mod config;
mod data_write;
mod event;

use std::io::IoSlice;
use std::time::Instant;

pub use self::config::{Config, LimitConfig, Rate, Role};
pub use self::data_write::DataWrite;
pub use self::event::{Event, Initiator, Progress};
use crate::error::{ConnectionError, OpenError, StreamError};
use crate::{CachedBlock, ErrorCode, Field, StreamKey};

/// An HTTP/2 connection without I/O, clock or randomness (RFC 9113).
///
/// The owner loops: give it what the socket has with [`handle_input`](Self::handle_input) until that consumes
/// nothing more, act on each event, drain [`poll_event`](Self::poll_event), then
/// [`poll_output`](Self::poll_output) and write [`output_slices`](Self::output_slices), then wait for the socket,
/// for [`next_timeout`](Self::next_timeout) or for a command of its own.
#[derive(Debug)]
pub struct Connection {
    role: Role,
}

impl Connection {
    /// Starts a connection: the client's preface, SETTINGS and the connection's window are queued as output.
    pub fn new(role: Role, config: Config, now: Instant) -> Self {
        let _ = (config, now);
        Connection { role }
    }

    /// Parses at most one complete frame from the front of `input`. Call again with the rest until it consumes 0.
    ///
    /// # Errors
    /// The connection is over; its GOAWAY is queued. Write the output, read what the peer still sends, close.
    pub fn handle_input<'a>(
        &mut self,
        input: &'a [u8],
        now: Instant,
    ) -> Result<Progress<'a>, ConnectionError> {
        let _ = (input, now);
        todo!()
    }

    /// To be called when [`next_timeout`](Self::next_timeout) has passed.
    ///
    /// # Errors
    /// The peer let a timeout pass; as for [`handle_input`](Self::handle_input).
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        let _ = now;
        todo!()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn next_timeout(&self) -> Option<Instant> {
        todo!()
    }

    /// Events that no frame just parsed has caused. Drain after every other call that may cause some.
    pub fn poll_event(&mut self) -> Option<Event<'static>> {
        todo!()
    }

    /// Moves queued stream data to the output, as windows and the high-water mark allow. True if there is output.
    pub fn poll_output(&mut self) -> bool {
        todo!()
    }

    /// Fills `slices` with the front of the output; returns how many are filled.
    pub fn output_slices<'s>(&'s self, slices: &mut [IoSlice<'s>]) -> usize {
        let _ = slices;
        todo!()
    }

    /// Takes `written` octets off the front of the output.
    pub fn advance_output(&mut self, written: usize) {
        let _ = written;
        todo!()
    }

    /// Octets of output not yet taken.
    pub fn output_len(&self) -> usize {
        todo!()
    }

    /// Client: whether [`open`](Self::open) would succeed now.
    pub fn can_open(&self) -> bool {
        let _ = self.role;
        todo!()
    }

    /// Client: opens a stream with the head of a request.
    ///
    /// # Errors
    /// As [`OpenError`] says; nothing is sent then.
    pub fn open<'f, I>(&mut self, fields: I, end_stream: bool) -> Result<StreamKey, OpenError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let _ = (fields, end_stream);
        todo!()
    }

    /// Like [`open`](Self::open), for a head that is sent again and again.
    ///
    /// # Errors
    /// As [`OpenError`] says; nothing is sent then.
    pub fn open_cached<'f, I>(
        &mut self,
        block: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        end_stream: bool,
    ) -> Result<StreamKey, OpenError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let _ = (block, fields(), end_stream);
        todo!()
    }

    /// Sends a head or, after the head, trailers (`end_stream` must be set). Trailers wait behind queued data.
    ///
    /// # Errors
    /// As [`StreamError`] says; nothing is sent then.
    pub fn send_headers<'f, I>(
        &mut self,
        key: StreamKey,
        fields: I,
        end_stream: bool,
    ) -> Result<(), StreamError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let _ = (key, fields, end_stream);
        todo!()
    }

    /// Like [`send_headers`](Self::send_headers), for a block that is sent again and again.
    ///
    /// # Errors
    /// As [`StreamError`] says; nothing is sent then.
    pub fn send_cached_headers<'f, I>(
        &mut self,
        key: StreamKey,
        block: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        end_stream: bool,
    ) -> Result<(), StreamError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let _ = (key, block, fields(), end_stream);
        todo!()
    }

    /// Makes room for exactly `len` octets of stream data. Never refuses for lack of window.
    ///
    /// # Errors
    /// As [`StreamError`] says.
    pub fn write_data(&mut self, key: StreamKey, len: usize) -> Result<DataWrite<'_>, StreamError> {
        let _ = (key, len);
        todo!()
    }

    /// Ends our side of the stream, after what is queued.
    ///
    /// # Errors
    /// As [`StreamError`] says.
    pub fn end_stream(&mut self, key: StreamKey) -> Result<(), StreamError> {
        let _ = key;
        todo!()
    }

    /// False if the stream's queue or the output is above its mark; [`Event::Writable`] comes when it is not.
    pub fn poll_writable(&mut self, key: StreamKey) -> bool {
        let _ = key;
        todo!()
    }

    /// Octets of stream data not yet in the output.
    pub fn queued(&self, key: StreamKey) -> usize {
        let _ = key;
        todo!()
    }

    /// Drops what is queued and sends RST_STREAM now, whatever the windows.
    pub fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        let _ = (key, code);
        todo!()
    }

    /// Sends RST_STREAM once everything queued is in the output, if the peer has not ended its side by then. What
    /// the peer sends on the stream meanwhile is dropped and credited.
    pub fn reset_when_sent(&mut self, key: StreamKey, code: ErrorCode) {
        let _ = (key, code);
        todo!()
    }

    /// Drops data not yet in the output. True if some data of the stream has already gone to the output and some
    /// was dropped, so that a message may be cut.
    pub fn discard_queued_data(&mut self, key: StreamKey) -> bool {
        let _ = key;
        todo!()
    }

    /// Gives the peer `bytes` octets of stream window back.
    pub fn release(&mut self, key: StreamKey, bytes: usize) {
        let _ = (key, bytes);
        todo!()
    }

    /// Whether the peer has ended its side (or the stream is gone).
    pub fn is_remote_ended(&self, key: StreamKey) -> bool {
        let _ = key;
        todo!()
    }

    /// Whether the stream is still there.
    pub fn is_open(&self, key: StreamKey) -> bool {
        let _ = key;
        todo!()
    }

    /// Sends PING; [`Event::Pong`] brings the answer.
    pub fn ping(&mut self, payload: [u8; 8]) {
        let _ = payload;
        todo!()
    }

    /// Takes no new streams and lets the present ones finish (RFC 9113, 6.8).
    pub fn graceful_shutdown(&mut self, now: Instant) {
        let _ = now;
        todo!()
    }

    /// Sends GOAWAY now; the connection is over.
    pub fn abort(&mut self, code: ErrorCode, debug: &str) {
        let _ = (code, debug);
        todo!()
    }

    /// Streams not yet ended.
    pub fn open_streams(&self) -> usize {
        todo!()
    }

    /// Whether no new streams are possible: either side has sent GOAWAY, or ids are used up.
    pub fn is_going_away(&self) -> bool {
        todo!()
    }

    /// Whether the connection is going away and no stream is left: write the output and close.
    pub fn is_drained(&self) -> bool {
        todo!()
    }

    /// The peer's SETTINGS_MAX_HEADER_LIST_SIZE, if it sent one.
    pub fn peer_max_header_list_size(&self) -> Option<u32> {
        todo!()
    }

    /// Gives memory kept for reuse back to the allocator; for connections that have gone quiet.
    pub fn trim(&mut self) {
        todo!()
    }
}
