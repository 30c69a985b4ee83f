//! The end of connections: GOAWAY in both directions, graceful and not.

use std::time::Duration;

use super::pair::Pair;
use super::scripted::{Scripted, Written};
use super::{REQUEST, RESPONSE, Seen, fields};
use crate::connection::ids::LAST_CLIENT;
use crate::connection::{Config, Role};
use crate::frame::{Frame, FrameType};
use crate::{ErrorCode, OpenError};

fn goaway(scripted: &mut Scripted, last: u32, code: u32) -> Result<Vec<Seen>, crate::ConnectionError> {
    let payload = [&last.to_be_bytes()[..], &code.to_be_bytes(), b"why"].concat();
    scripted.raw(0x7, 0, 0, &payload)
}

#[test]
fn a_server_ends_in_two_steps() {
    // [9113-5.4.1-2] [9113-6.8-3] [9113-6.8-4]
    // wire-rules 76, 77
    let mut pair = Pair::ready();
    let first = pair.client.connection.open(fields(&REQUEST), true).unwrap();
    pair.settle();
    pair.server.connection.graceful_shutdown(pair.now);
    assert!(pair.server.connection.is_going_away() && !pair.server.connection.is_drained());
    // Opened before the client knows: served.
    let second = pair.client.connection.open(fields(&REQUEST), true).unwrap();
    let happened = pair.settle();
    let goaways: Vec<_> = happened
        .client
        .iter()
        .filter_map(|seen| match seen {
            Seen::GoAway { last_stream, code: ErrorCode::NO_ERROR, .. } => Some(last_stream.value()),
            _ => None,
        })
        .collect();
    assert_eq!(goaways, [0x7fff_ffff, second.id().value()]);
    assert!(!happened.client.iter().any(|seen| matches!(seen, Seen::Refused { .. })));
    let refused = pair.client.connection.open(fields(&REQUEST), true).unwrap_err();
    assert_eq!(refused, OpenError::GoingAway);
    assert!(!pair.client.connection.is_drained());
    for id in [first.id(), second.id()] {
        let key = pair.server.connection.streams.find(id).unwrap();
        pair.server.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    }
    assert!(pair.server.connection.is_drained());
    pair.settle();
    assert!(pair.client.connection.is_drained());
}

#[test]
fn a_client_that_never_answers_the_ping_cannot_hold_up_the_shutdown() {
    let mut scripted =
        Scripted::server(Config { write_stall_timeout: None, trim_after: None, ..Config::server() });
    scripted.request(1, true);
    scripted.connection.graceful_shutdown(scripted.now);
    scripted.connection.graceful_shutdown(scripted.now);
    let kinds: Vec<_> = scripted.written().iter().map(Written::kind).collect();
    assert_eq!(kinds, [FrameType::GoAway, FrameType::Ping]);
    scripted.pass(Duration::from_secs(5)).unwrap();
    assert_eq!(scripted.written_goaway().0, 1);
    assert_eq!(scripted.connection.next_timeout(), None);
}

#[test]
fn the_answer_to_the_ping_of_a_shutdown_is_nobodys_business_however_late() {
    let mut scripted = Scripted::server(Config::server());
    scripted.request(1, true);
    scripted.connection.graceful_shutdown(scripted.now);
    let frames = scripted.written();
    let ping = frames.last().unwrap();
    scripted.pass(Duration::from_secs(5)).unwrap();
    assert_eq!(scripted.written_goaway().0, 1);
    let seen = scripted.raw(0x6, 0x1, 0, &ping.payload).unwrap();
    assert!(seen.is_empty(), "{seen:?}");
    // A second one answers nothing of ours.
    let seen = scripted.raw(0x6, 0x1, 0, &ping.payload).unwrap();
    assert!(matches!(seen[..], [Seen::Pong { .. }]), "{seen:?}");
}

#[test]
fn a_shutdown_before_the_handshake_is_over_at_once() {
    let mut scripted = Scripted::before_handshake(Role::Server, Config::server());
    scripted.connection.graceful_shutdown(scripted.now);
    assert!(scripted.connection.is_drained());
    assert_eq!(scripted.written_goaway().0, 0);
}

