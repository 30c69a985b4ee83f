//! Asking a server's reflection service: v1 first, v1alpha where v1 is not implemented.
//!
//! One stream serves all questions of a command. Used by [`source`](super::source), which knows what is already
//! there.

use bytes::Bytes;
use peregrine_core::{BytesCodec, Code, MethodDescriptor, Request, Sender, Status, Streaming, stream::pipe};
use prost::Message;

use super::wire::{Answer, Question, ReflectionRequest, ReflectionResponse};
use crate::connect::Connection;

/// The two versions, the newer first.
const V1: Version = Version {
    service: "grpc.reflection.v1.ServerReflection",
    path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
};
const V1_ALPHA: Version = Version {
    service: "grpc.reflection.v1alpha.ServerReflection",
    path: "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
};

#[derive(Clone, Copy, Debug)]
struct Version {
    service: &'static str,
    path: &'static str,
}

/// A conversation with the reflection service.
pub(crate) struct Reflection {
    connection: Connection,
    stream: Option<Stream>,
}

struct Stream {
    version: Version,
    sender: Sender<Bytes>,
    answers: Streaming<Bytes>,
}

/// Why the reflection service gave no answer.
#[derive(Debug)]
pub(crate) enum ReflectionError {
    /// Neither version is implemented.
    Unavailable,
    /// The conversation failed.
    Status(Status),
}

impl Reflection {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, stream: None }
    }

    /// Full names of the services, as the server lists them.
    pub(crate) async fn services(&mut self) -> Result<Vec<String>, ReflectionError> {
        match self.ask(Question::ListServices("*".to_owned())).await? {
            Some(Answer::Services(answer)) => {
                Ok(answer.services.into_iter().map(|service| service.name).collect())
            }
            other => Err(unexpected(other.as_ref())),
        }
    }

    /// The file that defines a symbol, maybe with files it imports; `None` if there is no such symbol.
    pub(crate) async fn files_with_symbol(
        &mut self,
        symbol: &str,
    ) -> Result<Option<Vec<Vec<u8>>>, ReflectionError> {
        let answer = self.ask(Question::FileWithSymbol(symbol.to_owned())).await?;
        files_of(answer)
    }

    /// A file by its name; `None` if the server does not have it.
    pub(crate) async fn file_by_name(&mut self, name: &str) -> Result<Option<Vec<Vec<u8>>>, ReflectionError> {
        let answer = self.ask(Question::FileByName(name.to_owned())).await?;
        files_of(answer)
    }

    async fn ask(&mut self, question: Question) -> Result<Option<Answer>, ReflectionError> {
        let request = ReflectionRequest { host: String::new(), question: Some(question) };
        let request = Bytes::from(request.encode_to_vec());
        let response = match &mut self.stream {
            Some(stream) => stream.exchange(request).await.map_err(ReflectionError::Status)?,
            None => self.first(request).await?,
        };
        let response = ReflectionResponse::decode(response).map_err(|error| {
            ReflectionError::Status(Status::internal(format!(
                "reflection answered with bytes that are none of its messages: {error}"
            )))
        })?;
        Ok(response.answer)
    }

    /// The first question finds out which version the server has.
    async fn first(&mut self, request: Bytes) -> Result<Bytes, ReflectionError> {
        for version in [V1, V1_ALPHA] {
            let mut stream =
                Stream::open(&self.connection, version).await.map_err(ReflectionError::Status)?;
            match stream.exchange(request.clone()).await {
                Ok(response) => {
                    self.stream = Some(stream);
                    return Ok(response);
                }
                Err(status) if status.code() == Code::Unimplemented => {}
                Err(status) => return Err(ReflectionError::Status(status)),
            }
        }
        Err(ReflectionError::Unavailable)
    }
}

impl Stream {
    async fn open(connection: &Connection, version: Version) -> Result<Self, Status> {
        let (sender, requests) = pipe(1);
        let method = MethodDescriptor {
            path: version.path,
            service: version.service,
            name: "ServerReflectionInfo",
            client_streaming: true,
            server_streaming: true,
            file_descriptor_set: &[],
        };
        let mut request = Request::new(requests);
        *request.metadata_mut() = connection.reflection_metadata().clone();
        request.set_deadline(connection.deadline());
        // Descriptors of large schemas pass the usual limit.
        let request = request.max_response_size(64 << 20);
        let answers =
            peregrine_client::bidi::<BytesCodec, Bytes, Bytes, _>(connection.channel(), &method, request)
                .await?;
        Ok(Self { version, sender, answers })
    }

    async fn exchange(&mut self, request: Bytes) -> Result<Bytes, Status> {
        // A refused send says only that the call is over; why is in the answer.
        let _ = self.sender.send(request).await;
        match self.answers.message().await? {
            Some(response) => Ok(response),
            None => Err(Status::internal(format!("{} ended without an answer", self.version.service))),
        }
    }
}

fn files_of(answer: Option<Answer>) -> Result<Option<Vec<Vec<u8>>>, ReflectionError> {
    match answer {
        Some(Answer::Files(answer)) => Ok(Some(answer.files)),
        // Servers differ in the code they give for a name they do not have.
        Some(Answer::Error(error))
            if matches!(
                Code::from_i32(error.code),
                Code::NotFound | Code::InvalidArgument | Code::Unknown
            ) =>
        {
            Ok(None)
        }
        other => Err(unexpected(other.as_ref())),
    }
}

fn unexpected(answer: Option<&Answer>) -> ReflectionError {
    let status = match answer {
        Some(Answer::Error(error)) => Status::new(Code::from_i32(error.code), error.message.clone()),
        _ => Status::internal("reflection answered another question than it was asked"),
    };
    ReflectionError::Status(status)
}
