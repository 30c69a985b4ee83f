//! The handlers of the demo, written as a user would write them.

use std::time::Duration;

use peregrine::{Request, Response, Status, Stream, Streaming};

use super::pb::demo::v1::{
    ChatMessage, CountdownReply, CountdownRequest, Demo, GreetReply, GreetRequest, Measurement, Summary, Tone,
};

/// The demo's service; it has no state.
pub(super) struct DemoService;

/// Bounds of a countdown, so that nobody keeps a demo busy for days.
const MAX_FROM: u32 = 1_000;
const MAX_PAUSE_MS: u32 = 10_000;

impl Demo for DemoService {
    async fn greet(&self, request: Request<GreetRequest>) -> Result<Response<GreetReply>, Status> {
        if request.name.is_empty() {
            return Err(Status::invalid_argument("name must not be empty"));
        }
        let greeting = if request.tone == Tone::TONE_FORMAL { "Good day" } else { "Hello" };
        Ok(GreetReply { message: format!("{greeting}, {}!", request.name), ..Default::default() }.into())
    }

    async fn countdown(
        &self,
        request: Request<CountdownRequest>,
    ) -> Result<Response<impl Stream<Item = Result<CountdownReply, Status>> + Send>, Status> {
        if request.from > MAX_FROM || request.pause_ms > MAX_PAUSE_MS {
            return Err(Status::out_of_range(format!(
                "from is at most {MAX_FROM} and pause_ms at most {MAX_PAUSE_MS}"
            )));
        }
        let pause = Duration::from_millis(request.pause_ms.into());
        let numbers = (0..=request.from).rev();
        Ok(Response::new(peregrine::channel(move |replies| async move {
            for number in numbers {
                replies.send(CountdownReply { number, ..Default::default() }).await?;
                if !pause.is_zero() && number > 0 {
                    replies.flush().await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Ok(())
        })))
    }

    async fn summarize(
        &self,
        mut request: Request<Streaming<Measurement>>,
    ) -> Result<Response<Summary>, Status> {
        let mut values = Vec::new();
        while let Some(measurement) = request.message().await? {
            values.push(measurement.celsius);
        }
        if values.is_empty() {
            return Ok(Summary::default().into());
        }
        let summary = Summary {
            count: u32::try_from(values.len()).unwrap_or(u32::MAX),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            lowest: values.iter().copied().fold(f64::INFINITY, f64::min),
            highest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ..Default::default()
        };
        Ok(summary.into())
    }

    async fn chat(
        &self,
        request: Request<Streaming<ChatMessage>>,
    ) -> Result<Response<impl Stream<Item = Result<ChatMessage, Status>> + Send>, Status> {
        let mut messages = request.into_inner();
        Ok(Response::new(peregrine::channel(move |replies| async move {
            while let Some(message) = messages.message().await? {
                let text = match message.text.trim() {
                    "" => "You said nothing.".to_owned(),
                    text => format!("You said: {text}"),
                };
                replies.send(ChatMessage { text, ..Default::default() }).await?;
            }
            Ok(())
        })))
    }
}
