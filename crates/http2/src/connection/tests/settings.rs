//! SETTINGS: what we say first, what we make of the peer's, and the timers around both.

use std::time::Duration;

use super::Seen;
use super::scripted::Scripted;
use crate::connection::{Config, Role, input::PREFACE};
use crate::frame::{Frame, FrameType, Setting, WindowUpdate};
use crate::{Blame, ErrorCode};

#[test]
fn both_ends_begin_with_settings_and_a_large_window() {
    // [9113-3.4-1] [9113-3.4-2] [9113-6.5-1] [9113-6.9.2-4]
    // wire-rules 86, report 13
    let mut scripted = Scripted::before_handshake(Role::Client, Config::client());
    assert!(scripted.written_octets().starts_with(PREFACE));
    for (role, config) in [(Role::Client, Config::client()), (Role::Server, Config::server())] {
        let mut scripted = Scripted::before_handshake(role, config);
        let frames = scripted.written();
        let Frame::Settings(settings) = frames[0].parse() else { panic!("{frames:?}") };
        let said: Vec<_> = settings.iter().collect();
        assert!(said.contains(&Setting::InitialWindowSize(256 * 1024)));
        assert!(said.contains(&Setting::MaxHeaderListSize(16 * 1024)));
        assert_eq!(said.contains(&Setting::EnablePush(0)), role == Role::Client);
        assert_eq!(said.contains(&Setting::MaxConcurrentStreams(100)), role == Role::Server);
        let Frame::WindowUpdate(WindowUpdate { stream, increment }) = frames[1].parse() else { panic!() };
        assert_eq!((stream.value(), increment), (0, 1024 * 1024 - 65_535));
    }
}

#[test]
fn senseless_configurations_are_clamped() {
    // [9113-6.5.2-6]
    let config = Config {
        initial_window_size: u32::MAX,
        connection_window_size: 0,
        max_frame_size: 1,
        ..Config::server()
    };
    let mut scripted = Scripted::before_handshake(Role::Server, config);
    let frames = scripted.written();
    assert_eq!(frames.len(), 1);
    let Frame::Settings(settings) = frames[0].parse() else { panic!("{frames:?}") };
    let said: Vec<_> = settings.iter().collect();
    assert!(said.contains(&Setting::InitialWindowSize(0x7fff_ffff)));
    assert!(said.contains(&Setting::MaxFrameSize(16_384)));
}

#[test]
fn values_out_of_range_are_refused() {
    // [9113-6.5.2-2] [9113-6.5.2-3] [9113-6.5.2-5] [9113-6.5.2-6]
    // RFC 9113 6.5.2
    for (id, value, code) in [
        (2, 2, ErrorCode::PROTOCOL_ERROR),
        (4, 0x8000_0000, ErrorCode::FLOW_CONTROL_ERROR),
        (5, 16_383, ErrorCode::PROTOCOL_ERROR),
        (5, 0x0100_0000, ErrorCode::PROTOCOL_ERROR),
    ] {
        let mut scripted = Scripted::server(Config::server());
        let entry = [&[0, id][..], &u32::to_be_bytes(value)].concat();
        assert_eq!(scripted.raw(0x4, 0, 0, &entry).unwrap_err().code(), code, "{id} {value}");
    }
    let mut client = Scripted::client(Config::client());
    assert_eq!(client.raw(0x4, 0, 0, &[0, 2, 0, 0, 0, 1]).unwrap_err().code(), ErrorCode::PROTOCOL_ERROR);
    let mut server = Scripted::server(Config::server());
    assert!(matches!(server.raw(0x4, 0, 0, &[0, 2, 0, 0, 0, 1]).unwrap()[..], [Seen::Settings]));
}

#[test]
fn each_is_acknowledged_and_the_last_value_stays() {
    // [9113-3.4-3] [9113-6.5.3-1]
    // RFC 9113 6.5.3
    let mut scripted = Scripted::server(Config::server());
    let entries = [[0, 4, 0x7f, 0xff, 0xff, 0xff], [0, 0x77, 1, 2, 3, 4], [0, 4, 0, 0, 0, 9]].concat();
    scripted.raw(0x4, 0, 0, &entries).unwrap();
    assert!(matches!(scripted.written_one().parse(), Frame::Settings(settings) if settings.ack));
    assert_eq!(scripted.connection.peer.initial_window_size, 9);
}

