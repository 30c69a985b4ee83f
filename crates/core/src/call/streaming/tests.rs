//! Driver and reader of an inbox, joined by hand.

use std::pin::pin;

use bytes::Bytes;

use super::*;
use crate::call::{InboxConfig, InboxOwner};
use crate::codec::BytesCodec;
use crate::message::{Encoding, write_prefix};
use crate::status::Code;
use crate::stream::tests::{Wakes, block_on, poll_once};

const CALL: u64 = 42;

#[derive(Default)]
struct Owner {
    calls: Mutex<Vec<&'static str>>,
}

impl Owner {
    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl InboxOwner for Owner {
    fn credit_available(&self, call: u64) {
        assert_eq!(call, CALL);
        self.calls.lock().unwrap().push("credit");
    }

    fn dropped(&self, call: u64) {
        assert_eq!(call, CALL);
        self.calls.lock().unwrap().push("dropped");
    }
}

struct Pair {
    inbox: Arc<SharedInbox>,
    owner: Arc<Owner>,
    reader: Streaming<Bytes>,
    wakes: Arc<Wakes>,
}

impl Pair {
    fn new(max_message: usize, credit_step: usize) -> Self {
        let config = InboxConfig { encoding: Encoding::Identity, max_message, credit_step };
        let owner = Arc::new(Owner::default());
        let inbox = SharedInbox::new(config, owner.clone(), CALL);
        let reader = Streaming::new::<BytesCodec>(Arc::clone(&inbox), DecodeLimits::default());
        Self { inbox, owner, reader, wakes: Arc::default() }
    }

    fn poll(&mut self) -> Poll<Option<Result<Bytes, Code>>> {
        let waker = self.wakes.waker();
        let polled = self.reader.poll_message(&mut Context::from_waker(&waker));
        polled.map(|item| item.map(|outcome| outcome.map_err(|status| status.code())))
    }

    fn ready(&mut self) -> Option<Result<Bytes, Code>> {
        match self.poll() {
            Poll::Ready(item) => item,
            Poll::Pending => panic!("the reader waits"),
        }
    }
}

fn framed(messages: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        write_prefix(&mut out, message.len() as u32);
        out.extend_from_slice(message);
    }
    out
}

fn bytes(message: &'static [u8]) -> Bytes {
    Bytes::from_static(message)
}

// wire-rules 29, M2: any cut, any reading pattern, the same messages.
#[test]
fn messages_come_in_order_for_every_cut() {
    let wire = framed(&[b"one", b"", b"three"]);
    for cut in 0..=wire.len() {
        for eager in [false, true] {
            let mut pair = Pair::new(100, 1_000);
            let mut seen = Vec::new();
            for part in [&wire[..cut], &wire[cut..]] {
                let _ = pair.inbox.push(part);
                while eager && let Poll::Ready(Some(item)) = pair.poll() {
                    seen.push(item);
                }
            }
            pair.inbox.finish(None);
            while let Some(item) = pair.ready() {
                seen.push(item);
            }
            assert_eq!(seen, [Ok(bytes(b"one")), Ok(bytes(b"")), Ok(bytes(b"three"))], "cut at {cut}");
            assert_eq!(pair.poll(), Poll::Ready(None), "the end stays");
        }
    }
}

#[test]
fn the_reader_is_woken_when_it_can_read_and_not_before() {
    let mut pair = Pair::new(100, 1_000);
    assert!(pair.poll().is_pending());
    let wire = framed(&[b"abc", b"d"]);
    for byte in &wire[..7] {
        let _ = pair.inbox.push(std::slice::from_ref(byte));
        assert_eq!(pair.wakes.take(), 0);
    }
    let _ = pair.inbox.push(&wire[7..10]);
    assert_eq!(pair.wakes.take(), 1);
    let _ = pair.inbox.push(&wire[10..]);
    assert_eq!(pair.wakes.take(), 0, "it has not read yet");
    assert_eq!(pair.ready(), Some(Ok(bytes(b"abc"))));
    assert_eq!(pair.ready(), Some(Ok(bytes(b"d"))));
    assert!(pair.poll().is_pending());
    pair.inbox.finish(None);
    assert_eq!(pair.wakes.take(), 1);
}

#[test]
fn a_broken_prefix_wakes_the_reader() {
    let mut pair = Pair::new(100, 1_000);
    assert!(pair.poll().is_pending());
    let _ = pair.inbox.push(&[0, 0, 0, 0, 101]);
    assert_eq!(pair.wakes.take(), 1);
    assert_eq!(pair.ready(), Some(Err(Code::ResourceExhausted)));
}

