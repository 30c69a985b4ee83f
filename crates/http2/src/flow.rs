//! Flow-control windows with checked arithmetic (RFC 9113, 5.2 and 6.9).
//!
//! [`Window`] is one direction's credit, at the level of a stream or of the connection. [`RecvWindow`] adds
//! what the receiving end keeps: how much it will hand back and when it is worth a WINDOW_UPDATE. All lengths
//! are octets.

/// Credit to send. At most 2^31-1; below zero after the peer lowered SETTINGS_INITIAL_WINDOW_SIZE (6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window(i32);

impl Window {
    /// A window of `size`, at most 2^31-1.
    pub(crate) fn new(size: u32) -> Self {
        Window(i32::try_from(size).unwrap_or(i32::MAX))
    }

    /// What may be sent now.
    // [9113-6.9.2-2]
    #[inline]
    pub(crate) fn available(self) -> usize {
        self.0.max(0) as usize
    }

    /// The signed value, for tests and invariants.
    pub(crate) fn value(self) -> i32 {
        self.0
    }

    /// Uses up `len`, unless it is more than is available.
    #[inline]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "at most what is available, which is at most the value"
    )]
    fn try_spend(&mut self, len: usize) -> bool {
        let is_enough = len <= self.available();
        if is_enough {
            self.0 -= len as i32;
        }
        is_enough
    }

    /// Uses up `len`, which must be available.
    #[inline]
    pub(crate) fn spend(&mut self, len: usize) {
        let is_enough = self.try_spend(len);
        debug_assert!(is_enough, "{len} of {}", self.available());
    }

    /// Adds the increment of a WINDOW_UPDATE (6.9.1).
    // wire-rules 83
    pub(crate) fn credit(&mut self, increment: u32) -> Result<(), WindowOverflow> {
        self.shift(i64::from(increment))
    }

    /// Adds the difference between two values of SETTINGS_INITIAL_WINDOW_SIZE; may leave less than nothing
    /// (6.9.2).
    // wire-rules 83
    // [9113-6.9.1-2] [9113-6.9.2-3]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "32 bits and a difference of two 32-bit numbers in 64"
    )]
    pub(crate) fn shift(&mut self, difference: i64) -> Result<(), WindowOverflow> {
        self.0 = i32::try_from(i64::from(self.0) + difference).map_err(|_| WindowOverflow)?;
        Ok(())
    }
}

/// A window would exceed 2^31-1: FLOW_CONTROL_ERROR (6.9.1, 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowOverflow;

/// What the peer may send us, and what we owe it.
///
/// Invariant: `size` = window + received and still held by the upper layer + released but not yet announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecvWindow {
    window: Window,
    unannounced: u32,
    size: u32,
}

impl RecvWindow {
    pub(crate) fn new(size: u32) -> Self {
        RecvWindow { window: Window::new(size), unannounced: 0, size }
    }

    /// Takes `len` arrived octets off the window; the peer must not have sent more than it was given.
    #[inline]
    pub(crate) fn on_received(&mut self, len: usize) -> Result<(), WindowExceeded> {
        if self.window.try_spend(len) { Ok(()) } else { Err(WindowExceeded) }
    }

