//! SETTINGS (RFC 9113, 6.5): what the sender allows its peer, and the acknowledgement of it.

use super::{Flags, FrameError, FrameHeader, FrameType, MAX_MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE};
use crate::{error_code::ErrorCode, stream_id::StreamId};

/// A SETTINGS frame whose every value has been checked.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Settings<'a> {
    /// Acknowledges ours; then there are no entries.
    pub ack: bool,
    /// Entries of six bytes each.
    payload: &'a [u8],
}

impl<'a> Settings<'a> {
    /// Reads the payload.
    ///
    /// # Errors
    /// All end the connection (RFC 9113, 6.5): PROTOCOL_ERROR off stream 0 and for values out of range,
    /// FLOW_CONTROL_ERROR for a window above 2^31-1, FRAME_SIZE_ERROR for a length that is not a multiple of
    /// six or an acknowledgement with entries.
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        // [9113-6.5-3]
        if !header.stream.is_connection() {
            return Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "SETTINGS on a stream"));
        }
        let ack = header.flags.contains(Flags::ACK);
        // [9113-6.5-2]
        if ack && !payload.is_empty() {
            return Err(FrameError::connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "SETTINGS acknowledgement with a payload",
            ));
        }
        // [9113-6.5-4]
        if !payload.len().is_multiple_of(Setting::LEN) {
            return Err(FrameError::connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "SETTINGS length is not a multiple of 6",
            ));
        }
        let settings = Self { ack, payload };
        settings.iter().try_for_each(Setting::check)?;
        Ok(settings)
    }

    /// The entries in wire order; the last of several for one identifier wins (RFC 9113, 6.5.3).
    pub fn iter(&self) -> impl Iterator<Item = Setting> + use<'a> {
        let (entries, _) = self.payload.as_chunks::<{ Setting::LEN }>();
        entries.iter().map(|entry| Setting::from_bytes(*entry))
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let flags = Flags::NONE.with(Flags::ACK, self.ack);
        Self::header(self.payload.len(), flags).encode(out);
        out.extend_from_slice(self.payload);
    }

    /// Appends a SETTINGS frame with these entries to `out`.
    #[expect(clippy::arithmetic_side_effects, reason = "as many entries as are in memory")]
    pub fn encode_entries(entries: &[Setting], out: &mut Vec<u8>) {
        Self::header(entries.len() * Setting::LEN, Flags::NONE).encode(out);
        for entry in entries {
            out.extend_from_slice(&entry.to_bytes());
        }
    }

    /// Appends an acknowledgement to `out`.
    pub fn encode_ack(out: &mut Vec<u8>) {
        Self::header(0, Flags::ACK).encode(out);
    }

    fn header(len: usize, flags: Flags) -> FrameHeader {
        FrameHeader { len: len as u32, kind: FrameType::Settings, flags, stream: StreamId::CONNECTION }
    }
}

/// One entry of SETTINGS (RFC 9113, 6.5.2).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Setting {
    /// The most bytes of dynamic table that the sender's decoder keeps; default 4,096.
    HeaderTableSize(u32),
    /// Whether the sender takes pushes; default 1. A server must not send 1.
    EnablePush(u32),
    /// How many streams the peer may have open; no default limit.
    MaxConcurrentStreams(u32),
    /// Window of a new stream in bytes; default 65,535, at most 2^31-1.
    InitialWindowSize(u32),
    /// The largest payload the sender takes, in bytes; 16,384 (default) to 16,777,215.
    MaxFrameSize(u32),
    /// The largest field list that the sender takes (advisory), in bytes as of 6.5.2; no default limit.
    MaxHeaderListSize(u32),
    /// Any other identifier; to be ignored.
    Unknown(u16, u32),
}

impl Setting {
    /// Length on the wire in bytes.
    pub const LEN: usize = 6;

    const fn from_bytes([i0, i1, v0, v1, v2, v3]: [u8; Self::LEN]) -> Self {
        let value = u32::from_be_bytes([v0, v1, v2, v3]);
        match u16::from_be_bytes([i0, i1]) {
            0x1 => Self::HeaderTableSize(value),
            0x2 => Self::EnablePush(value),
            0x3 => Self::MaxConcurrentStreams(value),
            0x4 => Self::InitialWindowSize(value),
            0x5 => Self::MaxFrameSize(value),
            0x6 => Self::MaxHeaderListSize(value),
            id => Self::Unknown(id, value),
        }
    }

    const fn to_bytes(self) -> [u8; Self::LEN] {
        let (id, value) = match self {
            Self::HeaderTableSize(value) => (0x1_u16, value),
            Self::EnablePush(value) => (0x2, value),
            Self::MaxConcurrentStreams(value) => (0x3, value),
            Self::InitialWindowSize(value) => (0x4, value),
            Self::MaxFrameSize(value) => (0x5, value),
            Self::MaxHeaderListSize(value) => (0x6, value),
            Self::Unknown(id, value) => (id, value),
        };
        let ([i0, i1], [v0, v1, v2, v3]) = (id.to_be_bytes(), value.to_be_bytes());
        [i0, i1, v0, v1, v2, v3]
    }

    fn check(self) -> Result<(), FrameError> {
        match self {
            // [9113-6.5.2-2]
            Self::EnablePush(value) if value > 1 => {
                Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "SETTINGS_ENABLE_PUSH is not 0 or 1"))
            }
            // [9113-6.5.2-5]
            Self::InitialWindowSize(value) if value > 0x7fff_ffff => Err(FrameError::connection(
                ErrorCode::FLOW_CONTROL_ERROR,
                "SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1",
            )),
            // [9113-6.5.2-6]
            Self::MaxFrameSize(value) if !(MIN_MAX_FRAME_SIZE..=MAX_MAX_FRAME_SIZE).contains(&value) => {
                Err(FrameError::connection(ErrorCode::PROTOCOL_ERROR, "SETTINGS_MAX_FRAME_SIZE out of range"))
            }
            _ => Ok(()),
        }
    }
}
