//! Windows in both directions: what is sent, when it stops, what is given back.

use super::scripted::{Scripted, Written};
use super::{REQUEST, RESPONSE, Seen, TRAILERS, fields};
use crate::connection::{Config, Initiator};
use crate::frame::{Frame, FrameType, Setting, Settings};
use crate::{ErrorCode, StreamError, StreamKey};

/// A server that is about to send data on stream 1.
fn sending(config: Config) -> (Scripted, StreamKey) {
    let mut scripted = Scripted::server(config);
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.written();
    (scripted, key)
}

/// Sum of the DATA, after checking that there is nothing else.
fn data_len(frames: &[Written]) -> usize {
    assert!(frames.iter().all(|frame| frame.kind() == FrameType::Data), "{frames:?}");
    frames.iter().map(|frame| frame.payload.len()).sum()
}

/// Increments given for `stream`.
fn credit(frames: &[Written], stream: u32) -> usize {
    let updates = frames.iter().filter_map(|frame| match frame.parse() {
        Frame::WindowUpdate(update) if update.stream.value() == stream => Some(update.increment as usize),
        _ => None,
    });
    updates.sum()
}

#[test]
fn small_writes_share_a_frame_and_the_end_rides_on_it() {
    let (mut scripted, key) = sending(Config::server());
    for _ in 0..10 {
        scripted.write(key, b"message").unwrap();
    }
    scripted.connection.end_stream(key).unwrap();
    let frame = scripted.written_one();
    assert_eq!(frame.payload, b"message".repeat(10));
    assert!(frame.ends_stream());
}

#[test]
fn the_only_data_of_a_stream_ends_it_or_resets_it() {
    for (window, waits) in [(1000, false), (3, true)] {
        let mut scripted = Scripted::client(Config::client());
        let mut settings = Vec::new();
        Settings::encode_entries(&[Setting::InitialWindowSize(window)], &mut settings);
        scripted.receive(&settings).unwrap();
        scripted.written();
        let connection = &mut scripted.connection;
        let key = connection.open(fields(&REQUEST), false).unwrap();
        let mut write = connection.write_only_data(key, 7).unwrap();
        assert_eq!(write.stream(), key);
        write.buffers().0.extend_from_slice(b"message");
        write.commit().unwrap();
        assert_eq!(connection.end_stream(key), Err(StreamError::Ended));
        let frames = scripted.written();
        assert_eq!(frames.len(), 2, "{frames:?}");
        let expected = if waits { (&b"mes"[..], false) } else { (&b"message"[..], true) };
        assert_eq!((&frames[1].payload[..], frames[1].ends_stream()), expected);

        let connection = &mut scripted.connection;
        let key = connection.open(fields(&REQUEST), false).unwrap();
        let mut write = connection.write_only_data(key, 7).unwrap();
        write.buffers().0.extend_from_slice(b"mess");
        assert!(matches!(write.commit(), Err(StreamError::LengthMismatch { .. })));
        assert!(!connection.is_open(key));
        let frames = scripted.written();
        assert_eq!(frames.len(), 2, "{frames:?}");
        assert_eq!(frames[1].kind(), FrameType::RstStream);
    }
}

#[test]
fn a_frame_grows_up_to_the_peers_maximum() {
    let (mut scripted, key) = sending(Config::server());
    for _ in 0..5 {
        scripted.write(key, &[1; 5000]).unwrap();
    }
    let frames = scripted.written();
    assert_eq!(frames.iter().map(|frame| frame.payload.len()).collect::<Vec<_>>(), [15_000, 10_000]);
}

#[test]
fn another_frame_in_between_ends_the_one_before() {
    let (mut scripted, key) = sending(Config::server());
    scripted.write(key, b"a").unwrap();
    scripted.connection.ping([0; 8]);
    scripted.write(key, b"b").unwrap();
    scripted.connection.send_headers(key, fields(&TRAILERS), true).unwrap();
    let kinds: Vec<_> = scripted.written().iter().map(Written::kind).collect();
    assert_eq!(kinds, [FrameType::Data, FrameType::Ping, FrameType::Data, FrameType::Headers]);
}