// wire-rules 72 and the contract: messages first, then the status.
#[test]
fn messages_are_delivered_before_the_final_status() {
    let mut pair = Pair::new(100, 1_000);
    let _ = pair.inbox.push(&framed(&[b"a", b"b"]));
    let _ = pair.inbox.push(&[0, 0, 0]);
    let mut status = Status::aborted("stop");
    status.metadata_mut().insert("why", "x").unwrap();
    pair.inbox.finish(Some(status));
    pair.inbox.finish(None);
    assert_eq!(pair.reader.trailers(), None);
    assert_eq!(pair.ready(), Some(Ok(bytes(b"a"))));
    assert_eq!(pair.ready(), Some(Ok(bytes(b"b"))));
    assert_eq!(pair.ready(), Some(Err(Code::Aborted)));
    assert_eq!(pair.ready(), None);
    // wire-rules 97
    assert_eq!(pair.reader.trailers().and_then(|trailers| trailers.get("why")), Some("x"));
}

// wire-rules 45
#[test]
fn a_clean_end_inside_a_message_is_internal() {
    let wire = framed(&[b"abc"]);
    for cut in 1..wire.len() {
        let mut pair = Pair::new(100, 1_000);
        let _ = pair.inbox.push(&wire[..cut]);
        pair.inbox.finish(None);
        assert_eq!(pair.ready(), Some(Err(Code::Internal)), "cut at {cut}");
        assert_eq!(pair.ready(), None);
    }
}

// wire-rules 42, 46, 32: what cannot be read ends the call for the owner too.
#[test]
fn a_local_failure_ends_the_stream_and_tells_the_owner() {
    let failing: DecodeFn<Bytes> = |_, _| Err(DecodeError::new("nonsense"));
    for (wire, decode, code) in [
        (vec![0, 0, 0, 0, 101], BytesCodec::decode as DecodeFn<Bytes>, Code::ResourceExhausted),
        (vec![1, 0, 0, 0, 0], BytesCodec::decode, Code::Internal),
        (framed(&[b"x", b"y"]), failing, Code::Internal),
    ] {
        let mut pair = Pair::new(100, 1_000);
        pair.reader.decode = decode;
        let _ = pair.inbox.push(&wire);
        assert_eq!(pair.ready(), Some(Err(code)));
        assert_eq!(pair.owner.take(), ["dropped"]);
        assert_eq!(pair.ready(), None);
        assert_eq!(pair.inbox.push(&[7; 9]), 9, "later bytes are dropped and their window given back");
        drop(pair.reader);
        assert!(pair.owner.take().is_empty(), "told once");
    }
}

#[test]
fn dropping_early_tells_the_owner_and_dropping_late_does_not() {
    let pair = Pair::new(100, 1_000);
    let _ = pair.inbox.push(&framed(&[b"unread"]));
    assert!(!pair.inbox.is_abandoned());
    drop(pair.reader);
    assert!(pair.inbox.is_abandoned());
    assert_eq!(pair.owner.take(), ["dropped"]);

    let pair = Pair::new(100, 1_000);
    pair.inbox.finish(None);
    assert!(pair.inbox.is_finished());
    drop(pair.reader);
    assert!(pair.owner.take().is_empty(), "the end had come, read or not");

    let mut pair = Pair::new(100, 1_000);
    pair.inbox.finish(None);
    assert_eq!(pair.ready(), None);
    assert!(pair.inbox.is_finished());
    drop(pair.reader);
    assert!(pair.owner.take().is_empty());
}

// Flow control: or a peer that still sends would wait for ever for a window that is full of dropped bytes.
#[test]
fn a_reader_that_leaves_gives_back_what_it_has_not_read() {
    let mut pair = Pair::new(100, 1_000);
    assert_eq!(pair.inbox.push(&framed(&[&[1; 10], &[2; 10]])), 0);
    assert!(pair.ready().is_some());
    assert_eq!(pair.inbox.push(&[0, 0]), 0);
    drop(pair.reader);
    assert_eq!(pair.owner.take(), ["dropped"]);
    assert_eq!(pair.inbox.take_credit(), 32);
    assert_eq!(pair.inbox.push(&[0; 7]), 7);
    assert_eq!(pair.inbox.take_credit(), 0, "each byte once");
}

