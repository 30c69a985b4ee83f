//! Decoding and encoding against the schema of the tests.

use prost::Message;
use prost_reflect::DynamicMessage;

use super::{
    JsonError,
    decode::{Decoded, decode},
    encode::{EncodeOptions, Encoded, encode},
    template::template,
    write::Layout,
};
use crate::{
    style::Style,
    testing::{message, schema_of},
};

const COMPACT: Layout = Layout { pretty: false, style: Style::PLAIN };

fn read(type_name: &str, json: &str) -> Decoded {
    decode(json, &message(type_name), false).unwrap_or_else(|error| panic!("{json}: {error:?}"))
}

fn error(type_name: &str, json: &str) -> JsonError {
    decode(json, &message(type_name), false).unwrap_err()
}

fn written(message: &DynamicMessage) -> Encoded {
    encode(message, EncodeOptions { layout: COMPACT, emit_defaults: false })
}

/// Everything the error says, and the text its caret is under.
fn said(type_name: &str, json: &str) -> (String, String) {
    let error = error(type_name, json);
    let facts: Vec<_> = error.facts.iter().map(|(label, value)| format!("{label}: {value}")).collect();
    (format!("{} | {} | {}", error.message, error.label, facts.join(" | ")), json[error.span].to_owned())
}

#[track_caller]
fn assert_says(type_name: &str, json: &str, spot: &str, parts: &[&str]) {
    let (text, found) = said(type_name, json);
    assert_eq!(found, spot, "{text}");
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

#[track_caller]
fn assert_round_trip(type_name: &str, json: &str) {
    let decoded = read(type_name, json).message;
    let again = DynamicMessage::decode(message(type_name), decoded.encode_to_vec().as_slice()).unwrap();
    assert_eq!(written(&again).text, json);
}

#[test]
fn every_type_goes_both_ways() {
    assert_round_trip(
        "Scalars",
        r#"{"name":"ä\"\n","flag":true,"small":-1,"big":"-9007199254740993","usmall":4294967295,"ubig":"18446744073709551615","single":1.5,"wide":0.1,"blob":"AAH/","color":"COLOR_RED","nickName":""}"#,
    );
    assert_round_trip(
        "Shapes",
        r#"{"numbers":[1,2],"items":[{},{"name":"x"}],"byName":{"a":{"value":1},"b":{}},"byId":{"-1":"x","7":"y"},"number":{},"inner":{"text":""},"size":"LARGE"}"#,
    );
    assert_round_trip(
        "WellKnown",
        r#"{"when":"2026-01-31T12:30:00Z","lasts":"1.500s","mask":"a.b,cD","object":{"a":[1,null,"x"]},"value":null,"list":[true],"any":{"@type":"type.googleapis.com/test.v1.Number","value":7},"maybeText":"","maybeBig":"5","empty":{}}"#,
    );
}

#[test]
fn an_any_holds_well_known_types_under_value() {
    assert_round_trip(
        "WellKnown",
        r#"{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"3s"}}"#,
    );
    assert_says(
        "WellKnown",
        r#"{"any": {"@type": "type.googleapis.com/test.v1.Numbr"}}"#,
        r#""type.googleapis.com/test.v1.Numbr""#,
        &["no message `test.v1.Numbr`", "did you mean test.v1.Number?"],
    );
    assert_eq!(
        error("WellKnown", r#"{"any": {"@type": "x/other.Type"}}"#).missing_type.as_deref(),
        Some("other.Type")
    );
    assert_says("WellKnown", r#"{"any": {"value": 1}}"#, "{", &["\"@type\""]);
}

#[test]
fn other_spellings_are_read() {
    let same = [
        (r#"{"nick_name":"x"}"#, r#"{"nickName":"x"}"#),
        (r#"{"small":"12","big":12,"wide":"NaN"}"#, r#"{"small":12,"big":"12","wide":"NaN"}"#),
        (r#"{"small":1e2,"single":-Infinity}"#, ""),
        (r#"{"single":"-Infinity","small":2.0}"#, r#"{"small":2,"single":"-Infinity"}"#),
        (r#"{"blob":"__8"}"#, r#"{"blob":"//8="}"#),
        (r#"{"color":1}"#, r#"{"color":"COLOR_RED"}"#),
        (r#"{"color":99}"#, r#"{"color":99}"#),
        (r#"{"name":null,"flag":null}"#, "{}"),
    ];
    for (json, expected) in same {
        if expected.is_empty() {
            assert!(decode(json, &message("Scalars"), false).is_err());
        } else {
            assert_eq!(written(&read("Scalars", json).message).text, expected);
        }
    }
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_name() {
    assert_says(
        "Scalars",
        r#"{"flag": true, "nme": "x"}"#,
        r#""nme""#,
        &[
            "test.v1.Scalars has no field `nme`",
            "did you mean \"name\"?",
            "fields: name, flag",
            "--allow-unknown-fields",
        ],
    );
    let decoded = decode(r#"{"a":{"b":[1]},"name":"x"}"#, &message("Scalars"), true).unwrap();
    assert_eq!(
        (decoded.ignored, written(&decoded.message).text),
        (vec!["a".to_owned()], r#"{"name":"x"}"#.to_owned())
    );
}

#[test]
fn a_wrong_type_is_named_with_its_place() {
    assert_says("Scalars", r#"{"name": 5}"#, "5", &["`name` takes a string, not a number", "double quotes"]);
    assert_says("Scalars", r#"{"flag": "true"}"#, r#""true""#, &["a boolean", "without quotes"]);
    assert_says(
        "Scalars",
        r#"{"small": 3000000000}"#,
        "3000000000",
        &["does not fit", "-2147483648 to 2147483647"],
    );
    assert_says("Scalars", r#"{"small": 1.5}"#, "1.5", &["fraction"]);
    assert_says("Scalars", r#"{"ubig": "many"}"#, r#""many""#, &["no number", "unsigned"]);
    assert_says("Scalars", r#"{"single": 1e39}"#, "1e39", &["does not fit"]);
    assert_says("Scalars", r#"{"blob": "a!b"}"#, r#""a!b""#, &["not base64"]);
    assert_says(
        "Scalars",
        r#"{"color": "COLOR_REED"}"#,
        r#""COLOR_REED""#,
        &["did you mean \"COLOR_RED\"?", "choices: COLOR_UNSPECIFIED, COLOR_RED, COLOR_GREEN"],
    );
    assert_says("Scalars", r#"{"color": true}"#, "true", &["choices: COLOR_UNSPECIFIED"]);
    assert_says("Shapes", r#"{"items": [{}, {"small": "x"}]}"#, r#""x""#, &["`items[1].small`"]);
    assert_says("Shapes", r#"{"numbers": 1}"#, "1", &["an array of an integer", "repeated"]);
    assert_says("Shapes", r#"{"numbers": [1, null]}"#, "null", &["`numbers[1]`"]);
    assert_says(
        "Shapes",
        r#"{"byName": {"k": 1}}"#,
        "1",
        &["`byName[\"k\"]` takes an object (test.v1.Number)"],
    );
    assert_says("Shapes", r#"{"byId": {"k": "v"}}"#, r#""k""#, &["no number"]);
    assert_says("Shapes", r#"{"inner": []}"#, "[", &["an object (test.v1.Shapes), not an array"]);
    assert_says("WellKnown", r#"{"when": "tomorrow"}"#, r#""tomorrow""#, &["not a time", "2026-01-31"]);
    assert_says("WellKnown", r#"{"lasts": 5}"#, "5", &["a duration in a string", "1.5s"]);
    assert_says("WellKnown", r#"{"object": [1]}"#, "[", &["an object, not an array"]);
    assert_says("Number", r#"[{"value": 1}]"#, "[", &["follow each other, without an array"]);
}

#[test]
fn required_fields_extensions_and_groups_are_known() {
    let old = schema_of("old.proto").message("test.v2.Old").unwrap();
    let json = r#"{"a":"x","kind":"FIRST","numbers":[1],"part":{"size":2},"[test.v2.more]":"y"}"#;
    let decoded = decode(json, &old, false).unwrap().message;
    let again = DynamicMessage::decode(old.clone(), decoded.encode_to_vec().as_slice()).unwrap();
    assert_eq!(written(&again).text, json);
    let error = decode(r#"{"kind": 1}"#, &old, false).unwrap_err();
    assert_eq!((error.message.as_str(), error.span), ("the required field `a` is missing", 10..11));
}

#[test]
fn contradictions_are_refused() {
    assert_says(
        "Shapes",
        r#"{"text": "x", "number": {}}"#,
        r#""number""#,
        &["exclude each other", "choices: text, number"],
    );
    assert_says("Scalars", r#"{"name": "x", "name": "y"}"#, r#""name""#, &["given twice"]);
    assert_says("Scalars", r#"{"nickName": "x", "nick_name": "y"}"#, r#""nick_name""#, &["given twice"]);
    // Null is "not there", so it chooses nothing.
    assert_eq!(written(&read("Shapes", r#"{"text":null,"number":{}}"#).message).text, r#"{"number":{}}"#);
}

#[test]
fn what_the_schema_lacks_is_reported_not_lost() {
    // Field 1 of Number in field 6 of Shapes, and beside it field 15 that Number does not have.
    let bytes = [0x32, 0x04, 0x08, 0x01, 0x78, 0x05, 0x9a, 0x06, 0x02, 0x61, 0x62];
    let message = DynamicMessage::decode(message("Shapes"), bytes.as_slice()).unwrap();
    let encoded = written(&message);
    assert_eq!(encoded.text, r#"{"number":{"value":1}}"#);
    let unknown: Vec<_> = encoded.unknown.iter().map(|u| (u.path.as_str(), u.number, u.bytes)).collect();
    assert_eq!(unknown, [("number", 15, 2), ("", 99, 5)]);
}

#[test]
fn an_any_of_an_unknown_type_keeps_its_bytes() {
    let mut known = DynamicMessage::new(message("WellKnown"));
    let any_bytes: Vec<u8> = [&[0x0a, 0x03][..], b"x/T", &[0x12, 0x01, 0xff]].concat();
    let mut bytes = vec![0x3a, any_bytes.len() as u8];
    bytes.extend(any_bytes);
    known.merge(bytes.as_slice()).unwrap();
    let encoded = written(&known);
    assert_eq!(encoded.text, r#"{"any":{"@type":"x/T","value":"/w=="}}"#);
    assert_eq!(encoded.missing_types, ["T"]);
}

#[test]
fn messages_packed_into_each_other_do_not_reach_the_stack() {
    let mut bytes = Vec::new();
    for _ in 0..3_000 {
        let any = prost_types::Any { type_url: "x/test.v1.WellKnown".into(), value: bytes };
        bytes = Vec::new();
        prost::encoding::message::encode(7, &any, &mut bytes);
    }
    let message = DynamicMessage::decode(message("WellKnown"), bytes.as_slice()).unwrap();
    let text = written(&message).text;
    assert_eq!(text.matches("@type").count(), 17, "{} characters", text.len());
}

#[test]
fn defaults_are_shown_on_request() {
    let number = DynamicMessage::new(message("Number"));
    assert_eq!(
        encode(&number, EncodeOptions { layout: COMPACT, emit_defaults: true }).text,
        r#"{"value":0}"#
    );
    let scalars = DynamicMessage::new(message("Scalars"));
    let text = encode(&scalars, EncodeOptions { layout: COMPACT, emit_defaults: true }).text;
    // A field with presence that is not set has no value to show.
    assert!(text.contains(r#""color":"COLOR_UNSPECIFIED""#) && !text.contains("nickName"), "{text}");
}

#[test]
fn a_time_that_json_cannot_hold_is_shown_by_its_fields() {
    let mut known = DynamicMessage::new(message("WellKnown"));
    // Timestamp { seconds: i64::MAX }.
    let seconds: &[u8] = &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    known.merge([&[0x0a, seconds.len() as u8][..], seconds].concat().as_slice()).unwrap();
    assert_eq!(written(&known).text, r#"{"when":{"seconds":"9223372036854775807"}}"#);
}

#[test]
fn a_template_is_a_request_that_fits() {
    for name in ["Scalars", "Number", "Shapes", "WellKnown"] {
        let text = template(&message(name), COMPACT).replace("package.Message", "test.v1.Number");
        let decoded = decode(&text, &message(name), false);
        assert!(decoded.is_ok(), "{text}: {decoded:?}");
    }
    assert_eq!(
        template(&message("Shapes"), COMPACT),
        r#"{"numbers":[0],"items":[{"name":"","flag":false,"small":0,"big":"0","usmall":0,"ubig":"0","single":0.0,"wide":0.0,"blob":"","color":"COLOR_UNSPECIFIED","nickName":""}],"byName":{"key":{"value":0}},"byId":{"0":""},"text":"","inner":{},"oldNames":[""],"size":"SMALL"}"#
    );
}
