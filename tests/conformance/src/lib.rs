//! What both programs under test share: the suite's messages, the pipe to its runner, and how its messages say what
//! the library calls metadata and status.

pub mod errors;
pub mod frames;
pub mod headers;

/// The suite's messages and its service.
#[allow(missing_docs, reason = "generated; the protos document it")]
pub mod pb {
    peregrine::include_proto!();
    pub use self::connectrpc::conformance::v1::*;
}

/// `message` with its name beside it.
pub fn any<M: buffa::Message + buffa::MessageName>(message: &M) -> buffa_types::google::protobuf::Any {
    buffa_types::google::protobuf::Any::pack(message, M::TYPE_URL)
}