#[test]
fn bug_1_streams_after_the_final_goaway_are_ignored_and_their_data_given_back() {
    // [9113-4.3-2] [9113-6.8-5]
    // report 1, RFC 9113 6.8
    let mut scripted = Scripted::server(Config { adaptive_windows: None, ..Config::server() });
    let key = scripted.request(1, false);
    scripted.connection.graceful_shutdown(scripted.now);
    scripted.pass(Duration::from_secs(5)).unwrap();
    scripted.written();
    let mut given = 0;
    for id in (3..103).step_by(2) {
        assert!(scripted.headers(id, &REQUEST, false).unwrap().is_empty());
        assert!(scripted.data(id, &[0; 16_384], false).unwrap().is_empty());
        assert!(scripted.headers(id, &[("x", "1")], true).unwrap().is_empty());
        for frame in scripted.written() {
            let Frame::WindowUpdate(update) = frame.parse() else { panic!("{frame:?}") };
            assert!(update.stream.is_connection());
            given += update.increment;
        }
    }
    assert!(given >= 50 * 16_384 - 512 * 1024, "{given}");
    assert!(scripted.connection.is_open(key));
    assert_eq!(scripted.connection.open_streams(), 1);
}

#[test]
fn a_client_learns_which_calls_were_not_processed() {
    // [9113-6.8-1] [9113-8.7-1]
    // wire-rules 75
    let mut scripted = Scripted::client(Config::client());
    let keys = [0; 4].map(|_| scripted.open(true));
    let seen = goaway(&mut scripted, 3, 2).unwrap();
    let [
        Seen::GoAway { last_stream, code: ErrorCode::INTERNAL_ERROR, debug },
        Seen::Refused { stream: third },
        Seen::Refused { stream: fourth },
    ] = &seen[..]
    else {
        panic!("{seen:?}")
    };
    assert_eq!((last_stream.value(), &debug[..]), (3, &b"why"[..]));
    assert_eq!([*third, *fourth], [keys[2], keys[3]]);
    assert_eq!(scripted.connection.open_streams(), 2);
    assert!(!scripted.connection.can_open() && scripted.connection.is_going_away());
    scripted.respond(keys[0], true);
    // Frames the server sent on a refused stream before are no offence.
    scripted.written();
    scripted.data(5, b"x", false).unwrap();
    assert!(scripted.written().is_empty());
    // A later GOAWAY may lower the last stream.
    assert_eq!(goaway(&mut scripted, 1, 0).unwrap().len(), 2);
    assert!(scripted.connection.is_drained());
}

