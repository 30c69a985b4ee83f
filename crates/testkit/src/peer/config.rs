//! How a peer begins, and what it does without being told.

use peregrine_http2::frame::Setting;

/// How a peer begins and what it does by itself.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Sent right behind the preface.
    pub settings: Vec<Setting>,
    /// Added to the connection's window at the start, in bytes; 0 sends nothing.
    pub connection_window: u32,
    /// Whether SETTINGS are acknowledged.
    pub answer_settings: bool,
    /// Whether PINGs are answered.
    pub answer_pings: bool,
    /// Whether the window of each DATA frame is given back when the frame is read.
    pub refill_windows: bool,
}

impl Default for PeerConfig {
    /// Windows so large that flow control does not show; answers what has to be answered.
    fn default() -> Self {
        Self::with_stream_window(0x7fff_ffff)
    }
}

impl PeerConfig {
    /// A server: limits as servers have them, windows small enough to matter and given back on receipt.
    pub fn server() -> Self {
        Self {
            settings: vec![Setting::MaxConcurrentStreams(100)],
            connection_window: 1 << 20,
            answer_settings: true,
            answer_pings: true,
            refill_windows: true,
        }
    }

    /// A peer that lets the server send so many bytes on each stream before it gives more.
    pub fn with_stream_window(bytes: u32) -> Self {
        Self {
            settings: vec![Setting::EnablePush(0), Setting::InitialWindowSize(bytes)],
            connection_window: 1 << 30,
            answer_settings: true,
            answer_pings: true,
            refill_windows: false,
        }
    }
}