// Flow control: credit for what was taken, in steps.
#[test]
fn credit_is_given_for_messages_taken() {
    let mut pair = Pair::new(100, 20);
    let wire = framed(&[&[1; 10], &[2; 10], &[3; 10]]);
    assert_eq!(pair.inbox.push(&wire), 0, "nothing was read");
    assert_eq!(pair.inbox.take_credit(), 0);
    assert!(pair.ready().is_some());
    assert!(pair.owner.take().is_empty(), "15 bytes are below the step");
    assert!(pair.ready().is_some());
    assert_eq!(pair.owner.take(), ["credit"]);
    assert_eq!(pair.inbox.take_credit(), 30);
    assert_eq!(pair.inbox.take_credit(), 0, "each byte once");
    assert!(pair.ready().is_some());
    assert!(pair.poll().is_pending());
    assert_eq!(pair.inbox.take_credit(), 15, "below the step, but there to take");
}

// wire-rules 84: a message larger than the window flows, if someone reads it.
#[test]
fn a_message_larger_than_the_window_flows_while_it_is_awaited() {
    const WINDOW: usize = 64;
    let message = [9; 1_000];
    let wire = framed(&[&message]);
    let mut pair = Pair::new(1_000, WINDOW / 2);
    let (mut window, mut sent) = (WINDOW, 0);
    assert!(pair.poll().is_pending());
    while sent < wire.len() {
        assert!(window > 0, "stalled after {sent} bytes");
        let end = wire.len().min(sent + window);
        window -= end - sent;
        window += pair.inbox.push(&wire[sent..end]);
        sent = end;
    }
    assert_eq!(pair.wakes.take(), 1, "one wake-up for the whole message");
    assert_eq!(pair.ready(), Some(Ok(Bytes::copy_from_slice(&message))));
}

#[test]
fn a_reader_that_does_not_read_holds_the_peer_back() {
    let mut pair = Pair::new(1_000, 10);
    let wire = framed(&[&[9; 500]]);
    assert_eq!(pair.inbox.push(&wire[..300]), 0);
    assert_eq!(pair.inbox.take_credit(), 0, "nobody asked for it");
    assert!(pair.poll().is_pending());
    assert_eq!(pair.owner.take(), ["credit"]);
    assert_eq!(pair.inbox.take_credit(), 300, "the part that is here");
    assert_eq!(pair.inbox.push(&[&wire[300..], &wire[..100]].concat()), 205, "not beyond the message");
    assert!(pair.ready().is_some());
    assert!(pair.poll().is_pending());
    assert_eq!(pair.inbox.take_credit(), 100);
}

// All credit comes back in the end, whatever the cuts and the steps.
#[test]
fn no_credit_is_lost_or_given_twice() {
    let messages: Vec<Vec<u8>> = (0..60).map(|n| vec![n; usize::from(n) * 7 % 90]).collect();
    let wire = framed(&messages.iter().map(Vec::as_slice).collect::<Vec<_>>());
    for step in [1, 13, 64, 10_000] {
        for chunk in [1, 2, 3, 7, 50, 1_000] {
            let mut pair = Pair::new(100, step);
            let (mut credit, mut read) = (0, 0);
            for part in wire.chunks(chunk) {
                credit += pair.inbox.push(part);
                while let Poll::Ready(item) = pair.poll() {
                    assert_eq!(item, Some(Ok(Bytes::from(messages[read].clone()))));
                    read += 1;
                    if pair.owner.take().contains(&"credit") {
                        credit += pair.inbox.take_credit();
                    }
                }
            }
            credit += pair.inbox.take_credit();
            assert_eq!((credit, read), (wire.len(), messages.len()), "step {step}, chunk {chunk}");
        }
    }
}

#[test]
fn headers_come_as_soon_as_they_are_there() {
    let mut pair = Pair::new(100, 1_000);
    {
        let mut headers = pin!(pair.reader.headers());
        assert!(poll_once(headers.as_mut(), &pair.wakes).is_pending());
        let mut map = MetadataMap::new();
        map.insert("k", "v").unwrap();
        pair.inbox.set_headers(map);
        assert_eq!(pair.wakes.take(), 1);
        let Poll::Ready(Ok(headers)) = poll_once(headers, &pair.wakes) else { panic!("headers are there") };
        assert_eq!(headers.get("k"), Some("v"));
    }
    pair.inbox.finish(None);
    assert_eq!(pair.ready(), None);
    let again = poll_once(pin!(pair.reader.headers()), &pair.wakes).map(|headers| headers.unwrap().len());
    assert_eq!(again, Poll::Ready(1), "they stay readable");
}

