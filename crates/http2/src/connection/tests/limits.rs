//! Floods (wire-rules 87), each beside legitimate traffic that looks like it.

use std::time::Duration;

use super::scripted::Scripted;
use super::{REQUEST, RESPONSE, fields};
use crate::LimitConfig;
use crate::connection::Config;
use crate::{Blame, ConnectionError, ErrorCode};

/// A server without a policy for PING of its own, which would be the first to act.
fn server() -> Scripted {
    Scripted::server(Config { ping_policy: None, ..Config::server() })
}

/// Plays `attack` until the connection ends; answers how often, after checking that it ended for `limit`.
fn flood(
    scripted: &mut Scripted,
    limit: &str,
    most: u32,
    mut attack: impl FnMut(&mut Scripted, u32) -> Result<(), ConnectionError>,
) -> u32 {
    for round in 0..most {
        if let Err(error) = attack(scripted, round) {
            assert_eq!((error.reason(), error.blame()), (limit, Blame::Limit));
            assert_eq!(scripted.written_goaway().1, ErrorCode::ENHANCE_YOUR_CALM);
            return round;
        }
    }
    panic!("{most} rounds and still alive");
}

#[test]
fn rapid_reset_ends_the_connection() {
    // [9113-10.5-1]
    // abuse 1
    let mut scripted = server();
    let rounds = flood(&mut scripted, "resets_received", 20_000, |scripted, round| {
        let id = 2 * round + 1;
        scripted.headers(id, &REQUEST, true)?;
        scripted.rst(id, ErrorCode::CANCEL)?;
        assert_eq!(scripted.connection.open_streams(), 0);
        scripted.written();
        Ok(())
    });
    assert_eq!(rounds, 2000);
}

#[test]
fn a_thousand_cancels_a_second_are_no_attack() {
    // one by one, and in bursts of a client that cancels what a lost page of calls had begun
    for burst in [1, 10, 90] {
        let mut scripted = server();
        for round in 0..10_000 {
            if round % burst == 0 {
                scripted.now += Duration::from_millis(u64::from(burst));
            }
            scripted.request(2 * round + 1, false);
            scripted.rst(2 * round + 1, ErrorCode::CANCEL).unwrap();
            scripted.written();
        }
    }
}

#[test]
fn cancels_at_a_human_pace_and_late_resets_do_not() {
    let mut scripted = server();
    for round in 0..10_000 {
        scripted.now += Duration::from_millis(20);
        let id = 2 * round + 1;
        let key = scripted.request(id, false);
        if round % 2 == 0 {
            // wire-rules 63: the response is complete, the client drops the rest of its request
            scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        }
        scripted.rst(id, ErrorCode::CANCEL).unwrap();
        scripted.written();
    }
}

#[test]
fn half_of_all_calls_may_be_cancelled_however_fast_they_are() {
    let mut scripted = server();
    for round in 0..10_000 {
        let key = scripted.request(2 * round + 1, true);
        if round % 2 == 0 {
            scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        }
        // Also for those that are complete, as some clients do.
        scripted.rst(2 * round + 1, ErrorCode::CANCEL).unwrap();
        scripted.written();
    }
}

#[test]
fn window_updates_for_every_small_message_are_no_attack() {
    let mut scripted = server();
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    for _ in 0..30_000 {
        scripted.write(key, &[7; 37]).unwrap();
        scripted.written();
        scripted.window_update(0, 37).unwrap();
        scripted.window_update(1, 37).unwrap();
    }
}

#[test]
fn bug_97_a_client_that_does_not_know_the_limit_yet_is_refused_not_closed() {
    // [9113-5.1.2-2]
    // everything in one read, before our SETTINGS have arrived
    let mut scripted = server();
    for round in 0..5_000 {
        scripted.headers(2 * round + 1, &REQUEST, true).unwrap();
    }
    assert_eq!(scripted.connection.open_streams(), 100);
}

#[test]
fn provoked_resets_end_the_connection() {
    // abuse 3: each way to make the server reset
    type Provocation = fn(&mut Scripted, u32) -> Result<Vec<super::Seen>, ConnectionError>;
    let provocations: [Provocation; 4] = [
        |scripted, id| scripted.window_update(id, 0),
        |scripted, id| scripted.window_update(id, 0x7fff_ffff),
        |scripted, id| scripted.raw(0x2, 0, id, &id.to_be_bytes()),
        |scripted, id| scripted.headers(id, &[("x", "1")], false),
    ];
    for provoke in provocations {
        let mut scripted = server();
        let rounds = flood(&mut scripted, "resets_provoked", 3000, |scripted, round| {
            let id = 2 * round + 1;
            scripted.headers(id, &REQUEST, false)?;
            provoke(scripted, id)?;
            scripted.written();
            Ok(())
        });
        assert_eq!(rounds, 200);
    }
}

#[test]
fn replies_to_a_peer_that_does_not_read_are_bounded() {
    // abuse 4, 7, 8
    type Ask = fn(&mut Scripted, u32) -> Result<Vec<super::Seen>, ConnectionError>;
    let asks: [Ask; 2] =
        [|scripted, _| scripted.raw(0x6, 0, 0, &[0; 8]), |scripted, _| scripted.raw(0x4, 0, 0, &[])];
    for ask in asks {
        let mut scripted = server();
        let rounds = flood(&mut scripted, "control_backlog", 20_000, |scripted, round| {
            ask(scripted, round)?;
            assert!(scripted.connection.output_len() < 50_000);
            Ok(())
        });
        assert!(rounds <= 1000, "{rounds}");
    }
}

