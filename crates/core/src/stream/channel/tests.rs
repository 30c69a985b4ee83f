//! Backpressure, endings and wake-ups, polled by hand.

use std::pin::pin;

use super::*;
use crate::status::Code;
use crate::stream::take_flush_request;
use crate::stream::tests::{Wakes, block_on, collect, next, poll_once};

fn codes<T>(items: Vec<Result<T, Status>>) -> Vec<Result<T, Code>> {
    items.into_iter().map(|item| item.map_err(|status| status.code())).collect()
}

// wire-rules P2: what a sender says of a message stays with it, however long it waits and whoever polls.
#[test]
fn what_is_said_of_a_message_waits_with_it() {
    use crate::compression::{compress_next, take_wish};

    let mut stream = pin!(channel(|sender: Sender<u32>| async move {
        for (number, wish) in [(1, Some(false)), (2, None), (3, Some(true)), (4, None)] {
            if let Some(wish) = wish {
                compress_next(wish);
            }
            sender.send(number).await?;
        }
        Ok(())
    }));
    let mut cx = Context::from_waker(Waker::noop());
    let mut seen = Vec::new();
    while let Poll::Ready(Some(item)) = stream.as_mut().poll_next(&mut cx) {
        seen.push((item.unwrap(), take_wish()));
    }
    assert_eq!(seen, [(1, Some(false)), (2, None), (3, Some(true)), (4, None)]);
}

// wire-rules P2: a producer may wait between what it says and the message, while others on the thread say other things.
#[test]
fn what_a_producer_said_before_it_waited_is_said_of_its_next_message() {
    use crate::compression::{compress_next, take_wish};

    let mut stream = pin!(channel(|sender: Sender<u32>| async move {
        sender.send(1).await?;
        compress_next(false);
        sender.flush().await?;
        sender.send(2).await?;
        sender.send(3).await
    }));
    let mut cx = Context::from_waker(Waker::noop());
    let mut seen = Vec::new();
    loop {
        match stream.as_mut().poll_next(&mut cx) {
            Poll::Ready(Some(item)) => seen.push((item.unwrap(), take_wish())),
            Poll::Ready(None) => break,
            Poll::Pending => compress_next(true),
        }
        take_flush_request();
    }
    assert_eq!(seen, [(1, None), (2, Some(false)), (3, None)]);
}

#[test]
fn a_channel_yields_what_its_producer_sends() {
    let stream = channel(|tx| async move {
        for n in 0..1_000 {
            tx.send(n).await?;
        }
        Ok(())
    });
    assert_eq!(codes(collect(stream)), (0..1_000).map(Ok).collect::<Vec<_>>());
}

// A producer that waited and then sends must not wake the very task it runs in.
#[test]
fn a_producer_does_not_wake_its_own_stream() {
    let (outside, inside) = pipe::<u8>(1);
    let mut inside = Box::pin(inside);
    let mut stream = pin!(channel(|tx| async move {
        while let Some(n) = poll_fn(|cx| inside.as_mut().poll_next(cx)).await {
            tx.send(n).await?;
        }
        Ok(())
    }));
    let (reader, writer) = (Arc::<Wakes>::default(), Arc::default());
    for n in 0..3 {
        assert!(next(stream.as_mut(), &reader).is_pending());
        assert!(poll_once(pin!(outside.send(n)), &writer).is_ready());
        assert_eq!(reader.take(), 1);
        assert!(matches!(next(stream.as_mut(), &reader), Poll::Ready(Some(Ok(item))) if item == n));
        assert_eq!(reader.take(), 0);
    }
}

#[test]
fn a_producer_may_borrow() {
    let books = vec!["a".to_owned(), "b".to_owned()];
    let stream = channel(|tx| async move {
        for book in &books {
            tx.send(book.len()).await?;
        }
        Ok(())
    });
    assert_eq!(codes(collect(stream)), [Ok(1), Ok(1)]);
}

// wire-rules B3
#[test]
fn a_producers_error_comes_after_its_messages() {
    let stream = channel(|tx| async move {
        tx.send(1).await?;
        tx.send(2).await?;
        Err(Status::data_loss("page torn"))
    });
    assert_eq!(codes(collect(stream)), [Ok(1), Ok(2), Err(Code::DataLoss)]);
}

