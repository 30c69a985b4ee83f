//! DATA that arrives, and the credit that goes back for it (RFC 9113, 6.1, 6.9).

use std::time::Instant;

use super::headers::TOO_LITTLE_DATA;
use super::input::Fault;
use super::{Connection, Event};
use crate::error::ConnectionError;
use crate::frame::{Data, FRAME_HEADER_LEN, Flags, FrameHeader, FrameType, WindowUpdate};
use crate::stream::{RecvHalf, UNKNOWN_LENGTH};
use crate::{ErrorCode, StreamId, StreamKey};

impl Connection {
    #[expect(clippy::arithmetic_side_effects, reason = "a frame is as long as its data at least")]
    pub(super) fn handle_data<'a>(
        &mut self,
        frame: Data<'a>,
        now: Instant,
    ) -> Result<Option<Event<'a>>, Fault> {
        let Data { stream: id, data, end_stream, .. } = frame;
        let len = frame.flow_controlled_len();
        // [9113-5.1-5] [9113-6.8-5] [9113-6.9-3]
        self.on_connection_received(len)?;
        let Some(key) = self.streams.find(id) else {
            self.on_stray_frame(id, "DATA on a closed stream")?;
            // Others are paid for with the connection's window.
            if len == 0 {
                self.limits.on_housekeeping(now)?;
            }
            return Ok(None);
        };
        let fault = |code, reason| Fault::stream(id, code, reason);
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        match stream.recv {
            RecvHalf::Open => {}
            RecvHalf::HeadDue => {
                return Err(fault(ErrorCode::PROTOCOL_ERROR, "DATA before the response head"));
            }
            // [9113-5.1-2] [9113-6.1-2]
            RecvHalf::Ended => return Err(fault(ErrorCode::STREAM_CLOSED, "DATA after END_STREAM")),
        }
        // wire-rules 83
        // [9113-6.9.1-3]
        if stream.recv_window.on_received(len).is_err() {
            return Err(fault(ErrorCode::FLOW_CONTROL_ERROR, "DATA beyond the stream's window"));
        }
        // [9113-8.1.1-2]
        if stream.expected != UNKNOWN_LENGTH {
            // 8.1.1
            let left = stream.expected.checked_sub(data.len() as u64);
            stream.expected =
                left.ok_or(fault(ErrorCode::PROTOCOL_ERROR, "more data than content-length says"))?;
            if end_stream && stream.expected != 0 {
                return Err(fault(ErrorCode::PROTOCOL_ERROR, TOO_LITTLE_DATA));
            }
        }
        let unwanted = stream.reset_after.is_some();
        if end_stream {
            stream.recv = RecvHalf::Ended;
            if stream.is_closed() {
                self.close(key);
            }
        } else {
            let counts = data.is_empty() && !stream.empty_is_free;
            stream.empty_is_free = !data.is_empty();
            if counts {
                self.limits.on_empty_data(now)?;
            }
            // wire-rules 85: padding goes back at once; so does what nobody wants to see
            let used = if unwanted { len } else { len - data.len() };
            if used > 0 {
                self.release(key, used);
            }
        }
        if unwanted || (data.is_empty() && !end_stream) {
            return Ok(None);
        }
        Ok(Some(Event::Data { stream: key, data, end_stream }))
    }

    /// The data of a stream whose head has just come, and the octets it takes, if `input` begins with the one DATA
    /// frame that ends it. Anything out of the ordinary, faults above all, is left to [`handle_data`](Self::handle_data).
    #[inline(always)]
    pub(super) fn take_body<'a>(&mut self, key: StreamKey, input: &'a [u8]) -> Option<(&'a [u8], usize)> {
        let header = FrameHeader::parse(input)?;
        if header.kind != FrameType::Data
            || header.flags != Flags::END_STREAM
            || header.stream != key.id()
            || header.len > self.config.max_frame_size
        {
            return None;
        }
        let data = input.get(FRAME_HEADER_LEN..header.frame_len())?;
        let stream = self.streams.get_mut(key)?;
        let is_promised = stream.expected == UNKNOWN_LENGTH || stream.expected == data.len() as u64;
        let room = self.recv_window.available().min(stream.recv_window.available());
        if !is_promised || data.len() > room {
            return None;
        }
        // A peer that has ended its side needs no window, so the stream's is not kept any more.
        stream.recv = RecvHalf::Ended;
        stream.expected = if stream.expected == UNKNOWN_LENGTH { UNKNOWN_LENGTH } else { 0 };
        let is_received = self.on_connection_received(data.len()).is_ok();
        debug_assert!(is_received, "the window was asked");
        Some((data, header.frame_len()))
    }

    /// Gives the peer `bytes` octets of stream window back. Small amounts are gathered until half a window is
    /// due.
    pub fn release(&mut self, key: StreamKey, bytes: usize) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        // A peer that has ended its side needs no window.
        if stream.recv != RecvHalf::Ended
            && let Some(credit) = stream.recv_window.release(bytes)
        {
            // Below 2^31 together, since that is the bound of the whole window.
            let increment = credit.saturating_add(self.stream_growth(key));
            WindowUpdate { stream: key.id(), increment }.encode(self.output.frames());
            self.on_half_window_used();
        }
    }

    /// The connection's window is credited on receipt, whatever becomes of the data: it bounds what is in
    /// flight, the windows of the streams bound what is buffered. So no stream can starve another, and
    /// nothing leaks when frames are ignored.
    #[inline(always)]
    pub(super) fn on_connection_received(&mut self, len: usize) -> Result<(), ConnectionError> {
        // [9113-6.9.1-3]
        let due = self.recv_window.on_received_and_used(len).map_err(|_| {
            ConnectionError::peer(ErrorCode::FLOW_CONTROL_ERROR, "DATA beyond the connection's window")
        })?;
        if let Some(increment) = due {
            self.announced = self.announced.saturating_add(u64::from(increment));
            WindowUpdate { stream: StreamId::CONNECTION, increment }.encode(self.output.frames());
            self.on_half_window_used();
        }
        Ok(())
    }
}
