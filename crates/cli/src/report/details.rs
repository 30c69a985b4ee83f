//! The details of a failed call (`grpc-status-details-bin`): a `google.rpc.Status` full of `Any`s.
//!
//! The usual detail types are known here by heart, so that they are shown without the server's schema; others are
//! shown by the schema that the call was made with.

use std::sync::OnceLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};

use crate::{
    json::{
        encode::{EncodeOptions, encode},
        write::Layout,
    },
    style::Style,
};

/// One detail of a status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detail {
    type_name: String,
    value: Value,
}

impl Detail {
    /// `BadRequest {..}`: the type without its package, then the content.
    pub(super) fn text(&self) -> String {
        let short = self.type_name.rsplit('.').next().unwrap_or_default();
        match &self.value {
            Value::String(bytes) => format!("{} {bytes} (base64)", self.type_name),
            value => format!("{short} {value}"),
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({"type": self.type_name, "value": self.value})
    }
}

#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// The details of an encoded `google.rpc.Status`, with `schema` for the types that are not usual; none if it is not one.
pub(super) fn decode(bytes: &[u8], schema: Option<&DescriptorPool>) -> Vec<Detail> {
    let Ok(status) = RpcStatus::decode(bytes) else { return Vec::new() };
    status.details.iter().map(|any| detail(any, schema)).collect()
}

fn detail(any: &prost_types::Any, schema: Option<&DescriptorPool>) -> Detail {
    let type_name = any.type_url.rsplit('/').next().unwrap_or_default().to_owned();
    let known = pool().get_message_by_name(&type_name).or_else(|| schema?.get_message_by_name(&type_name));
    let value = known
        .and_then(|descriptor| DynamicMessage::decode(descriptor, any.value.as_slice()).ok())
        .and_then(|message| {
            let layout = Layout { pretty: false, style: Style::PLAIN };
            serde_json::from_str(&encode(&message, EncodeOptions { layout, emit_defaults: false }).text).ok()
        })
        .unwrap_or_else(|| STANDARD.encode(&any.value).into());
    Detail { type_name, value }
}

/// The schema of the usual details.
fn pool() -> &'static DescriptorPool {
    static POOL: OnceLock<DescriptorPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let set: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/error_details.bin"));
        // A test makes sure that it can be read; without it details are shown as bytes.
        DescriptorPool::decode(set).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use prost::bytes::BufMut;

    use super::*;

    fn any(type_name: &str, value: &[u8]) -> prost_types::Any {
        prost_types::Any { type_url: format!("type.googleapis.com/{type_name}"), value: value.to_vec() }
    }

    #[test]
    fn known_details_are_decoded_and_others_kept_as_bytes() {
        let mut retry = Vec::new();
        // RetryInfo { retry_delay { seconds: 3 } }
        retry.put_slice(&[0x0a, 0x02, 0x08, 0x03]);
        let status =
            RpcStatus { details: vec![any("google.rpc.RetryInfo", &retry), any("my.own.Detail", &[1, 2])] };
        let details = decode(&status.encode_to_vec(), None);
        assert_eq!(details[0].text(), r#"RetryInfo {"retryDelay":"3s"}"#);
        assert_eq!(details[0].json(), json!({"type": "google.rpc.RetryInfo", "value": {"retryDelay": "3s"}}));
        assert_eq!(details[1].text(), "my.own.Detail AQI= (base64)");
    }

    #[test]
    fn other_details_are_decoded_by_the_schema_of_the_call() {
        let file = prost_types::FileDescriptorProto {
            name: Some("own.proto".to_owned()),
            package: Some("my.own".to_owned()),
            message_type: vec![prost_types::DescriptorProto {
                name: Some("Detail".to_owned()),
                field: vec![prost_types::FieldDescriptorProto {
                    name: Some("left".to_owned()),
                    number: Some(1),
                    r#type: Some(prost_types::field_descriptor_proto::Type::Int32.into()),
                    label: Some(prost_types::field_descriptor_proto::Label::Optional.into()),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            syntax: Some("proto3".to_owned()),
            ..Default::default()
        };
        let set = prost_types::FileDescriptorSet { file: vec![file] };
        let schema = DescriptorPool::decode(set.encode_to_vec().as_slice()).unwrap();
        let status = RpcStatus { details: vec![any("my.own.Detail", &[0x08, 7])] };
        let details = decode(&status.encode_to_vec(), Some(&schema));
        assert_eq!(details[0].text(), r#"Detail {"left":7}"#);
    }

    #[test]
    fn what_is_no_status_has_no_details() {
        assert_eq!(decode(&[0xff, 0xff], None), []);
        assert_eq!(decode(&[], None), []);
    }

    #[test]
    fn the_usual_types_are_known() {
        for name in [
            "ErrorInfo",
            "BadRequest",
            "RetryInfo",
            "DebugInfo",
            "QuotaFailure",
            "PreconditionFailure",
            "RequestInfo",
            "ResourceInfo",
            "Help",
            "LocalizedMessage",
        ] {
            assert!(pool().get_message_by_name(&format!("google.rpc.{name}")).is_some(), "{name}");
        }
    }
}
