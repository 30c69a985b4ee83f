//! Frames alone, without a connection.

use bytes::BytesMut;
use h2::frame as other;
use peregrine_http2::frame::{
    Dependency, FRAME_HEADER_LEN, Flags, Frame, FrameHeader, FrameType, MIN_MAX_FRAME_SIZE, Setting,
};

/// Every frame in `input` that parses is written, up to what the RFC tells a receiver to ignore, as it came.
pub fn round_trip(input: &[u8]) {
    for_each_frame(input, |header, payload| {
        let Ok(frame) = Frame::parse(header, payload) else { return };
        let mut written = Vec::new();
        frame.encode(&mut written);
        let again = FrameHeader::parse(&written).expect("a written frame has a header");
        assert_eq!(again.frame_len(), written.len(), "{frame:?}");
        assert_eq!((again.kind, again.stream), (header.kind, header.stream));
        // Undefined flags are not kept, and nothing else is invented.
        assert_eq!(again.flags.0 & header.flags.0, again.flags.0, "{frame:?}");
        assert_eq!(again.len, header.len, "{frame:?}");
        let reread = Frame::parse(again, &written[FRAME_HEADER_LEN..]).expect("a written frame parses");
        assert_eq!(reread, frame);
        let mut twice = Vec::new();
        reread.encode(&mut twice);
        assert_eq!(twice, written);
    });
}

/// What we accept `h2` accepts with the same meaning, and the reverse, but where the two differ on purpose.
pub fn differential(input: &[u8]) {
    for_each_frame(input, |header, payload| {
        let head = other::Head::parse(&header.to_bytes());
        let ours = Frame::parse(header, payload);
        let theirs = read_other(head, header.kind, payload);
        match (&ours, &theirs) {
            (Ok(frame), Ok(meaning)) => assert_eq!(&read_ours(frame), meaning, "{frame:?}"),
            (Err(_), Err(_)) => {}
            (Ok(frame), Err(error)) => {
                assert!(they_are_stricter(frame), "we accept {frame:?}, they say {error:?}");
            }
            (Err(error), Ok(meaning)) => {
                assert!(we_are_stricter(header, payload), "they accept {meaning:?}, we say {error}");
            }
        }
    });
}

fn for_each_frame(mut input: &[u8], mut check: impl FnMut(FrameHeader, &[u8])) {
    input = input.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(input);
    while let Some(mut header) = FrameHeader::parse(input) {
        if header.check_len(MIN_MAX_FRAME_SIZE).is_err() {
            return;
        }
        // A frame cut off by the end of the input is read as a shorter one.
        header.len = header.len.min((input.len() - FRAME_HEADER_LEN) as u32);
        let (frame, rest) = input.split_at(header.frame_len());
        check(header, &frame[FRAME_HEADER_LEN..]);
        input = rest;
    }
}

/// What a frame says, apart from the types of either side.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Data {
        stream: u32,
        data: Vec<u8>,
        end_stream: bool,
    },
    Headers {
        stream: u32,
        fragment: Vec<u8>,
        end_stream: bool,
        end_headers: bool,
    },
    Priority,
    Reset {
        stream: u32,
        code: u32,
    },
    Settings {
        ack: bool,
        values: [Option<u32>; 6],
    },
    PushPromise {
        stream: u32,
        promised: u32,
        fragment: Vec<u8>,
        end_headers: bool,
    },
    Ping {
        ack: bool,
        payload: [u8; 8],
    },
    GoAway {
        last_stream: u32,
        code: u32,
        debug: Vec<u8>,
    },
    WindowUpdate {
        stream: u32,
        increment: u32,
    },
    /// Types that `h2` reads elsewhere or not at all.
    Other,
}

fn read_ours(frame: &Frame<'_>) -> Meaning {
    match frame {
        Frame::Data(frame) => Meaning::Data {
            stream: frame.stream.value(),
            data: frame.data.to_vec(),
            end_stream: frame.end_stream,
        },
        Frame::Headers(frame) => Meaning::Headers {
            stream: frame.stream.value(),
            fragment: frame.fragment.to_vec(),
            end_stream: frame.end_stream,
            end_headers: frame.end_headers,
        },
        Frame::Priority(_) => Meaning::Priority,
        Frame::RstStream(frame) => Meaning::Reset { stream: frame.stream.value(), code: frame.code.0 },
        Frame::Settings(frame) => Meaning::Settings {
            ack: frame.ack,
            values: frame.iter().fold([None; 6], |mut values, setting| {
                let (place, value) = match setting {
                    Setting::HeaderTableSize(value) => (0, value),
                    Setting::EnablePush(value) => (1, value),
                    Setting::MaxConcurrentStreams(value) => (2, value),
                    Setting::InitialWindowSize(value) => (3, value),
                    Setting::MaxFrameSize(value) => (4, value),
                    Setting::MaxHeaderListSize(value) => (5, value),
                    Setting::Unknown(..) => return values,
                };
                values[place] = Some(value);
                values
            }),
        },
        Frame::PushPromise(frame) => Meaning::PushPromise {
            stream: frame.stream.value(),
            promised: frame.promised.value(),
            fragment: frame.fragment.to_vec(),
            end_headers: frame.end_headers,
        },
        Frame::Ping(frame) => Meaning::Ping { ack: frame.ack, payload: frame.payload },
        Frame::GoAway(frame) => Meaning::GoAway {
            last_stream: frame.last_stream.value(),
            code: frame.code.0,
            debug: frame.debug.to_vec(),
        },
        Frame::WindowUpdate(frame) => {
            Meaning::WindowUpdate { stream: frame.stream.value(), increment: frame.increment }
        }
        Frame::Continuation(_) | Frame::Unknown(_) => Meaning::Other,
    }
}

