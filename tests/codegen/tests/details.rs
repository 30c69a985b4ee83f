//! The details of a status, which `core` reads and writes by hand, against the same types generated with both codecs;
//! and messages of one's own as details (wire-rules 61).

use std::time::Duration;

use bytes::Bytes;
use peregrine::codec::{BuffaCodec, ProstCodec};
use peregrine::error_details::{
    Any, BadRequest, DebugInfo, Detail, ErrorInfo, Help, LocalizedMessage, PreconditionFailure, QuotaFailure,
    RequestInfo, ResourceInfo, RetryInfo, RpcStatus,
};
use peregrine::{Codec, DecodeLimits, Status};
use peregrine_core::Payload;
use peregrine_tests_codegen::rpc::buffa::google::rpc as buffa_rpc;
use peregrine_tests_codegen::rpc::prost::google::rpc;

fn generated<C: Codec<M>, M>(bytes: &[u8]) -> Option<M> {
    C::decode(Payload::Borrowed(bytes), &DecodeLimits::default()).ok()
}

fn by_prost<M>(detail: &impl Detail) -> M
where
    ProstCodec: Codec<M>,
{
    generated::<ProstCodec, M>(&detail.to_value()).expect("prost reads the detail")
}

#[test]
fn each_field_has_the_number_of_the_proto() {
    let info: rpc::ErrorInfo = by_prost(&ErrorInfo::new("REASON", "domain").with_metadata("key", "value"));
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("REASON", "domain"));
    assert_eq!(info.metadata["key"], "value");

    let retry: rpc::RetryInfo = by_prost(&RetryInfo::after(Duration::new(5, 7)));
    let delay = retry.retry_delay.unwrap();
    assert_eq!((delay.seconds, delay.nanos), (5, 7));

    let debug: rpc::DebugInfo =
        by_prost(&DebugInfo::new("detail").with_stack_entry("a").with_stack_entry(""));
    assert_eq!(
        (debug.stack_entries, debug.detail),
        (vec!["a".to_owned(), String::new()], "detail".to_owned())
    );

    let mut quota = QuotaFailure::violation("subject", "description");
    let violation = &mut quota.violations[0];
    violation.api_service = "service".into();
    violation.quota_metric = "metric".into();
    violation.quota_id = "id".into();
    violation.quota_dimensions.insert("region".into(), "eu".into());
    violation.quota_value = -10;
    violation.future_quota_value = Some(0);
    let quota: rpc::QuotaFailure = by_prost(&quota);
    let expected = rpc::quota_failure::Violation {
        subject: "subject".into(),
        description: "description".into(),
        api_service: "service".into(),
        quota_metric: "metric".into(),
        quota_id: "id".into(),
        quota_dimensions: [("region".to_owned(), "eu".to_owned())].into(),
        quota_value: -10,
        future_quota_value: Some(0),
    };
    assert_eq!(quota.violations, [expected]);

    let failure: rpc::PreconditionFailure =
        by_prost(&PreconditionFailure::violation("type", "subject", "description"));
    let violation = &failure.violations[0];
    assert_eq!(
        [violation.r#type.as_str(), &violation.subject, &violation.description],
        ["type", "subject", "description"]
    );

    let mut bad = BadRequest::field("field", "description");
    bad.field_violations[0].reason = "REASON".into();
    bad.field_violations[0].localized_message = Some(LocalizedMessage::new("locale", "message"));
    let bad: rpc::BadRequest = by_prost(&bad);
    let violation = &bad.field_violations[0];
    assert_eq!(
        [violation.field.as_str(), &violation.description, &violation.reason],
        ["field", "description", "REASON"]
    );
    let localized = violation.localized_message.as_ref().unwrap();
    assert_eq!((localized.locale.as_str(), localized.message.as_str()), ("locale", "message"));

    let request: rpc::RequestInfo = by_prost(&RequestInfo::new("id").with_serving_data("data"));
    assert_eq!((request.request_id.as_str(), request.serving_data.as_str()), ("id", "data"));

    let resource = ResourceInfo::new("type", "name").with_owner("owner").with_description("description");
    let resource: rpc::ResourceInfo = by_prost(&resource);
    assert_eq!(
        [&resource.resource_type, &resource.resource_name, &resource.owner, &resource.description],
        ["type", "name", "owner", "description"]
    );

    let help: rpc::Help = by_prost(&Help::link("description", "url"));
    assert_eq!((help.links[0].description.as_str(), help.links[0].url.as_str()), ("description", "url"));

    let status = Status::aborted("message").with_detail(RequestInfo::new("id"));
    let status: rpc::Status = generated::<ProstCodec, _>(&status.details()).unwrap();
    assert_eq!((status.code, status.message.as_str()), (10, "message"));
    assert_eq!(status.details[0].type_url, "type.googleapis.com/google.rpc.RequestInfo");
    assert_eq!(status.details[0].value, RequestInfo::new("id").to_value());
}

/// Random messages of no type in particular: few numbers, mostly strings, and all of it ASCII, so that a message is
/// a string as well.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn message(&mut self, depth: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..self.below(4) {
            // Field 9 is in none of the types.
            let number = if self.below(8) == 0 { 9 } else { 1 + self.below(8) as u8 };
            match self.below(8) {
                0 => bytes.extend([number << 3, self.below(128) as u8]),
                1 if depth > 0 => bytes.extend([number << 3 | 5, 1, 2, 3, 4]),
                _ if depth > 0 => {
                    let inner = self.message(depth - 1);
                    bytes.extend([number << 3 | 2, inner.len().min(127) as u8]);
                    bytes.extend(&inner[..inner.len().min(127)]);
                }
                _ => bytes.extend([number << 3 | 2, 2, b'h', b'i']),
            }
        }
        bytes
    }

    /// As [`Self::message`], with one octet in sixteen messages replaced by any other.
    fn perhaps_broken(&mut self) -> Vec<u8> {
        let mut bytes = self.message(3);
        if self.below(16) == 0 && !bytes.is_empty() {
            let at = self.below(bytes.len() as u64) as usize;
            bytes[at] = self.below(256) as u8;
        }
        bytes
    }
}

