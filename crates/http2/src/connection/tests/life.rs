//! The life of a connection in virtual time: idleness, age, drain, peers that do not read.

use std::time::Duration;

use super::scripted::Scripted;
use super::{REQUEST, RESPONSE, fields};
use crate::connection::{Config, Role};
use crate::frame::FrameType;
use crate::{Blame, ConnectionError, ErrorCode};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

impl Scripted {
    /// Lets `time` pass, every timer fired when it is due; octets are only taken by the caller.
    pub(super) fn live(&mut self, time: Duration) -> Result<(), ConnectionError> {
        let until = self.now + time;
        let mut at_once = 0;
        while let Some(at) = self.connection.next_timeout().filter(|at| *at <= until) {
            // Timers must not spin: at one instant only a few can be due one after another.
            at_once = if at <= self.now { at_once + 1 } else { 0 };
            assert!(at_once < 5, "spinning");
            self.now = self.now.max(at);
            self.connection.handle_timeout(self.now)?;
        }
        self.now = until;
        Ok(())
    }

    /// Frames written since the last call, by type.
    pub(super) fn written_kinds(&mut self) -> Vec<FrameType> {
        self.written().iter().map(super::scripted::Written::kind).collect()
    }
}

fn server(change: impl FnOnce(&mut Config)) -> Scripted {
    let mut config = Config::server();
    change(&mut config);
    Scripted::server(config)
}

fn client(change: impl FnOnce(&mut Config)) -> Scripted {
    let mut config = Config::client();
    change(&mut config);
    Scripted::client(config)
}

#[test]
fn a_connection_without_streams_for_long_enough_is_shut_down_in_two_steps() {
    // wire-rules 77
    let mut scripted = server(|config| config.max_idle = Some(8 * MINUTE));
    scripted.live(479 * SECOND).unwrap();
    assert!(!scripted.connection.is_going_away());
    scripted.live(SECOND).unwrap();
    assert_eq!(scripted.written_kinds(), [FrameType::GoAway, FrameType::Ping]);
    scripted.raw(0x6, 1, 0, b"draining").unwrap();
    assert_eq!(scripted.written_goaway().0, 0);
    assert!(scripted.connection.is_drained());
}

#[test]
fn idle_counts_from_the_end_of_the_last_stream() {
    let mut scripted = server(|config| config.max_idle = Some(8 * MINUTE));
    for id in [1, 3, 5] {
        let key = scripted.request(id, true);
        scripted.live(30 * MINUTE).unwrap();
        assert!(!scripted.connection.is_going_away(), "busy");
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        scripted.written();
        scripted.live(7 * MINUTE).unwrap();
        assert!(!scripted.connection.is_going_away(), "idle for 7 minutes");
    }
    scripted.live(2 * MINUTE).unwrap();
    assert!(scripted.connection.is_going_away());
}

#[test]
fn calls_that_come_and_go_between_two_looks_keep_a_connection_from_being_idle() {
    let mut scripted = server(|config| config.max_idle = Some(8 * MINUTE));
    for round in 0..100 {
        let key = scripted.request(2 * round + 1, true);
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        scripted.written();
        scripted.live(7 * MINUTE).unwrap();
        assert!(!scripted.connection.is_going_away(), "{round}");
    }
}

#[test]
fn an_idle_client_says_goodbye() {
    let mut scripted = client(|config| config.max_idle = Some(8 * MINUTE));
    let key = scripted.open(true);
    scripted.written();
    scripted.respond(key, true);
    scripted.live(9 * MINUTE).unwrap();
    assert_eq!(scripted.written_goaway(), (0, ErrorCode::NO_ERROR, String::new()));
    assert!(scripted.connection.is_drained());
}

#[test]
fn pings_do_not_keep_an_idle_connection_alive() {
    let mut scripted = server(|config| config.max_idle = Some(8 * MINUTE));
    scripted.live(5 * MINUTE).unwrap();
    scripted.raw(0x6, 0, 0, &[0; 8]).unwrap();
    scripted.written();
    scripted.live(4 * MINUTE).unwrap();
    assert!(scripted.connection.is_going_away());
}

