//! All frame types together: round trips, the rules of RFC 9113, 6 that need no state, and broken input.

use super::*;
use crate::{hpack::Random, stream_id::StreamId};

const STREAM: StreamId = StreamId::new(5);

/// Splits `wire` into frames and parses each.
fn parse_all(mut wire: &[u8]) -> Result<Vec<Frame<'_>>, FrameError> {
    let mut frames = Vec::new();
    while !wire.is_empty() {
        let header = FrameHeader::parse(wire).expect("a whole header");
        let (frame, rest) = wire.split_at(header.frame_len());
        frames.push(Frame::parse(header, &frame[FRAME_HEADER_LEN..])?);
        wire = rest;
    }
    Ok(frames)
}

fn write_all(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut wire = Vec::new();
    for frame in frames {
        frame.encode(&mut wire);
    }
    wire
}

fn parse(kind: u8, flags: Flags, stream: u32, payload: &[u8]) -> Result<Frame<'_>, FrameError> {
    let kind = FrameType::from_wire(kind);
    Frame::parse(
        FrameHeader { len: payload.len() as u32, kind, flags, stream: StreamId::new(stream) },
        payload,
    )
}

fn every_type(bytes: &[u8], padding: Option<u8>, flag: bool) -> Vec<Frame<'_>> {
    let dependency = Dependency { exclusive: flag, parent: StreamId::new(3), weight: 200 };
    vec![
        Frame::Data(Data { stream: STREAM, data: bytes, end_stream: flag, padding }),
        Frame::Headers(Headers {
            stream: STREAM,
            dependency: flag.then_some(dependency),
            fragment: bytes,
            end_stream: !flag,
            end_headers: flag,
            padding,
        }),
        Frame::Priority(Priority { stream: STREAM, dependency }),
        Frame::RstStream(RstStream { stream: STREAM, code: ErrorCode(0xdead_beef) }),
        Frame::PushPromise(PushPromise {
            stream: STREAM,
            promised: StreamId::new(8),
            fragment: bytes,
            end_headers: flag,
            padding,
        }),
        Frame::Ping(Ping { ack: flag, payload: *b"12345678" }),
        Frame::GoAway(GoAway { last_stream: StreamId::MAX, code: ErrorCode::NO_ERROR, debug: bytes }),
        Frame::WindowUpdate(WindowUpdate { stream: STREAM, increment: 0x7fff_ffff }),
        Frame::Continuation(Continuation { stream: STREAM, fragment: bytes, end_headers: flag }),
        Frame::Unknown(Unknown { kind: 0xbe, flags: Flags(0xff), stream: STREAM, payload: bytes }),
    ]
}

#[test]
fn every_type_round_trips() {
    // wire-rules 29, 85: with and without padding, empty and not.
    for bytes in [&b""[..], b"x", &[0xa5; 300]] {
        for padding in [None, Some(0), Some(1), Some(255)] {
            for flag in [false, true] {
                let frames = every_type(bytes, padding, flag);
                assert_eq!(parse_all(&write_all(&frames)).unwrap(), frames);
            }
        }
    }
}

#[test]
fn padding_counts_for_flow_control() {
    // [9113-6.1-4]
    // wire-rules 85; RFC 9113, 6.9.1
    let Frame::Data(data) = parse(0x0, Flags::PADDED, 1, b"\x03abc\0\0\0").unwrap() else { panic!("DATA") };
    assert_eq!((data.data, data.flow_controlled_len()), (&b"abc"[..], 7));
    let Frame::Data(data) = parse(0x0, Flags::NONE, 1, b"abc").unwrap() else { panic!("DATA") };
    assert_eq!(data.flow_controlled_len(), 3);
}

#[test]
fn padding_is_written_as_zeros() {
    // [9113-6.1-5]
    let data = Data { stream: STREAM, data: b"abc", end_stream: true, padding: Some(3) };
    assert_eq!(write_all(&[Frame::Data(data)])[FRAME_HEADER_LEN..], *b"\x03abc\0\0\0");
}

