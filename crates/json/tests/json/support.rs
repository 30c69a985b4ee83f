//! The protos of `tests/proto`, their schema in ours and in prost-reflect's eyes, and how messages are written down.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use peregrine_core::{DecodeLimits, Transcode};
use peregrine_json::Json;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

pub(crate) const EVERYTHING: &str = "test.everything.Everything";
pub(crate) const OLDER: &str = "test.older.Older";

/// The compiled protos of `tests/proto`.
pub(crate) static SET: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    let mut compiler = protox::Compiler::new([&folder]).unwrap();
    compiler.include_imports(true);
    for file in ["everything.proto", "older.proto"] {
        compiler.open_file(folder.join(file)).unwrap();
    }
    compiler.encode_file_descriptor_set()
});

/// The other implementation's view of [`SET`].
pub(crate) static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(SET.as_slice()).unwrap());

static JSON: LazyLock<Json> = LazyLock::new(|| Json::new().types(&SET).unwrap());

/// With the types of [`SET`].
pub(crate) fn json() -> Json {
    JSON.clone()
}

pub(crate) fn transcode(name: &str) -> Arc<dyn Transcode> {
    json().message(name).unwrap()
}

pub(crate) fn descriptor(name: &str) -> MessageDescriptor {
    POOL.get_message_by_name(name).unwrap()
}

/// A message from its JSON, by the other implementation: a way to write messages down.
pub(crate) fn message(name: &str, json: &str) -> Vec<u8> {
    theirs(name, json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// What the other implementation reads.
pub(crate) fn theirs(name: &str, json: &str) -> Result<Vec<u8>, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let message =
        DynamicMessage::deserialize(descriptor(name), &mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(message.encode_to_vec())
}

/// What the other implementation prints.
pub(crate) fn printed_by_them(name: &str, bytes: &[u8]) -> Result<serde_json::Value, String> {
    let message = DynamicMessage::decode(descriptor(name), bytes).map_err(|error| error.to_string())?;
    // By way of text, in which a float is as short as ours.
    let text = serde_json::to_string(&message).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Reads JSON; the error is its text.
pub(crate) fn read(name: &str, json: &str) -> Result<Vec<u8>, String> {
    transcode(name).read(json.as_bytes(), &DecodeLimits::default()).map_err(|error| error.to_string())
}

/// Prints a message.
pub(crate) fn print(name: &str, bytes: &[u8]) -> Result<String, String> {
    let printed = transcode(name).write(bytes).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(printed).unwrap())
}

/// Whether two encodings are the same message.
pub(crate) fn is_same(name: &str, one: &[u8], other: &[u8]) -> bool {
    let decode = |bytes| DynamicMessage::decode(descriptor(name), bytes).unwrap();
    decode(one) == decode(other)
}
