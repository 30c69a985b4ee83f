//! The service in its two versions, which differ in their package alone.

use std::collections::HashSet;
use std::sync::Arc;

use peregrine_core::{Request, Response, ServiceDescriptor, Status, Stream, Streaming, channel};
use peregrine_server::service::Service;

use super::answer::{Answer, Question};
use super::index::Index;

/// The mounted service. Made by [`Reflection`](super::Reflection).
#[derive(Debug)]
pub struct ReflectionService {
    index: Arc<Index>,
}

impl ReflectionService {
    pub(super) fn new(index: Arc<Index>) -> Self {
        Self { index }
    }
}

pub(super) fn descriptor_v1() -> &'static ServiceDescriptor {
    v1::ServerReflectionServer::new(ReflectionService::new(Arc::default())).descriptor()
}

pub(super) fn descriptor_v1alpha() -> &'static ServiceDescriptor {
    v1alpha::ServerReflectionServer::new(ReflectionService::new(Arc::default())).descriptor()
}

/// Both versions have the same messages under other paths; this is the one text for both.
macro_rules! version {
    ($version:ident) => {
        impl $version::ServerReflection for ReflectionService {
            async fn server_reflection_info(
                &self,
                request: Request<Streaming<$version::ServerReflectionRequest>>,
            ) -> Result<
                Response<impl Stream<Item = Result<$version::ServerReflectionResponse, Status>> + Send>,
                Status,
            > {
                let index = Arc::clone(&self.index);
                let mut requests = request.into_inner();
                Ok(Response::new(channel(move |replies| async move {
                    let mut sent = HashSet::new();
                    while let Some(request) = requests.message().await? {
                        let answer = index.answer($version::question(&request), &mut sent);
                        replies.send($version::reply(request, answer)).await?;
                    }
                    Ok(())
                })))
            }
        }

        mod $version {
            use super::{Answer, Question};
            use crate::pb::grpc::reflection::$version::server_reflection_request::MessageRequest as Asked;
            use crate::pb::grpc::reflection::$version::server_reflection_response::MessageResponse as Told;
            pub(super) use crate::pb::grpc::reflection::$version::*;

            pub(super) fn question(request: &ServerReflectionRequest) -> Question {
                match &request.message_request {
                    Some(Asked::FileByFilename(name)) => Question::FileByName(name.clone()),
                    Some(Asked::FileContainingSymbol(name)) => Question::FileWithSymbol(name.clone()),
                    Some(Asked::FileContainingExtension(extension)) => Question::FileWithExtension(
                        extension.containing_type.clone(),
                        extension.extension_number,
                    ),
                    Some(Asked::AllExtensionNumbersOfType(name)) => Question::ExtensionNumbers(name.clone()),
                    Some(Asked::ListServices(_)) => Question::ListServices,
                    None => Question::Unknown,
                }
            }

            pub(super) fn reply(
                request: ServerReflectionRequest,
                answer: Answer,
            ) -> ServerReflectionResponse {
                let told = match answer {
                    Answer::Files(files) => Told::FileDescriptorResponse(Box::new(FileDescriptorResponse {
                        file_descriptor_proto: files,
                        ..Default::default()
                    })),
                    Answer::ExtensionNumbers(base, numbers) => {
                        Told::AllExtensionNumbersResponse(Box::new(ExtensionNumberResponse {
                            base_type_name: base,
                            extension_number: numbers,
                            ..Default::default()
                        }))
                    }
                    Answer::Services(names) => {
                        let named = |name| ServiceResponse { name, ..Default::default() };
                        Told::ListServicesResponse(Box::new(ListServiceResponse {
                            service: names.into_iter().map(named).collect(),
                            ..Default::default()
                        }))
                    }
                    Answer::Error(code, message) => Told::ErrorResponse(Box::new(ErrorResponse {
                        error_code: code as i32,
                        error_message: message,
                        ..Default::default()
                    })),
                };
                ServerReflectionResponse {
                    valid_host: request.host.clone(),
                    original_request: Some(request).into(),
                    message_response: Some(told),
                    ..Default::default()
                }
            }
        }
    };
}

version!(v1);
version!(v1alpha);