#[test]
fn headers_that_nobody_awaited_are_kept_past_the_end() {
    let mut pair = Pair::new(100, 1_000);
    let mut map = MetadataMap::new();
    map.insert("k", "v").unwrap();
    pair.inbox.set_headers(map);
    pair.inbox.finish(Some(Status::internal("x")));
    assert_eq!(pair.ready(), Some(Err(Code::Internal)));
    let headers = poll_once(pin!(pair.reader.headers()), &pair.wakes).map(|headers| headers.unwrap().len());
    assert_eq!(headers, Poll::Ready(1));
}

// wire-rules 97: Trailers-Only has no headers.
#[test]
fn a_call_without_headers_says_how_it_ended() {
    let mut pair = Pair::new(100, 1_000);
    pair.inbox.finish(Some(Status::not_found("x")));
    let code = poll_once(pin!(pair.reader.headers()), &pair.wakes).map(|headers| headers.unwrap_err().code());
    assert_eq!(code, Poll::Ready(Code::NotFound));
    assert_eq!(pair.ready(), Some(Err(Code::NotFound)), "the same again for the messages");
    let empty =
        poll_once(pin!(pair.reader.headers()), &pair.wakes).map(|headers| headers.unwrap().is_empty());
    assert_eq!(empty, Poll::Ready(true));

    let mut pair = Pair::new(100, 1_000);
    let mut trailers = MetadataMap::new();
    trailers.insert("t", "1").unwrap();
    pair.inbox.finish_with_trailers(trailers);
    let empty =
        poll_once(pin!(pair.reader.headers()), &pair.wakes).map(|headers| headers.unwrap().is_empty());
    assert_eq!(empty, Poll::Ready(true));
    assert_eq!(pair.ready(), None);
    assert_eq!(pair.reader.trailers().and_then(|trailers| trailers.get("t")), Some("1"));
}

#[test]
fn a_detached_inbox_works_without_an_owner() {
    let config = InboxConfig { encoding: Encoding::Identity, max_message: 100, credit_step: 1 };
    let inbox = SharedInbox::detached(config);
    let _ = inbox.push(&framed(&[b"a"]));
    let mut reader = Streaming::new::<BytesCodec>(inbox, DecodeLimits::default());
    let wakes = Arc::default();
    let message = poll_once(pin!(reader.message()), &wakes).map(|outcome| outcome.unwrap());
    assert_eq!(message, Poll::Ready(Some(Bytes::from_static(b"a"))));
    assert!(poll_once(pin!(reader.message()), &wakes).is_pending());
}

#[test]
fn a_stream_of_any_message_crosses_threads() {
    fn shared<T: Send + Sync + Unpin>() {}
    shared::<Streaming<std::rc::Rc<()>>>();
}

/// Lets the pushing thread sleep until there is credit.
struct Gate(std::thread::Thread);

impl InboxOwner for Gate {
    fn credit_available(&self, _call: u64) {
        self.0.unpark();
    }

    fn dropped(&self, _call: u64) {
        self.0.unpark();
    }
}

// Real threads, a small window: lost credit or a lost wake-up would hang this test.
#[test]
fn driver_and_reader_on_two_threads_never_stall() {
    const WINDOW: usize = 1_000;
    let messages: Vec<Vec<u8>> = (0..4_000_usize).map(|n| vec![n as u8; n * 37 % 3_000]).collect();
    let wire = framed(&messages.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let config = InboxConfig { encoding: Encoding::Identity, max_message: 3_000, credit_step: WINDOW / 2 };
    let inbox = SharedInbox::new(config, Arc::new(Gate(std::thread::current())), CALL);
    let mut reader = Streaming::new::<BytesCodec>(Arc::clone(&inbox), DecodeLimits::default());
    let expected = messages.clone();
    let reading = std::thread::spawn(move || {
        block_on(async {
            for message in expected {
                assert_eq!(reader.message().await.unwrap().unwrap(), message);
            }
            assert_eq!(reader.message().await.unwrap(), None);
        });
    });
    let (mut window, mut sent, mut size) = (WINDOW, 0, 1);
    while sent < wire.len() {
        size = size * 7 % 1_009;
        let end = wire.len().min(sent + window.min(size));
        window -= end - sent;
        window += inbox.push(&wire[sent..end]);
        sent = end;
        while window == 0 {
            window += inbox.take_credit();
            if window == 0 {
                std::thread::park();
            }
        }
    }
    inbox.finish(None);
    reading.join().unwrap();
}

/// wire-rules 31: the flag is of the message, whatever the head said.
#[cfg(feature = "gzip")]
#[test]
fn a_reader_sees_of_each_message_whether_it_came_compressed() {
    /// "hello" as Python's gzip writes it.
    const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";
    let mut pair = Pair::new(100, 1_000);
    pair.inbox.set_encoding(Encoding::Gzip);
    let compressed = [&[1, 0, 0, 0, HELLO.len() as u8], HELLO].concat();
    for (message, is_compressed) in
        [(&framed(&[b"hello"]), false), (&compressed, true), (&framed(&[b"hello"]), false)]
    {
        let _credit = pair.inbox.push(message);
        assert_eq!(pair.ready(), Some(Ok(Bytes::from("hello"))));
        assert_eq!(pair.reader.was_compressed(), is_compressed);
    }
}

/// A format that is the codec's own: its messages are read in the long way.
#[derive(Debug)]
struct Same;

impl Transcode for Same {
    fn read(&self, body: &[u8], _limits: &DecodeLimits) -> Result<Vec<u8>, DecodeError> {
        Ok(body.to_vec())
    }

    fn write(&self, body: &[u8]) -> Result<Vec<u8>, crate::EncodeError> {
        Ok(body.to_vec())
    }
}

fn picky(body: Payload<'_>, _limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
    if body.as_slice() == b"bad" { Err(DecodeError::new("bad")) } else { Ok(body.into_bytes()) }
}

/// How messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Short,
    Future,
    Long,
}

