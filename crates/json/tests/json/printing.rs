//! What is printed: the canonical form, byte for byte.

use crate::support::{EVERYTHING, json, message, print, read};

/// Texts that are canonical: read and printed, they come out as they were.
const CANONICAL: &[&str] = &[
    "{}",
    r#"{"aDouble":1.5,"aFloat":0.1,"anInt32":-1,"anInt64":"-9223372036854775808","aUint32":4294967295}"#,
    r#"{"aUint64":"18446744073709551615","aSint32":-2147483648,"aSint64":"-1","aFixed32":1,"aFixed64":"2"}"#,
    r#"{"aSfixed32":-3,"aSfixed64":"-4","aBool":true,"aString":"a\"b\\c\n\u0001ä😀","someBytes":"+/+/AA=="}"#,
    r#"{"aDouble":"NaN","aFloat":"-Infinity"}"#,
    r#"{"aDouble":"Infinity","aFloat":-0}"#,
    r#"{"aDouble":1e300,"aFloat":3.4028235e38}"#,
    r#"{"color":"RED","nested":{"color":"NEGATIVE","nested":{}}}"#,
    r#"{"color":42}"#,
    r#"{"maybeInt32":0,"maybeString":"","maybeColor":"NONE"}"#,
    r#"{"doubles":[0,1.5,"NaN"],"floats":[0.1],"int32s":[0,-1],"int64s":["0","-1"],"uint32s":[1],"uint64s":["1"]}"#,
    r#"{"sint32s":[-1,1],"sint64s":["-1"],"fixed32s":[1],"fixed64s":["1"],"sfixed32s":[-1],"sfixed64s":["-1"]}"#,
    r#"{"bools":[true,false],"strings":["","a"],"manyBytes":["","AQ=="],"colors":["NONE","RED",7]}"#,
    r#"{"everythings":[{},{"anInt32":1}],"unpacked":[1,2,0]}"#,
    r#"{"byInt32":{"-1":1,"2":0},"byInt64":{"-9223372036854775808":"1"},"byUint32":{"4294967295":1}}"#,
    r#"{"byUint64":{"18446744073709551615":"18446744073709551615"},"bySint32":{"-5":-5},"bySint64":{"-6":"-6"}}"#,
    r#"{"byFixed32":{"1":"NaN"},"byFixed64":{"1":0.5},"bySfixed32":{"-1":"AQ=="},"bySfixed64":{"-1":false}}"#,
    r#"{"byBool":{"false":"f","true":""},"byString":{"":"NONE","a\"b":"RED"},"everythingByString":{"k":{}}}"#,
    r#"{"valueByString":{"n":null,"o":{"a":[]}}}"#,
    r#"{"chosenInt32":0}"#,
    r#"{"chosenString":""}"#,
    r#"{"chosenMessage":{}}"#,
    r#"{"chosenNull":null}"#,
    r#"{"chosenColor":"NONE"}"#,
    r#"{"timestamp":"2030-01-02T03:04:05.678Z","duration":"-1.000000001s","fieldMask":"a,bC.dE"}"#,
    r#"{"timestamp":"1970-01-01T00:00:00Z","duration":"0s","fieldMask":""}"#,
    r#"{"aStruct":{"a":null,"b":1.5,"c":"x","d":true,"e":{},"f":[1,[],{}]}}"#,
    r#"{"value":null}"#,
    r#"{"value":{"a":[null]}}"#,
    r#"{"value":"text","list":[]}"#,
    r#"{"value":0,"list":[null,false],"empty":{}}"#,
    r#"{"doubleValue":0,"floatValue":1.5,"int64Value":"0","uint64Value":"1","int32Value":0,"uint32Value":1}"#,
    r#"{"boolValue":false,"stringValue":"","bytesValue":""}"#,
    r#"{"values":[null,1,"a"],"timestamps":["0001-01-01T00:00:00Z"],"int32Values":[0,1],"lists":[[],[1]]}"#,
    r#"{"any":{}}"#,
    r#"{"any":{"@type":"type.googleapis.com/test.everything.Everything"}}"#,
    r#"{"any":{"@type":"any.host/x/test.everything.Everything","anInt32":1,"nested":{"aBool":true}}}"#,
    r#"{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}"#,
    r#"{"any":{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":"0"}}"#,
    r#"{"any":{"@type":"type.googleapis.com/google.protobuf.Value","value":null}}"#,
    r#"{"any":{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"value":1}}}"#,
    r#"{"any":{"@type":"type.googleapis.com/google.protobuf.Empty"}}"#,
    r#"{"any":{"@type":"t/google.protobuf.Any","value":{"@type":"t/google.protobuf.Any","value":{}}}}"#,
    r#"{"anys":[{},{"@type":"t/test.older.Older","needed":1}]}"#,
    r#"{"@other":1,"OddName":2,"far":3}"#,
];