/// What both generated types take is taken, and says the same: read by hand and written again, it decodes to what the
/// generated types made of it. Counts the messages that could be compared.
fn agree<D, P, B>(bytes: &[u8], compared: &mut u32)
where
    D: Detail + std::fmt::Debug,
    P: PartialEq + std::fmt::Debug,
    B: PartialEq + std::fmt::Debug,
    ProstCodec: Codec<P>,
    BuffaCodec: Codec<B>,
{
    let name = D::TYPE_NAME;
    let ours = D::from_value(bytes);
    let (Some(by_prost), Some(by_buffa)) =
        (generated::<ProstCodec, P>(bytes), generated::<BuffaCodec, B>(bytes))
    else {
        return;
    };
    let ours = ours.unwrap_or_else(|error| panic!("{name} {}: {error}", bytes.escape_ascii()));
    let again = ours.to_value();
    assert_eq!(generated::<ProstCodec, P>(&again), Some(by_prost), "{name} {}", bytes.escape_ascii());
    let again = generated::<BuffaCodec, B>(&again).expect("buffa reads what prost wrote");
    // buffa's own `Duration` and `Any` keep fields that they do not know, and do not show them.
    let is_equal = again == by_buffa || format!("{again:?}") == format!("{by_buffa:?}");
    assert!(is_equal, "{name} {}: {again:?}, not {by_buffa:?}", bytes.escape_ascii());
    *compared += 1;
}

macro_rules! agree_on_each {
    ($($ours:ident $generated:ident)*) => {
        #[test]
        fn random_messages_are_read_as_the_generated_types_read_them() {
            let mut random = Random(61);
            $({
                let mut compared = 0;
                for _ in 0..5_000 {
                    let bytes = random.perhaps_broken();
                    agree::<$ours, rpc::$generated, buffa_rpc::$generated>(&bytes, &mut compared);
                }
                assert!(compared > 500, "{}: only {compared} messages could be compared", $ours::TYPE_NAME);
            })*
        }
    };
}

agree_on_each! {
    ErrorInfo ErrorInfo
    RetryInfo RetryInfo
    DebugInfo DebugInfo
    QuotaFailure QuotaFailure
    PreconditionFailure PreconditionFailure
    BadRequest BadRequest
    RequestInfo RequestInfo
    ResourceInfo ResourceInfo
    Help Help
    LocalizedMessage LocalizedMessage
    RpcStatus Status
}

/// A message of one's own, whose Rust name may differ from its proto name.
macro_rules! own_messages {
    ($codec:ident, $marker:ty, $renamed:path, $nested:path) => {
        mod $codec {
            use peregrine_tests_codegen::$codec::greeter::v1::HelloRequest;

            use super::*;

            #[test]
            fn a_message_of_ones_own_is_a_detail() {
                let request = HelloRequest { name: "Ada".into(), ..Default::default() };
                let any = Any::pack::<$marker, _>(&request).unwrap();
                assert_eq!(any.type_url, "type.googleapis.com/greeter.v1.HelloRequest");
                let status = Status::internal("x").with_detail(ErrorInfo::new("R", "d")).with_detail(any);
                assert_eq!(status.message_detail::<$marker, HelloRequest>(), Some(request));
                let broken = Any::new("greeter.v1.HelloRequest", Bytes::from_static(b"\xff"));
                assert!(broken.unpack::<$marker, HelloRequest>().unwrap().is_err());
            }

            // wire-rules G1: what Rust calls `Type` is `type` to everybody else.
            #[test]
            fn a_renamed_message_keeps_its_name_in_an_any() {
                let any = Any::pack::<$marker, _>(&<$renamed>::default()).unwrap();
                assert_eq!(any.type_name(), "keywords.type.self.Self.crate.super.gen._.type");
                let any = Any::pack::<$marker, _>(&<$nested>::default()).unwrap();
                assert_eq!(any.type_name(), "keywords.type.self.Self.crate.super.gen._._.type");
            }

            // wire-rules G1: so does a package that Rust cannot say.
            #[test]
            fn a_message_of_a_renamed_package_keeps_its_name_in_an_any() {
                use peregrine_tests_codegen::$codec::crate_::self_::v1::{Order, ShopClient, order::Line};

                let any = Any::pack::<$marker, _>(&Order::default()).unwrap();
                assert_eq!(any.type_name(), "crate.self.v1.Order");
                let any = Any::pack::<$marker, _>(&Line::default()).unwrap();
                assert_eq!(any.type_name(), "crate.self.v1.Order.Line");
                assert_eq!(ShopClient::NAME, "crate.self.v1.Shop");
            }
        }
    };
}

mod own {
    use super::*;

    own_messages!(
        owned,
        BuffaCodec,
        peregrine_tests_codegen::owned::keywords::r#type::self_::Self_::crate_::super_::r#gen::underscore::Type,
        peregrine_tests_codegen::owned::keywords::r#type::self_::Self_::crate_::super_::r#gen::underscore::underscore::Type
    );
    own_messages!(
        prost,
        ProstCodec,
        peregrine_tests_codegen::prost::keywords::r#type::self_::self_::crate_::super_::r#gen::underscore::Type,
        peregrine_tests_codegen::prost::keywords::r#type::self_::self_::crate_::super_::r#gen::underscore::underscore::Type
    );
}
