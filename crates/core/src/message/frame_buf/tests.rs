use super::*;
use crate::codec::{BytesCodec, DecodeError, DecodeLimits, EncodeErrorKind, Payload};
use crate::message::{Deframer, Encoding, LINK_THRESHOLD};

fn wire(buf: &FrameBuf) -> Vec<u8> {
    let wire: Vec<u8> = buf.chunks().flatten().copied().collect();
    assert_eq!(wire.len(), buf.len());
    wire
}

/// Announces the first number and writes the second, `twice` or not at all.
struct Liar;

enum Lie {
    Size(usize, usize),
    Twice,
    Silent,
    Broken,
    /// No lie at all.
    Copied(usize),
    /// Panics half-way.
    Panic,
}

impl Codec<Lie> for Liar {
    fn encode<E: EncodeTarget>(value: &Lie, target: &mut E) -> Result<(), EncodeError> {
        match value {
            Lie::Size(announced, written) => {
                let mut buf = target.begin(*announced)?;
                buf.put_shared(Bytes::from(vec![1; *written]));
            }
            Lie::Twice => {
                target.begin(0)?;
                target.begin(0)?;
            }
            Lie::Silent => {}
            Lie::Copied(size) => target.begin(*size)?.put_slice(&vec![1; *size]),
            Lie::Broken => {
                target.begin(3)?.put_slice(b"ab");
                return Err(EncodeError::codec("gave up"));
            }
            Lie::Panic => {
                let mut buf = target.begin(3 * LINK_THRESHOLD)?;
                buf.put_slice(b"ab");
                buf.put_shared(Bytes::from(vec![1; LINK_THRESHOLD]));
                panic!("half-way");
            }
        }
        Ok(())
    }

    fn decode(_body: Payload<'_>, _limits: &DecodeLimits) -> Result<Lie, DecodeError> {
        Err(DecodeError::new("one way only"))
    }
}

// wire-rules B5, Z2: exact bytes, small and large, in order.
#[test]
fn messages_of_all_sizes_keep_their_order() {
    let sizes = [0, 1, LINK_THRESHOLD - 1, LINK_THRESHOLD, 64 * 1024, 3, 200_000, 0];
    let mut buf = FrameBuf::new();
    let mut messages = Vec::new();
    for (index, size) in sizes.into_iter().enumerate() {
        let message = Bytes::from(vec![index as u8; size]);
        buf.encode::<BytesCodec, _>(&message, usize::MAX).unwrap();
        messages.push(message);
    }
    assert_eq!(buf.links.len(), 3, "large ones by reference");
    assert_eq!(buf.message_lengths().collect::<Vec<_>>(), sizes.map(|size| size + 5));
    let mut deframer = Deframer::new(Encoding::Identity, 1 << 20);
    deframer.push(&wire(&buf));
    for message in &messages {
        assert_eq!(deframer.next_message().unwrap().unwrap().as_slice(), message);
    }
    assert!(deframer.unread().is_empty());
}

// wire-rules 44
#[test]
fn the_send_limit_is_checked_before_anything_is_written() {
    let mut buf = FrameBuf::new();
    let message = Bytes::from_static(b"12345");
    assert!(buf.encode::<BytesCodec, _>(&message, 5).is_ok());
    let before = wire(&buf);
    let error = buf.encode::<BytesCodec, _>(&message, 4).unwrap_err();
    assert!(matches!(error.kind(), EncodeErrorKind::TooLarge { size: 5, limit: 4 }));
    assert_eq!(wire(&buf), before);
}

// wire-rules Z3, B3
#[test]
fn a_failed_message_leaves_the_ones_before_it() {
    let mut buf = FrameBuf::new();
    buf.encode::<BytesCodec, _>(&Bytes::from_static(b"good"), 100).unwrap();
    let before = wire(&buf);
    let lies = [
        Lie::Size(3, 2),
        Lie::Size(3, 4),
        Lie::Size(0, LINK_THRESHOLD),
        Lie::Size(LINK_THRESHOLD + 1, LINK_THRESHOLD),
        Lie::Twice,
        Lie::Silent,
        Lie::Broken,
    ];
    for lie in lies {
        let error = buf.encode::<Liar, _>(&lie, usize::MAX).unwrap_err();
        if let Lie::Size(announced, written) = lie {
            let EncodeErrorKind::SizeMismatch { announced: said, written: came } = *error.kind() else {
                panic!("{error}")
            };
            assert_eq!((said, came), (announced, written));
        }
        assert_eq!(wire(&buf), before);
    }
    assert!(crate::survive(|| buf.encode::<Liar, _>(&Lie::Panic, usize::MAX)).is_none());
    assert_eq!(wire(&buf), before);
    buf.encode::<Liar, _>(&Lie::Size(9_000, 9_000), usize::MAX).unwrap();
    assert_eq!(buf.len(), before.len() + 5 + 9_000);
}

