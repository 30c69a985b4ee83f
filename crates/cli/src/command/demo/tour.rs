//! One call of each shape to the demo's own server, and what was seen of it.

use std::time::{Duration, Instant};

use buffa::Message;
use peregrine::Status;
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::pb::{
    self,
    demo::v1::{ChatMessage, CountdownRequest, DemoClient, GreetRequest, Measurement},
};
use crate::{
    json::{
        encode::{EncodeOptions, encode},
        write::Layout,
    },
    style::Style,
};

/// What one call sent and received.
pub(super) struct Step {
    pub(super) method: &'static str,
    pub(super) shape: &'static str,
    pub(super) lines: Vec<Line>,
    pub(super) took: Duration,
}

/// A message that passed, as JSON.
pub(super) enum Line {
    Sent(String),
    Received(String),
}

/// The tour: a client, and the schema that turns messages into JSON.
pub(super) struct Tour {
    client: DemoClient,
    json: Json,
}

impl Tour {
    pub(super) fn new(client: DemoClient) -> Self {
        Self { client, json: Json::new() }
    }

    /// All four calls, in the order of the proto.
    pub(super) async fn steps(&self) -> Result<[Step; 4], Status> {
        Ok([self.greet().await?, self.countdown().await?, self.summarize().await?, self.chat().await?])
    }

    async fn greet(&self) -> Result<Step, Status> {
        let request = GreetRequest { name: "Ada".into(), ..Default::default() };
        let sent = self.json.sent("GreetRequest", &request);
        let start = Instant::now();
        let reply = self.client.greet(request).await?;
        let took = start.elapsed();
        let received = self.json.received("GreetReply", &*reply);
        Ok(Step { method: "Greet", shape: "unary", lines: vec![sent, received], took })
    }

    async fn countdown(&self) -> Result<Step, Status> {
        let request = CountdownRequest { from: 3, ..Default::default() };
        let mut lines = vec![self.json.sent("CountdownRequest", &request)];
        let start = Instant::now();
        let mut replies = self.client.countdown(request).await?;
        let mut received = Vec::new();
        while let Some(reply) = replies.message().await? {
            received.push(reply);
        }
        let took = start.elapsed();
        lines.extend(received.iter().map(|reply| self.json.received("CountdownReply", reply)));
        Ok(Step { method: "Countdown", shape: "server streaming", lines, took })
    }

    async fn summarize(&self) -> Result<Step, Status> {
        let measurements = [("harbour", 11.5), ("hill", 8.0), ("tower", 9.0)]
            .map(|(station, celsius)| Measurement { station: station.into(), celsius, ..Default::default() });
        let mut lines: Vec<Line> =
            measurements.iter().map(|sent| self.json.sent("Measurement", sent)).collect();
        let start = Instant::now();
        let summary = self.client.summarize(peregrine::iter(measurements)).await?;
        let took = start.elapsed();
        lines.push(self.json.received("Summary", &*summary));
        Ok(Step { method: "Summarize", shape: "client streaming", lines, took })
    }

    /// Each message waits for the answer to the one before: the two streams live side by side.
    async fn chat(&self) -> Result<Step, Status> {
        let mut lines = Vec::new();
        let start = Instant::now();
        let (sender, call) = self.client.chat_sender();
        let mut replies = call.await?;
        for text in ["Is anybody there?", "Goodbye!"] {
            let message = ChatMessage { text: text.into(), ..Default::default() };
            lines.push(self.json.sent("ChatMessage", &message));
            sender.send(message).await?;
            let reply = replies.message().await?.ok_or_else(|| Status::internal("the chat ended early"))?;
            lines.push(self.json.received("ChatMessage", &reply));
        }
        drop(sender);
        if replies.message().await?.is_some() {
            return Err(Status::internal("the chat answered more than it was asked"));
        }
        let took = start.elapsed();
        Ok(Step { method: "Chat", shape: "bidirectional", lines, took })
    }
}

/// Messages as the JSON that `call` would take and give.
struct Json {
    pool: Option<DescriptorPool>,
}

impl Json {
    fn new() -> Self {
        Self { pool: DescriptorPool::decode(pb::FILE_DESCRIPTOR_SET).ok() }
    }

    /// What is sent, as one would type it.
    fn sent(&self, name: &str, message: &impl Message) -> Line {
        Line::Sent(self.text(name, message, false))
    }

    /// What came back, with its zeros.
    fn received(&self, name: &str, message: &impl Message) -> Line {
        Line::Received(self.text(name, message, true))
    }

    fn text(&self, name: &str, message: &impl Message, emit_defaults: bool) -> String {
        let descriptor =
            self.pool.as_ref().and_then(|pool| pool.get_message_by_name(&format!("demo.v1.{name}")));
        let dynamic = descriptor.and_then(|descriptor| {
            DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice()).ok()
        });
        match dynamic {
            Some(message) => {
                let layout = Layout { pretty: false, style: Style::PLAIN };
                encode(&message, EncodeOptions { layout, emit_defaults }).text
            }
            // The descriptors are made from the same proto as the message, so this is not seen.
            None => format!("({name})"),
        }
    }
}
