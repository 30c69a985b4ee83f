//! What an upper layer does to its engine, with the model beside it. Called by `world` for each [`Op`](super::case::Op)
//! that concerns streams, and at the end of a run to bring everything to its end.

use bytes::Bytes;

use super::case::Shape;
use super::layer::{Half, Layer, Outcome};
use super::text::{Text, Use};
use crate::connection::{Connection, DataWrite, Role};
use crate::{ErrorCode, OpenError, StreamError, StreamId};

impl Layer {
    /// The stream that `pick` means: one of the living, or of the dead from 250 on.
    pub(super) fn pick(&self, pick: u8) -> Option<StreamId> {
        if pick < 250 {
            let at = usize::from(pick).checked_rem(self.live.len())?;
            return self.live.get(at).copied();
        }
        self.streams.iter().rfind(|(_, half)| half.outcome.is_some()).map(|(id, _)| *id)
    }

    pub(super) fn open(&mut self, connection: &mut Connection, text: Text, end: bool) {
        let may = connection.can_open();
        let fields = text.fields(Use::Request);
        let list = || fields.iter().map(|field| field.as_field());
        let opened = match text {
            Text::Cached(number) => {
                let block = &mut self.heads[usize::from(number)];
                connection.open_cached(block, list, end)
            }
            Text::Own(_) | Text::Tiny(_) => connection.open(list(), end),
        };
        match opened {
            Ok(key) => {
                assert!(may);
                let half = Half { head: Some(text), send_ended: end, ..Half::new(key) };
                self.add(half);
            }
            Err(OpenError::HeaderListTooLarge { size, limit }) => {
                assert!(may && size == text.size(Use::Request) && size > limit as usize);
            }
            Err(_) => assert!(!may),
        }
    }

    pub(super) fn send_head(&mut self, connection: &mut Connection, id: StreamId, text: Text, end: bool) {
        let expected = {
            let half = &self.streams[&id];
            match half.outcome {
                Some(_) => Some(StreamError::Gone),
                // A second head is out of order, as trailers it would need the end.
                None if half.head.is_some() && end => return,
                None if half.send_ended || half.blind.is_some() => Some(StreamError::Ended),
                None if half.head.is_some() => Some(StreamError::OutOfOrder),
                None => None,
            }
        };
        if self.send_list(connection, id, text, Use::Response, end, expected) {
            let half = self.streams.get_mut(&id).unwrap();
            half.head = Some(text);
            half.send_ended = end;
        }
    }

    pub(super) fn send_trailers(&mut self, connection: &mut Connection, id: StreamId, text: Text) {
        let half = &self.streams[&id];
        let expected = match half.outcome {
            Some(_) => Some(StreamError::Gone),
            None if half.head.is_none() => return,
            None if half.send_ended || half.blind.is_some() => Some(StreamError::Ended),
            None => None,
        };
        if self.send_list(connection, id, text, Use::Trailers, true, expected) {
            let half = self.streams.get_mut(&id).unwrap();
            half.trailers = Some(text);
            half.send_ended = true;
        }
    }

    /// True if the list was taken. `expected`: the error that the order of things demands.
    fn send_list(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        text: Text,
        used: Use,
        end: bool,
        expected: Option<StreamError>,
    ) -> bool {
        let key = self.streams[&id].key;
        let fields = text.fields(used);
        let list = || fields.iter().map(|field| field.as_field());
        let blocks = if used == Use::Trailers { &mut self.trailers } else { &mut self.heads };
        let sent = match text {
            Text::Cached(number) => {
                connection.send_cached_headers(key, &mut blocks[usize::from(number)], list, end)
            }
            Text::Own(_) | Text::Tiny(_) => connection.send_headers(key, list(), end),
        };
        match (sent, expected) {
            (Ok(()), None) => true,
            (Err(StreamError::HeaderListTooLarge { size, limit }), None) => {
                assert!(size == text.size(used) && size > limit as usize);
                false
            }
            (Err(error), Some(expected)) if error == expected => false,
            (sent, expected) => panic!("{sent:?} and not {expected:?} on stream {id}"),
        }
    }

    pub(super) fn write(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        len: usize,
        shape: Shape,
        polite: bool,
    ) {
        let half = self.streams.get_mut(&id).unwrap();
        let key = half.key;
        let expected = match half.outcome {
            Some(_) => Some(StreamError::Gone),
            None if half.head.is_none() => Some(StreamError::OutOfOrder),
            None if half.send_ended || half.blind.is_some() => Some(StreamError::Ended),
            None => None,
        };
        if let Some(expected) = expected {
            assert_eq!(connection.write_data(key, len).map(drop), Err(expected), "{half:?}");
            return;
        }
        if half.waits || (polite && connection.poll_room(key).is_none()) {
            half.waits = true;
            return;
        }
        if !polite && connection.queued(key) > MOST_QUEUED {
            return;
        }
        let octets = half.next_octets(len);
        let mut room = connection.write_data(key, len).unwrap();
        match shape {
            Shape::GivenUp => {
                fill(&mut room, &vec![0xee; len / 2], Shape::Mixed);
                drop(room);
                return;
            }
            Shape::Misjudged => {
                fill(&mut room, &[&octets[..], b"x"].concat(), Shape::Mixed);
                let error = StreamError::LengthMismatch { announced: len, written: len + 1 };
                assert_eq!(room.commit(), Err(error));
                return;
            }
            Shape::Plain | Shape::Linked | Shape::Mixed => fill(&mut room, &octets, shape),
        }
        // As one message, or as two that go together.
        let first = if shape == Shape::Mixed { len / 2 } else { 0 };
        room.commit_parts([first, len - first]).unwrap();
        half.bounds.push(half.sent + first);
        half.sent += len;
        half.bounds.push(half.sent);
    }

