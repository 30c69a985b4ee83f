//! Calls with a stream of answers. A call is given up by dropping its stream.

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::time::Duration;

use peregrine::{Sender, Status, Streaming};
use peregrine_conformance::errors;
use peregrine_conformance::pb::client_compat_request::cancel::CancelTiming;
use peregrine_conformance::pb::{BidiStreamRequest, ClientCompatRequest, ClientResponseResult};

use crate::call::{Answer, cancel_timing, request_delay};
use crate::outcome;

pub(crate) async fn server_stream<R: Answer>(
    case: &ClientCompatRequest,
    call: impl Future<Output = Result<Streaming<R>, Status>>,
) -> ClientResponseResult {
    match call.await {
        Ok(answers) => Conversation::new(case, answers).read_rest().await,
        Err(status) => outcome::of_failure(&status),
    }
}

pub(crate) async fn bidi_stream<R: Answer>(
    case: &ClientCompatRequest,
    full_duplex: bool,
    requests: Vec<BidiStreamRequest>,
    sender: Sender<BidiStreamRequest>,
    call: impl Future<Output = Result<Streaming<R>, Status>>,
) -> ClientResponseResult {
    let mut conversation = match call.await {
        Ok(answers) => Conversation::new(case, answers),
        Err(status) => return outcome::of_failure(&status),
    };
    let mut unsent = requests.len() as i32;
    for request in requests {
        tokio::time::sleep(request_delay(case)).await;
        // An error here means that the call is over: the answers say why.
        if sender.send(request).await.is_err() || sender.flush().await.is_err() {
            break;
        }
        unsent -= 1;
        if full_duplex && conversation.read_one(pin!(pending())).await == Step::Over {
            break;
        }
    }
    conversation.outcome.num_unsent_requests = unsent;
    if conversation.state == State::Open
        && matches!(conversation.timing, Some(CancelTiming::BeforeCloseSend(_)))
    {
        conversation.state = State::GivenUp;
    }
    if conversation.state != State::GivenUp {
        drop(sender);
    }
    conversation.read_rest().await
}

/// The reading side of a call.
struct Conversation<R> {
    answers: Streaming<R>,
    timing: Option<CancelTiming>,
    outcome: ClientResponseResult,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The stream has ended, well or with the error that the outcome has.
    Ended,
    /// The caller gives up.
    GivenUp,
}

/// Whether there can be more answers.
#[derive(PartialEq, Eq)]
enum Step {
    More,
    Over,
}

impl<R: Answer> Conversation<R> {
    fn new(case: &ClientCompatRequest, answers: Streaming<R>) -> Self {
        let (timing, outcome) = (cancel_timing(case), ClientResponseResult::default());
        Self { answers, timing, outcome, state: State::Open }
    }

    /// Waits for the next answer, or until `give_up` is over.
    async fn read_one(&mut self, give_up: Pin<&mut impl Future<Output = ()>>) -> Step {
        let message = tokio::select! {
            message = self.answers.message() => message,
            () = give_up => {
                self.state = State::GivenUp;
                return Step::Over;
            }
        };
        match message {
            Ok(Some(message)) => {
                self.outcome.payloads.push(message.into_payload());
                let count = self.outcome.payloads.len();
                match self.timing {
                    Some(CancelTiming::AfterNumResponses(enough)) if count == enough as usize => {
                        self.state = State::GivenUp;
                    }
                    _ => return Step::More,
                }
            }
            Ok(None) => self.state = State::Ended,
            Err(status) => {
                self.outcome.error = Some(errors::from_status(&status)).into();
                self.state = State::Ended;
            }
        }
        Step::Over
    }

    /// Reads to the end, or until it is time to give up. The requests are all out.
    async fn read_rest(mut self) -> ClientResponseResult {
        let wait = match self.timing {
            Some(CancelTiming::AfterCloseSendMs(wait)) => Some(Duration::from_millis(wait.into())),
            _ => None,
        };
        let mut give_up = pin!(async move {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => pending().await,
            }
        });
        while self.state == State::Open {
            self.read_one(give_up.as_mut()).await;
        }
        match self.state {
            State::GivenUp => self.give_up().await,
            State::Open | State::Ended => {
                outcome::add_metadata(&mut self.outcome, &mut self.answers).await;
                self.outcome
            }
        }
    }

    async fn give_up(mut self) -> ClientResponseResult {
        outcome::add_metadata(&mut self.outcome, &mut self.answers).await;
        self.outcome.error = Some(errors::given_up()).into();
        self.outcome
    }
}
