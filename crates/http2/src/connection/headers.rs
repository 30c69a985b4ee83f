//! Header blocks that arrive: assembly from HEADERS and CONTINUATION, decoding or the memo, and what they
//! mean to the stream. Called by `connection::input`.
//!
//! Every block is decoded whatever becomes of its stream, for the compression table's sake (RFC 9113, 4.3).

use std::sync::Arc;
use std::time::Instant;

use super::fields::{Built, HeadBuilder, Malformed};
use super::goaway::Shutdown;
use super::ids::{Absent, is_late};
use super::input::Fault;
use super::{Connection, Event, Role};
use crate::error::ConnectionError;
use crate::frame::{Continuation, Headers};
use crate::limits::calm;
use crate::memo::BlockKind;
use crate::stream::{RecvHalf, SendHalf, UNKNOWN_LENGTH};
use crate::{ErrorCode, Head, StreamId, StreamKey};

/// A block whose end has not come yet. No other frame may come in between (6.10).
#[derive(Debug)]
pub(super) struct PartialBlock {
    stream: StreamId,
    end_stream: bool,
    malformed: Option<Malformed>,
    block: Vec<u8>,
    /// CONTINUATION frames so far.
    frames: u32,
}

impl PartialBlock {
    /// Heap octets in use.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        size_of::<Self>() + self.block.capacity()
    }
}

/// A complete block.
struct Arrived<'b> {
    stream: StreamId,
    block: &'b [u8],
    end_stream: bool,
    /// It came in one frame; others are too rare to be worth a place in the memo.
    whole: bool,
    /// What is wrong with the frame beside the block.
    malformed: Option<Malformed>,
}

/// What a well-formed block decodes to.
enum List {
    Stored(Arc<Head>),
    /// Longer than we accept; its size.
    TooLarge(usize),
}

type Decoded = Result<List, Malformed>;

