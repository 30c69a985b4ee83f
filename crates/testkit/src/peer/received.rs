//! Frames as a test sees them: owned, and with their header blocks decoded.

use bytes::Bytes;
use peregrine_http2::frame::{FRAME_HEADER_LEN, Frame, FrameHeader, Setting};
use peregrine_http2::hpack::Decoder;
use peregrine_http2::{ErrorCode, StreamId};

/// Header fields in the order of the wire.
pub type Fields = Vec<(String, Bytes)>;

/// A frame that the other side sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// HEADERS with its CONTINUATIONs.
    Headers {
        /// The stream.
        stream: StreamId,
        /// The decoded block.
        fields: Fields,
        /// Nothing follows on the stream.
        end_stream: bool,
    },
    /// DATA.
    Data {
        /// The stream.
        stream: StreamId,
        /// The bytes without padding.
        data: Bytes,
        /// Nothing follows on the stream.
        end_stream: bool,
    },
    /// RST_STREAM.
    Reset {
        /// The stream.
        stream: StreamId,
        /// Why.
        code: ErrorCode,
    },
    /// SETTINGS.
    Settings(Vec<Setting>),
    /// SETTINGS that acknowledge ours.
    SettingsAck,
    /// PING.
    Ping {
        /// Whether it answers ours.
        ack: bool,
        /// Its eight bytes.
        payload: [u8; 8],
    },
    /// GOAWAY.
    GoAway {
        /// The highest stream that may have been acted upon.
        last_stream: StreamId,
        /// Why.
        code: ErrorCode,
        /// Text for people.
        debug: Bytes,
    },
    /// WINDOW_UPDATE.
    WindowUpdate {
        /// The stream, or 0.
        stream: StreamId,
        /// Bytes added.
        increment: u32,
    },
}

impl Received {
    /// The stream that the frame belongs to; none for frames of the connection and for WINDOW_UPDATE, which no
    /// reader of a stream waits for.
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Headers { stream, .. } | Self::Data { stream, .. } | Self::Reset { stream, .. } => {
                Some(*stream)
            }
            _ => None,
        }
    }

    /// Whether the frame only keeps the connection going.
    pub fn is_housekeeping(&self) -> bool {
        matches!(self, Self::Settings(_) | Self::SettingsAck | Self::Ping { .. } | Self::WindowUpdate { .. })
    }

    /// Takes one frame off the front of `input` and says how long it was, CONTINUATIONs included; `None` while it
    /// is not complete. An other side that sends what cannot be parsed fails the test.
    pub(super) fn parse(input: &[u8], decoder: &mut Decoder) -> Option<(Self, usize)> {
        let (frame, mut used) = parse_frame(input)?;
        let received = match frame {
            Frame::Headers(headers) => {
                let mut block = headers.fragment.to_vec();
                let mut complete = headers.end_headers;
                while !complete {
                    let (Frame::Continuation(more), len) = parse_frame(&input[used..])? else {
                        panic!("only CONTINUATION may follow an incomplete header block");
                    };
                    block.extend_from_slice(more.fragment);
                    complete = more.end_headers;
                    used += len;
                }
                let fields = decode(&block, decoder);
                Self::Headers { stream: headers.stream, fields, end_stream: headers.end_stream }
            }
            Frame::Data(data) => Self::Data {
                stream: data.stream,
                data: Bytes::copy_from_slice(data.data),
                end_stream: data.end_stream,
            },
            Frame::RstStream(reset) => Self::Reset { stream: reset.stream, code: reset.code },
            Frame::Settings(settings) if settings.ack => Self::SettingsAck,
            Frame::Settings(settings) => Self::Settings(settings.iter().collect()),
            Frame::Ping(ping) => Self::Ping { ack: ping.ack, payload: ping.payload },
            Frame::GoAway(go_away) => Self::GoAway {
                last_stream: go_away.last_stream,
                code: go_away.code,
                debug: Bytes::copy_from_slice(go_away.debug),
            },
            Frame::WindowUpdate(update) => {
                Self::WindowUpdate { stream: update.stream, increment: update.increment }
            }
            other => panic!("there is no reason to send {other:?}"),
        };
        Some((received, used))
    }
}

fn parse_frame(input: &[u8]) -> Option<(Frame<'_>, usize)> {
    let header = FrameHeader::parse(input)?;
    let payload = input.get(FRAME_HEADER_LEN..header.frame_len())?;
    let frame = Frame::parse(header, payload).expect("frames are well-formed");
    Some((frame, header.frame_len()))
}

fn decode(block: &[u8], decoder: &mut Decoder) -> Fields {
    let mut fields = Fields::new();
    decoder
        .decode(block, &mut |field| {
            let name = String::from_utf8(field.name.to_vec()).expect("field names are ASCII");
            fields.push((name, Bytes::copy_from_slice(field.value)));
        })
        .expect("header blocks can be decoded");
    fields
}
