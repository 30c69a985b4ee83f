//! A connection under test whose peer is a script of single frames, legal or not.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{REQUEST, RESPONSE, Seen, fields};
use crate::connection::{Config, Connection, Role, input::PREFACE};
use crate::frame::{FRAME_HEADER_LEN, Flags, Frame, FrameHeader, FrameType, RstStream, Settings, seal_block};
use crate::hpack::{Decoder, Encoder};
use crate::{ConnectionError, ErrorCode, StreamError, StreamId, StreamKey};

/// The connection, the script's compression state and the time.
pub(super) struct Scripted {
    pub(super) connection: Connection,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) now: Instant,
}

/// A frame the connection has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) header: FrameHeader,
    pub(super) payload: Vec<u8>,
}

impl Written {
    pub(super) fn kind(&self) -> FrameType {
        self.header.kind
    }

    pub(super) fn stream(&self) -> u32 {
        self.header.stream.value()
    }

    pub(super) fn ends_stream(&self) -> bool {
        self.header.flags.contains(Flags::END_STREAM)
    }

    pub(super) fn parse(&self) -> Frame<'_> {
        Frame::parse(self.header, &self.payload).unwrap()
    }
}

impl Scripted {
    /// A server whose handshake is done.
    pub(super) fn server(config: Config) -> Self {
        let mut scripted = Self::before_handshake(Role::Server, config);
        scripted.receive(PREFACE).unwrap();
        scripted.finish_handshake();
        scripted
    }

    /// A client whose handshake is done.
    pub(super) fn client(config: Config) -> Self {
        let mut scripted = Self::before_handshake(Role::Client, config);
        scripted.finish_handshake();
        scripted
    }

    pub(super) fn before_handshake(role: Role, config: Config) -> Self {
        let now = Instant::now();
        let connection = Connection::new(role, config, now);
        Scripted { connection, encoder: Encoder::new(5), decoder: Decoder::new(4096), now }
    }

    fn finish_handshake(&mut self) {
        let mut hello = Vec::new();
        Settings::encode_entries(&[], &mut hello);
        Settings::encode_ack(&mut hello);
        let seen = self.receive(&hello).unwrap();
        assert!(matches!(seen[..], [Seen::Settings]));
        self.written();
    }

    /// Gives octets to the connection; all of them must be used up.
    pub(super) fn receive(&mut self, mut input: &[u8]) -> Result<Vec<Seen>, ConnectionError> {
        let mut seen = Vec::new();
        loop {
            let progress = self.connection.handle_input(input, self.now)?;
            seen.extend(progress.event.map(Seen::from));
            while let Some(event) = self.connection.poll_event() {
                seen.push(event.into());
            }
            if progress.consumed == 0 {
                assert!(input.is_empty(), "{} octets are left", input.len());
                return Ok(seen);
            }
            input = &input[progress.consumed..];
        }
    }

    pub(super) fn frame(&mut self, frame: Frame<'_>) -> Result<Vec<Seen>, ConnectionError> {
        let mut octets = Vec::new();
        frame.encode(&mut octets);
        self.receive(&octets)
    }