/// All that is seen of `wire` when it comes in two parts: what each poll says, and the credit behind it.
fn seen(wire: &[u8], cut: usize, reading: Reading) -> Vec<String> {
    let mut pair = Pair::new(MAX, 7);
    pair.reader = Streaming::with_decode(Arc::clone(&pair.inbox), picky, DecodeLimits::default());
    if reading == Reading::Long {
        pair.reader.transcode = Some(Arc::new(Same));
    }
    let mut seen = Vec::new();
    for part in [&wire[..cut], &wire[cut..], b""] {
        if part.is_empty() {
            pair.inbox.finish(None);
        } else {
            seen.push(format!("{}", pair.inbox.push(part)));
        }
        loop {
            let waker = pair.wakes.waker();
            let cx = &mut Context::from_waker(&waker);
            let polled = match reading {
                Reading::Future => pin!(pair.reader.message()).poll(cx).map(Result::transpose),
                _ => pair.reader.poll_message(cx),
            };
            let is_over = !matches!(polled, Poll::Ready(Some(_)));
            let polled = polled.map_ok(|message| (message.len(), message.first().copied()));
            let credit = (pair.inbox.take_credit(), pair.owner.take());
            seen.push(format!("{polled:?} {credit:?} {}", pair.reader.was_compressed()));
            if is_over {
                break;
            }
        }
    }
    seen
}

const MAX: usize = 20_000;

// wire-rules 29 to 33, 42, 45, 46, M3
#[test]
fn small_messages_are_read_as_any_others_are() {
    let large = [vec![b'x'; 16_383], vec![b'y'; 16_384], vec![b'z'; MAX], vec![b'!'; MAX + 1]];
    let rows: [&[&[u8]]; 7] = [
        &[b"one", b"", b"three", b""],
        &[b"one", b"bad", b"three"],
        &[b"bad"],
        &[&large[0], b"a", &large[1], b"", &large[1]],
        &[&large[2], b"b"],
        &[b"c", &large[3], b"d"],
        &[],
    ];
    for messages in rows {
        let whole = framed(messages);
        let mut wires = vec![whole.clone()];
        if whole.len() > PREFIX_LEN {
            // Broken off, and with flags that there are none of here.
            wires.push(whole[..whole.len() - 1].to_vec());
            wires.push([&whole[..], &[0, 0]].concat());
            wires.extend([1, 2, 255].map(|flag| [&whole[..], &[flag, 0, 0, 0, 0]].concat()));
            wires.extend([1, 2].map(|flag| [&[flag], &whole[1..]].concat()));
        }
        for wire in wires {
            let cuts =
                (0..=wire.len().min(40)).chain([wire.len() / 2, wire.len().saturating_sub(1), wire.len()]);
            for cut in cuts.filter(|cut| *cut <= wire.len()) {
                let long = seen(&wire, cut, Reading::Long);
                assert_eq!(seen(&wire, cut, Reading::Short), long, "{} bytes, cut at {cut}", wire.len());
                assert_eq!(seen(&wire, cut, Reading::Future), long, "{} bytes, cut at {cut}", wire.len());
            }
        }
    }
}