#[test]
fn a_producer_is_not_ahead_by_more_than_the_capacity() {
    let made = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&made);
    let mut stream = pin!(channel(|tx| async move {
        loop {
            *counter.lock().unwrap() += 1;
            tx.send(()).await?;
        }
    }));
    let wakes = Arc::default();
    for taken in 1..100 {
        assert!(next(stream.as_mut(), &wakes).is_ready());
        assert!(*made.lock().unwrap() <= taken + CHANNEL_CAPACITY);
    }
}

// The producer fails although a clone of its sender lives on elsewhere.
#[test]
fn a_failed_channel_ends_for_senders_elsewhere() {
    let mut kept = None;
    let mut stream = pin!(channel(|tx: Sender<u8>| {
        kept = Some(tx.clone());
        async move {
            tx.send(1).await?;
            Err(Status::aborted(""))
        }
    }));
    let (kept, wakes) = (kept.unwrap(), Arc::default());
    assert!(poll_once(pin!(kept.send(0)), &wakes).is_ready());
    let mut items = Vec::new();
    while let Poll::Ready(Some(item)) = next(stream.as_mut(), &wakes) {
        items.push(item);
    }
    assert_eq!(codes(items), [Ok(0), Ok(1), Err(Code::Aborted)]);
    assert!(kept.is_closed());
    assert!(matches!(next(stream.as_mut(), &wakes), Poll::Ready(None)));
}

// The producer is done, but another task still sends.
#[test]
fn a_channel_lives_as_long_as_any_sender() {
    let mut kept = None;
    let mut stream = pin!(channel(|tx: Sender<u8>| {
        kept = Some(tx.clone());
        async move { Ok(()) }
    }));
    let (reader, writer) = (Arc::<Wakes>::default(), Arc::default());
    assert!(next(stream.as_mut(), &reader).is_pending());
    let kept = kept.unwrap();
    assert!(poll_once(pin!(kept.send(9)), &writer).is_ready());
    assert_eq!(reader.take(), 1);
    assert!(matches!(next(stream.as_mut(), &reader), Poll::Ready(Some(Ok(9)))));
    assert!(next(stream.as_mut(), &reader).is_pending());
    drop(kept);
    assert_eq!(reader.take(), 1);
    assert!(matches!(next(stream.as_mut(), &reader), Poll::Ready(None)));
}

#[test]
fn a_full_pipe_holds_its_sender_until_there_is_room() {
    let (sender, receiver) = pipe(2);
    let mut receiver = pin!(receiver);
    let (reader, writer) = (Arc::<Wakes>::default(), Arc::<Wakes>::default());
    assert!(next(receiver.as_mut(), &reader).is_pending());
    assert!(poll_once(pin!(sender.send(1)), &writer).is_ready());
    assert_eq!(reader.take(), 1, "the reader waited");
    assert!(poll_once(pin!(sender.send(2)), &writer).is_ready());
    assert_eq!(reader.take(), 0, "it was told already");
    let mut third = pin!(sender.send(3));
    assert!(poll_once(third.as_mut(), &writer).is_pending());
    assert!(poll_once(third.as_mut(), &writer).is_pending());
    assert_eq!(next(receiver.as_mut(), &reader), Poll::Ready(Some(1)));
    assert_eq!(writer.take(), 1, "one waker, however often it was registered");
    assert!(poll_once(third.as_mut(), &writer).is_ready());
    assert_eq!(next(receiver.as_mut(), &reader), Poll::Ready(Some(2)));
    assert_eq!(next(receiver.as_mut(), &reader), Poll::Ready(Some(3)));
}

#[test]
fn a_pipe_ends_when_all_senders_are_gone() {
    let (sender, receiver) = pipe(4);
    let mut receiver = pin!(receiver);
    let reader = Arc::<Wakes>::default();
    let other = sender.clone();
    assert!(poll_once(pin!(other.send(1)), &reader).is_ready());
    drop(other);
    assert_eq!(next(receiver.as_mut(), &reader), Poll::Ready(Some(1)));
    assert!(next(receiver.as_mut(), &reader).is_pending());
    drop(sender);
    assert_eq!(reader.take(), 1);
    assert_eq!(next(receiver.as_mut(), &reader), Poll::Ready(None));
}