#[test]
fn a_goaway_never_raises_the_last_stream_and_names_a_stream_of_its_receiver() {
    // [9113-6.8-3]
    // wire-rules 76
    let mut scripted = Scripted::client(Config::client());
    goaway(&mut scripted, 0x7fff_ffff, 0).unwrap();
    goaway(&mut scripted, 5, 0).unwrap();
    assert_eq!(goaway(&mut scripted, 7, 0).unwrap_err().code(), ErrorCode::PROTOCOL_ERROR);
    let mut scripted = Scripted::client(Config::client());
    assert_eq!(goaway(&mut scripted, 2, 0).unwrap_err().code(), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn bug_51_a_clients_goaway_lets_running_responses_complete() {
    // report 51
    let mut scripted = Scripted::server(Config::server());
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    assert_eq!(goaway(&mut scripted, 0, 0).unwrap().len(), 1);
    scripted.write(key, b"still here").unwrap();
    assert!(!scripted.connection.is_drained());
    scripted.connection.end_stream(key).unwrap();
    assert!(scripted.connection.is_drained());
    assert!(scripted.written().last().unwrap().ends_stream());
}

#[test]
fn a_client_says_goodbye_too() {
    // [9113-5.4.1-2]
    let mut scripted = Scripted::client(Config::client());
    let key = scripted.open(true);
    scripted.written();
    scripted.connection.graceful_shutdown(scripted.now);
    assert_eq!(scripted.written_goaway(), (0, ErrorCode::NO_ERROR, String::new()));
    assert!(!scripted.connection.can_open() && !scripted.connection.is_drained());
    scripted.respond(key, true);
    assert!(scripted.connection.is_drained());
}

#[test]
fn abort_says_why_and_ends_everything() {
    let mut scripted = Scripted::server(Config::server());
    let key = scripted.request(1, false);
    scripted.connection.abort(ErrorCode::ENHANCE_YOUR_CALM, &"too_many_pings".repeat(100));
    scripted.connection.abort(ErrorCode::NO_ERROR, "");
    let (last, code, debug) = scripted.written_goaway();
    assert_eq!((last, code, debug.len()), (1, ErrorCode::ENHANCE_YOUR_CALM, 1024));
    assert!(!scripted.connection.is_open(key) && scripted.connection.is_drained());
    assert!(scripted.data(1, b"x", true).unwrap().is_empty());
    scripted.connection.ping([0; 8]);
    scripted.connection.reset(key, ErrorCode::CANCEL);
    assert!(scripted.written().is_empty());
}

#[test]
fn a_client_whose_ids_are_used_up_to_three_quarters_is_going_away() {
    // [9113-5.1.1-3]
    // abuse 30
    let last = LAST_CLIENT;
    let mut scripted = Scripted::client(Config { first_stream_id: last, ..Config::client() });
    assert!(scripted.connection.can_open() && !scripted.connection.is_going_away());
    let key = scripted.open(true);
    assert_eq!(key.id(), last);
    assert_eq!(scripted.connection.open(fields(&REQUEST), true).unwrap_err(), OpenError::IdsExhausted);
    assert!(scripted.connection.is_going_away() && !scripted.connection.is_drained());
    scripted.respond(key, true);
    assert!(scripted.connection.is_drained());
}

#[test]
fn a_server_whose_client_has_used_most_ids_asks_it_to_go() {
    // http2-abuse 30: also one that begins with the highest id of all
    for id in [0x6000_0001, 0x7fff_ffff] {
        let mut scripted = Scripted::server(Config::server());
        let key = scripted.request(id, true);
        assert_eq!(scripted.written_kinds(), [FrameType::GoAway, FrameType::Ping]);
        scripted.raw(0x6, 1, 0, b"draining").unwrap();
        assert_eq!(scripted.written_goaway(), (id, ErrorCode::NO_ERROR, String::new()));
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
        assert!(scripted.connection.is_drained());
    }
    let mut scripted = Scripted::server(Config::server());
    scripted.request(0x5fff_ffff, true);
    assert!(!scripted.connection.is_going_away());
}

#[test]
fn answers_to_pings_that_were_not_sent_do_not_hurry_a_shutdown() {
    // wire-rules 77: the second GOAWAY waits for the answer to the PING behind the first
    let mut scripted = Scripted::server(Config::server());
    let key = scripted.request(1, true);
    scripted.raw(0x6, 1, 0, b"draining").unwrap();
    scripted.connection.graceful_shutdown(scripted.now);
    assert_eq!(scripted.written_kinds(), [FrameType::GoAway, FrameType::Ping]);
    scripted.raw(0x6, 1, 0, b"another!").unwrap();
    // Only a question with the same payload: answered, and no answer.
    scripted.raw(0x6, 0, 0, b"draining").unwrap();
    assert_eq!(scripted.written_kinds(), [FrameType::Ping]);
    let late = scripted.request(3, true);
    scripted.raw(0x6, 1, 0, b"draining").unwrap();
    assert_eq!(scripted.written_goaway(), (3, ErrorCode::NO_ERROR, String::new()));
    for key in [key, late] {
        scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    }
    assert!(scripted.connection.is_drained());
}

#[test]
fn a_client_that_has_said_goodbye_is_left_once_its_streams_have_ended() {
    // RFC 9113 6.8: gracefully, after a moment for the client to close by itself
    let mut scripted = Scripted::server(Config::server());
    let key = scripted.request(1, true);
    for _ in 0..2 {
        scripted.raw(0x7, 0, 0, &[0; 8]).unwrap();
        scripted.pass(Duration::from_mins(1)).unwrap();
        assert_eq!(scripted.written_kinds(), [], "a stream is open");
    }
    scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    scripted.written();
    let mut moments = 0;
    while !scripted.connection.is_shutting_down() {
        scripted.pass(Duration::from_millis(100)).unwrap();
        moments += 1;
    }
    assert!((10..=13).contains(&moments), "{moments}");
    assert_eq!(scripted.written_kinds(), [FrameType::GoAway, FrameType::Ping]);
    scripted.raw(0x6, 1, 0, b"draining").unwrap();
    assert_eq!(scripted.written_goaway(), (1, ErrorCode::NO_ERROR, String::new()));
    assert!(scripted.connection.is_drained());
}

#[test]
fn bug_1_padding_on_refused_streams_is_given_back() {
    // report 1: streams over the limit, and streams behind the final GOAWAY
    for is_going in [false, true] {
        let config = Config { adaptive_windows: None, max_concurrent_streams: Some(1), ..Config::server() };
        let mut scripted = Scripted::server(config);
        let key = scripted.request(1, false);
        if is_going {
            scripted.connection.graceful_shutdown(scripted.now);
            scripted.pass(Duration::from_secs(5)).unwrap();
        }
        scripted.written();
        let payload = [&[255][..], &[0; 16_000]].concat();
        let (mut sent, mut given) = (0, 0);
        for id in (3..203).step_by(2) {
            scripted.headers(id, &REQUEST, false).unwrap();
            scripted.raw(0x0, 0x8, id, &payload).unwrap();
            sent += payload.len() as u32;
            for frame in scripted.written() {
                match frame.parse() {
                    Frame::WindowUpdate(update) if update.stream.is_connection() => given += update.increment,
                    Frame::RstStream(_) => assert!(!is_going),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(given + 512 * 1024 >= sent, "{given} of {sent}");
        assert!(scripted.connection.is_open(key));
    }
}