#[test]
fn draining_appends_behind_what_is_there() {
    let mut buf = FrameBuf::new();
    for size in [10, 9_000, 20] {
        buf.encode::<BytesCodec, _>(&Bytes::from(vec![size as u8; size]), usize::MAX).unwrap();
    }
    let expected = [&b"before"[..], &wire(&buf)].concat();
    let mut target = FrameBuf { bytes: b"before".to_vec(), ..FrameBuf::new() };
    let mut room = EncodeBuf::new(&mut target.bytes, &mut target.links);
    buf.drain_into(&mut room);
    target.linked = room.written() + 6 - target.bytes.len();
    assert_eq!(wire(&target), expected);
    assert!(buf.is_empty() && buf.chunks().next().is_none());
}

#[test]
fn the_messages_before_the_last_can_go_ahead() {
    let sizes = [0, 10, 9_000, 20, LINK_THRESHOLD, 0];
    for count in 1..=sizes.len() {
        let (mut buf, mut before) = (FrameBuf::new(), Vec::new());
        for (index, size) in sizes[..count].iter().enumerate() {
            before = wire(&buf);
            buf.encode::<BytesCodec, _>(&Bytes::from(vec![index as u8; *size]), usize::MAX).unwrap();
        }
        // What fails is no last message.
        assert!(buf.encode::<Liar, _>(&Lie::Broken, usize::MAX).is_err());
        let all = wire(&buf);
        assert_eq!(buf.len_before_last(), before.len());
        let mut target = FrameBuf::new();
        buf.drain_before_last_into(&mut EncodeBuf::new(&mut target.bytes, &mut target.links));
        target.linked = target.links.iter().map(|(_, piece)| piece.len()).sum();
        assert_eq!(wire(&target), before);
        assert_eq!([before, wire(&buf)].concat(), all);
        assert_eq!(buf.message_lengths().collect::<Vec<_>>(), [5 + sizes[count - 1]]);
        assert_eq!(buf.len_before_last(), 0, "nobody knows where the one before begins");
    }
}

#[test]
fn batches_join_and_leave_their_storage_behind() {
    let mut all = FrameBuf::new();
    let mut expected = Vec::new();
    for sizes in [&[][..], &[10, 9_000], &[0, 8_192], &[3]] {
        let mut batch = FrameBuf::reused();
        assert!(batch.is_empty() && batch.last == (0, 0));
        for size in sizes {
            batch.encode::<BytesCodec, _>(&Bytes::from(vec![7; *size]), usize::MAX).unwrap();
        }
        expected.extend(wire(&batch));
        batch.append_to(&mut all);
        assert!(batch.is_empty());
        assert_eq!(wire(&all), expected);
        batch.recycle();
    }
    assert_eq!(all.len() - all.len_before_last(), 8);
}

#[test]
fn a_large_message_is_given_away_and_a_small_one_copied() {
    for (size, links) in [(1, 0), (16_378, 0), (16_379, 1), (100_000, 1)] {
        let mut buf = FrameBuf::new();
        buf.encode::<Liar, _>(&Lie::Copied(size), usize::MAX).unwrap();
        let expected = [&b"before"[..], &wire(&buf)].concat();
        let at = buf.bytes.as_ptr();
        let mut target = FrameBuf { bytes: b"before".to_vec(), ..FrameBuf::new() };
        buf.drain_into(&mut EncodeBuf::new(&mut target.bytes, &mut target.links));
        target.linked = target.links.iter().map(|(_, piece)| piece.len()).sum();
        assert!(wire(&target) == expected);
        assert_eq!(target.links.len(), links);
        assert!(target.links.iter().all(|(_, piece)| piece.as_ptr() == at));
        assert!(buf.is_empty());
    }
}
