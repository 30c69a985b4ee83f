//! SETTINGS in both directions (RFC 9113, 6.5): what the peer told us, what we told it and whether it knows.

use std::time::Instant;

use super::{Connection, Event, Phase, Role, Timer};
use crate::error::ConnectionError;
use crate::frame::{MAX_MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Setting, Settings, WindowUpdate};
use crate::stream::RecvHalf;
use crate::{ErrorCode, StreamId};

/// The peer's settings in force.
#[derive(Debug)]
pub(super) struct PeerSettings {
    pub(super) max_concurrent_streams: Option<u32>,
    pub(super) initial_window_size: u32,
    pub(super) max_frame_size: u32,
    pub(super) max_header_list_size: Option<u32>,
}

impl PeerSettings {
    pub(super) fn new() -> Self {
        PeerSettings {
            // RFC 9113 sets no limit, but a peer that will set one refuses what comes too early; it
            // recommends to allow no less than this (6.5.2).
            max_concurrent_streams: Some(100),
            initial_window_size: DEFAULT_WINDOW_SIZE,
            max_frame_size: MIN_MAX_FRAME_SIZE,
            max_header_list_size: None,
        }
    }

    /// Whether lists have to be measured that are the same for every call. They are short, so only for peers that
    /// accept very little.
    #[inline]
    pub(super) fn measures_lists(&self) -> bool {
        self.max_header_list_size.is_some_and(|limit| limit < SMALL_LIST)
    }
}

/// Header lists of this size are accepted by nearly everyone, in octets.
const SMALL_LIST: u32 = 4096;

/// Window of a stream until SETTINGS say otherwise, and of the connection until WINDOW_UPDATE does (6.9.2).
pub(super) const DEFAULT_WINDOW_SIZE: u32 = 65_535;

/// Decoder table size until SETTINGS say otherwise (6.5.2).
pub(super) const DEFAULT_TABLE_SIZE: u32 = 4_096;

impl Connection {
    /// Our SETTINGS, first of all frames (3.4), and the connection's window, which SETTINGS cannot change
    /// (6.9.2).
    // [9113-3.4-2] [9113-6.5-1] [9113-6.5.2-6] [9113-6.9.2-4]
    pub(super) fn write_first_settings(&mut self) {
        let config = &mut self.config;
        config.initial_window_size = config.initial_window_size.min(MAX_WINDOW_SIZE);
        config.connection_window_size =
            config.connection_window_size.clamp(DEFAULT_WINDOW_SIZE, MAX_WINDOW_SIZE);
        config.max_frame_size = config.max_frame_size.clamp(MIN_MAX_FRAME_SIZE, MAX_MAX_FRAME_SIZE);
        let hard_cap = config.max_header_list_size.saturating_mul(4);
        config.limits.header_list_hard_cap = config.limits.header_list_hard_cap.max(hard_cap);

        let mut entries = vec![
            Setting::InitialWindowSize(config.initial_window_size),
            Setting::MaxFrameSize(config.max_frame_size),
            Setting::MaxHeaderListSize(config.max_header_list_size),
        ];
        if config.header_table_size != DEFAULT_TABLE_SIZE {
            entries.push(Setting::HeaderTableSize(config.header_table_size));
        }
        match (self.role, config.max_concurrent_streams) {
            (Role::Client, _) => entries.push(Setting::EnablePush(0)),
            (Role::Server, Some(limit)) => entries.push(Setting::MaxConcurrentStreams(limit)),
            (Role::Server, None) => {}
        }
        Settings::encode_entries(&entries, self.output.frames());
        let increment = config.connection_window_size.saturating_sub(DEFAULT_WINDOW_SIZE);
        if increment > 0 {
            WindowUpdate { stream: StreamId::CONNECTION, increment }.encode(self.output.frames());
        }
    }