impl Connection {
    pub(super) fn handle_headers(
        &mut self,
        frame: Headers<'_>,
        now: Instant,
    ) -> Result<Option<Event<'static>>, Fault> {
        let itself = frame.dependency.is_some_and(|dependency| dependency.parent == frame.stream);
        // RFC 7540, 5.3.1; RFC 9113 only deprecates the fields.
        let malformed = itself.then_some("stream depends on itself");
        let Headers { stream, end_stream, fragment, .. } = frame;
        if frame.end_headers {
            return self
                .on_block(&Arrived { stream, block: fragment, end_stream, whole: true, malformed }, now);
        }
        self.partial = Some(Box::new(PartialBlock {
            stream,
            end_stream,
            malformed,
            block: fragment.to_vec(),
            frames: 0,
        }));
        Ok(None)
    }

    pub(super) fn handle_continuation(
        &mut self,
        frame: Continuation<'_>,
        now: Instant,
    ) -> Result<Option<Event<'static>>, Fault> {
        // [9113-6.10-3]
        let Some(mut partial) = self.partial.take() else {
            return Err(
                ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, "CONTINUATION without HEADERS").into()
            );
        };
        // wire-rules 28, 87
        partial.frames = partial.frames.saturating_add(1);
        if partial.frames > self.limits.continuation_frames {
            return Err(calm("continuation_frames").into());
        }
        let size = partial.block.len().saturating_add(frame.fragment.len());
        if size > self.config.limits.header_list_hard_cap as usize {
            return Err(calm("header_list_hard_cap").into());
        }
        partial.block.extend_from_slice(frame.fragment);
        if !frame.end_headers {
            self.partial = Some(partial);
            return Ok(None);
        }
        let PartialBlock { stream, end_stream, malformed, block, .. } = *partial;
        self.on_block(&Arrived { stream, block: &block, end_stream, whole: false, malformed }, now)
    }

    /// The stream whose block must be continued by the next frame.
    pub(super) fn awaits_continuation(&self) -> Option<StreamId> {
        self.partial.as_ref().map(|partial| partial.stream)
    }

    fn on_block(&mut self, arrived: &Arrived<'_>, now: Instant) -> Result<Option<Event<'static>>, Fault> {
        // First, since no stream has such an id yet.
        if self.ids.is_new(arrived.stream) {
            return self.on_request(arrived, now);
        }
        if let Some(key) = self.streams.find(arrived.stream) {
            return match self.streams.get(key).map(|stream| stream.recv) {
                Some(RecvHalf::HeadDue) => self.on_response(key, arrived, now),
                Some(RecvHalf::Open) => self.on_trailers(key, arrived),
                Some(RecvHalf::Ended) | None => {
                    self.decode_for_table(arrived.block)?;
                    // [9113-5.1-2]
                    Err(Fault::stream(arrived.stream, ErrorCode::STREAM_CLOSED, "HEADERS after END_STREAM"))
                }
            };
        }
        self.on_stray_block(arrived)
    }

    /// Server: a client opens a stream.
    fn on_request(&mut self, arrived: &Arrived<'_>, now: Instant) -> Result<Option<Event<'static>>, Fault> {
        let id = arrived.stream;
        self.ids.on_peer_opened(id);
        // [9113-4.3-2]
        if let Some(head) = self.known(BlockKind::Request, arrived) {
            return self.open_for_peer(arrived, Ok(List::Stored(head)), now);
        }
        let decoded = self.decode_anew(BlockKind::Request, arrived)?;
        self.open_for_peer(arrived, decoded, now)
    }

    /// Opens the stream, if it may be. Compiled twice, so that heads that are known skip what they cannot be.
    #[inline(always)]
    fn open_for_peer(
        &mut self,
        arrived: &Arrived<'_>,
        decoded: Decoded,
        now: Instant,
    ) -> Result<Option<Event<'static>>, Fault> {
        let id = arrived.stream;
        // [9113-6.8-5]
        if self.shutdown == Shutdown::Final {
            // 6.8: streams above the one that GOAWAY named are ignored.
            return Ok(None);
        }
        self.ids.on_accepted();
        if is_late(id) {
            self.graceful_shutdown(now);
        }
        // wire-rules 82, RFC 9113 5.1.2. Neither counted as provoked nor as backlog: the client may not know
        // our limit yet, and may open many streams at once until it does.
        if self.config.max_concurrent_streams.is_some_and(|limit| self.streams.len() >= limit as usize) {
            self.counters.add("streams_refused");
            // [9113-5.1.2-2] [9113-8.7-1]
            self.write_reset(id, ErrorCode::REFUSED_STREAM);
            return Ok(None);
        }
        let (list, expected) = judge_head(decoded, arrived, false)?;
        let recv = if arrived.end_stream { RecvHalf::Ended } else { RecvHalf::Open };
        let (send_window, recv_window) = (self.peer.initial_window_size, self.recv_window_size);
        let key = self.streams.insert(id, (SendHalf::HeadDue, recv), send_window, recv_window);
        if let Some(stream) = self.streams.get_mut(key) {
            stream.expected = expected;
        }
        Ok(Some(self.head_event(key, list, arrived.end_stream)))
    }

    /// Client: a response head, informational or final.
    fn on_response(
        &mut self,
        key: StreamKey,
        arrived: &Arrived<'_>,
        now: Instant,
    ) -> Result<Option<Event<'static>>, Fault> {
        let malformed = |reason| Err(Fault::stream(arrived.stream, ErrorCode::PROTOCOL_ERROR, reason));
        let decoded = self.decode(BlockKind::Response, arrived)?;
        let status = match &decoded {
            Ok(List::Stored(head)) => head.status().unwrap_or(0),
            _ => 0,
        };
        // wire-rules 56
        // [9113-8.1-4] [9113-8.6-1]
        if (100..200).contains(&status) {
            self.limits.on_housekeeping(now)?;
            return match status {
                _ if arrived.end_stream => malformed("informational response with END_STREAM"),
                101 => malformed("101 does not exist in HTTP/2"), // 8.6
                _ => Ok(None),
            };
        }
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        // RFC 9110, 8.6: here content-length speaks of a body that is not sent.
        let bodiless = stream.bodiless || status == 204 || status == 304;
        let (list, expected) = judge_head(decoded, arrived, bodiless)?;
        stream.expected = expected;
        stream.recv = if arrived.end_stream { RecvHalf::Ended } else { RecvHalf::Open };
        let unwanted = stream.reset_after.is_some();
        self.remove_if_closed(key);
        Ok((!unwanted).then(|| self.head_event(key, list, arrived.end_stream)))
    }

    /// Either side: the block after the data.
    fn on_trailers(
        &mut self,
        key: StreamKey,
        arrived: &Arrived<'_>,
    ) -> Result<Option<Event<'static>>, Fault> {
        let malformed = |reason| Err(Fault::stream(arrived.stream, ErrorCode::PROTOCOL_ERROR, reason));
        let decoded = self.decode(BlockKind::Trailers, arrived)?;
        // 8.1, wire-rules 51
        // [9113-8.1-1] [9113-8.1-2]
        if !arrived.end_stream {
            return malformed("second HEADERS without END_STREAM");
        }
        let list = match (decoded, arrived.malformed) {
            (Ok(list), None) => list,
            (Err(reason), _) | (_, Some(reason)) => return malformed(reason),
        };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        if stream.expected != UNKNOWN_LENGTH && stream.expected != 0 {
            return malformed(TOO_LITTLE_DATA);
        }
        stream.recv = RecvHalf::Ended;
        let unwanted = stream.reset_after.is_some();
        self.remove_if_closed(key);
        Ok((!unwanted).then(|| match list {
            List::Stored(head) => Event::Trailers { stream: key, head },
            List::TooLarge(_) => self.head_event(key, list, true),
        }))
    }

    /// A block for a stream that is not there.
    // [9113-4.3-2] [9113-5.1-1] [9113-5.1-4] [9113-5.1-5]
    fn on_stray_block(&mut self, arrived: &Arrived<'_>) -> Result<Option<Event<'static>>, Fault> {
        let id = arrived.stream;
        // First of all, so that a broken block is called by its name (4.3).
        self.decode_for_table(arrived.block)?;
        let broken = |reason| Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, reason).into());
        match self.ids.absent(id) {
            // 5.1.1, wire-rules 88
            // [9113-5.1.1-2]
            Absent::Idle if self.role == Role::Server => broken("a client opened a stream with an even id"),
            Absent::Idle => broken("HEADERS on an idle stream"),
            Absent::Skipped => broken("a client opened a stream below an earlier one"),
            Absent::Reset(_) | Absent::Ended | Absent::Closed => {
                self.on_stray_frame(id, "HEADERS on a closed stream")?;
                Ok(None)
            }
        }
    }

    /// Looks the block up or decodes it.
    fn decode(&mut self, kind: BlockKind, arrived: &Arrived<'_>) -> Result<Decoded, ConnectionError> {
        match self.known(kind, arrived) {
            Some(head) => Ok(Ok(List::Stored(head))),
            None => self.decode_anew(kind, arrived),
        }
    }

    /// The head, if the memo has it.
    #[inline]
    fn known(&mut self, kind: BlockKind, arrived: &Arrived<'_>) -> Option<Arc<Head>> {
        // A block that must begin with a table size update cannot be the one that is remembered.
        if !arrived.whole || self.decoder.update_due() {
            return None;
        }
        self.memo.find(kind, arrived.block, self.decoder.table_generation())
    }

    #[inline(never)]
    fn decode_anew(&mut self, kind: BlockKind, arrived: &Arrived<'_>) -> Result<Decoded, ConnectionError> {
        let generation = self.decoder.table_generation();
        let limit = self.config.max_header_list_size as usize;
        let expected = self.memo.expected(kind, arrived.block.len());
        let mut builder = HeadBuilder::new(kind, limit, expected);
        self.decoder
            .decode(arrived.block, &mut |field| builder.push(field))
            // [9113-4.3-3]
            .map_err(|error| ConnectionError::peer(ErrorCode::COMPRESSION_ERROR, error.reason()))?;
        self.check_hard_cap(builder.size())?;
        Ok(match builder.finish() {
            Built::Malformed(reason) => Err(reason),
            Built::TooLarge(size) => {
                self.counters.add("header_list_too_large");
                Ok(List::TooLarge(size))
            }
            Built::Head(head) => {
                self.memo.note_room(kind, head.room());
                let head = Arc::new(head);
                if arrived.whole && self.decoder.table_generation() == generation {
                    self.memo.store(kind, arrived.block, &head, generation);
                }
                Ok(List::Stored(head))
            }
        })
    }

    /// Decodes a block that nobody waits for: the next one may refer to what it puts in the table.
    fn decode_for_table(&mut self, block: &[u8]) -> Result<(), ConnectionError> {
        let mut size = 0_usize;
        self.decoder
            .decode(block, &mut |field| size = size.saturating_add(field.size()))
            .map_err(|error| ConnectionError::peer(ErrorCode::COMPRESSION_ERROR, error.reason()))?;
        self.check_hard_cap(size)
    }

    /// Up to here the peer gets an answer to its call, beyond it the connection ends.
    // wire-rules 28
    // [9113-10.5-1]
    fn check_hard_cap(&self, list_size: usize) -> Result<(), ConnectionError> {
        if list_size > self.config.limits.header_list_hard_cap as usize {
            return Err(calm("header_list_hard_cap"));
        }
        Ok(())
    }

    fn head_event(&self, stream: StreamKey, list: List, end_stream: bool) -> Event<'static> {
        match list {
            List::Stored(head) => Event::Headers { stream, head, end_stream },
            // [9113-10.5.1-1]
            List::TooLarge(size) => {
                let limit = self.config.max_header_list_size as usize;
                Event::HeadersTooLarge { stream, size, limit, end_stream }
            }
        }
    }
}

/// Refuses what is malformed; answers how many octets of data the head promises. `bodiless`: `content-length`
/// speaks of data that is not sent.
// [9113-8.1.1-1] [9113-8.1.1-2]
fn judge_head(decoded: Decoded, arrived: &Arrived<'_>, bodiless: bool) -> Result<(List, u64), Fault> {
    let malformed = |reason| Fault::stream(arrived.stream, ErrorCode::PROTOCOL_ERROR, reason);
    let list = match (decoded, arrived.malformed) {
        (Ok(list), None) => list,
        (Err(reason), _) | (_, Some(reason)) => return Err(malformed(reason)),
    };
    let length = match &list {
        List::Stored(head) if !bodiless => head.content_length(),
        _ => None,
    };
    if arrived.end_stream && length.is_some_and(|length| length != 0) {
        return Err(malformed(TOO_LITTLE_DATA));
    }
    Ok((list, length.unwrap_or(UNKNOWN_LENGTH)))
}

/// RFC 9113, 8.1.1.
pub(super) const TOO_LITTLE_DATA: &str = "less data than content-length says";