    pub(super) fn end(&mut self, connection: &mut Connection, id: StreamId) {
        let half = self.streams.get_mut(&id).unwrap();
        let expected = match half.outcome {
            Some(_) => Err(StreamError::Gone),
            None if half.head.is_none() => Err(StreamError::OutOfOrder),
            None if half.send_ended || half.blind.is_some() => Err(StreamError::Ended),
            None => Ok(()),
        };
        assert_eq!(connection.end_stream(half.key), expected, "{half:?}");
        half.send_ended |= expected.is_ok();
    }

    pub(super) fn reset(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        code: ErrorCode,
        at_once: bool,
    ) {
        let half = self.streams.get_mut(&id).unwrap();
        if at_once {
            connection.reset(half.key, code);
        } else {
            connection.reset_when_sent(half.key, code);
        }
        if half.outcome.is_some() {
            return;
        }
        if connection.is_open(half.key) {
            assert!(!at_once);
            half.blind = Some(code);
            half.held = 0;
            half.waits = false;
        } else {
            self.settle(id, Outcome::ResetHere(code));
        }
    }

    pub(super) fn discard(&mut self, connection: &mut Connection, id: StreamId) {
        let half = self.streams.get_mut(&id).unwrap();
        let queued = connection.queued(half.key);
        let cut = connection.discard_queued_data(half.key);
        assert_eq!(connection.queued(half.key), 0);
        if half.outcome.is_some() {
            assert!(!cut);
            return;
        }
        let kept = half.sent - queued;
        assert_eq!(cut, queued > 0 && kept > 0 && !half.bounds.contains(&kept), "{half:?}");
        if queued > 0 {
            half.bounds.retain(|bound| *bound < kept);
            half.bounds.push(kept);
            half.sent = kept;
            half.discards = half.discards.wrapping_add(1);
            half.epochs.retain(|(from, _)| *from < kept || *from == 0);
            half.epochs.push((kept, half.discards));
            half.trailers = None;
            half.send_ended = false;
        }
        if half.blind.take().is_some() {
            half.gap = true;
            half.recv_ended = connection.is_remote_ended(half.key);
        }
    }

    pub(super) fn release(&mut self, connection: &mut Connection, id: StreamId, part: u8) {
        let half = self.streams.get_mut(&id).unwrap();
        let len = half.held * usize::from(part) / 255;
        connection.release(half.key, len);
        half.held -= len;
    }

    /// Answers in one go, if the engine lets it.
    fn answer_whole(&mut self, connection: &mut Connection, id: StreamId, text: Text) -> bool {
        let half = self.streams.get_mut(&id).unwrap();
        let len = id.value() as usize % 50;
        let octets = half.next_octets(len);
        let (head, trailers) = (&self.heads[0], &self.trailers[0]);
        let Ok(mut write) = connection.write_response(half.key, head, trailers, len) else { return false };
        write.buffers().0.extend_from_slice(&octets);
        write.commit().unwrap();
        half.head = Some(text);
        half.trailers = Some(text);
        half.sent += len;
        half.bounds.push(half.sent);
        half.send_ended = true;
        true
    }

    /// Reads all it has and ends what it has begun.
    pub(super) fn finish_up(&mut self, connection: &mut Connection) {
        for id in self.live.clone() {
            self.release(connection, id, 255);
            let half = &self.streams[&id];
            if half.send_ended || half.blind.is_some() {
                continue;
            }
            let plain = Text::Cached(0);
            if half.head.is_none() && self.role == Role::Server && self.answer_whole(connection, id, plain) {
                continue;
            }
            if self.streams[&id].head.is_none() && self.role == Role::Server {
                self.send_head(connection, id, plain, false);
            }
            if self.streams[&id].head.is_none() {
                continue;
            }
            if id.value() % 4 == 1 {
                self.end(connection, id);
            } else {
                self.send_trailers(connection, id, plain);
            }
        }
    }
}

/// Appends `octets` to a write, laid out as `shape` says.
fn fill(room: &mut DataWrite<'_>, octets: &[u8], shape: Shape) {
    let (bytes, links) = room.buffers();
    let third = octets.len() / 3;
    let (plain, linked) = match shape {
        Shape::Linked => (0, octets.len()),
        Shape::Mixed => (third, third),
        _ => (octets.len(), 0),
    };
    bytes.extend_from_slice(&octets[..plain]);
    if linked > 0 {
        links.push_back((bytes.len(), Bytes::copy_from_slice(&octets[plain..plain + linked])));
    }
    bytes.extend_from_slice(&octets[plain + linked..]);
}

/// A writer that asks nobody stops here, in octets.
const MOST_QUEUED: usize = 300_000;