    pub(super) fn handle_settings(
        &mut self,
        settings: Settings<'_>,
        now: Instant,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        if self.phase == Phase::AwaitSettings {
            if settings.ack {
                return Err(ConnectionError::peer(ErrorCode::PROTOCOL_ERROR, "first frame is not SETTINGS"));
            }
            self.phase = Phase::Ready;
            self.on_ready();
            // What our side assumed until now; the peer's frame says it or there is no limit.
            self.peer.max_concurrent_streams = None;
        } else if settings.ack && std::mem::take(&mut self.settings_due) {
            self.timers.set(Timer::SettingsAck, None);
            self.on_settings_acknowledged();
            return Ok(None);
        } else {
            self.limits.on_housekeeping(now)?;
        }
        if settings.ack {
            // Nothing of ours is open; harmless.
            return Ok(None);
        }
        let mut window_size = None;
        for setting in settings.iter() {
            match setting {
                // [9113-4.3.1-1]
                Setting::HeaderTableSize(size) => {
                    // wire-rules 86: a shrink is obeyed, and announced at the start of the next block.
                    self.encoder.set_peer_limit(size.min(self.config.header_table_size));
                }
                // 6.5.2: only a client may take pushes.
                // [9113-6.5.2-3]
                Setting::EnablePush(1) if self.role == Role::Client => {
                    return Err(ConnectionError::peer(
                        ErrorCode::PROTOCOL_ERROR,
                        "SETTINGS_ENABLE_PUSH of a server is 1",
                    ));
                }
                // wire-rules 82: a value below what is open just lets no new stream in until enough have
                // ended.
                // [9113-6.5.2-4]
                Setting::MaxConcurrentStreams(limit) => self.peer.max_concurrent_streams = Some(limit),
                Setting::InitialWindowSize(size) => window_size = Some(size),
                Setting::MaxFrameSize(size) => self.peer.max_frame_size = size,
                Setting::MaxHeaderListSize(size) => self.peer.max_header_list_size = Some(size),
                // [9113-6.5.2-7] [9113-5.5-1]
                Setting::EnablePush(_) | Setting::Unknown(..) => {}
            }
        }
        // 6.5.3: processed in order, so only the last value of the frame stays in force.
        if let Some(size) = window_size {
            self.change_send_windows(size)?;
        }
        // Written before any DATA that the new windows free, since that is scheduled by `poll_output` later.
        // [9113-3.4-3] [9113-6.5.3-1]
        Settings::encode_ack(self.output.frames());
        self.on_reply_queued()?;
        Ok(Some(Event::Settings))
    }

    /// A new SETTINGS_INITIAL_WINDOW_SIZE shifts the window of every stream, below zero if need be (6.9.2).
    // wire-rules 83
    // [9113-6.9.2-1] [9113-6.9.2-3]
    #[expect(clippy::arithmetic_side_effects, reason = "differences of 32 bits in 64")]
    fn change_send_windows(&mut self, size: u32) -> Result<(), ConnectionError> {
        let difference = i64::from(size) - i64::from(self.peer.initial_window_size);
        self.peer.initial_window_size = size;
        for (key, stream) in self.streams.iter_mut() {
            stream.send_window.shift(difference).map_err(|_| {
                ConnectionError::peer(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "SETTINGS_INITIAL_WINDOW_SIZE makes a window overflow",
                )
            })?;
            self.schedule.push_if_ready(key, stream);
        }
        Ok(())
    }

    /// The peer knows our settings: from now on it is bound by those that are below the defaults (6.5.3).
    // [9113-6.5.3-2] [9113-6.9.3-1]
    fn on_settings_acknowledged(&mut self) {
        self.decoder.set_limit(self.config.header_table_size as usize);
        let size = self.config.initial_window_size;
        if size < DEFAULT_WINDOW_SIZE {
            for (key, stream) in self.streams.iter_mut() {
                let due = stream.recv_window.resize(size);
                // A peer that has ended its side needs no window.
                if let Some(increment) = due
                    && stream.recv != RecvHalf::Ended
                {
                    WindowUpdate { stream: key.id(), increment }.encode(self.output.frames());
                }
            }
        }
        self.recv_window_size = size;
    }
}

const MAX_WINDOW_SIZE: u32 = 0x7fff_ffff;