#[test]
fn answers_to_a_peer_that_does_not_read_stop_the_reading() {
    // [9113-5.2.2-1]
    // abuse 16: replies that need no window and end their streams at once
    let mut scripted = server();
    let long = "t".repeat(4000);
    let mut id = 1;
    while scripted.connection.wants_input() {
        let key = scripted.request(id, true);
        let list = [RESPONSE[0], ("grpc-message", &long)];
        scripted.connection.send_headers(key, fields(&list), true).unwrap();
        assert!(scripted.connection.output_len() < 1024 * 1024 + 5000);
        id += 2;
    }
    scripted.written_octets();
    assert!(scripted.connection.wants_input());
}

#[test]
fn pings_that_are_read_go_on_for_ever_at_a_fair_pace() {
    let mut scripted = server();
    for _ in 0..50_000 {
        scripted.now += Duration::from_millis(2);
        scripted.raw(0x6, 0, 0, &[0; 8]).unwrap();
        scripted.written();
    }
}

#[test]
fn credit_by_the_octet_is_housekeeping_even_though_each_moves_data() {
    // http2-abuse 15
    let mut scripted = server();
    scripted.raw(0x4, 0, 0, &[0, 4, 0, 0, 0, 0]).unwrap();
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.write(key, &vec![7; 100_000]).unwrap();
    let rounds = flood(&mut scripted, "housekeeping", 20_000, |scripted, _| {
        scripted.window_update(1, 1)?;
        scripted.written();
        Ok(())
    });
    assert!((10_000..10_010).contains(&rounds), "{rounds}");
}

#[test]
fn housekeeping_without_end_ends_the_connection() {
    // [9113-10.5-1]
    // abuse 7, 8, 13, 15
    for (kind, id, payload) in [
        (0x6, 0, &[0; 8][..]),
        (0x4, 0, &[]),
        (0x2, 1, &[0, 0, 0, 0, 1]),
        (0x8, 0, &[0, 0, 0, 1]),
        (0xbe, 0, &[]),
    ] {
        let mut scripted = server();
        let rounds = flood(&mut scripted, "housekeeping", 100_000, |scripted, _| {
            scripted.raw(kind, 0, id, payload)?;
            scripted.written();
            Ok(())
        });
        assert_eq!(rounds, 10_000);
    }
}

#[test]
fn empty_data_ends_the_connection_and_padding_does_not_hide_it() {
    // abuse 11
    for (flags, payload) in [(0, &[][..]), (8, &[3, 0, 0, 0])] {
        let mut scripted = server();
        scripted.request(1, false);
        let rounds = flood(&mut scripted, "empty_data", 10_000, |scripted, _| {
            assert!(scripted.raw(0x0, flags, 1, payload)?.is_empty());
            Ok(())
        });
        // The first is free.
        assert_eq!(rounds, 101);
    }
}

#[test]
fn an_empty_frame_a_call_or_a_message_is_no_attack() {
    let mut scripted = server();
    for round in 0..1000 {
        let id = 2 * round + 1;
        let key = scripted.request(id, false);
        for _ in 0..10 {
            scripted.data(id, b"", false).unwrap();
            scripted.data(id, b"message", false).unwrap();
        }
        scripted.data(id, b"", false).unwrap();
        scripted.data(id, b"", true).unwrap();
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        scripted.written();
    }
}

#[test]
fn empty_data_on_a_stream_that_is_gone_is_housekeeping() {
    // abuse 11
    let mut scripted = server();
    let key = scripted.request(1, false);
    scripted.connection.reset(key, ErrorCode::CANCEL);
    scripted.written();
    let rounds = flood(&mut scripted, "housekeeping", 20_000, |scripted, _| {
        assert!(scripted.data(1, b"", false)?.is_empty());
        Ok(())
    });
    assert!((10_000..10_010).contains(&rounds), "{rounds}");
}

#[test]
fn tiny_data_is_limited_by_its_window_only() {
    // abuse 12: a stream of small messages is no attack
    let mut scripted = server();
    let key = scripted.request(1, false);
    for _ in 0..300_000 {
        scripted.data(1, b"x", false).unwrap();
        scripted.connection.release(key, 1);
        if scripted.connection.output_len() > 1000 {
            scripted.written();
        }
    }
}

#[test]
fn limits_are_options() {
    let mut limits = LimitConfig::default();
    limits.empty_data.burst = 5;
    let mut scripted = Scripted::server(Config { limits, ..Config::server() });
    scripted.request(1, false);
    assert_eq!(
        flood(&mut scripted, "empty_data", 100, |scripted, _| scripted.data(1, b"", false).map(drop)),
        6
    );
}

#[test]
fn frames_that_answer_nothing_are_bounded_too() {
    // wire-rules 87: acknowledgements that nobody asked for, farewells without end, credit and resets for what is over
    type Sent = (u8, u8, u32, &'static [u8]);
    let kinds: [Sent; 6] = [
        (0x6, 1, 0, &[0; 8]),
        (0x4, 1, 0, &[]),
        (0x7, 0, 0, &[0; 8]),
        (0x8, 0, 1, &[0, 0, 0, 1]),
        (0x3, 0, 1, &[0, 0, 0, 8]),
        (0x10, 0, 0, &[0, 0, 0, 1, b'u']),
    ];
    for (kind, flags, id, payload) in kinds {
        let mut scripted = server();
        let key = scripted.request(1, true);
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        scripted.written();
        let ended = (0..200_000).find_map(|_| {
            let result = scripted.raw(kind, flags, id, payload).err();
            scripted.written();
            result
        });
        let error = ended.unwrap_or_else(|| panic!("frames of type {kind} go on for ever"));
        assert!(
            [ErrorCode::ENHANCE_YOUR_CALM, ErrorCode::PROTOCOL_ERROR, ErrorCode::STREAM_CLOSED]
                .contains(&error.code()),
            "type {kind}: {error}"
        );
    }
}