#[test]
fn a_larger_frame_size_of_the_peer_is_used() {
    // [9113-4.1-1]
    let mut scripted = Scripted::server(Config::server());
    scripted.raw(0x4, 0, 0, &[0, 5, 0, 0, 0x80, 0]).unwrap();
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, super::fields(&super::RESPONSE), false).unwrap();
    scripted.written();
    scripted.write(key, &vec![1; 40_000]).unwrap();
    let frames = scripted.written();
    assert_eq!(frames.iter().map(|frame| frame.payload.len()).collect::<Vec<_>>(), [32_768, 40_000 - 32_768]);
}

#[test]
fn a_smaller_header_table_is_obeyed() {
    // [9113-4.3.1-1]
    // wire-rules 86
    let mut scripted = Scripted::server(Config::server());
    for size in [0_u8, 100] {
        scripted.raw(0x4, 0, 0, &[0, 1, 0, 0, 0, size]).unwrap();
        scripted.written();
        scripted.decoder.set_limit(size.into());
        let key = scripted.request(1 + u32::from(size), true);
        scripted.connection.send_headers(key, super::fields(&super::RESPONSE), true).unwrap();
        let frame = scripted.written_one();
        assert_eq!(frame.kind(), FrameType::Headers);
        // The block begins with a size update (RFC 7541 6.3), and a decoder with that limit takes it.
        assert_eq!(frame.payload[0] & 0xe0, 0x20);
        let mut count = 0;
        scripted.decoder.decode(&frame.payload, &mut |_| count += 1).unwrap();
        assert_eq!(count, 2);
    }
}

#[test]
fn a_peer_that_never_acknowledges_is_left() {
    // [9113-6.5.3-2]
    // RFC 9113 6.5.3, abuse 10
    let mut scripted = Scripted::before_handshake(Role::Client, Config::client());
    scripted.raw(0x4, 0, 0, &[]).unwrap();
    scripted.written();
    assert_eq!(scripted.connection.next_timeout(), Some(scripted.now + Duration::from_secs(10)));
    scripted.pass(Duration::from_millis(9_999)).unwrap();
    let error = scripted.pass(Duration::from_millis(1)).unwrap_err();
    assert_eq!((error.code(), error.blame()), (ErrorCode::SETTINGS_TIMEOUT, Blame::Timeout));
    assert_eq!(scripted.connection.next_timeout(), None);
    assert_eq!(scripted.written_goaway().1, ErrorCode::SETTINGS_TIMEOUT);
}

#[test]
fn a_silent_peer_is_left() {
    // abuse 42
    for (role, config) in [(Role::Client, Config::client()), (Role::Server, Config::server())] {
        let mut scripted = Scripted::before_handshake(role, config);
        let error = scripted.pass(Duration::from_secs(10)).unwrap_err();
        assert_eq!((error.reason(), error.blame()), ("handshake not completed in time", Blame::Timeout));
    }
    let scripted = Scripted::server(Config { trim_after: None, ..Config::server() });
    assert_eq!(scripted.connection.next_timeout(), None);
}

#[test]
fn credit_gathered_before_a_smaller_window_is_acknowledged_goes_back_with_it() {
    // [9113-6.9.3-1]
    // wire-rules 83, RFC 9113 6.5.3: the client sends by the default window before it has seen ours.
    let config = Config { initial_window_size: 1_000, ..Config::server() };
    let mut scripted = Scripted::before_handshake(Role::Server, config);
    scripted.receive(PREFACE).unwrap();
    scripted.raw(0x4, 0, 0, &[]).unwrap();
    scripted.written();
    let key = scripted.request(1, false);
    for _ in 0..3 {
        scripted.data(1, &[7; 10_000], false).unwrap();
        scripted.connection.release(key, 10_000);
    }
    assert!(scripted.written().is_empty(), "less than half of what the client had");
    scripted.raw(0x4, 0x1, 0, &[]).unwrap();
    // The client is 29,000 octets below zero: without this it could never send again.
    let Frame::WindowUpdate(WindowUpdate { stream, increment }) = scripted.written_one().parse() else {
        panic!()
    };
    assert_eq!((stream.value(), increment), (1, 30_000));
    scripted.data(1, &[7; 1_000], false).unwrap();
    assert_eq!(scripted.data(1, &[7], false).unwrap().len(), 1);
}
