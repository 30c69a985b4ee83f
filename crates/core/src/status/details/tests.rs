//! Details through a status and back. That the bytes are those of the protobuf types is shown with generated types in
//! `tests/codegen`.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::codec::{BytesCodec, Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, Payload};
use crate::status::{Code, StatusFields};
use crate::{MetadataMap, Status};

/// One of each type, with every field set.
fn one_of_each() -> Vec<Any> {
    let mut quota = QuotaFailure::violation("ip:1", "too many").and("ip:2", "");
    quota.violations[0].quota_dimensions.insert("zone".into(), "a".into());
    quota.violations[0].quota_value = -7;
    quota.violations[0].future_quota_value = Some(0);
    let mut bad = BadRequest::field("a.b", "is empty");
    bad.field_violations[0].localized_message = Some(LocalizedMessage::new("de", "ist leer"));
    bad.field_violations[0].reason = "EMPTY".into();
    vec![
        ErrorInfo::new("GONE", "shop.example").with_metadata("k", "v").with_metadata("", "").into(),
        RetryInfo::after(Duration::new(3, 500)).into(),
        DebugInfo::new("deep").with_stack_entry("main").with_stack_entry("").into(),
        quota.into(),
        PreconditionFailure::violation("TOS", "you", "not agreed").into(),
        bad.into(),
        RequestInfo::new("17").with_serving_data("x").into(),
        ResourceInfo::new("book", "b/1").with_owner("ada").with_description("sold").into(),
        Help::link("here", "https://example.org").into(),
        LocalizedMessage::new("de-CH", "verkauft \u{263a}").into(),
        Any::new("my.own.Detail", vec![1, 2, 3]),
    ]
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

// wire-rules 61
#[test]
fn every_type_goes_through_a_status_and_back() {
    let details = one_of_each();
    let status = sent(&Status::aborted("all of them").with_details(details.clone()));
    assert_eq!(status.detail_list(), details);
    let decoded = status.error_details();
    for (detail, any) in decoded.iter().zip(&details).take(10) {
        assert!(!matches!(detail, ErrorDetail::Other(_)), "{any:?} is known");
        assert_eq!(Any::from(detail.clone()), *any, "decoded and encoded again");
    }
    assert_eq!(decoded[10], ErrorDetail::Other(details[10].clone()), "what is not known is kept");
    assert_eq!(status.detail::<RetryInfo>().unwrap().retry_delay, Some(Duration::new(3, 500)));
    assert_eq!(status.detail::<BadRequest>().unwrap().field_violations[0].reason, "EMPTY");
    assert!(sent(&Status::aborted("")).detail_list().is_empty());
}

// wire-rules 61: code and message inside agree with those outside, whatever was changed after the details came.
#[test]
fn the_code_and_the_message_inside_are_those_of_the_status() {
    let inside = |status: &Status| RpcStatus::from_value(&status.details()).unwrap();
    let status = Status::ok().with_detail(ErrorInfo::new("R", "d")).with_message("changed").refuse_ok();
    assert_eq!(inside(&status).code, Code::Internal.value());
    assert_eq!(inside(&status).message, status.message());
    let received = sent(&status.with_message("100% \u{263a}"));
    assert_eq!((inside(&received).code, inside(&received).message.as_str()), (13, "100% \u{263a}"));
    // A detail added to what was received keeps all that was there.
    let passed_on = sent(&received.with_detail(RequestInfo::new("9")));
    assert_eq!(inside(&passed_on).code, 13);
    assert_eq!(inside(&passed_on).details.len(), 2);
    assert_eq!(passed_on.detail::<RequestInfo>().unwrap().request_id, "9");
}

// wire-rules 61: what others made is passed on as it is, even if it is no google.rpc.Status at all.
#[test]
fn details_given_as_bytes_are_sent_as_they_are() {
    let odd: &[&[u8]] = &[b"\x08\x07", b"\x1a\x03\x0a\x01x\xff", b"\xff"];
    for bytes in odd {
        let status = sent(&Status::unknown("x").with_details_bytes(bytes.to_vec()));
        assert_eq!(status.details(), *bytes);
        assert_eq!((status.code(), status.message()), (Code::Unknown, "x"), "grpc-status is what counts");
    }
    // What comes before something broken is read.
    let status = Status::unknown("").with_details_bytes(odd[1].to_vec());
    assert_eq!(status.detail_list()[0].type_url, "x");
}

#[test]
fn a_detail_that_cannot_be_read_is_kept_as_bytes() {
    let broken = Any::new("google.rpc.ErrorInfo", vec![0x0a, 0xff]);
    let status = Status::internal("").with_detail(broken.clone()).with_detail(ErrorInfo::new("R", "d"));
    assert_eq!(status.error_details()[0], ErrorDetail::Other(broken));
    assert_eq!(status.detail::<ErrorInfo>().unwrap().reason, "R", "the next one that can be read");
    assert!(Any::new("google.rpc.ErrorInfo", vec![0x0a, 1, 0xff]).read::<ErrorInfo>().unwrap().is_err());
    assert!(Any::new("other.ErrorInfo", vec![]).read::<ErrorInfo>().is_none());
}

#[test]
fn delays_beyond_what_either_side_can_say_are_cut() {
    let through = |delay| RetryInfo::from_value(&RetryInfo::after(delay).to_value()).unwrap().retry_delay;
    assert_eq!(through(Duration::ZERO), Some(Duration::ZERO));
    let most = through(Duration::MAX).unwrap();
    assert_eq!(most.as_secs(), 315_576_000_000);
    // More than that from a peer, in seconds and by nanoseconds on top of the most seconds.
    let beyond = [0x0a, 10, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let received = RetryInfo::from_value(&beyond).unwrap();
    assert_eq!(received.retry_delay, Some(most));
    assert_eq!(RetryInfo::from_value(&received.to_value()).unwrap(), received);
    let carried = [0x0a, 13, 0x08, 0x80, 0xbc, 0xae, 0xce, 0x97, 0x09, 0x10, 0xff, 0xff, 0xff, 0xff, 0x07];
    assert_eq!(RetryInfo::from_value(&carried).unwrap().retry_delay, Some(most));
    // -1 s, and nanoseconds alone below zero.
    let negative = [0x0a, 11, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(RetryInfo::from_value(&negative).unwrap().retry_delay, Some(Duration::ZERO));
    let negative = [0x0a, 11, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(RetryInfo::from_value(&negative).unwrap().retry_delay, Some(Duration::ZERO));
}

// A singular message that comes twice is one with the fields of both.
#[test]
fn parts_of_a_message_are_merged() {
    let two = [&[0x0a, 2, 0x08, 3][..], &[0x0a, 2, 0x10, 9]].concat();
    assert_eq!(RetryInfo::from_value(&two).unwrap().retry_delay, Some(Duration::new(3, 9)));
    let two = [&[0x0a, 5, 0x22, 3, 0x0a, 1, b'a'][..], &[0x0a, 0]].concat();
    let bad = BadRequest::from_value(&two).unwrap();
    assert_eq!(bad.field_violations[0].localized_message, Some(LocalizedMessage::new("a", "")));
    assert_eq!(bad.field_violations.len(), 2);
}

/// A codec of somebody's own messages.
struct Named;

impl Codec<Bytes> for Named {
    fn encode<E: EncodeTarget>(value: &Bytes, target: &mut E) -> Result<(), EncodeError> {
        BytesCodec::encode(value, target)
    }

    fn decode(body: Payload<'_>, limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
        if body.as_slice() == b"bad" {
            Err(DecodeError::new("bad"))
        } else {
            BytesCodec::decode(body, limits)
        }
    }
}

impl NamedCodec<Bytes> for Named {
    fn message_name() -> Cow<'static, str> {
        "my.own.Raw".into()
    }
}

#[test]
fn messages_of_ones_own_go_through_their_codec() {
    let message = Bytes::from(vec![7; 100_000]);
    let any = Any::pack::<Named, _>(&message).unwrap();
    assert_eq!((any.type_url.as_str(), &any.value), ("type.googleapis.com/my.own.Raw", &message));
    let status = Status::internal("").with_detail(Any::new("my.own.Raw", &b"bad"[..])).with_detail(any);
    assert_eq!(sent(&status).message_detail::<Named, Bytes>(), Some(message));
    assert!(Any::new("my.own.Other", Bytes::new()).unpack::<Named, Bytes>().is_none());
}

#[test]
fn a_report_shows_the_details_decoded() {
    let status = Status::not_found("no such book")
        .with_detail(LocalizedMessage::new("de", "gibt es nicht"))
        .with_detail(Any::new("my.own.Detail", &b"\x08\x01"[..]));
    assert_eq!(
        format!("{status:?}"),
        "NOT_FOUND: no such book\n  detail: LocalizedMessage { locale: \"de\", message: \"gibt es nicht\" }\n  \
         detail: my.own.Detail(b\"\\x08\\x01\")"
    );
    let unreadable = Status::not_found("x").with_details_bytes(vec![1, 2]);
    assert_eq!(format!("{unreadable:?}"), "NOT_FOUND: x\n  details: 2 bytes");
}