#[test]
fn a_dropped_receiver_frees_and_fails_its_senders() {
    let (sender, receiver) = pipe(1);
    let writer = Arc::<Wakes>::default();
    let queued = Arc::new(());
    assert!(poll_once(pin!(sender.send(Arc::clone(&queued))), &writer).is_ready());
    let mut second = pin!(sender.send(Arc::clone(&queued)));
    assert!(poll_once(second.as_mut(), &writer).is_pending());
    drop(receiver);
    assert_eq!(writer.take(), 1);
    assert!(
        matches!(poll_once(second, &writer), Poll::Ready(Err(status)) if status.code() == Code::Cancelled)
    );
    assert!(sender.is_closed());
    assert!(matches!(poll_once(pin!(sender.flush()), &writer), Poll::Ready(Err(_))));
    assert_eq!(Arc::strong_count(&queued), 1, "what was queued is gone");
}

// A message that owns the sender must not lock the queue twice.
#[test]
fn messages_are_dropped_unlocked() {
    let (sender, receiver) = pipe::<Box<dyn std::any::Any>>(4);
    let wakes = Arc::default();
    let message = Box::new(sender.clone());
    assert!(poll_once(pin!(sender.send(message)), &wakes).is_ready());
    drop(receiver);
    assert!(sender.is_closed());
}

// wire-rules B2
#[test]
fn flush_waits_for_the_reader_and_tells_the_driver() {
    take_flush_request();
    let (sender, receiver) = pipe(4);
    let mut receiver = pin!(receiver);
    let (reader, writer) = (Arc::<Wakes>::default(), Arc::<Wakes>::default());
    assert!(poll_once(pin!(sender.send(1)), &writer).is_ready());
    assert!(poll_once(pin!(sender.send(2)), &writer).is_ready());
    let mut flush = pin!(sender.flush());
    assert!(poll_once(flush.as_mut(), &writer).is_pending());
    assert!(next(receiver.as_mut(), &reader).is_ready());
    assert!(!take_flush_request(), "one is still queued");
    assert!(poll_once(flush.as_mut(), &writer).is_pending());
    assert!(next(receiver.as_mut(), &reader).is_ready());
    assert!(take_flush_request() && !take_flush_request(), "asked for once");
    assert_eq!(writer.take(), 1);
    assert!(poll_once(flush, &writer).is_ready());
}

#[test]
fn flush_of_an_empty_queue_still_reaches_the_driver() {
    take_flush_request();
    let mut stream = pin!(channel(|tx| async move {
        tx.send(1).await?;
        tx.flush().await?;
        tx.flush().await?;
        tx.send(2).await
    }));
    let wakes = Arc::<Wakes>::default();
    assert!(matches!(next(stream.as_mut(), &wakes), Poll::Ready(Some(Ok(1)))));
    assert!(take_flush_request());
    assert!(next(stream.as_mut(), &wakes).is_pending());
    assert!(take_flush_request());
    assert!(wakes.take() > 0, "the producer goes on");
    assert!(matches!(next(stream.as_mut(), &wakes), Poll::Ready(Some(Ok(2)))));
    assert!(!take_flush_request());
    assert!(matches!(next(stream.as_mut(), &wakes), Poll::Ready(None)));
}

// Real threads: a wake-up that gets lost would hang this test.
#[test]
fn senders_on_other_threads_lose_nothing() {
    const EACH: u32 = 5_000;
    let (sender, receiver) = pipe(3);
    let senders: Vec<_> = (0..3)
        .map(|id| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                block_on(async {
                    for n in 0..EACH {
                        sender.send((id, n)).await.unwrap();
                        if n % 100 == 0 {
                            sender.flush().await.unwrap();
                        }
                    }
                });
            })
        })
        .collect();
    drop(sender);
    let mut receiver = pin!(receiver);
    let mut expected = [0; 3];
    while let Some((id, n)) = block_on(poll_fn(|cx| receiver.as_mut().poll_next(cx))) {
        assert_eq!(n, expected[id], "each sender's order is kept");
        expected[id] += 1;
    }
    assert_eq!(expected, [EACH; 3]);
    for sender in senders {
        sender.join().unwrap();
    }
}
