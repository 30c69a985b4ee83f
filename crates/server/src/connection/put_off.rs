//! Calls that wait for the replies of earlier ones to leave (http2-abuse 16).
//!
//! A client that asks and does not read would otherwise fill memory with as many large replies as it may have
//! streams. Called by `events`.

use std::sync::Arc;

use peregrine_core::Payload;
use peregrine_core::call::SharedInbox;
use peregrine_core::message::UnaryBody;

use super::Serving;
use super::call::{Call, CallState, Entry};
use crate::call::errors::bad_request;

impl Serving {
    /// Begins a call whose messages come one by one, or puts it off.
    pub(super) fn start_streaming(&mut self, call: Call, inbox: Arc<SharedInbox>) {
        if self.wire().connection.is_congested() {
            self.put_off(call, None, Some(inbox));
        } else {
            self.start(call, Payload::Borrowed(&[]), Some(inbox));
        }
    }

    /// Puts a call off whose whole body lies in the read buffer.
    #[cold]
    pub(super) fn put_unary_off(&mut self, call: Call, data: &[u8]) {
        let mut body = Box::new(UnaryBody::new(call.request().encoding, call.request().max_receive));
        match body.push(data) {
            Ok(()) => {
                self.wire().connection.release(call.key(), data.len());
                self.put_off(call, Some(body), None);
            }
            Err(status) => self.finish(call, &Err(bad_request(status))),
        }
    }

    pub(super) fn put_off(
        &mut self,
        call: Call,
        body: Option<Box<UnaryBody>>,
        inbox: Option<Arc<SharedInbox>>,
    ) {
        let key = call.key();
        self.insert(call, CallState::PutOff { body, inbox });
        // Calls that were reset meanwhile leave their keys behind: a client that opens and resets while it does not
        // read must not fill memory with those either.
        if self.put_off.len() > 2 * self.calls.len() {
            let calls = &self.calls;
            self.put_off.retain(|key| {
                calls
                    .get(key.index())
                    .is_some_and(|call| call.as_ref().is_some_and(|entry| entry.call.key() == *key))
            });
        }
        self.put_off.push_back(key);
        self.observe_limit("queued_replies", 1);
    }

    /// There is room again: begins with what waited, as far as that lasts.
    pub(super) fn start_put_off(&mut self) {
        while !self.put_off.is_empty() && !self.wire().connection.is_congested() {
            let Some(key) = self.put_off.pop_front() else { return };
            let Some(Entry { call, state }) = self.take_entry(key) else { continue };
            match state {
                CallState::PutOff { body: Some(body), .. } if body.is_empty() => {
                    self.finish_without_message(call);
                }
                CallState::PutOff { body: Some(mut body), .. } => {
                    let len = body.received();
                    match body.finish() {
                        Ok(message) => self.start_whole(call, message, len),
                        Err(status) => self.finish(call, &Err(bad_request(status))),
                    }
                }
                CallState::PutOff { inbox, .. } => self.start(call, Payload::Borrowed(&[]), inbox),
                other => self.insert(call, other),
            }
        }
    }
}
