//! Tests of the whole machine. [`scripted`] plays one frame at a time against one connection, [`pair`] joins
//! two, [`pairs`] joins two and does random things to them.

mod calls;
mod flow_control;
mod header_blocks;
mod life;
mod limits;
mod pair;
mod pairs;
mod rules;
mod scripted;
mod settings;
mod shutdown;
mod whole;
mod whole_calls;
mod whole_requests;

use std::sync::Arc;

use super::{Event, Initiator};
use crate::{ErrorCode, Field, Head, StreamId, StreamKey};

/// An event that owns its data.
#[derive(Debug)]
enum Seen {
    Headers { stream: StreamKey, head: Arc<Head>, end_stream: bool },
    Request { stream: StreamKey, head: Arc<Head>, data: Vec<u8> },
    HeadersTooLarge { stream: StreamKey, size: usize, limit: usize },
    Data { data: Vec<u8>, end_stream: bool },
    Trailers { stream: StreamKey, head: Arc<Head> },
    Reset { stream: StreamKey, code: ErrorCode, initiator: Initiator },
    Writable { stream: StreamKey },
    GoAway { last_stream: StreamId, code: ErrorCode, debug: Vec<u8> },
    Refused { stream: StreamKey },
    Relieved,
    Settings,
    Pong { payload: [u8; 8] },
}

impl From<Event<'_>> for Seen {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Headers { stream, head, end_stream } => Seen::Headers { stream, head, end_stream },
            Event::Request { stream, head, data } => Seen::Request { stream, head, data: data.to_vec() },
            Event::HeadersTooLarge { stream, size, limit, .. } => {
                Seen::HeadersTooLarge { stream, size, limit }
            }
            Event::Data { data, end_stream, .. } => Seen::Data { data: data.to_vec(), end_stream },
            Event::Trailers { stream, head } => Seen::Trailers { stream, head },
            Event::Reset { stream, code, initiator } => Seen::Reset { stream, code, initiator },
            Event::Writable { stream } => Seen::Writable { stream },
            Event::GoAway { last_stream, code, debug } => {
                Seen::GoAway { last_stream, code, debug: debug.to_vec() }
            }
            Event::Refused { stream } => Seen::Refused { stream },
            Event::Relieved => Seen::Relieved,
            Event::Settings => Seen::Settings,
            Event::Pong { payload } => Seen::Pong { payload },
        }
    }
}

fn fields<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = Field<'a>> + Clone {
    pairs.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
}

const REQUEST: [(&str, &str); 6] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/pkg.Service/Method"),
    (":authority", "localhost:50051"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
];

const RESPONSE: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];

const TRAILERS: [(&str, &str); 1] = [("grpc-status", "0")];