/// What messages of `sizes` come to on the wire: gathered as far as there is room, or one by one. Also how many writes it
/// took.
fn frames_of(sizes: &[usize], gathers: bool) -> (Vec<Written>, usize) {
    let (mut scripted, key) = sending(Config::server());
    let (mut gathered, mut parts, mut writes) = (Vec::new(), Vec::new(), 0);
    let mut room = 0;
    for (number, size) in sizes.iter().enumerate() {
        if gathered.len() >= room {
            writes += write_parts(&mut scripted, key, &mut gathered, &mut parts);
            room = scripted.connection.poll_room(key).unwrap_or(usize::MAX);
            assert!(room > 0);
        }
        if gathered.len() + size > room || !gathers {
            writes += write_parts(&mut scripted, key, &mut gathered, &mut parts);
            room = 0;
        }
        gathered.extend(vec![number as u8; *size]);
        parts.push(*size);
    }
    writes += write_parts(&mut scripted, key, &mut gathered, &mut parts);
    scripted.connection.end_stream(key).unwrap();
    (scripted.written(), writes)
}

/// Writes all at once; answers how many writes that took.
fn write_parts(
    scripted: &mut Scripted,
    key: StreamKey,
    gathered: &mut Vec<u8>,
    parts: &mut Vec<usize>,
) -> usize {
    if gathered.is_empty() {
        return 0;
    }
    let mut write = scripted.connection.write_data(key, gathered.len()).unwrap();
    write.buffers().0.append(gathered);
    write.commit_parts(parts.drain(..)).unwrap();
    1
}

#[test]
fn data_that_was_gathered_makes_the_frames_that_single_writes_make() {
    let cases: [&[usize]; 7] = [
        &[10, 20, 30],
        &[1; 300],
        &[5000, 5000, 5000, 5000, 1, 2, 3],
        &[16_384, 1, 16_383, 1],
        // Beyond the windows: queued.
        &[16_000, 300, 16_000, 16_000, 16_000, 1000, 200, 40, 1, 34, 1],
        &[16_384, 16_384, 16_384, 16_300, 37, 37, 37, 37, 37],
        &[1, 2, 16_382, 16_385, 2, 40_000, 3],
    ];
    for sizes in cases {
        let (twin, single) = frames_of(sizes, false);
        let (frames, writes) = frames_of(sizes, true);
        assert!(single == sizes.len() && writes < single, "{sizes:?}");
        let seen = |frames: &[Written]| -> Vec<_> {
            frames.iter().map(|frame| (frame.kind(), frame.header.flags, frame.payload.clone())).collect()
        };
        assert_eq!(seen(&frames), seen(&twin), "{sizes:?}");
    }
}

#[test]
fn room_is_what_goes_into_one_frame_at_once_or_else_into_the_queue() {
    let config = Config { send_buffer_per_stream: 5_000, ..Config::server() };
    let (mut scripted, key) = sending(config);
    assert_eq!(scripted.connection.poll_room(key), Some(16_384));
    scripted.write(key, b"a").unwrap();
    assert_eq!(scripted.connection.poll_room(key), Some(16_383));
    scripted.write(key, &[7; 16_383]).unwrap();
    assert_eq!(scripted.connection.poll_room(key), Some(16_384), "of a frame of its own");
    scripted.write(key, &[7; 16_384]).unwrap();
    scripted.connection.ping([0; 8]);
    scripted.write(key, &[7; 16_384]).unwrap();
    // The windows are smaller than what a frame can take, and then closed.
    scripted.write(key, &[7; 16_000]).unwrap();
    assert_eq!(scripted.connection.poll_room(key), Some(383));
    scripted.write(key, &[7; 383]).unwrap();
    assert_eq!(scripted.connection.poll_room(key), Some(5_000));
    scripted.write(key, &[7; 4_999]).unwrap();
    assert_eq!(scripted.connection.poll_room(key), Some(1));
    scripted.write(key, b"b").unwrap();
    assert_eq!(scripted.connection.poll_room(key), None);
    scripted.connection.reset(key, ErrorCode::CANCEL);
    assert_eq!(scripted.connection.poll_room(key), None);
}

#[test]
fn room_ends_at_the_mark_of_the_output() {
    let config = Config { write_buffer_high_water: 1_000, ..Config::server() };
    let (mut scripted, key) = sending(config);
    scripted.write(key, b"a").unwrap();
    let room = scripted.connection.poll_room(key).unwrap();
    assert_eq!(room, 1_000 - scripted.connection.output_len());
    scripted.write(key, &vec![7; room]).unwrap();
    assert_eq!(scripted.connection.poll_room(key), None);
}

