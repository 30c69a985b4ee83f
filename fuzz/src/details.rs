//! The details of a status, read by hand from what a peer sent (wire-rules 61).

use peregrine_core::metadata::MetadataMap;
use peregrine_core::status::StatusFields;
use peregrine_core::status::details::{
    Any, BadRequest, DebugInfo, Detail, ErrorDetail, ErrorInfo, Help, LocalizedMessage, PreconditionFailure,
    QuotaFailure, RequestInfo, ResourceInfo, RetryInfo, RpcStatus,
};
use peregrine_core::{Code, Status};

use crate::bytes::Choices;

/// Reads `input` as each type of detail, and as the details of a status: what can be read survives another round, and
/// what cannot is kept as it was.
pub fn read(input: &[u8]) {
    let mut choices = Choices::new(input);
    let kind = choices.below(16);
    let value = choices.rest();
    match kind {
        0 => survives::<ErrorInfo>(value),
        1 => survives::<RetryInfo>(value),
        2 => survives::<DebugInfo>(value),
        3 => survives::<QuotaFailure>(value),
        4 => survives::<PreconditionFailure>(value),
        5 => survives::<BadRequest>(value),
        6 => survives::<RequestInfo>(value),
        7 => survives::<ResourceInfo>(value),
        8 => survives::<Help>(value),
        9 => survives::<LocalizedMessage>(value),
        10 => survives::<RpcStatus>(value),
        _ => travels(value),
    }
}

fn survives<D: Detail + PartialEq + std::fmt::Debug>(value: &[u8]) {
    let Ok(detail) = D::from_value(value) else { return };
    let written = detail.to_value();
    let again = D::from_value(&written).expect("what was written can be read");
    assert_eq!(again, detail, "{}", D::TYPE_NAME);
    assert_eq!(again.to_value(), written, "{}", D::TYPE_NAME);
}

/// A proxy: details that somebody sent go through a status, with one more.
fn travels(value: &[u8]) {
    let received = Status::new(Code::Aborted, "x").with_details_bytes(value.to_vec());
    let listed = received.detail_list();
    // Two octets are the least that a detail takes.
    assert!(listed.len() <= value.len() / 2);
    let sent = sent(&received);
    assert_eq!(sent.details(), value, "passed on as it came");
    assert_eq!(sent.detail_list(), listed);
    for (decoded, any) in sent.error_details().into_iter().zip(&listed) {
        if let ErrorDetail::Other(other) = &decoded {
            assert_eq!(other, any);
        }
        assert_eq!(Any::from(decoded).type_name(), any.type_name());
    }
    if RpcStatus::from_value(value).is_ok() {
        let longer = received.with_detail(RequestInfo::new("more"));
        assert_eq!(longer.detail_list().len(), listed.len() + 1);
        assert_eq!(longer.detail_list()[..listed.len()], listed);
    }
}

/// What a client makes of the status that a server sends.
fn sent(status: &Status) -> Status {
    let mut scratch = Vec::new();
    let fields: Vec<_> =
        status.wire_fields(&mut scratch).map(|field| (field.name.to_vec(), field.value.to_vec())).collect();
    let mut read = StatusFields::default();
    for (name, value) in &fields {
        read.observe(name, value);
    }
    read.to_status(MetadataMap::new())
}