#[test]
fn canonical_json_is_read_and_printed_as_it_is() {
    for text in CANONICAL {
        let bytes = read(EVERYTHING, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(print(EVERYTHING, &bytes).as_deref(), Ok(*text));
    }
}

#[test]
fn defaults_are_printed_where_there_is_presence_and_nowhere_else() {
    // Explicit zeros of fields without presence, which other encoders may write.
    let zeros = [0x18, 0, 0x72, 0, 0x68, 0];
    assert_eq!(print(EVERYTHING, &zeros).as_deref(), Ok("{}"));
    assert_eq!(print(EVERYTHING, &[0xa0, 1, 0]).as_deref(), Ok(r#"{"maybeInt32":0}"#));
}

#[test]
fn every_way_to_encode_a_message_prints_the_same() {
    let cases: [(&[u8], &str); 11] = [
        // The last value of a field that stands there twice.
        (&[0x18, 1, 0x18, 2], r#"{"anInt32":2}"#),
        // ... also if it is the default.
        (&[0x18, 1, 0x18, 0], "{}"),
        // Messages are merged.
        (&[0x8a, 1, 2, 0x18, 1, 0x8a, 1, 2, 0x68, 1], r#"{"nested":{"anInt32":1,"aBool":true}}"#),
        // Lists in pieces, packed and not.
        (&[0x8a, 2, 2, 1, 2, 0x88, 2, 3, 0x8a, 2, 1, 4], r#"{"int32s":[1,2,3,4]}"#),
        (&[0x82, 3, 2, 1, 2], r#"{"unpacked":[1,2]}"#),
        // An empty packed list is no list.
        (&[0x8a, 2, 0], "{}"),
        // The last member of a oneof.
        (&[0xb8, 4, 5, 0xc2, 4, 1, b'x'], r#"{"chosenString":"x"}"#),
        (&[0xca, 4, 2, 0x18, 1, 0xb8, 4, 5, 0xca, 4, 2, 0x68, 1], r#"{"chosenMessage":{"aBool":true}}"#),
        // Map entries without key or value, and one that another replaces.
        (&[0x9a, 3, 0, 0x9a, 3, 4, 8, 1, 16, 1, 0x9a, 3, 4, 8, 1, 16, 2], r#"{"byInt32":{"0":0,"1":2}}"#),
        // Unknown fields, and known ones of another wire type.
        (&[0x1d, 1, 0, 0, 0, 0xf8, 0xff, 7, 1, 0x1b, 0x08, 1, 0x1c], "{}"),
        // Out of order.
        (&[0x68, 1, 0x18, 1], r#"{"anInt32":1,"aBool":true}"#),
    ];
    for (bytes, text) in cases {
        assert_eq!(print(EVERYTHING, bytes).as_deref(), Ok(text), "{bytes:02x?}");
    }
}

#[test]
fn of_an_alias_the_first_name_is_printed_and_each_is_read() {
    let name = "test.everything.Aliased";
    for text in [r#"{"alias":"ONE"}"#, r#"{"alias":"EINS"}"#, r#"{"alias":1}"#] {
        assert_eq!(print(name, &read(name, text).unwrap()).unwrap(), r#"{"alias":"ONE"}"#);
    }
}

#[test]
fn options_change_how_messages_are_printed() {
    let printed = |json: peregrine_json::Json, name: &str, text: &str| {
        let printed = json.message(name).unwrap().write(&message(name, text)).unwrap();
        String::from_utf8(printed).unwrap()
    };
    let text = r#"{"anInt32":1,"color":"RED","value":null}"#;
    let with = json().proto_field_names(true).enum_numbers(true);
    assert_eq!(printed(with, EVERYTHING, text), r#"{"an_int32":1,"color":1,"value":null}"#);
    let aliased = "test.everything.Aliased";
    assert_eq!(printed(json().emit_defaults(true), aliased, "{}"), r#"{"alias":"ZERO"}"#);
    let all: serde_json::Value =
        serde_json::from_str(&printed(json().emit_defaults(true), EVERYTHING, text)).unwrap();
    let all = all.as_object().unwrap();
    assert_eq!((all["aDouble"].clone(), all["anInt64"].clone()), (0.into(), "0".into()));
    assert_eq!((all["int32s"].to_string(), all["byBool"].to_string()), ("[]".into(), "{}".into()));
    // What has presence is absent, in a oneof and outside of it.
    let absent = ["maybeInt32", "chosenInt32", "nested", "timestamp", "int32Value"];
    assert!(absent.iter().all(|name| !all.contains_key(*name)));
}

#[test]
fn what_has_no_json_is_an_error_that_says_why() {
    // Field number, wire type 2, length and bytes of a message within `Everything`.
    let field = |number: u32, bytes: &[u8]| {
        let tag = number << 3 | 2;
        [&[tag as u8 | 0x80, (tag >> 7) as u8, bytes.len() as u8], bytes].concat()
    };
    let cases: [(Vec<u8>, &str); 11] = [
        (field(82, &[0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), "timestamp"),
        (field(83, &[8, 1, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), "duration"),
        (field(84, &[0x0a, 3, b'a', b'_', b'_']), "lowerCamelCase"),
        (field(86, &[]), "no value of any kind"),
        (field(86, &[&[0x11][..], &f64::NAN.to_le_bytes()].concat()), "NaN"),
        (field(81, &[0x0a, 3, b'a', b'/', b'b']), "nothing is known"),
        (field(81, &[0x0a, 1, b'a']), "nothing is known"),
        (field(81, &[0x12, 1, b'a']), "nothing is known"),
        (vec![0x72, 1, 0xff], "UTF-8"),
        (vec![0x72, 2, b'a'], "no message of its type"),
        (field(62, &[0x0a, 1, 0xff]), "UTF-8"),
    ];
    for (bytes, words) in cases {
        let error = print(EVERYTHING, &bytes).unwrap_err();
        assert!(error.contains(words) && error.contains(EVERYTHING), "{bytes:02x?}: {error}");
    }
}

#[test]
fn messages_within_messages_are_printed_up_to_a_hundred() {
    let nested = |depth: usize| {
        let mut bytes = Vec::new();
        for _ in 1..depth {
            let mut outer = vec![0x8a, 1];
            let mut len = bytes.len();
            while len >= 0x80 {
                outer.push(len as u8 | 0x80);
                len >>= 7;
            }
            outer.push(len as u8);
            outer.extend_from_slice(&bytes);
            bytes = outer;
        }
        bytes
    };
    assert!(print(EVERYTHING, &nested(100)).is_ok());
    assert!(print(EVERYTHING, &nested(101)).unwrap_err().contains("too deeply"));
    assert!(print(EVERYTHING, &nested(5_000)).unwrap_err().contains("too deeply"));
}