#[test]
fn a_write_that_is_dropped_or_of_another_length_sends_nothing() {
    let (mut scripted, key) = sending(Config::server());
    for round in 0..2 {
        let mut write = scripted.connection.write_data(key, 3).unwrap();
        write.buffers().0.extend_from_slice(b"abc");
        write.buffers().1.push_back((0, bytes::Bytes::from_static(b"x")));
        drop(write);
        let mut write = scripted.connection.write_data(key, 3).unwrap();
        write.buffers().0.extend_from_slice(b"abcd");
        let mismatch = StreamError::LengthMismatch { announced: 3, written: 4 };
        assert_eq!(write.commit(), Err(mismatch));
        assert!(scripted.write(key, b"").is_ok());
        let expected = if round == 0 { 0 } else { 100_000 - 65_535 };
        assert_eq!(scripted.connection.queued(key), expected);
        assert!(scripted.written().is_empty());
        if round == 0 {
            // The second round goes to the queue.
            scripted.write(key, &vec![7; 100_000]).unwrap();
            assert_eq!(data_len(&scripted.written()), 65_535);
        }
    }
    scripted.window_update(0, 100_000).unwrap();
    scripted.window_update(1, 100_000).unwrap();
    let frames = scripted.written();
    assert!(frames.iter().all(|frame| frame.payload.iter().all(|octet| *octet == 7)));
    assert_eq!(data_len(&frames), 100_000 - 65_535);
}

#[test]
fn data_stops_at_either_window_and_goes_on_with_credit() {
    // [9113-6.9.1-1]
    // wire-rules 84
    let (mut scripted, key) = sending(Config::server());
    scripted.write(key, &vec![1; 200_000]).unwrap();
    scripted.connection.send_headers(key, fields(&TRAILERS), true).unwrap();
    assert_eq!(data_len(&scripted.written()), 65_535);
    scripted.window_update(1, 50_000).unwrap();
    assert!(scripted.written().is_empty());
    scripted.window_update(0, 70_000).unwrap();
    assert_eq!(data_len(&scripted.written()), 50_000);
    scripted.window_update(1, 1).unwrap();
    assert_eq!(data_len(&scripted.written()), 1);
    scripted.window_update(1, 100_000).unwrap();
    scripted.window_update(0, 100_000).unwrap();
    let mut frames = scripted.written();
    let trailers = frames.pop().unwrap();
    assert!(trailers.kind() == FrameType::Headers && trailers.ends_stream());
    assert_eq!(data_len(&frames), 200_000 - 65_535 - 50_000 - 1);
    assert!(!scripted.connection.is_open(key));
}

#[test]
fn end_of_stream_needs_no_window() {
    // [9113-6.9.1-1]
    let (mut scripted, key) = sending(Config::server());
    scripted.write(key, &vec![1; 65_535]).unwrap();
    assert_eq!(data_len(&scripted.written()), 65_535);
    scripted.connection.end_stream(key).unwrap();
    let end = scripted.written_one();
    assert!(end.ends_stream() && end.payload.is_empty());
}

#[test]
fn settings_move_the_windows_of_open_streams_even_below_zero() {
    // [9113-6.9.2-1] [9113-6.9.2-2]
    // wire-rules 83, RFC 9113 6.9.2
    let (mut scripted, key) = sending(Config::server());
    scripted.write(key, &vec![1; 60_000]).unwrap();
    assert_eq!(data_len(&scripted.written()), 60_000);
    scripted.raw(0x4, 0, 0, &[0, 4, 0, 0, 0, 10]).unwrap();
    scripted.written();
    scripted.write(key, &[1; 10]).unwrap();
    // 60,000 sent of a window of 10: 59,990 short
    scripted.window_update(1, 59_990).unwrap();
    assert!(scripted.written().is_empty());
    scripted.window_update(1, 4).unwrap();
    assert_eq!(data_len(&scripted.written()), 4);
    scripted.raw(0x4, 0, 0, &[0, 4, 0, 0, 0, 20]).unwrap();
    let frames = scripted.written();
    // The acknowledgement goes before the data that the new window frees.
    assert_eq!(frames.iter().map(Written::kind).collect::<Vec<_>>(), [FrameType::Settings, FrameType::Data]);
    assert_eq!(frames[1].payload.len(), 6);
}

