//! PINGs of ours that find out whether the peer is still there (wire-rules 78). Asked by `timeouts` when its timer
//! fires.
//!
//! Octets that arrive touch nothing here: the timer fires at the earliest time at which the peer could have been
//! silent for too long, and looks when something came last.

use std::time::{Duration, Instant};

use super::watch::after;

/// When to ask a silent peer for a sign of life, and how long to wait for it
/// ([`Config::keepalive`](super::Config::keepalive)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// A PING goes out when nothing at all was received for so long. A channel raises less than 10 s to
    /// 10 s, as the gRPC texts ask (gRFC A8), since servers close the connections of clients that ask more often than
    /// they allow.
    pub interval: Duration,
    /// The connection ends when so long after the PING still nothing was received. While other output is in
    /// front of the PING and the peer takes some of that, it waits so long again:
    /// [`write_stall_timeout`](super::Config::write_stall_timeout) judges peers that do not.
    pub timeout: Duration,
    /// Whether a connection without streams is asked as well. A server does so as a rule; most servers allow
    /// a client no more than one such PING in two hours.
    pub without_streams: bool,
}

/// The machine.
///
/// ```text
///            +-- silent for interval: PING --> Asked --nothing for timeout--> (the connection ends)
///   Watching<+--------something came------------+
///            +-- silent, no streams, without_streams off --> Asleep --a stream opens, or something comes--> Watching
/// ```
#[derive(Debug)]
pub(super) struct Pulse {
    config: Keepalive,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Waits for silence.
    Watching,
    /// A PING is out.
    Asked {
        at: Instant,
        /// Where the PING ends in the stream of output octets.
        end: u64,
        /// How many of those had left at the last look.
        taken: u64,
    },
    /// Without a timer.
    Asleep,
}

/// How the connection is when the timer fires.
#[derive(Debug)]
pub(super) struct Vitals {
    pub(super) received_at: Instant,
    pub(super) has_streams: bool,
    /// Output octets that have left since the connection began.
    pub(super) taken: u64,
    /// Where the next octet of output will end, less one.
    pub(super) output_end: u64,
    /// We read what comes.
    pub(super) reads: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// Look again then.
    Again(Instant),
    /// Send [`KEEPALIVE_PING`] and look again then.
    Ping(Instant),
    /// Nothing until [`Pulse::wake`].
    Sleep,
    /// The peer is gone.
    Dead,
}

impl Pulse {
    /// Begins to watch; the first look is due an interval after the last octet.
    pub(super) fn new(config: Keepalive) -> Self {
        Pulse { config, state: State::Watching }
    }

    /// The timer has fired.
    pub(super) fn on_timer(&mut self, vitals: &Vitals, now: Instant) -> Beat {
        match self.state {
            State::Watching | State::Asleep => self.watch(vitals, now),
            State::Asked { at, .. } if vitals.received_at > at => {
                self.state = State::Watching;
                self.watch(vitals, now)
            }
            // The PING may not have reached the peer, or its answer us.
            State::Asked { at, end, taken }
                if taken != vitals.taken && (vitals.taken < end || !vitals.reads) =>
            {
                self.state = State::Asked { at, end, taken: vitals.taken };
                Beat::Again(after(now, self.config.timeout))
            }
            State::Asked { .. } => Beat::Dead,
        }
    }

    /// The answer has come, which the time of receipt tells as well unless it is the very time of the PING.
    /// Whether it was waited for.
    pub(super) fn on_pong(&mut self) -> bool {
        let is_asked = matches!(self.state, State::Asked { .. });
        if is_asked {
            self.state = State::Watching;
        }
        is_asked
    }

    /// A stream has opened or something was received: when to look, if nothing was looked at until now.
    pub(super) fn wake(&mut self, received_at: Instant) -> Option<Instant> {
        if !matches!(self.state, State::Asleep) {
            return None;
        }
        self.state = State::Watching;
        Some(after(received_at, self.config.interval))
    }

    fn watch(&mut self, vitals: &Vitals, now: Instant) -> Beat {
        let due = after(vitals.received_at, self.config.interval);
        if now < due {
            Beat::Again(due)
        } else if vitals.has_streams || self.config.without_streams {
            let end = vitals.output_end.saturating_add(PING_LEN);
            self.state = State::Asked { at: now, end, taken: vitals.taken };
            Beat::Ping(after(now, self.config.timeout))
        } else {
            self.state = State::Asleep;
            Beat::Sleep
        }
    }
}

