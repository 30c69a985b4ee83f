//! Calls with one answer. A call is given up by dropping its future.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::Result;
use peregrine::{Receiver, Response, Status};
use peregrine_conformance::pb::client_compat_request::cancel::CancelTiming;
use peregrine_conformance::pb::{ClientCompatRequest, ClientResponseResult, ClientStreamRequest};

use crate::call::{Answer, cancel_timing, messages, request_delay};
use crate::outcome;

pub(crate) async fn unary<R: Answer>(
    case: &ClientCompatRequest,
    call: impl Future<Output = Result<Response<R>, Status>>,
) -> ClientResponseResult {
    let give_up = async {
        match cancel_timing(case) {
            Some(CancelTiming::AfterCloseSendMs(wait)) => {
                tokio::time::sleep(Duration::from_millis(wait.into())).await;
            }
            // The request ends with its only message, and there are no answers to count.
            _ => pending().await,
        }
    };
    tokio::select! {
        result = call => outcome::of_single(result),
        () = give_up => outcome::given_up(),
    }
}

/// The requests of a client-streaming call: what feeds them, and how many of them have not left.
pub(crate) struct Feed<F> {
    feeding: F,
    unsent: Arc<AtomicI32>,
}

/// Requests as `case` wants them sent. The future ends only when the caller is to give up.
pub(crate) fn feed(
    case: &ClientCompatRequest,
) -> Result<(Feed<impl Future<Output = ()>>, Receiver<ClientStreamRequest>)> {
    let requests = messages::<ClientStreamRequest>(case)?;
    let unsent = Arc::new(AtomicI32::new(requests.len() as i32));
    let (sender, receiver) = peregrine::pipe(1);
    let (delay, timing, left) = (request_delay(case), cancel_timing(case), Arc::clone(&unsent));
    let feeding = async move {
        for request in requests {
            tokio::time::sleep(delay).await;
            // Flushed, so that what counts as sent has been taken by the call. An error here means that the call is
            // over; its own result says why.
            if sender.send(request).await.is_err() || sender.flush().await.is_err() {
                return pending().await;
            }
            left.fetch_sub(1, Ordering::Relaxed);
        }
        match timing {
            Some(CancelTiming::BeforeCloseSend(_)) => {}
            Some(CancelTiming::AfterCloseSendMs(wait)) => {
                drop(sender);
                tokio::time::sleep(Duration::from_millis(wait.into())).await;
            }
            _ => {
                drop(sender);
                pending::<()>().await;
            }
        }
    };
    Ok((Feed { feeding, unsent }, receiver))
}

pub(crate) async fn client_stream<R: Answer>(
    call: impl Future<Output = Result<Response<R>, Status>>,
    feed: Feed<impl Future<Output = ()>>,
) -> ClientResponseResult {
    let feeding = pin!(feed.feeding);
    let mut outcome = tokio::select! {
        result = call => outcome::of_single(result),
        () = feeding => outcome::given_up(),
    };
    outcome.num_unsent_requests = feed.unsent.load(Ordering::Relaxed);
    outcome
}