#[test]
fn window_overflow_is_an_error_of_its_level() {
    // [9113-6.9.1-2] [9113-6.9.2-3]
    // wire-rules 83, RFC 9113 6.9.1
    let max = 0x7fff_ffff;
    let (mut scripted, key) = sending(Config::server());
    let seen = scripted.window_update(1, max).unwrap();
    assert!(matches!(seen[..], [Seen::Reset { stream, initiator: Initiator::Engine, .. }] if stream == key));
    assert_eq!(scripted.written_reset(1), ErrorCode::FLOW_CONTROL_ERROR);
    let error = scripted.window_update(0, max).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FLOW_CONTROL_ERROR);

    let (mut scripted, _) = sending(Config::server());
    scripted.window_update(1, max - 65_535).unwrap();
    let error = scripted.raw(0x4, 0, 0, &[0, 4, 0, 1, 0, 0]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn window_update_of_zero_is_an_error_of_its_level() {
    // [9113-6.9-1]
    // wire-rules 83, RFC 9113 6.9
    let (mut scripted, _) = sending(Config::server());
    scripted.window_update(1, 0).unwrap();
    assert_eq!(scripted.written_reset(1), ErrorCode::PROTOCOL_ERROR);
    assert_eq!(scripted.window_update(0, 0).unwrap_err().code(), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn a_peer_beyond_its_window_is_stopped() {
    // [9113-6.9.1-3]
    // wire-rules 83
    let config = Config { initial_window_size: 70_000, ..Config::server() };
    let mut scripted = Scripted::server(config);
    scripted.request(1, false);
    for _ in 0..4 {
        scripted.data(1, &[0; 16_384], false).unwrap();
    }
    let seen = scripted.data(1, &[0; 16_384], false).unwrap();
    assert!(matches!(seen[..], [Seen::Reset { code: ErrorCode::FLOW_CONTROL_ERROR, .. }]), "{seen:?}");

    let config = Config { connection_window_size: 65_535, max_frame_size: 1 << 20, ..Config::server() };
    let mut scripted = Scripted::server(config);
    scripted.request(1, false);
    let error = scripted.data(1, &vec![0; 65_536], false).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn credit_is_gathered_and_follows_what_is_released() {
    let mut scripted = Scripted::server(Config { initial_window_size: 100_000, ..Config::server() });
    let key = scripted.request(1, false);
    for _ in 0..5 {
        scripted.data(1, &[0; 10_000], false).unwrap();
    }
    assert!(scripted.written().is_empty());
    scripted.connection.release(key, 49_999);
    assert!(scripted.written().is_empty());
    scripted.connection.release(key, 1);
    assert_eq!(credit(&scripted.written(), 1), 50_000);
    // More than arrived is never given.
    scripted.connection.release(key, 1 << 40);
    assert!(scripted.written().is_empty());
}

#[test]
fn the_connections_window_is_large_from_the_start_and_never_leaks() {
    // [9113-6.9-3]
    // reports 1, 2, 3, 7, 13: ignored data, padding and data on closed streams are all given back
    let mut scripted = Scripted::server(Config::server());
    let mut sent = 0;
    let mut given = 0;
    scripted.request(1, false);
    for round in 0..300 {
        // a live stream with the longest padding
        scripted.raw(0x0, 0x8, 1, &[&[255][..], &[0; 256]].concat()).unwrap();
        sent += 257;
        // a stream that we reset
        let key = scripted.request(3 + 2 * round, false);
        scripted.connection.reset(key, ErrorCode::CANCEL);
        scripted.data(3 + 2 * round, &[0; 16_384], false).unwrap();
        sent += 16_384;
        let frames = scripted.written();
        given += credit(&frames, 0);
    }
    assert!(sent - given < 1024 * 1024 / 2, "{sent} sent, {given} given back");
}

#[test]
fn bug_2_padding_is_given_back_on_the_stream_too() {
    // [9113-6.1-4]
    // wire-rules 85
    let mut scripted = Scripted::server(Config { initial_window_size: 70_000, ..Config::server() });
    let key = scripted.request(1, false);
    let mut given = 0;
    for _ in 0..1000 {
        let seen = scripted.raw(0x0, 0x8, 1, &[&[200][..], &[1], &[0; 200]].concat()).unwrap();
        assert!(matches!(&seen[..], [Seen::Data { data, .. }] if data.len() == 1));
        scripted.connection.release(key, 1);
        given += credit(&scripted.written(), 1);
    }
    assert!(given >= 1000 * 202 - 35_000, "{given}");
}

#[test]
fn windows_below_the_default_bind_the_peer_once_it_knows() {
    // [9113-6.5.3-2] [9113-6.9.3-1]
    let config = Config { initial_window_size: 10, ..Config::server() };
    let mut scripted = Scripted::before_handshake(crate::connection::Role::Server, config);
    scripted.receive(crate::connection::input::PREFACE).unwrap();
    scripted.raw(0x4, 0, 0, &[]).unwrap();
    let key = scripted.request(1, false);
    scripted.data(1, &[0; 10_000], false).unwrap();
    scripted.raw(0x4, 1, 0, &[]).unwrap();
    scripted.connection.release(key, 10_000);
    scripted.data(1, &[0; 10], false).unwrap();
    let seen = scripted.data(1, &[0; 1], false).unwrap();
    assert!(matches!(seen[..], [Seen::Reset { code: ErrorCode::FLOW_CONTROL_ERROR, .. }]), "{seen:?}");
}

#[test]
fn bug_6_rst_goes_out_at_window_zero_and_takes_the_queue_with_it() {
    // [9113-5.1-3]
    // report 6, wire-rules 73
    let (mut scripted, key) = sending(Config::server());
    scripted.write(key, &vec![1; 100_000]).unwrap();
    scripted.written();
    scripted.connection.reset(key, ErrorCode::INTERNAL_ERROR);
    assert_eq!(scripted.written_reset(1), ErrorCode::INTERNAL_ERROR);
    scripted.window_update(0, 100_000).unwrap();
    assert!(scripted.written().is_empty());
}

#[test]
fn a_reset_can_wait_for_what_is_queued() {
    // [9113-8.1-3]
    // wire-rules 63
    let mut scripted = Scripted::server(Config::server());
    let key = scripted.request(1, false);
    scripted.data(1, &[0; 10_000], false).unwrap();
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.written();
    scripted.write(key, &vec![1; 70_000]).unwrap();
    scripted.connection.send_headers(key, fields(&TRAILERS), true).unwrap();
    scripted.connection.reset_when_sent(key, ErrorCode::NO_ERROR);
    assert_eq!(data_len(&scripted.written()), 65_535);
    // What comes meanwhile is dropped, and given back so that the peer is not stuck.
    let mut given = 0;
    for _ in 0..40 {
        assert!(scripted.data(1, &[0; 10_000], false).unwrap().is_empty());
        given += credit(&scripted.written(), 1);
    }
    assert!(given > 200_000, "{given}");
    scripted.window_update(0, 10_000).unwrap();
    scripted.window_update(1, 10_000).unwrap();
    let kinds: Vec<_> = scripted.written().iter().map(Written::kind).collect();
    assert_eq!(kinds, [FrameType::Data, FrameType::Headers, FrameType::RstStream]);
    assert!(!scripted.connection.is_open(key));
    // Nothing queued: at once.
    let key = scripted.request(3, false);
    scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
    scripted.connection.reset_when_sent(key, ErrorCode::NO_ERROR);
    let kinds: Vec<_> = scripted.written().iter().map(Written::kind).collect();
    assert_eq!(kinds, [FrameType::Headers, FrameType::RstStream]);
}

#[test]
fn a_late_reset_is_not_sent_if_the_peer_ends_first() {
    let mut scripted = Scripted::server(Config::server());
    let key = scripted.request(1, false);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.write(key, &vec![1; 70_000]).unwrap();
    scripted.connection.end_stream(key).unwrap();
    scripted.connection.reset_when_sent(key, ErrorCode::NO_ERROR);
    scripted.written();
    assert!(scripted.data(1, b"rest", true).unwrap().is_empty());
    scripted.window_update(0, 10_000).unwrap();
    scripted.window_update(1, 10_000).unwrap();
    let last = scripted.written_one();
    assert!(last.ends_stream());
    assert_eq!(scripted.connection.open_streams(), 0);
}

#[test]
fn queued_data_can_be_taken_back_for_other_trailers() {
    // the deadline of a call: status 4 instead of the data and the status that are still queued
    for (second, cut) in [(65_535 - 20_000, false), (65_535, true)] {
        let (mut scripted, key) = sending(Config::server());
        scripted.write(key, &vec![1; 20_000]).unwrap();
        scripted.write(key, &vec![2; second]).unwrap();
        scripted.write(key, &vec![3; 20_000]).unwrap();
        scripted.connection.send_headers(key, fields(&TRAILERS), true).unwrap();
        assert_eq!(data_len(&scripted.written()), 65_535);
        assert_eq!(scripted.connection.discard_queued_data(key), cut);
        scripted.connection.send_headers(key, fields(&[("grpc-status", "4")]), true).unwrap();
        let trailers = scripted.written_one();
        assert!(trailers.kind() == FrameType::Headers && trailers.ends_stream());
        assert!(!scripted.connection.is_open(key));
    }
}

#[test]
fn streams_take_turns() {
    // wire-rules 84, report 5
    let mut scripted = Scripted::server(Config::server());
    scripted.window_update(0, 1 << 20).unwrap();
    let keys = [1, 3, 5].map(|id| {
        let key = scripted.request(id, true);
        scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
        key
    });
    scripted.written();
    for key in keys {
        scripted.write(key, &vec![1; 40_000]).unwrap();
        scripted.connection.end_stream(key).unwrap();
    }
    let streams: Vec<_> = scripted.written().iter().map(Written::stream).collect();
    assert_eq!(streams, [1, 3, 5, 1, 3, 5, 1, 3, 5]);
}

#[test]
fn writable_comes_when_there_is_room_again() {
    let (mut scripted, key) = sending(Config::server());
    assert!(scripted.connection.poll_writable(key));
    scripted.write(key, &vec![1; 65_535 + 40_000]).unwrap();
    scripted.written();
    assert!(!scripted.connection.poll_writable(key));
    assert!(scripted.connection.poll_event().is_none());
    scripted.window_update(0, 100_000).unwrap();
    scripted.window_update(1, 5_000).unwrap();
    scripted.written();
    assert!(scripted.connection.poll_event().is_none());
    scripted.window_update(1, 5_000).unwrap();
    scripted.written();
    let event = scripted.connection.poll_event().map(Seen::from);
    assert!(matches!(event, Some(Seen::Writable { stream }) if stream == key), "{event:?}");
    assert!(scripted.connection.poll_writable(key));
    assert!(scripted.connection.poll_event().is_none());
}

#[test]
fn writable_comes_when_a_slow_socket_has_taken_its_share() {
    // abuse 16: the output does not grow beyond its mark, whatever the window
    let (mut scripted, key) = sending(Config { write_buffer_high_water: 50_000, ..Config::server() });
    scripted.window_update(0, 1 << 30).unwrap();
    scripted.window_update(1, 1 << 30).unwrap();
    scripted.write(key, &vec![1; 1_000_000]).unwrap();
    assert!(scripted.connection.poll_output());
    assert!(scripted.connection.output_len() < 50_000 + 16_384 + 9);
    assert!(!scripted.connection.poll_writable(key));
    let mut taken = Vec::new();
    while scripted.connection.queued(key) > 0 {
        super::scripted::take_output(&mut scripted.connection, 10_000, &mut taken);
        scripted.connection.poll_output();
        assert!(scripted.connection.output_len() < 50_000 + 16_384 + 9);
    }
    while scripted.connection.output_len() > 0 {
        super::scripted::take_output(&mut scripted.connection, 10_000, &mut taken);
    }
    let event = scripted.connection.poll_event().map(Seen::from);
    assert!(matches!(event, Some(Seen::Writable { stream }) if stream == key), "{event:?}");
}

#[test]
fn streams_that_end_while_the_connections_window_is_shut_leave_no_turns_behind() {
    // wire-rules 87
    let (mut scripted, key) = sending(Config::server());
    scripted.write(key, &vec![0; 65_535]).unwrap();
    scripted.written();
    for id in 0..2_000 {
        let waiting = scripted.request(id * 2 + 3, true);
        scripted.connection.send_headers(waiting, fields(&RESPONSE), false).unwrap();
        scripted.write(waiting, b"reply").unwrap();
        // As at a deadline: what waits is dropped, the trailers need no window.
        scripted.connection.discard_queued_data(waiting);
        scripted.connection.send_headers(waiting, fields(&TRAILERS), true).unwrap();
        scripted.written();
        assert!(!scripted.connection.is_open(waiting));
    }
    assert!(scripted.connection.schedule.len() <= 80, "{}", scripted.connection.schedule.len());
}