/// Payload of the PINGs.
pub(super) const KEEPALIVE_PING: [u8; 8] = *b"alive?!?";

/// Octets of a PING frame.
const PING_LEN: u64 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const CONFIG: Keepalive = Keepalive {
        interval: Duration::from_secs(30),
        timeout: Duration::from_secs(20),
        without_streams: false,
    };

    fn vitals(received_at: Instant) -> Vitals {
        Vitals { received_at, has_streams: true, taken: 100, output_end: 100, reads: true }
    }

    #[test]
    fn silence_is_asked_about_and_silence_after_that_is_death() {
        let start = Instant::now();
        let mut pulse = Pulse::new(CONFIG);
        let at = |seconds| start + seconds * SECOND;
        assert_eq!(pulse.on_timer(&vitals(at(5)), at(30)), Beat::Again(at(35)));
        assert_eq!(pulse.on_timer(&vitals(at(5)), at(35)), Beat::Ping(at(55)));
        assert_eq!(pulse.on_timer(&vitals(at(5)), at(55)), Beat::Dead);
    }

    #[test]
    fn anything_received_is_an_answer() {
        let start = Instant::now();
        let at = |seconds| start + seconds * SECOND;
        let mut pulse = Pulse::new(CONFIG);
        assert_eq!(pulse.on_timer(&vitals(at(0)), at(30)), Beat::Ping(at(50)));
        assert_eq!(pulse.on_timer(&vitals(at(31)), at(50)), Beat::Again(at(61)));
        assert_eq!(pulse.on_timer(&vitals(at(31)), at(61)), Beat::Ping(at(81)));
        // Later than the next interval: asked again at once.
        assert_eq!(pulse.on_timer(&vitals(at(62)), at(120)), Beat::Ping(at(140)));
    }

    #[test]
    fn without_streams_nobody_is_asked_until_there_is_one() {
        let start = Instant::now();
        let at = |seconds| start + seconds * SECOND;
        let mut pulse = Pulse::new(CONFIG);
        assert_eq!(pulse.wake(at(0)), None);
        let idle = Vitals { has_streams: false, ..vitals(at(0)) };
        assert_eq!(pulse.on_timer(&idle, at(30)), Beat::Sleep);
        assert_eq!(pulse.wake(at(0)), Some(at(30)));
        assert_eq!(pulse.on_timer(&vitals(at(0)), at(500)), Beat::Ping(at(520)));
        let mut always = Pulse::new(Keepalive { without_streams: true, ..CONFIG });
        assert_eq!(always.on_timer(&idle, at(30)), Beat::Ping(at(50)));
    }

    #[test]
    fn a_ping_behind_output_that_leaves_slowly_is_waited_for() {
        let start = Instant::now();
        let at = |seconds| start + seconds * SECOND;
        let mut pulse = Pulse::new(CONFIG);
        let queued = |taken, reads| Vitals { output_end: 5000, taken, reads, ..vitals(start) };
        assert_eq!(pulse.on_timer(&queued(100, true), at(30)), Beat::Ping(at(50)));
        assert_eq!(pulse.on_timer(&queued(3000, true), at(50)), Beat::Again(at(70)));
        assert_eq!(pulse.on_timer(&queued(5016, true), at(70)), Beat::Again(at(90)));
        // It has left; but while we do not read, no answer can come.
        assert_eq!(pulse.on_timer(&queued(6000, false), at(90)), Beat::Again(at(110)));
        assert_eq!(pulse.on_timer(&queued(7000, true), at(110)), Beat::Dead);
    }

    #[test]
    fn a_peer_that_takes_nothing_is_dead_even_if_the_ping_never_left() {
        let start = Instant::now();
        let mut pulse = Pulse::new(CONFIG);
        let queued = Vitals { output_end: 5000, ..vitals(start) };
        assert_eq!(pulse.on_timer(&queued, start + 30 * SECOND), Beat::Ping(start + 50 * SECOND));
        assert_eq!(pulse.on_timer(&queued, start + 50 * SECOND), Beat::Dead);
    }
}