fn read_other(head: other::Head, kind: FrameType, payload: &[u8]) -> Result<Meaning, other::Error> {
    let stream = u32::from(head.stream_id());
    Ok(match kind {
        // That reader is not public; this one is as independent of ours (6.1).
        FrameType::Data => {
            let padded = head.flag() & 0x8 != 0;
            let pad =
                if padded { usize::from(*payload.first().ok_or(other::Error::TooMuchPadding)?) } else { 0 };
            let data =
                usize::from(padded)..payload.len().checked_sub(pad).ok_or(other::Error::TooMuchPadding)?;
            let data = payload.get(data).ok_or(other::Error::TooMuchPadding)?.to_vec();
            if stream == 0 {
                return Err(other::Error::InvalidStreamId);
            }
            Meaning::Data { stream, data, end_stream: head.flag() & 0x1 != 0 }
        }
        FrameType::Headers => {
            let (frame, fragment) = other::Headers::load(head, BytesMut::from(payload))?;
            Meaning::Headers {
                stream,
                fragment: fragment.to_vec(),
                end_stream: frame.is_end_stream(),
                end_headers: frame.is_end_headers(),
            }
        }
        FrameType::Priority => {
            other::Priority::load(head, payload)?;
            Meaning::Priority
        }
        FrameType::RstStream => {
            Meaning::Reset { stream, code: other::Reset::load(head, payload)?.reason().into() }
        }
        FrameType::Settings => {
            let frame = other::Settings::load(head, payload)?;
            Meaning::Settings {
                ack: frame.is_ack(),
                values: [
                    frame.header_table_size(),
                    frame.is_push_enabled().map(u32::from),
                    frame.max_concurrent_streams(),
                    frame.initial_window_size(),
                    frame.max_frame_size(),
                    frame.max_header_list_size(),
                ],
            }
        }
        FrameType::PushPromise => {
            let (frame, fragment) = other::PushPromise::load(head, BytesMut::from(payload))?;
            Meaning::PushPromise {
                stream,
                promised: frame.promised_id().into(),
                fragment: fragment.to_vec(),
                end_headers: frame.is_end_headers(),
            }
        }
        FrameType::Ping => {
            let frame = other::Ping::load(head, payload)?;
            Meaning::Ping { ack: frame.is_ack(), payload: *frame.payload() }
        }
        FrameType::GoAway => {
            let frame = other::GoAway::load(head, payload)?;
            Meaning::GoAway {
                last_stream: frame.last_stream_id().into(),
                code: frame.reason().into(),
                debug: frame.debug_data().to_vec(),
            }
        }
        FrameType::WindowUpdate => {
            let increment = other::WindowUpdate::load(head, payload)?.size_increment();
            Meaning::WindowUpdate { stream, increment }
        }
        FrameType::Continuation | FrameType::Unknown(_) => Meaning::Other,
    })
}

/// Frames that `h2` refuses where the RFC does not ask for it, or asks for it elsewhere in our engine.
fn they_are_stricter(frame: &Frame<'_>) -> bool {
    let on_itself = |dependency: Dependency, stream| dependency.parent == stream;
    match frame {
        // We judge this where the stream's state is known (RFC 7540, 5.3.1; RFC 9113 only deprecates it).
        Frame::Headers(frame) => {
            frame.dependency.is_some_and(|dependency| on_itself(dependency, frame.stream))
        }
        Frame::Priority(frame) => on_itself(frame.dependency, frame.stream),
        // An empty block is broken HTTP, not a broken frame.
        Frame::PushPromise(frame) => frame.fragment.is_empty(),
        // RFC 8441, which we do not speak: to us the identifier is unknown and ignored.
        Frame::Settings(frame) => frame
            .iter()
            .any(|setting| matches!(setting, Setting::Unknown(ENABLE_CONNECT_PROTOCOL, value) if value > 1)),
        _ => false,
    }
}

/// Frames that we refuse at once and `h2` later, with the stream's state at hand.
fn we_are_stricter(header: FrameHeader, payload: &[u8]) -> bool {
    match header.kind {
        // 6.3, 6.4, 6.10: never on stream 0.
        FrameType::Priority | FrameType::RstStream | FrameType::Continuation => header.stream.is_connection(),
        // 5.1.1: a server promises streams of its own.
        FrameType::PushPromise => {
            let at = usize::from(header.flags.contains(Flags::PADDED));
            payload.get(at + 3).is_some_and(|low| low & 1 == 1)
                || payload.get(at..at + 4).is_some_and(|id| matches!(id, [0 | 0x80, 0, 0, 0]))
        }
        _ => false,
    }
}

const ENABLE_CONNECT_PROTOCOL: u16 = 0x8;
