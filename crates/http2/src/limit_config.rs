//! What the owner of a connection may choose about `limits`.

/// How much work without progress a peer may cause. Rates are token buckets: `burst` at once, refilled
/// evenly. A peer that empties one is sent GOAWAY ENHANCE_YOUR_CALM with the limit's name as debug data, and
/// [`Counters`](crate::Counters) has it under that name.
///
/// None of them bounds what a call needs, however long it lasts: what is paid for with window is not counted, and
/// what is counted is given back by progress of calls wherever a well-behaved peer may need more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LimitConfig {
    /// `resets_received`: streams the peer opened and reset while we worked for them. Each stream that ends
    /// in good order gives one back, so that half of all calls may be cancelled for ever. Default 2,000, 1,000
    /// a second: a client may cancel a thousand calls a second for ever, but twenty thousand at once close the
    /// connection. Server only.
    pub resets_received: Rate,
    /// `resets_provoked`: streams we had to reset because the peer broke a rule; refusals for lack of room
    /// are not counted. Default 200, 20 a second.
    pub resets_provoked: Rate,
    /// `empty_data`: DATA frames without data and without END_STREAM. One a stream, and one after every DATA
    /// frame with data, are free, since some peers write them. Default 100, 20 a second. Frames with little data
    /// need no limit of their own: every octet is paid for with window.
    pub empty_data: Rate,
    /// `housekeeping`: SETTINGS, PING, acknowledgements of PING that we do not wait for, GOAWAY, PRIORITY, unknown
    /// frames, RST_STREAM and empty DATA on closed streams, and WINDOW_UPDATE of less than 64 octets. Each frame of
    /// a call that we send gives two back. Default 10,000, 1,000 a second.
    pub housekeeping: Rate,
    /// `control_backlog`: acknowledgements and provoked RST_STREAM queued while the peer does not read.
    /// Default 1,000.
    pub control_backlog: u32,
    /// `continuation_frames`: CONTINUATION frames of one header block. Default 128.
    pub continuation_frames: u32,
    /// `header_list_hard_cap`: octets of one header list, or of its encoded block, beyond which the
    /// connection is closed instead of the call being answered. Default 64 KiB, and never below four times
    /// `max_header_list_size`.
    pub header_list_hard_cap: u32,
}

impl Default for LimitConfig {
    fn default() -> Self {
        LimitConfig {
            resets_received: Rate::new(2_000, 1_000),
            resets_provoked: Rate::new(200, 20),
            empty_data: Rate::new(100, 20),
            housekeeping: Rate::new(10_000, 1_000),
            control_backlog: 1_000,
            continuation_frames: 128,
            header_list_hard_cap: 64 * 1024,
        }
    }
}

/// A refilling allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many at once.
    pub burst: u32,
    /// How many come back each second.
    pub per_second: u32,
}

impl Rate {
    /// `burst` at once, `per_second` afterwards.
    pub const fn new(burst: u32, per_second: u32) -> Self {
        Rate { burst, per_second }
    }
}
