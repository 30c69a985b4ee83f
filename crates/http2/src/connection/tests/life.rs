//! The life of a connection in virtual time: idleness, age, drain, peers that do not read.

use std::sync::Arc;
use std::time::Duration;

use super::scripted::Scripted;
use super::{REQUEST, RESPONSE, Seen, fields};
use crate::connection::adaptive::PROBE_PING;
use crate::connection::keepalive::KEEPALIVE_PING;
use crate::connection::{AdaptiveWindows, Config, Initiator, Keepalive, Role};
use crate::frame::{Frame, FrameType};
use crate::{Blame, ConnectionError, ErrorCode, StreamId, WindowBudget};

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
fn bug_58_66_a_peer_that_takes_no_output_is_given_up_on() {
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
fn what_an_encrypting_stream_holds_back_is_watched_like_output() {
    // http2-abuse 16, wire-rules 77: the reply is in the stream's own buffer, where no timer of ours saw it
    let mut scripted = server(|config| config.write_stall_timeout = Some(80 * SECOND));
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    scripted.written();
    scripted.connection.set_held_back(true);
    scripted.live(60 * SECOND).unwrap();
    scripted.connection.set_held_back(false);
    scripted.live(60 * MINUTE).unwrap();
    scripted.connection.set_held_back(true);
    scripted.live(79 * SECOND).unwrap();
    let stuck = scripted.live(12 * SECOND).unwrap_err();
    assert_eq!((stuck.reason(), stuck.blame()), ("the peer does not read", Blame::Timeout));
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

#[test]
fn bug_63_64_a_silent_peer_is_asked_and_given_up_on() {
    // wire-rules 78, bug-reports 63, 64: either side
    let keepalive = Keepalive { interval: 30 * SECOND, timeout: 20 * SECOND, without_streams: false };
    for role in [Role::Client, Role::Server] {
        let mut scripted = match role {
            Role::Client => client(|config| config.keepalive = Some(keepalive)),
            Role::Server => server(|config| config.keepalive = Some(keepalive)),
        };
        match role {
            Role::Client => scripted.open(true),
            Role::Server => scripted.request(1, true),
        };
        scripted.written();
        for _ in 0..5 {
            scripted.live(30 * SECOND).unwrap();
            assert_eq!(scripted.written_kinds(), [FrameType::Ping]);
            scripted.live(19 * SECOND).unwrap();
            // Swallowed: nobody above asked.
            assert!(scripted.raw(0x6, 1, 0, &KEEPALIVE_PING).unwrap().is_empty());
        }
        scripted.live(31 * SECOND).unwrap();
        assert_eq!(scripted.written_kinds(), [FrameType::Ping]);
        let dead = scripted.live(20 * SECOND).unwrap_err();
        assert_eq!((dead.reason(), dead.blame()), ("keepalive timeout", Blame::Timeout));
        assert_eq!(scripted.connection.counters().count("keepalive_timeout"), Some(1));
        assert_eq!(scripted.connection.open_streams(), 0);
    }
}

#[test]
fn a_client_without_streams_sends_no_pings_until_it_has_one() {
    let keepalive = Keepalive { interval: 30 * SECOND, timeout: 20 * SECOND, without_streams: false };
    let mut scripted = client(|config| {
        config.keepalive = Some(keepalive);
        config.trim_after = None;
    });
    scripted.live(60 * MINUTE).unwrap();
    assert!(scripted.written().is_empty());
    assert_eq!(scripted.connection.next_timeout(), None);
    scripted.open(true);
    scripted.written();
    // The silence before counts.
    scripted.live(SECOND).unwrap();
    assert_eq!(scripted.written_kinds(), [FrameType::Ping]);
    assert!(scripted.live(20 * SECOND).is_err());
}

#[test]
fn the_third_ping_too_soon_is_one_too_many() {
    // wire-rules 79, http2-abuse 7
    let mut scripted = server(|_| {});
    scripted.request(1, true);
    for _ in 0..3 {
        scripted.raw(0x6, 0, 0, &[0; 8]).unwrap();
        assert_eq!(scripted.written_kinds(), [FrameType::Ping]);
        scripted.live(100 * SECOND).unwrap();
    }
    let error = scripted.raw(0x6, 0, 0, &[0; 8]).unwrap_err();
    assert_eq!((error.code(), error.blame()), (ErrorCode::ENHANCE_YOUR_CALM, Blame::Limit));
    assert_eq!(scripted.written_goaway(), (1, ErrorCode::ENHANCE_YOUR_CALM, "too_many_pings".into()));
    let counters = scripted.connection.counters();
    assert_eq!((counters.count("ping_strikes"), counters.count("too_many_pings")), (Some(2), Some(1)));
}

#[test]
fn pings_between_messages_are_no_strikes() {
    // wire-rules 79: a client that measures round trips while it receives
    let mut scripted = server(|_| {});
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.window_update(1, 1_000_000).unwrap();
    for _ in 0..100 {
        scripted.write(key, b"message").unwrap();
        scripted.written();
        scripted.raw(0x6, 0, 0, &[0; 8]).unwrap();
        scripted.raw(0x6, 0, 0, &[1; 8]).unwrap();
    }
    assert_eq!(scripted.connection.counters().count("too_many_pings"), Some(0));
}

#[test]
fn bug_62_acknowledgements_of_pings_are_no_strikes() {
    // bug-reports 62: keepalive of a server whose client answers
    let keepalive = Keepalive { interval: SECOND, timeout: SECOND, without_streams: true };
    let mut scripted = server(|config| config.keepalive = Some(keepalive));
    for _ in 0..100 {
        scripted.live(SECOND).unwrap();
        assert_eq!(scripted.written_kinds(), [FrameType::Ping]);
        scripted.raw(0x6, 1, 0, &KEEPALIVE_PING).unwrap();
    }
}

#[test]
fn a_stream_that_gets_no_window_is_reset_and_others_live_on() {
    // http2-abuse 17
    let mut scripted = server(|config| config.stream_stall_timeout = Some(4 * MINUTE));
    scripted.raw(0x4, 0, 0, &[0, 4, 0, 0, 0, 0]).unwrap();
    let [stuck, slow, idle] = [1, 3, 5].map(|id| {
        let key = scripted.request(id, true);
        scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
        key
    });
    scripted.write(stuck, &[7; 1000]).unwrap();
    scripted.write(slow, &[7; 1000]).unwrap();
    let mut seen = Vec::new();
    for minute in 1..=5 {
        scripted.written();
        scripted.live(MINUTE).unwrap();
        seen.extend(
            std::iter::from_fn(|| scripted.connection.poll_event()).map(|event| (minute, Seen::from(event))),
        );
        scripted.window_update(3, 1).unwrap();
    }
    let [(5, Seen::Reset { stream, code: ErrorCode::CANCEL, initiator: Initiator::Engine })] = seen[..]
    else {
        panic!("{seen:?}")
    };
    assert_eq!(stream, stuck);
    assert_eq!(scripted.connection.counters().count("stream_stall"), Some(1));
    assert!(scripted.connection.is_open(slow) && scripted.connection.is_open(idle));
    let reset = scripted.written();
    assert!(
        reset.iter().any(|frame| frame.kind() == FrameType::RstStream && frame.stream() == 1),
        "{reset:?}"
    );
}

#[test]
fn a_full_socket_is_no_stall_of_streams() {
    let mut scripted = server(|config| {
        config.stream_stall_timeout = Some(4 * MINUTE);
        config.write_stall_timeout = None;
        config.write_buffer_high_water = 10_000;
    });
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    for _ in 0..30 {
        scripted.write(key, &[7; 1000]).unwrap();
    }
    scripted.connection.poll_output();
    scripted.live(60 * MINUTE).unwrap();
    assert!(scripted.connection.is_open(key));
}

#[test]
fn a_quiet_connection_gives_memory_back_and_stops_its_clock() {
    let mut scripted = server(|_| {});
    for id in (1..201).step_by(2) {
        let key = scripted.request(id, true);
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    }
    scripted.written();
    scripted.live(9 * SECOND).unwrap();
    scripted.raw(0x6, 0, 0, &[0; 8]).unwrap();
    scripted.written();
    scripted.live(9 * SECOND).unwrap();
    assert!(scripted.connection.streams.footprint() > 0);
    scripted.live(20 * SECOND).unwrap();
    assert_eq!(scripted.connection.streams.footprint(), 0);
    assert_eq!(scripted.connection.next_timeout(), None);
    // Used again, it is looked at again.
    let key = scripted.request(201, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    scripted.written();
    scripted.live(20 * SECOND).unwrap();
    assert_eq!(scripted.connection.streams.footprint(), 0);
}

/// Plays an upload over a path of 40 ms there and back that carries all a window allows, to a reader that keeps up;
/// answers how many octets the last round trip brought, and how many PINGs went out.
fn upload(scripted: &mut Scripted, id: u32, round_trips: u32) -> (usize, usize) {
    let key = scripted.request(id, false);
    let (mut stream, mut connection) = (scripted.connection.config.initial_window_size as usize, 0);
    let (mut last, mut pings) = (0, 0);
    connection += scripted.connection.recv_window.available();
    for _ in 0..round_trips {
        last = stream.min(connection);
        (stream, connection) = (stream - last, connection - last);
        for chunk in vec![7; last].chunks(16_384) {
            scripted.data(id, chunk, false).unwrap();
            scripted.connection.release(key, chunk.len());
        }
        scripted.now += Duration::from_millis(40);
        let mut credit = |frames: Vec<super::scripted::Written>| {
            let mut answer = false;
            for frame in frames {
                match frame.parse() {
                    Frame::WindowUpdate(update) if update.stream.is_connection() => {
                        connection += update.increment as usize;
                    }
                    Frame::WindowUpdate(update) => stream += update.increment as usize,
                    Frame::Ping(ping) => {
                        assert_eq!(ping.payload, PROBE_PING);
                        pings += 1;
                        answer = true;
                    }
                    other => panic!("{other:?}"),
                }
            }
            answer
        };
        let frames = scripted.written();
        if credit(frames) {
            assert!(scripted.raw(0x6, 1, 0, &PROBE_PING).unwrap().is_empty(), "nobody above hears of it");
            let frames = scripted.written();
            credit(frames);
        }
    }
    (last, pings)
}

#[test]
fn windows_grow_until_they_no_longer_hold_up_an_upload() {
    // bug-reports 13: the connection's window with the stream's
    let budget = Arc::new(WindowBudget::new(100 * 1024 * 1024));
    let adaptive = AdaptiveWindows { budget: Some(Arc::clone(&budget)), ..AdaptiveWindows::default() };
    let mut scripted = server(|config| config.adaptive_windows = Some(adaptive));
    let (last, pings) = upload(&mut scripted, 1, 40);
    assert!(last > 1_900_000, "{last} octets a round trip, from 256 KiB");
    assert!(pings >= 4, "{pings}");
    let max_growth = 4 * 1024 * 1024 - 256 * 1024;
    assert!(budget.used() <= max_growth && budget.used() > 1_000_000, "{}", budget.used());
    scripted.rst(1, ErrorCode::CANCEL).unwrap();
    assert_eq!(budget.used(), 0, "given back with the stream");
    // The next stream knows the path already.
    let (last, _) = upload(&mut scripted, 3, 6);
    assert!(last > 1_900_000, "{last}");
    assert!(budget.used() > 0);
    drop(scripted);
    assert_eq!(budget.used(), 0, "given back with the connection");
}

#[test]
fn without_budget_or_permission_windows_stay_as_they_are() {
    let none =
        AdaptiveWindows { budget: Some(Arc::new(WindowBudget::new(1000))), ..AdaptiveWindows::default() };
    for adaptive in [None, Some(none)] {
        let mut scripted = server(|config| config.adaptive_windows.clone_from(&adaptive));
        let (last, pings) = upload(&mut scripted, 1, 40);
        assert!(last <= 256 * 1024, "{last}");
        assert_eq!(pings > 0, adaptive.is_some());
    }
}

#[test]
fn small_calls_cost_no_probe_each() {
    let mut scripted = server(|_| {});
    let mut pings = 0;
    for round in 0..10_000 {
        let id = 2 * round + 1;
        let key = scripted.request(id, false);
        scripted.data(id, &[7; 100], true).unwrap();
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        pings += scripted.written_kinds().iter().filter(|kind| **kind == FrameType::Ping).count();
    }
    // A megabyte: half of the connection's window, once.
    assert_eq!(pings, 1);
}

#[test]
fn a_reader_that_does_not_read_is_sent_no_more_than_was_configured() {
    // http2-abuse 12: whatever the peer does, only what the application reads makes windows grow
    let mut scripted = server(|_| {});
    let mut held = 0;
    for id in (1..201).step_by(2) {
        scripted.request(id, false);
        for _ in 0..16 {
            scripted.data(id, &[7; 16_384], false).unwrap();
            held += 16_384;
        }
        for frame in scripted.written() {
            match frame.parse() {
                Frame::WindowUpdate(update) => assert!(update.stream.is_connection()),
                Frame::Ping(ping) => drop(scripted.raw(0x6, 1, 0, &ping.payload).unwrap()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(
            scripted.connection.streams.find(StreamId::new(id)).map(|key| {
                scripted.connection.streams.get(key).map(|stream| stream.recv_window.available())
            }),
            Some(Some(0))
        );
    }
    assert_eq!(held, 100 * 256 * 1024);
}
