//! What came of a call, as it is told to the runner.

use peregrine::{MetadataMap, Response, Status, Streaming};
use peregrine_conformance::pb::ClientResponseResult;
use peregrine_conformance::{errors, headers};

use crate::call::Answer;

/// Of a call with one answer.
pub(crate) fn of_single<R: Answer>(result: Result<Response<R>, Status>) -> ClientResponseResult {
    match result {
        Ok(response) => {
            let (message, metadata, trailers, _) = response.into_parts();
            ClientResponseResult {
                response_headers: headers::list(&metadata),
                payloads: vec![message.into_payload()],
                response_trailers: headers::list(&trailers),
                ..Default::default()
            }
        }
        Err(status) => of_failure(&status),
    }
}

/// Of a call that failed before there was anything else.
pub(crate) fn of_failure(status: &Status) -> ClientResponseResult {
    ClientResponseResult {
        response_headers: headers::list(status.initial_metadata()),
        error: Some(errors::from_status(status)).into(),
        response_trailers: headers::list(status.metadata()),
        ..Default::default()
    }
}

/// Of a call whose caller gave up before there was an answer.
pub(crate) fn given_up() -> ClientResponseResult {
    ClientResponseResult { error: Some(errors::given_up()).into(), ..Default::default() }
}

/// Adds the metadata of a stream that is over, or that its caller is about to give up, to what came out of it.
pub(crate) async fn add_metadata<R>(outcome: &mut ClientResponseResult, answers: &mut Streaming<R>) {
    let nothing = MetadataMap::new();
    // An error that came before any headers is known from the stream itself.
    if answers.trailers().is_some() || !outcome.payloads.is_empty() {
        outcome.response_headers = headers::list(answers.headers().await.unwrap_or(&nothing));
    }
    outcome.response_trailers = headers::list(answers.trailers().unwrap_or(&nothing));
}
