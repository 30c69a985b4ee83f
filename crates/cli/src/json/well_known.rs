//! The well-known types, which have JSON forms of their own.
//!
//! Timestamps, durations and the like are handed on to prost-reflect's reading of their text; here it is only
//! said what would have fitted. `Any` is read here, because its inner message deserves the same errors as any
//! other.

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, Value as Field};

use super::{
    JsonError,
    decode::Decoder,
    parse::{Node, Value},
};
use crate::suggest;

pub(super) const NULL_VALUE: &str = "google.protobuf.NullValue";
pub(super) const VALUE: &str = "google.protobuf.Value";

/// The form of a message's JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// An object with a member for each field.
    Fields,
    /// `{"@type": ..}` and the inner message.
    Any,
    /// The bare value of the wrapped field.
    Wrapper,
    /// A text of its own; the sample shows it.
    Text { what: &'static str, sample: &'static str },
    /// Any JSON at all, any object, any array.
    Json { what: &'static str },
}

/// The JSON form of a message type.
pub(super) fn form(full_name: &str) -> Form {
    let Some(name) = full_name.strip_prefix("google.protobuf.") else { return Form::Fields };
    match name {
        "Any" => Form::Any,
        "BoolValue" | "BytesValue" | "DoubleValue" | "FloatValue" | "Int32Value" | "Int64Value"
        | "StringValue" | "UInt32Value" | "UInt64Value" => Form::Wrapper,
        "Timestamp" => Form::Text { what: "a time", sample: "2026-01-31T12:30:00Z" },
        "Duration" => Form::Text { what: "a duration", sample: "1.5s" },
        "FieldMask" => Form::Text { what: "a field mask", sample: "user.name,user.age" },
        "Struct" => Form::Json { what: "an object" },
        "ListValue" => Form::Json { what: "an array" },
        "Value" => Form::Json { what: "a value" },
        _ => Form::Fields,
    }
}

/// Reads a message that has a JSON form of its own; `None` for all others.
pub(super) fn decode(
    decoder: &mut Decoder<'_>,
    node: &Node,
    descriptor: &MessageDescriptor,
) -> Result<Option<DynamicMessage>, JsonError> {
    match form(descriptor.full_name()) {
        Form::Fields => Ok(None),
        Form::Any => any(decoder, node, descriptor).map(Some),
        Form::Wrapper => wrapper(decoder, node, descriptor).map(Some),
        Form::Text { what, sample } => {
            let expected = format!("{what} in a string, such as {sample:?}");
            if !matches!(node.value, Value::String(_)) {
                return Err(decoder.mismatch(node, &expected));
            }
            by_text(decoder, node, descriptor).map(Some).map_err(|_| {
                let message = format!("this is not {what}");
                decoder.at(JsonError::new(node.span.clone(), message, "")).fact("expected", expected)
            })
        }
        Form::Json { what } => {
            let fits = match what {
                "an object" => matches!(node.value, Value::Object(_)),
                "an array" => matches!(node.value, Value::Array(_)),
                _ => true,
            };
            if !fits {
                return Err(decoder.mismatch(node, what));
            }
            by_text(decoder, node, descriptor).map(Some).map_err(|error| {
                decoder.at(JsonError::new(
                    node.span.clone(),
                    format!("this is not {what}"),
                    error.to_string(),
                ))
            })
        }
    }
}

fn by_text(
    decoder: &Decoder<'_>,
    node: &Node,
    descriptor: &MessageDescriptor,
) -> Result<DynamicMessage, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(&decoder.text[node.span.clone()]);
    DynamicMessage::deserialize(descriptor.clone(), &mut deserializer)
}

fn wrapper(
    decoder: &mut Decoder<'_>,
    node: &Node,
    descriptor: &MessageDescriptor,
) -> Result<DynamicMessage, JsonError> {
    let mut message = DynamicMessage::new(descriptor.clone());
    let Some(field) = descriptor.get_field_by_name("value") else {
        return Err(decoder.mismatch(node, descriptor.full_name()));
    };
    message.set_field(&field, decoder.singular(node, &field.kind())?);
    Ok(message)
}

fn any(
    decoder: &mut Decoder<'_>,
    node: &Node,
    descriptor: &MessageDescriptor,
) -> Result<DynamicMessage, JsonError> {
    let Value::Object(members) = &node.value else {
        return Err(decoder.mismatch(node, "an object with \"@type\" (google.protobuf.Any)"));
    };
    let mut message = DynamicMessage::new(descriptor.clone());
    let Some(type_member) = members.iter().find(|member| member.name == "@type") else {
        if members.is_empty() {
            return Ok(message);
        }
        let error = JsonError::new(
            node.span.start..node.span.start + 1,
            "google.protobuf.Any needs a member \"@type\"",
            "",
        );
        return Err(decoder.at(error).fact("expected", "\"@type\": \"type.googleapis.com/package.Message\""));
    };
    let Value::String(url) = &type_member.node.value else {
        return Err(decoder.mismatch(&type_member.node, "a string"));
    };
    let inner = inner_type(decoder, url, &type_member.node, descriptor)?;
    let rest = members.iter().filter(|member| member.name != "@type");
    let value = if form(inner.full_name()) == Form::Fields {
        decoder.members(node, rest, &inner)?
    } else {
        // A type with a JSON form of its own stands under "value".
        let Some(member) = rest.into_iter().find(|member| member.name == "value") else {
            let error = JsonError::new(
                type_member.name_span.clone(),
                format!("{} inside of Any needs a member \"value\"", inner.full_name()),
                "",
            );
            return Err(decoder.at(error));
        };
        decoder.push_path("value");
        let value = decoder.message(&member.node, &inner)?;
        decoder.pop_path();
        value
    };
    message.set_field_by_name("type_url", Field::String(url.clone()));
    message.set_field_by_name("value", Field::Bytes(prost::Message::encode_to_vec(&value).into()));
    Ok(message)
}

fn inner_type(
    decoder: &Decoder<'_>,
    url: &str,
    node: &Node,
    descriptor: &MessageDescriptor,
) -> Result<MessageDescriptor, JsonError> {
    let pool = descriptor.parent_pool();
    let name = url.rsplit('/').next().unwrap_or(url);
    if let Some(inner) = pool.get_message_by_name(name)
        && url.contains('/')
    {
        return Ok(inner);
    }
    if !url.contains('/') {
        let error = JsonError::new(node.span.clone(), format!("`{url}` is no type URL"), "");
        return Err(decoder.at(error).fact("expected", format!("\"type.googleapis.com/{name}\"")));
    }
    let messages: Vec<_> = pool.all_messages().collect();
    let label = suggest::nearest(name, messages.iter().map(MessageDescriptor::full_name))
        .map_or_else(String::new, |near| format!("did you mean {near}?"));
    let mut error = JsonError::new(node.span.clone(), format!("the schema has no message `{name}`"), label);
    error.missing_type = Some(name.to_owned());
    Err(decoder.at(error))
}

/// Whether null is a value of this kind, and not only the absence of one.
pub(super) fn takes_null(kind: &Kind) -> bool {
    match kind {
        Kind::Message(message) => message.full_name() == VALUE,
        Kind::Enum(descriptor) => descriptor.full_name() == NULL_VALUE,
        _ => false,
    }
}