    /// [`on_received`](Self::on_received), then [`release`](Self::release) of the same octets: nobody holds any.
    #[inline]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "window and unannounced together are at most the size"
    )]
    pub(crate) fn on_received_and_used(&mut self, len: usize) -> Result<Option<u32>, WindowExceeded> {
        self.on_received(len)?;
        self.unannounced += len as u32;
        Ok(if len == 0 { None } else { self.due() })
    }

    /// Marks `len` received octets as used. Answers the increment of a WINDOW_UPDATE to send now, if half the
    /// window is due: small credits are gathered. More than is held counts as all that is held.
    #[inline]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "at most what is held, and with that at most the size of the window"
    )]
    pub(crate) fn release(&mut self, len: usize) -> Option<u32> {
        let len = len.min(self.held());
        self.unannounced += len as u32;
        if len == 0 { None } else { self.due() }
    }

    /// The increment of a WINDOW_UPDATE to send now, if half the window has gathered.
    #[inline]
    fn due(&mut self) -> Option<u32> {
        if self.unannounced < (self.size / 2).max(1) {
            return None;
        }
        let increment = std::mem::take(&mut self.unannounced);
        // Cannot overflow: window and increment together are at most `size`.
        let _ = self.window.shift(i64::from(increment));
        Some(increment)
    }

    /// Our SETTINGS_INITIAL_WINDOW_SIZE changed from `size` to `new` and the peer knows. Answers the increment of a
    /// WINDOW_UPDATE to send now: what has gathered may be more than the peer has left, and then nothing would
    /// arrive any more whose release could announce it.
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "differences of 32 bits in 64")]
    pub(crate) fn resize(&mut self, new: u32) -> Option<u32> {
        // Cannot overflow: the window is at most `size`, so it ends up at most `new`.
        let _ = self.window.shift(i64::from(new) - i64::from(self.size));
        self.size = new;
        self.due()
    }

    /// Adds `more` to the window and its size, which stays below 2^31; the caller announces it.
    pub(crate) fn grow(&mut self, more: u32) {
        let _ = self.window.shift(i64::from(more));
        self.size = self.size.saturating_add(more);
    }

    /// The whole of it, in octets.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Received and not yet released.
    #[expect(clippy::arithmetic_side_effects, reason = "differences of 32 bits in 64")]
    pub(crate) fn held(&self) -> usize {
        (i64::from(self.size) - i64::from(self.window.value()) - i64::from(self.unannounced)).max(0) as usize
    }

    /// What the peer may send now.
    pub(crate) fn available(&self) -> usize {
        self.window.available()
    }

    /// The signed value.
    #[cfg(test)]
    pub(crate) fn value(&self) -> i32 {
        self.window.value()
    }
}

/// The peer sent more than its window: FLOW_CONTROL_ERROR (6.9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowExceeded;

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = 0x7fff_ffff;

    #[test]
    fn credit_beyond_the_largest_window_is_refused_and_changes_nothing() {
        // [9113-6.9.1-2] [9113-6.9.2-3]
        // wire-rules 83
        let mut window = Window::new(MAX);
        assert_eq!(window.credit(1), Err(WindowOverflow));
        assert_eq!(window.available(), MAX as usize);
        window.spend(1);
        assert_eq!(window.credit(1), Ok(()));
    }

    #[test]
    fn settings_may_push_a_window_below_zero() {
        // [9113-6.9.2-2]
        // wire-rules 83, RFC 9113 6.9.2
        let mut window = Window::new(100);
        window.spend(80);
        window.shift(-90).unwrap();
        assert_eq!((window.value(), window.available()), (-70, 0));
        window.credit(71).unwrap();
        assert_eq!(window.available(), 1);
    }

    #[test]
    fn small_releases_are_gathered_until_half_the_window_is_due() {
        let mut window = RecvWindow::new(1000);
        window.on_received(800).unwrap();
        assert_eq!(window.release(499), None);
        assert_eq!(window.release(1), Some(500));
        assert_eq!((window.available(), window.held()), (700, 300));
    }

    #[test]
    fn more_than_was_received_cannot_be_released() {
        let mut window = RecvWindow::new(10);
        window.on_received(4).unwrap();
        assert_eq!(window.release(100), None);
        assert_eq!((window.available(), window.held()), (6, 0));
        window.on_received(1).unwrap();
        assert_eq!(window.release(100), Some(5));
        assert_eq!(window.available(), 10);
    }

    #[test]
    fn a_window_of_one_octet_still_moves() {
        let mut window = RecvWindow::new(1);
        for _ in 0..3 {
            window.on_received(1).unwrap();
            assert_eq!(window.on_received(1), Err(WindowExceeded));
            assert_eq!(window.release(1), Some(1));
        }
    }

    #[test]
    fn shrinking_keeps_what_is_held() {
        let mut window = RecvWindow::new(65_535);
        window.on_received(60_000).unwrap();
        assert_eq!(window.resize(1_000), None);
        assert_eq!((window.available(), window.held()), (0, 60_000));
        assert_eq!(window.release(60_000), Some(60_000));
        assert_eq!(window.available(), 1_000);
    }
}
