//! One direction between two ends: octets leave in slices, take their time, pile up, stop, or never come.
//!
//! It can also slip frames of its own in between, at frame boundaries: what a legal peer of another make might send.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::scripted::take_output;
use crate::connection::{Connection, input::PREFACE};
use crate::frame::{FRAME_HEADER_LEN, Flags, FrameHeader, FrameType};

/// Octets on their way from one end to the other.
#[derive(Debug)]
pub(super) struct Link {
    /// What is on its way, with the time at which it arrives.
    chunks: VecDeque<(Instant, Vec<u8>)>,
    /// Octets in `chunks`.
    octets: usize,
    /// Octets taken in each millisecond.
    pub(super) most: usize,
    /// The way from end to end.
    pub(super) delay: Duration,
    /// Octets that fit in between: a peer that stops reading fills this first.
    pub(super) room: usize,
    stalled_until: Option<Instant>,
    /// Nothing follows what is on its way.
    closed: bool,
    /// What is written goes nowhere.
    cut: bool,
    /// The millisecond of `budget` and what is left of it.
    budget: (Option<Instant>, usize),
    boundary: Boundary,
    foreign: VecDeque<Vec<u8>>,
}

impl Link {
    /// From a client if the preface comes first.
    pub(super) fn new(from_client: bool) -> Self {
        Link {
            chunks: VecDeque::new(),
            octets: 0,
            most: usize::MAX,
            delay: Duration::ZERO,
            room: usize::MAX,
            stalled_until: None,
            closed: false,
            cut: false,
            budget: (None, 0),
            boundary: Boundary::new(if from_client { PREFACE.len() } else { 0 }),
            foreign: VecDeque::new(),
        }
    }

    /// Takes output as far as there is room, as a socket does. True if it took any.
    pub(super) fn take(&mut self, connection: &mut Connection, now: Instant) -> bool {
        if self.budget.0 != Some(now) {
            self.budget = (Some(now), self.most);
        }
        let mut moved = false;
        while connection.poll_output() {
            self.slip_in(now);
            let most = self.budget.1.min(self.room.saturating_sub(self.octets));
            if most == 0 {
                break;
            }
            // Stops at a frame boundary if something waits to be slipped in.
            let most = if self.foreign.is_empty() { most } else { most.min(self.boundary.distance()) };
            let mut chunk = Vec::new();
            take_output(connection, most, &mut chunk);
            assert!(!chunk.is_empty(), "output without octets");
            self.budget.1 -= chunk.len();
            self.push(chunk, now);
            moved = true;
        }
        self.slip_in(now);
        moved
    }

    fn slip_in(&mut self, now: Instant) {
        while self.boundary.is_between_frames()
            && let Some(frame) = self.foreign.pop_front()
        {
            self.push(frame, now);
        }
    }

    fn push(&mut self, chunk: Vec<u8>, now: Instant) {
        self.boundary.pass(&chunk);
        if self.cut || self.closed {
            return;
        }
        self.octets += chunk.len();
        // A shorter way does not overtake what is ahead.
        let ahead = self.chunks.back().map_or(now, |(at, _)| *at);
        self.chunks.push_back((ahead.max(now + self.delay), chunk));
    }

    /// Hands over what has arrived. True if there was any.
    pub(super) fn deliver(&mut self, now: Instant, into: &mut Vec<u8>) -> bool {
        if self.is_stalled(now) {
            return false;
        }
        let mut any = false;
        while let Some((at, _)) = self.chunks.front()
            && *at <= now
            && let Some((_, chunk)) = self.chunks.pop_front()
        {
            self.octets -= chunk.len();
            into.extend_from_slice(&chunk);
            any = true;
        }
        any
    }

    /// The reader has seen all there will ever be.
    pub(super) fn is_at_end(&self, now: Instant) -> bool {
        (self.closed || self.cut) && self.chunks.is_empty() && !self.is_stalled(now)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.foreign.is_empty()
    }

    /// Nothing moves for `time`.
    pub(super) fn stall(&mut self, now: Instant, time: Duration) {
        let until = now + time;
        self.stalled_until = Some(self.stalled_until.map_or(until, |earlier| earlier.max(until)));
    }

    /// The writer is done.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The way is gone, with what is on it.
    pub(super) fn cut(&mut self) {
        self.cut = true;
        self.chunks.clear();
        self.octets = 0;
    }

    /// All comes through at once from now on.
    pub(super) fn heal(&mut self) {
        self.most = usize::MAX;
        self.delay = Duration::ZERO;
        self.room = usize::MAX;
        self.stalled_until = None;
        self.budget = (None, 0);
    }

    /// Puts a frame of a stranger between two frames of the writer.
    pub(super) fn inject(&mut self, frame: Vec<u8>) {
        self.foreign.push_back(frame);
    }

    /// When something will have happened without anybody's doing.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let (arrives, _) = self.chunks.front()?;
        let moves = self.stalled_until.filter(|until| *until > now).unwrap_or(now);
        Some((*arrives).max(moves))
    }

    /// A writer with output may go on in the next millisecond.
    pub(super) fn takes_more_later(&self) -> bool {
        self.octets < self.room
    }

    /// What is on its way, appended to `into`.
    pub(super) fn copy_to(&self, into: &mut Vec<u8>) {
        for (_, chunk) in &self.chunks {
            into.extend_from_slice(chunk);
        }
    }

    /// Octets on their way.
    pub(super) fn len(&self) -> usize {
        self.octets
    }

    fn is_stalled(&self, now: Instant) -> bool {
        self.stalled_until.is_some_and(|until| until > now)
    }
}

/// Follows frames in a stream of octets.
#[derive(Debug)]
struct Boundary {
    header: Vec<u8>,
    /// Octets of the preface or of a payload still to come.
    left: usize,
    /// Whole frames so far.
    frames: usize,
    /// A header block is open: only CONTINUATION may follow.
    in_block: bool,
}

impl Boundary {
    fn new(left: usize) -> Self {
        Boundary { header: Vec::new(), left, frames: 0, in_block: false }
    }

    fn is_between_frames(&self) -> bool {
        // The first frame must be the writer's own SETTINGS (3.4).
        self.left == 0 && self.header.is_empty() && self.frames > 0 && !self.in_block
    }

    /// Octets that lead at most to the next boundary.
    fn distance(&self) -> usize {
        if self.left > 0 { self.left } else { FRAME_HEADER_LEN - self.header.len() }
    }

    fn pass(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() {
            let (now, later) = octets.split_at(octets.len().min(self.distance()));
            octets = later;
            if self.left > 0 {
                self.left -= now.len();
                continue;
            }
            self.header.extend_from_slice(now);
            if let Some(header) = FrameHeader::parse(&self.header) {
                self.header.clear();
                self.left = header.frame_len() - FRAME_HEADER_LEN;
                self.frames += 1;
                if matches!(header.kind, FrameType::Headers | FrameType::Continuation) {
                    self.in_block = !header.flags.contains(Flags::END_HEADERS);
                }
            }
        }
    }
}