    /// A frame with any header.
    pub(super) fn raw(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> Result<Vec<Seen>, ConnectionError> {
        self.receive(&raw_frame(kind, flags, stream, payload))
    }

    pub(super) fn block(&mut self, list: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.encode_block(fields(list), &mut block);
        block
    }

    pub(super) fn headers(
        &mut self,
        stream: u32,
        list: &[(&str, &str)],
        end_stream: bool,
    ) -> Result<Vec<Seen>, ConnectionError> {
        let mut octets = vec![0; FRAME_HEADER_LEN];
        self.encoder.encode_block(fields(list), &mut octets);
        seal_block(&mut octets, 0, StreamId::new(stream), end_stream, 16_384);
        self.receive(&octets)
    }

    pub(super) fn data(
        &mut self,
        stream: u32,
        data: &[u8],
        end_stream: bool,
    ) -> Result<Vec<Seen>, ConnectionError> {
        self.raw(0x0, u8::from(end_stream), stream, data)
    }

    pub(super) fn rst(&mut self, stream: u32, code: ErrorCode) -> Result<Vec<Seen>, ConnectionError> {
        self.frame(Frame::RstStream(RstStream { stream: StreamId::new(stream), code }))
    }

    pub(super) fn window_update(
        &mut self,
        stream: u32,
        increment: u32,
    ) -> Result<Vec<Seen>, ConnectionError> {
        self.raw(0x8, 0, stream, &increment.to_be_bytes())
    }

    /// Server under test: a request arrives.
    pub(super) fn request(&mut self, stream: u32, end_stream: bool) -> StreamKey {
        let seen = self.headers(stream, &REQUEST, end_stream).unwrap();
        let [Seen::Headers { stream, .. }] = seen[..] else { panic!("{seen:?}") };
        stream
    }

    /// Client under test: opens a stream.
    pub(super) fn open(&mut self, end_stream: bool) -> StreamKey {
        self.connection.open(fields(&REQUEST), end_stream).unwrap()
    }

    /// Client under test: a response head arrives.
    pub(super) fn respond(&mut self, key: StreamKey, end_stream: bool) {
        let seen = self.headers(key.id().value(), &RESPONSE, end_stream).unwrap();
        assert!(matches!(seen[..], [Seen::Headers { .. }]), "{seen:?}");
    }

    pub(super) fn write(&mut self, key: StreamKey, data: &[u8]) -> Result<(), StreamError> {
        write(&mut self.connection, key, data)
    }

    /// Everything the connection has written since the last call, the client's preface left out.
    pub(super) fn written(&mut self) -> Vec<Written> {
        let octets = self.written_octets();
        let mut rest = octets.strip_prefix(PREFACE).unwrap_or(&octets);
        let mut frames = Vec::new();
        while let Some(header) = FrameHeader::parse(rest) {
            let payload = rest[FRAME_HEADER_LEN..header.frame_len()].to_vec();
            rest = &rest[header.frame_len()..];
            frames.push(Written { header, payload });
        }
        assert!(rest.is_empty());
        frames
    }

    pub(super) fn written_octets(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        while self.connection.poll_output() {
            take_output(&mut self.connection, usize::MAX, &mut octets);
        }
        octets
    }

    /// The one frame written since the last call.
    pub(super) fn written_one(&mut self) -> Written {
        let mut frames = self.written();
        assert_eq!(frames.len(), 1, "{frames:?}");
        frames.remove(0)
    }

    /// The code of the one RST_STREAM written since the last call.
    pub(super) fn written_reset(&mut self, stream: u32) -> ErrorCode {
        let frame = self.written_one();
        match frame.parse() {
            Frame::RstStream(reset) if reset.stream.value() == stream => reset.code,
            other => panic!("{other:?}"),
        }
    }

    /// The code and the debug text of the GOAWAY that ends what was written.
    pub(super) fn written_goaway(&mut self) -> (u32, ErrorCode, String) {
        let frames = self.written();
        match frames.last().unwrap().parse() {
            Frame::GoAway(goaway) => {
                let debug = String::from_utf8(goaway.debug.to_vec()).unwrap();
                (goaway.last_stream.value(), goaway.code, debug)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn pass(&mut self, time: Duration) -> Result<(), ConnectionError> {
        self.now += time;
        self.connection.handle_timeout(self.now)
    }
}

pub(super) fn raw_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        len: payload.len() as u32,
        kind: FrameType::from_wire(kind),
        flags: Flags(flags),
        stream: StreamId::new(stream),
    };
    [&header.to_bytes()[..], payload].concat()
}

/// Writes data as the upper layer does: large parts are linked.
pub(super) fn write(connection: &mut Connection, key: StreamKey, data: &[u8]) -> Result<(), StreamError> {
    let mut write = connection.write_data(key, data.len())?;
    let (bytes, links) = write.buffers();
    let (plain, large) = data.split_at(data.len().min(1000));
    bytes.extend_from_slice(plain);
    if large.len() >= 8192 {
        links.push_back((bytes.len(), Bytes::copy_from_slice(large)));
    } else {
        bytes.extend_from_slice(large);
    }
    write.commit()
}

/// Moves at most `most` octets of output to `octets`.
pub(super) fn take_output(connection: &mut Connection, most: usize, octets: &mut Vec<u8>) {
    let before = octets.len();
    let mut slices = [IoSlice::new(&[]); 8];
    let filled = connection.output_slices(&mut slices);
    for slice in &slices[..filled] {
        let room = most - (octets.len() - before);
        octets.extend_from_slice(&slice[..slice.len().min(room)]);
    }
    connection.advance_output(octets.len() - before);
}
