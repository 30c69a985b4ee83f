//! The messages of `grpc.reflection` and `grpc.health`, as far as the command uses them.
//!
//! Written out by hand: these two services are asked before any schema is known. v1 and v1alpha of reflection
//! have the same messages.

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReflectionRequest {
    #[prost(string, tag = "1")]
    pub(crate) host: String,
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    pub(crate) question: Option<Question>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Question {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileWithSymbol(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReflectionResponse {
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    pub(crate) answer: Option<Answer>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Answer {
    #[prost(message, tag = "4")]
    Files(FileAnswer),
    #[prost(message, tag = "6")]
    Services(ServicesAnswer),
    #[prost(message, tag = "7")]
    Error(ErrorAnswer),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileAnswer {
    /// Encoded `FileDescriptorProto`s.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(crate) files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ServicesAnswer {
    #[prost(message, repeated, tag = "1")]
    pub(crate) services: Vec<ServiceName>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ServiceName {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ErrorAnswer {
    /// A gRPC status code.
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HealthRequest {
    #[prost(string, tag = "1")]
    pub(crate) service: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HealthResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    pub(crate) status: i32,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, prost::Enumeration)]
pub(crate) enum ServingStatus {
    Unknown = 0,
    Serving = 1,
    NotServing = 2,
    /// Only in `Watch`.
    ServiceUnknown = 3,
}