#[test]
fn padding_may_fill_the_frame_but_not_exceed_it() {
    // [9113-6.1-3] [9113-6.2-2]
    // RFC 9113, 6.1, 6.2, 6.6
    for (kind, fixed) in [(0x0, 0), (0x1, 0), (0x5, 4)] {
        let payload = |pad: u8| [&[pad][..], &[0, 0, 0, 2][..fixed], &[0; 3]].concat();
        assert!(parse(kind, Flags::PADDED, 1, &payload(3)).is_ok());
        let error = parse(kind, Flags::PADDED, 1, &payload(8)).unwrap_err();
        assert!(error.is_connection());
        assert_eq!(error.code, ErrorCode::PROTOCOL_ERROR);
        let error = parse(kind, Flags::PADDED, 1, &[]).unwrap_err();
        assert_eq!((error.is_connection(), error.code), (true, ErrorCode::FRAME_SIZE_ERROR));
    }
    // The priority fields and the promised stream must lie before the padding.
    let error = parse(0x1, Flags(0x28), 1, &[4, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(error.code, ErrorCode::FRAME_SIZE_ERROR);
    let error = parse(0x5, Flags::PADDED, 1, &[1, 0, 0, 0, 2]).unwrap_err();
    assert_eq!(error.code, ErrorCode::FRAME_SIZE_ERROR);
}

#[test]
fn frames_belong_to_a_stream_or_to_the_connection() {
    // [9113-6.1-1] [9113-6.2-1] [9113-6.3-1] [9113-6.4-2] [9113-6.5-3] [9113-6.7-4] [9113-6.8-2] [9113-6.10-2]
    // RFC 9113, 6.1 to 6.10
    let payload = [0, 0, 0, 2, 0, 0, 0, 1];
    for (kind, len, on_stream) in [
        (0x0, 8, true),
        (0x1, 8, true),
        (0x2, 5, true),
        (0x3, 4, true),
        (0x4, 0, false),
        (0x5, 8, true),
        (0x6, 8, false),
        (0x7, 8, false),
        (0x9, 8, true),
    ] {
        let (good, bad) = if on_stream { (1, 0) } else { (0, 1) };
        assert!(parse(kind, Flags::NONE, good, &payload[..len]).is_ok(), "{kind:#x}");
        let error = parse(kind, Flags::NONE, bad, &payload[..len]).unwrap_err();
        assert_eq!((error.is_connection(), error.code), (true, ErrorCode::PROTOCOL_ERROR), "{kind:#x}");
    }
}

#[test]
fn fixed_lengths_are_enforced() {
    // [9113-4.2-2] [9113-6.3-2] [9113-6.4-4] [9113-6.5-2] [9113-6.5-4] [9113-6.7-1] [9113-6.9-4]
    // RFC 9113, 6.3: a stream error; 6.4, 6.5, 6.7, 6.8, 6.9: the connection's.
    for (kind, stream, legal, scope) in [
        (0x2, 1, 5..6, ErrorScope::Stream),
        (0x3, 1, 4..5, ErrorScope::Connection),
        (0x6, 0, 8..9, ErrorScope::Connection),
        (0x7, 0, 8..99, ErrorScope::Connection),
        (0x8, 1, 4..5, ErrorScope::Connection),
        (0x8, 0, 4..5, ErrorScope::Connection),
    ] {
        for len in 0..20 {
            match parse(kind, Flags::NONE, stream, &[1; 20][..len]) {
                Ok(_) => assert!(legal.contains(&len), "{kind:#x} of {len} bytes"),
                Err(error) => {
                    assert!(!legal.contains(&len), "{kind:#x} of {len} bytes");
                    assert_eq!((error.scope, error.code), (scope, ErrorCode::FRAME_SIZE_ERROR));
                }
            }
        }
    }
}

#[test]
fn settings_are_checked_and_kept_in_order() {
    // [9113-6.5.2-2] [9113-6.5.2-5] [9113-6.5.2-6] [9113-6.5.2-7]
    // RFC 9113, 6.5.2 and 6.5.3
    let entries = [
        Setting::HeaderTableSize(0),
        Setting::EnablePush(0),
        Setting::EnablePush(1),
        Setting::MaxConcurrentStreams(7),
        Setting::InitialWindowSize(0x7fff_ffff),
        Setting::MaxFrameSize(16_384),
        Setting::MaxFrameSize(16_777_215),
        Setting::MaxHeaderListSize(u32::MAX),
        Setting::Unknown(0xabcd, 9),
    ];
    let mut wire = Vec::new();
    Settings::encode_entries(&entries, &mut wire);
    Settings::encode_ack(&mut wire);
    let frames = parse_all(&wire).unwrap();
    let [Frame::Settings(settings), Frame::Settings(ack)] = frames[..] else { panic!("two SETTINGS") };
    assert!(!settings.ack && settings.iter().eq(entries));
    assert!(ack.ack && ack.iter().next().is_none());
    assert_eq!(write_all(&frames), wire);

    for (entry, code) in [
        (Setting::EnablePush(2), ErrorCode::PROTOCOL_ERROR),
        (Setting::InitialWindowSize(0x8000_0000), ErrorCode::FLOW_CONTROL_ERROR),
        (Setting::MaxFrameSize(16_383), ErrorCode::PROTOCOL_ERROR),
        (Setting::MaxFrameSize(16_777_216), ErrorCode::PROTOCOL_ERROR),
    ] {
        let mut wire = Vec::new();
        Settings::encode_entries(&[Setting::Unknown(99, 1), entry], &mut wire);
        let error = parse_all(&wire).unwrap_err();
        assert_eq!((error.is_connection(), error.code), (true, code), "{entry:?}");
    }
    for (flags, len) in [(Flags::NONE, 1), (Flags::NONE, 5), (Flags::NONE, 7), (Flags::ACK, 6)] {
        let error = parse(0x4, flags, 0, &[0; 9][..len]).unwrap_err();
        assert_eq!((error.is_connection(), error.code), (true, ErrorCode::FRAME_SIZE_ERROR));
    }
}

#[test]
fn zero_increment_is_an_error_of_its_scope() {
    // [9113-6.9-1]
    // wire-rules 83; RFC 9113, 6.9. The reserved bit alone is no increment.
    for (stream, scope) in [(0, ErrorScope::Connection), (1, ErrorScope::Stream)] {
        for payload in [[0; 4], [0x80, 0, 0, 0]] {
            let error = parse(0x8, Flags::NONE, stream, &payload).unwrap_err();
            assert_eq!((error.scope, error.code), (scope, ErrorCode::PROTOCOL_ERROR));
        }
    }
    let update = WindowUpdate { stream: StreamId::new(1), increment: 1 };
    assert_eq!(parse(0x8, Flags::NONE, 1, &[0x80, 0, 0, 1]), Ok(Frame::WindowUpdate(update)));
}

#[test]
fn only_a_servers_stream_can_be_promised() {
    // RFC 9113, 5.1.1 and 6.6
    for (promised, good) in [(0, false), (1, false), (2, true), (0x80, true)] {
        assert_eq!(parse(0x5, Flags::NONE, 1, &[0x80, 0, 0, promised]).is_ok(), good, "{promised}");
    }
}

#[test]
fn undefined_flags_are_ignored() {
    // [9113-4.1-3]
    // RFC 9113, 4.1: PADDED means nothing on PING, END_STREAM nothing on CONTINUATION.
    let ping = Ping { ack: false, payload: [9; 8] };
    assert_eq!(parse(0x6, Flags(0xfe), 0, &[9; 8]), Ok(Frame::Ping(ping)));
    let continuation = Continuation { stream: STREAM, fragment: b"abc", end_headers: false };
    assert_eq!(parse(0x9, Flags(0xfb), 5, b"abc"), Ok(Frame::Continuation(continuation)));
}

#[test]
fn random_payloads_never_panic_and_what_is_read_can_be_written() {
    let mut random = Random::new(17);
    for _ in 0..50_000 {
        let (kind, flags) = (random.below(12) as u8, Flags(random.below(256) as u8));
        let (stream, len) = (random.below(4) as u32, random.below(24));
        let payload = random.bytes(len);
        let Ok(frame) = parse(kind, flags, stream, &payload) else { continue };
        let mut wire = Vec::new();
        frame.encode(&mut wire);
        assert_eq!(wire.len(), FRAME_HEADER_LEN + len);
        assert_eq!(parse_all(&wire), Ok(vec![frame]));
    }
}

#[test]
fn sealed_blocks_are_cut_at_the_maximum_frame_size() {
    // [9113-4.1-1] [9113-4.3-1]
    // wire-rules 28; RFC 9113, 4.3
    let mut random = Random::new(18);
    for len in [0, 1, 99, 100, 101, 199, 200, 201, 1000] {
        let block = random.bytes(len);
        let mut out = b"before".to_vec();
        let start = out.len();
        out.resize(start + FRAME_HEADER_LEN, 0);
        out.extend_from_slice(&block);
        seal_block(&mut out, start, STREAM, len % 2 == 0, 100);

        assert_eq!(&out[..start], b"before");
        let frames = parse_all(&out[start..]).unwrap();
        let Frame::Headers(first) = frames[0] else { panic!("HEADERS first") };
        assert_eq!((first.end_stream, first.end_headers), (len % 2 == 0, frames.len() == 1));
        let mut joined = first.fragment.to_vec();
        for (at, frame) in frames.iter().enumerate().skip(1) {
            let Frame::Continuation(next) = frame else { panic!("CONTINUATION after it") };
            assert_eq!((next.stream, next.end_headers), (STREAM, at + 1 == frames.len()));
            joined.extend_from_slice(next.fragment);
        }
        assert_eq!(joined, block);
        assert_eq!(frames.len(), len.div_ceil(100).max(1));
    }
}

#[test]
fn errors_name_the_code_and_the_rule() {
    let error = parse(0x6, Flags::NONE, 1, &[0; 8]).unwrap_err();
    assert_eq!(error.to_string(), "PROTOCOL_ERROR: PING on a stream");
    assert!(error.is_connection());
    // RFC 9113, 6.3: of all that a frame alone can show, this and an increment of 0 end only the stream.
    assert!(!parse(0x2, Flags::NONE, 1, &[0; 4]).unwrap_err().is_connection());
}

#[test]
fn a_flag_that_is_set_stays_set() {
    assert_eq!(Flags::END_STREAM.with(Flags::END_STREAM, true), Flags::END_STREAM);
    assert_eq!(Flags::END_STREAM.with(Flags::PADDED, false), Flags::END_STREAM);
}
