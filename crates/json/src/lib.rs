//! JSON as a message format: `application/grpc+json`, canonical protobuf JSON.
//!
//! [`Json`] is what servers and channels are given. It goes by schema: the descriptors that generated code embeds say
//! all there is to say about JSON, so messages of every codec are covered, and an `Any` may hold whatever a mounted
//! service's descriptors have. A message is never held as a tree: JSON is read into the bytes that the codec reads, and
//! printed from the bytes that the codec wrote.
//!
//! | module | holds |
//! |---|---|
//! | `schema` | descriptors, linked |
//! | `types` | all schemas, for `Any` |
//! | `read` | from JSON to a message |
//! | `print` | from a message to JSON |
//! | `wire` | protobuf's fields |
//! | `time`, `field_mask` | text forms of well-known types |

mod bits;
mod field_mask;
mod print;
mod read;
mod schema;
mod time;
mod types;
mod wire;

use std::sync::Arc;

use peregrine_core::{
    DecodeError, DecodeLimits, EncodeError, Error, Format, MessageFormat, MethodDescriptor, MethodFormat,
    Phase, Status, Transcode,
};

use self::schema::{MessageId, Schema};
use self::types::Types;

/// JSON for calls: the settings, and the types it knows.
///
/// A server takes JSON beside protobuf with `Server::builder().json(Json::new())`; a channel speaks it with
/// `Channel::builder(..).json(Json::new())`. Types come from the descriptors of the services that are called;
/// [`types`](Self::types) adds those that only occur inside of `Any`. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Json {
    types: Arc<Types>,
    options: Options,
}

/// How JSON is read and printed. Everything is off by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) ignore_unknown_fields: bool,
    pub(crate) emit_defaults: bool,
    pub(crate) proto_field_names: bool,
    pub(crate) enum_numbers: bool,
}

impl Json {
    /// Canonical JSON, as the protobuf documentation defines it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the types of an encoded `google.protobuf.FileDescriptorSet` with all imports, such as the
    /// `FILE_DESCRIPTOR_SET` of generated code, to what an `Any` may hold. The types of a server's own services, and
    /// of the services that a channel has called in JSON, are known anyway.
    ///
    /// # Errors
    /// The bytes are no such set, or it lacks imports.
    pub fn types(self, file_descriptor_set: &[u8]) -> Result<Self, Error> {
        match self.types.schema(file_descriptor_set) {
            Ok(_) => Ok(self),
            Err(cause) => Err(Error::new(Phase::Config, "the descriptors for JSON cannot be used")
                .with_source(cause)
                .with_hint("pass the FILE_DESCRIPTOR_SET of generated code, or a set made with all imports")),
        }
    }

    /// Whether members that the message's type does not have are skipped, and unknown names of enum values taken for
    /// an absent value. Default: no, they are errors.
    #[must_use]
    pub fn ignore_unknown_fields(mut self, yes: bool) -> Self {
        self.options.ignore_unknown_fields = yes;
        self
    }

    /// Whether fields without presence are printed even if they have their default value, empty lists and maps among
    /// them. Default: no.
    #[must_use]
    pub fn emit_defaults(mut self, yes: bool) -> Self {
        self.options.emit_defaults = yes;
        self
    }

    /// Whether fields are printed by the names of the proto instead of `lowerCamelCase`. Both are always read.
    /// Default: no.
    #[must_use]
    pub fn proto_field_names(mut self, yes: bool) -> Self {
        self.options.proto_field_names = yes;
        self
    }

    /// Whether enum values are printed by number instead of by name. Both are always read. Default: no.
    #[must_use]
    pub fn enum_numbers(mut self, yes: bool) -> Self {
        self.options.enum_numbers = yes;
        self
    }

    /// How messages of the type with this full name (`package.Message`) are rewritten; `None` if it is not among the
    /// known [`types`](Self::types).
    pub fn message(&self, full_name: &str) -> Option<Arc<dyn Transcode>> {
        let (schema, message) = self.types.named(full_name)?;
        Some(self.transcode(&schema, message))
    }

    fn transcode(&self, schema: &Arc<Schema>, message: MessageId) -> Arc<dyn Transcode> {
        let (types, schema) = (Arc::clone(&self.types), Arc::clone(schema));
        Arc::new(MessageJson { types, schema, message, options: self.options })
    }
}

impl MessageFormat for Json {
    fn format(&self) -> Format {
        Format::Json
    }

    fn method(&self, method: &MethodDescriptor<'_>) -> Result<MethodFormat, Status> {
        let unknown = |why: String| {
            Status::unimplemented(format!("{} cannot be called with JSON messages: {why}", method.path))
        };
        if method.file_descriptor_set.is_empty() {
            return Err(unknown("its service has no descriptors".to_owned()));
        }
        let schema =
            self.types.schema(method.file_descriptor_set).map_err(|cause| unknown(cause.to_string()))?;
        let types = schema.method(&format!("{}/{}", method.service, method.name));
        let (request, response) =
            types.ok_or_else(|| unknown("its service's descriptors do not have it".to_owned()))?;
        Ok(MethodFormat {
            format: Format::Json,
            request: self.transcode(&schema, request),
            response: self.transcode(&schema, response),
        })
    }
}

/// Messages of one type.
#[derive(Debug)]
struct MessageJson {
    types: Arc<Types>,
    schema: Arc<Schema>,
    message: MessageId,
    options: Options,
}

impl Transcode for MessageJson {
    fn read(&self, body: &[u8], limits: &DecodeLimits) -> Result<Vec<u8>, DecodeError> {
        let ignore_unknown = self.options.ignore_unknown_fields;
        read::read(body, &self.schema, self.message, &self.types, ignore_unknown, limits.recursion)
    }

    fn write(&self, message: &[u8]) -> Result<Vec<u8>, EncodeError> {
        print::print(message, &self.schema, self.message, &self.types, self.options)
    }
}
