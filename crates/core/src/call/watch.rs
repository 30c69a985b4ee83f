//! Who looks on while a [`Streaming`](super::Streaming) is read: the hooks of interceptors, and a call on whose behalf
//! the stream's call was made.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::context::{Cancelled, outlived};
use crate::intercept::{EndHooks, Message, MessageHooks};
use crate::metadata::MetadataMap;
use crate::status::Status;

/// Looks on while a stream is read.
#[derive(Debug, Default)]
pub struct StreamWatch {
    /// Shown each message before the reader has it.
    pub messages: MessageHooks,
    /// Told of the end, or that the reader has gone.
    pub end: EndHooks,
    /// The stream ends with this.
    pub bound: Option<Cancelled>,
}

impl StreamWatch {
    /// Whether there is anybody.
    pub fn is_needed(&self) -> bool {
        !self.messages.is_empty() || !self.end.is_empty() || self.bound.is_some()
    }

    pub(super) fn poll_bound(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        match &mut self.bound {
            Some(bound) => Pin::new(bound).poll(cx).map(|()| outlived()),
            None => Poll::Pending,
        }
    }

    pub(super) fn on_message<T: 'static>(&mut self, message: &T, len: usize) -> Result<(), Status> {
        self.messages.run(&Message::decoded(message, len))
    }

    pub(super) fn on_end(&mut self, result: Result<MetadataMap, Status>) -> Result<MetadataMap, Status> {
        self.end.run(result)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;

    use super::*;
    use crate::call::{CallScope, InboxConfig, SharedInbox, Streaming};
    use crate::codec::{BytesCodec, DecodeLimits};
    use crate::intercept::Intercepted;
    use crate::message::Encoding;
    use crate::status::Code;
    use crate::stream::tests::block_on;

    const CONFIG: InboxConfig =
        InboxConfig { encoding: Encoding::Identity, max_message: 100, credit_step: 100 };

    /// A stream of these messages, and what its hooks saw.
    fn watched(messages: &[&str]) -> (Streaming<Bytes>, Arc<SharedInbox>, Arc<Mutex<Vec<String>>>) {
        let inbox = SharedInbox::detached(CONFIG);
        for message in messages {
            let mut bytes = Vec::new();
            crate::message::write_prefix(&mut bytes, message.len() as u32);
            bytes.extend_from_slice(message.as_bytes());
            let _credit = inbox.push(&bytes);
        }
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, ended) = (Arc::clone(&log), Arc::clone(&log));
        let mut hooks = Intercepted::default();
        hooks.request_hooks.push(move |message| {
            seen.lock().unwrap().push(format!("{:?}", message.downcast_ref::<Bytes>().unwrap()));
            if message.encoded_len() == 3 { Err(Status::aborted("three")) } else { Ok(()) }
        });
        hooks.end_hooks.push(move |end| ended.lock().unwrap().push(format!("{:?}", end.code())));
        let mut stream = Streaming::new::<BytesCodec>(Arc::clone(&inbox), DecodeLimits::default());
        let (messages, end) = (hooks.request_hooks, hooks.end_hooks);
        stream.set_watch(StreamWatch { messages, end, bound: None });
        (stream, inbox, log)
    }

    #[test]
    fn hooks_see_each_message_and_the_end_before_the_reader() {
        let (mut stream, inbox, log) = watched(&["a", "bc"]);
        inbox.finish(Some(Status::not_found("end")));
        assert!(block_on(stream.message()).unwrap().is_some());
        assert_eq!(*log.lock().unwrap(), ["b\"a\""]);
        assert!(block_on(stream.message()).unwrap().is_some());
        assert_eq!(block_on(stream.message()).unwrap_err().code(), Code::NotFound);
        assert!(block_on(stream.message()).unwrap().is_none());
        assert_eq!(*log.lock().unwrap(), ["b\"a\"", "b\"bc\"", "NotFound"]);
    }

    #[test]
    fn a_hook_that_fails_ends_the_stream() {
        let (mut stream, inbox, log) = watched(&["abc", "never"]);
        assert_eq!(block_on(stream.message()).unwrap_err().code(), Code::Aborted);
        assert!(block_on(stream.message()).unwrap().is_none() && inbox.is_abandoned());
        assert_eq!(*log.lock().unwrap(), ["b\"abc\"", "Aborted"]);
    }

    #[test]
    fn hooks_hear_of_a_reader_that_goes() {
        let (stream, _inbox, log) = watched(&["a"]);
        drop(stream);
        assert_eq!(*log.lock().unwrap(), ["Cancelled"]);
    }

    // wire-rules 72
    #[test]
    fn a_stream_ends_with_the_call_on_whose_behalf_it_is_read() {
        let scope = CallScope::default();
        let inbox = SharedInbox::detached(CONFIG);
        let mut stream = Streaming::<Bytes>::new::<BytesCodec>(Arc::clone(&inbox), DecodeLimits::default());
        stream.set_watch(StreamWatch {
            bound: Some(scope.cancellation().cancelled()),
            ..StreamWatch::default()
        });
        drop(scope);
        assert_eq!(block_on(stream.message()).unwrap_err().code(), Code::Cancelled);
        assert!(inbox.is_abandoned());
    }
}