#[test]
fn a_connection_of_age_is_shut_down_and_what_outlives_the_grace_is_cut() {
    // wire-rules 77
    let mut scripted = server(|config| {
        config.max_age = Some(MINUTE);
        config.drain_timeout = Some(10 * SECOND);
    });
    let key = scripted.request(1, true);
    scripted.live(59 * SECOND).unwrap();
    assert!(!scripted.connection.is_going_away());
    scripted.live(SECOND).unwrap();
    assert_eq!(scripted.written_kinds(), [FrameType::GoAway, FrameType::Ping]);
    scripted.raw(0x6, 1, 0, b"draining").unwrap();
    assert_eq!(scripted.written_goaway().0, 1);
    scripted.live(9 * SECOND).unwrap();
    assert!(scripted.connection.is_open(key));
    let cut = scripted.live(SECOND).unwrap_err();
    assert_eq!((cut.code(), cut.blame()), (ErrorCode::NO_ERROR, Blame::Local));
    assert!(!scripted.connection.is_open(key));
    assert_eq!(scripted.written_goaway(), (1, ErrorCode::NO_ERROR, "drain timeout".into()));
    assert_eq!(scripted.connection.counters().count("drain_timeout"), Some(1));
    assert_eq!(scripted.connection.next_timeout(), None);
}

#[test]
fn a_shutdown_that_drains_in_time_is_not_cut() {
    let mut scripted = server(|config| config.drain_timeout = Some(10 * SECOND));
    let key = scripted.request(1, true);
    scripted.connection.graceful_shutdown(scripted.now);
    scripted.written();
    scripted.live(6 * SECOND).unwrap();
    scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    scripted.written();
    assert!(scripted.connection.is_drained());
    scripted.live(MINUTE).unwrap();
    assert_eq!(scripted.connection.counters().count("drain_timeout"), Some(0));
}

#[test]
fn a_drain_is_bounded_even_if_the_handshake_never_ends() {
    // bug-reports 60
    let mut scripted = Scripted::before_handshake(Role::Server, Config::server());
    scripted.connection.graceful_shutdown(scripted.now);
    assert!(scripted.connection.is_drained());
}

#[test]
fn age_is_kept_during_the_handshake() {
    let mut config = Config::server();
    config.handshake_timeout = None;
    config.max_age = Some(MINUTE);
    let mut scripted = Scripted::before_handshake(Role::Server, config);
    scripted.written();
    // SETTINGS are not acknowledged either, which is found first.
    scripted.live(9 * SECOND).unwrap();
    let late = scripted.live(2 * SECOND).unwrap_err();
    assert_eq!((late.code(), late.blame()), (ErrorCode::SETTINGS_TIMEOUT, Blame::Timeout));
    assert_eq!(scripted.connection.counters().count("settings_timeout"), Some(1));
}

#[test]
fn a_peer_that_takes_no_output_is_given_up_on() {
    // bug-reports 58, 66; http2-abuse 16: and nothing spins meanwhile
    let mut scripted = server(|config| config.write_stall_timeout = Some(80 * SECOND));
    let key = scripted.request(1, false);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.live(79 * SECOND).unwrap();
    let stuck = scripted.live(12 * SECOND).unwrap_err();
    assert_eq!((stuck.reason(), stuck.blame()), ("the peer does not read", Blame::Timeout));
    assert_eq!(scripted.connection.counters().count("write_stall"), Some(1));
    assert_eq!(scripted.connection.next_timeout(), None);
}

#[test]
fn a_peer_that_floods_without_reading_is_given_up_on_all_the_same() {
    let mut scripted = server(|config| config.write_stall_timeout = Some(80 * SECOND));
    scripted.request(1, false);
    scripted.connection.ping([0; 8]);
    let mut stuck = None;
    for _ in 0..100 {
        scripted.raw(0x8, 0, 0, &100_u32.to_be_bytes()).unwrap();
        if let Err(error) = scripted.live(SECOND) {
            stuck = Some(error);
            break;
        }
    }
    assert_eq!(stuck.map(|error| error.reason()), Some("the peer does not read"));
}

#[test]
fn a_slow_reader_is_not_given_up_on() {
    // 10,000 messages of 600 octets, one taken every 30 s
    let mut scripted = server(|config| config.write_stall_timeout = Some(80 * SECOND));
    let key = scripted.request(1, false);
    scripted.window_update(0, 10_000_000).unwrap();
    scripted.window_update(1, 10_000_000).unwrap();
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    for _ in 0..10_000 {
        scripted.write(key, &[7; 600]).unwrap();
    }
    while scripted.connection.poll_output() {
        scripted.live(30 * SECOND).unwrap();
        scripted.connection.advance_output(10_000);
    }
    scripted.live(60 * MINUTE).unwrap();
}

#[test]
fn output_that_leaves_at_once_starts_no_clock_that_could_be_late() {
    let mut scripted = server(|config| config.write_stall_timeout = Some(80 * SECOND));
    for id in (1..2001).step_by(2) {
        let key = scripted.request(id, true);
        scripted.connection.send_headers(key, fields(&REQUEST[..0]), true).unwrap();
        scripted.live(SECOND).unwrap();
        scripted.written();
    }
    scripted.live(60 * MINUTE).unwrap();
    assert_eq!(scripted.connection.next_timeout(), None);
}
