//! What is read: every spelling that means something, and nothing else.

use peregrine_core::DecodeLimits;

use crate::support::{EVERYTHING, is_same, json, message, print, read};

/// Texts beside the canonical text of the same message.
const SPELLINGS: &[(&str, &str)] = &[
    (r#"{"an_int32":1,"aBool":true}"#, r#"{"anInt32":1,"aBool":true}"#),
    (" {\n\"anInt32\"\t:\r1 } ", r#"{"anInt32":1}"#),
    (r#"{"an\u0049nt32":1}"#, r#"{"anInt32":1}"#),
    (
        r#"{"anInt32":"1","anInt64":1,"aUint64":18446744073709551615}"#,
        r#"{"anInt32":1,"anInt64":"1","aUint64":"18446744073709551615"}"#,
    ),
    (
        r#"{"anInt32":1e2,"anInt64":"1.0","aUint32":12.50e1}"#,
        r#"{"anInt32":100,"anInt64":"1","aUint32":125}"#,
    ),
    (r#"{"anInt32":-0,"aUint32":-0.0e5,"aDouble":-0.0}"#, r#"{"aDouble":-0}"#),
    (r#"{"aDouble":"1.5","aFloat":"1e3"}"#, r#"{"aDouble":1.5,"aFloat":1000}"#),
    (r#"{"aDouble":1e-400,"aFloat":1e-60}"#, "{}"),
    (r#"{"someBytes":"-_-_AA"}"#, r#"{"someBytes":"+/+/AA=="}"#),
    (r#"{"someBytes":"AQ"}"#, r#"{"someBytes":"AQ=="}"#),
    (r#"{"color":1,"maybeColor":"RED"}"#, r#"{"color":"RED","maybeColor":"RED"}"#),
    (r#"{"color":-1.0}"#, r#"{"color":"NEGATIVE"}"#),
    (r#"{"aString":"\ud83d\ude00\/"}"#, r#"{"aString":"😀/"}"#),
    (
        r#"{"nested":null,"anInt32":null,"strings":null,"byBool":null,"maybeString":null,"int32Value":null}"#,
        "{}",
    ),
    (r#"{"timestamp":null,"any":null,"aStruct":null,"list":null,"empty":null}"#, "{}"),
    (r#"{"chosenInt32":null,"chosenString":"x"}"#, r#"{"chosenString":"x"}"#),
    (r#"{"chosenNull":"NULL_VALUE"}"#, r#"{"chosenNull":null}"#),
    (r#"{"null":null}"#, "{}"),
    (r#"{"value":null,"values":[null]}"#, r#"{"value":null,"values":[null]}"#),
    (r#"{"int32s":[],"byBool":{},"strings":[]}"#, "{}"),
    (r#"{"timestamp":"2030-01-02T05:04:05.600+02:00"}"#, r#"{"timestamp":"2030-01-02T03:04:05.600Z"}"#),
    (r#"{"duration":"1.50s"}"#, r#"{"duration":"1.500s"}"#),
    (r#"{"int32Value":"1","bytesValue":"_w"}"#, r#"{"int32Value":1,"bytesValue":"/w=="}"#),
    (r#"{"byInt32":{"1e1":1}}"#, r#"{"byInt32":{"10":1}}"#),
    (
        r#"{"any":{"anInt32":1,"@type":"t/test.everything.Everything"}}"#,
        r#"{"any":{"@type":"t/test.everything.Everything","anInt32":1}}"#,
    ),
    (
        r#"{"any":{"value":"1s","@type":"t/google.protobuf.Duration"}}"#,
        r#"{"any":{"@type":"t/google.protobuf.Duration","value":"1s"}}"#,
    ),
    (
        r#"{"any":{"@type":"t/google.protobuf.Empty","value":{}}}"#,
        r#"{"any":{"@type":"t/google.protobuf.Empty"}}"#,
    ),
    (r#"{"@other":1}"#, r#"{"@other":1}"#),
    (r#"{"renamed":1,"_odd__name_":2}"#, r#"{"@other":1,"OddName":2}"#),
];

#[test]
fn every_spelling_of_a_message_is_read() {
    for (text, canonical) in SPELLINGS {
        let bytes = read(EVERYTHING, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(print(EVERYTHING, &bytes).as_deref(), Ok(*canonical), "{text}");
    }
}

#[test]
fn the_other_implementation_reads_the_same_message() {
    for (text, canonical) in SPELLINGS {
        if canonical.contains(":-0") || canonical.contains("google.protobuf.Empty") {
            // It takes a negative zero for the default, which that is not, and wants a `value` for Empty.
            continue;
        }
        let bytes = read(EVERYTHING, text).unwrap();
        assert!(is_same(EVERYTHING, &bytes, &message(EVERYTHING, canonical)), "{text}");
    }
}

/// Texts, and words of the error.
const REFUSED: &[(&str, &str)] = &[
    ("", "ends where a value is expected"),
    ("null", "expected an object, found null"),
    ("[]", "expected an object, found an array"),
    ("{} {}", "something follows"),
    ("{\"aString\":\"\u{1}\"}", "control character"),
    (r#"{"unknown":1}"#, r#"test.everything.Everything has no field "unknown""#),
    (r#"{"AnInt32":1}"#, "has no field"),
    (r#"{"anInt32":1,"anInt32":1}"#, "anInt32: the field stands here for the second time"),
    (r#"{"anInt32":1,"an_int32":1}"#, "second time"),
    (r#"{"chosenInt32":1,"chosenString":"x"}"#, "chosenString: another field of the same oneof"),
    (r#"{"chosenNull":null,"chosenString":"x"}"#, "another field of the same oneof"),
    (r#"{"anInt32":1.5}"#, "expected an integer, found 1.5"),
    (r#"{"anInt32":2147483648}"#, "2147483648 is out of the field's range"),
    (r#"{"aUint32":-1}"#, "out of the field's range"),
    (r#"{"aUint64":"18446744073709551616"}"#, "expected an integer"),
    (r#"{"anInt64":"9223372036854775808"}"#, "out of the field's range"),
    (r#"{"anInt32":""}"#, "expected an integer"),
    (r#"{"anInt32":" 1"}"#, "expected an integer"),
    (r#"{"anInt32":"0x1"}"#, "expected an integer"),
    (r#"{"anInt32":true}"#, "expected an integer, found a bool"),
    (r#"{"aDouble":1e400}"#, "out of the field's range"),
    (r#"{"aFloat":1e39}"#, "out of the field's range"),
    (r#"{"aFloat":"inf"}"#, "no number"),
    (r#"{"aDouble":nan}"#, "not \"null\""),
    (r#"{"aBool":1}"#, "expected true or false, found a number"),
    (r#"{"aBool":"true"}"#, "expected true or false, found a string"),
    (r#"{"aString":1}"#, "expected a string, found a number"),
    (r#"{"aString":"\ud800"}"#, "surrogate"),
    (r#"{"someBytes":"A"}"#, "no base64"),
    (r#"{"someBytes":"AA=A"}"#, "no base64"),
    (r#"{"someBytes":"A A="}"#, "no base64"),
    (r#"{"color":"red"}"#, r#"test.everything.Color has no value "red""#),
    (r#"{"color":1.5}"#, "no number of an enum"),
    (r#"{"color":2147483648}"#, "no number of an enum"),
    (r#"{"color":true}"#, "name of an enum's value"),
    (r#"{"nested":[]}"#, "nested: expected an object"),
    (r#"{"int32s":1}"#, "expected an array"),
    (r#"{"int32s":[1,null]}"#, "int32s[1]: expected an integer, found null"),
    (r#"{"strings":[null]}"#, "strings[0]: expected a string"),
    (r#"{"everythings":[{},{"nested":{"colors":["RED","BLUE"]}}]}"#, "everythings[1].nested.colors[1]: "),
    (r#"{"byBool":{"yes":""}}"#, "\"true\" or \"false\""),
    (r#"{"byInt32":{"a":1}}"#, "key's range"),
    (r#"{"byInt32":{"2147483648":1}}"#, "key's range"),
    (r#"{"byInt32":{"1":1,"1.0":2}}"#, "second time"),
    (r#"{"byInt32":{"1":null}}"#, "byInt32[\"1\"]: expected an integer, found null"),
    (r#"{"aStruct":{"a":1,"a":2}}"#, "second time"),
    (r#"{"timestamp":"yesterday"}"#, "timestamp: \"yesterday\" is not a timestamp"),
    (r#"{"timestamp":"2030-01-02t03:04:05Z"}"#, "is not a timestamp"),
    (r#"{"timestamp":0}"#, "expected a timestamp"),
    (r#"{"duration":"1"}"#, "is not a duration"),
    (r#"{"fieldMask":"a_b"}"#, "no path of a field mask"),
    (r#"{"fieldMask":"a,,b"}"#, "no path of a field mask"),
    (r#"{"value":1e400}"#, "out of the field's range"),
    (r#"{"list":{}}"#, "expected an array"),
    (r#"{"int32Values":[null]}"#, "int32Values[0]: expected an integer, found null"),
    (r#"{"any":{"anInt32":1}}"#, "needs the type"),
    (r#"{"any":{"@type":1}}"#, "expected a string"),
    (r#"{"any":{"@type":"x/no.Such"}}"#, r#"nothing is known of the type "x/no.Such""#),
    (r#"{"any":{"@type":"test.older.Older"}}"#, "nothing is known of the type"),
    (r#"{"any":{"@type":"t/google.protobuf.Duration"}}"#, "\"value\" is missing"),
    (r#"{"any":{"@type":"t/google.protobuf.Duration","value":"1s","value":"1s"}}"#, "one \"value\""),
    (r#"{"any":{"@type":"t/google.protobuf.Duration","valu":"1s"}}"#, "one \"value\""),
    (r#"{"any":{"@type":"t/google.protobuf.Empty","value":1}}"#, "expected an object"),
    (r#"{"any":{"@type":"t/google.protobuf.Empty","value":{"a":1}}}"#, "has no field"),
    (
        r#"{"any":{"@type":"t/test.everything.Everything","x":1}}"#,
        "any: test.everything.Everything has no field",
    ),
    (r#"{"any":"x"}"#, "@type"),
];

// wire-rules 46
#[test]
fn what_is_no_message_is_refused_with_the_field_and_the_place() {
    for (text, words) in REFUSED {
        let error = read(EVERYTHING, text).expect_err(text);
        assert!(error.contains(words) && error.contains(" of the JSON)"), "{text}: {error}");
    }
    let error = read(EVERYTHING, "{\n  \"anInt32\": 1,\n  \"aBool\": 3}").unwrap_err();
    assert!(error.contains("aBool: expected true or false, found a number (line 3, column 12 of"), "{error}");
}

#[test]
fn long_words_of_the_peer_are_cut_in_errors() {
    let error = read(EVERYTHING, &format!("{{\"{}\":1}}", "ä".repeat(10_000))).unwrap_err();
    assert!(error.len() < 400 && error.contains("äää..."), "{error}");
}

#[test]
fn text_that_is_no_utf_8_is_refused() {
    let transcode = json().message(EVERYTHING).unwrap();
    let error = transcode.read(b"{\"aString\":\"\xff\"}", &DecodeLimits::default()).unwrap_err();
    assert!(error.to_string().contains("no UTF-8 text from byte 12 on"), "{error}");
}

#[test]
fn unknown_members_are_skipped_if_asked_to() {
    let transcode = json().ignore_unknown_fields(true).message(EVERYTHING).unwrap();
    let texts = [
        (r#"{"unknown":{"a":[1,{"b":null}],"c":"}"},"anInt32":1}"#, r#"{"anInt32":1}"#),
        (r#"{"color":"BLUE","maybeColor":"BLUE","anInt32":1}"#, r#"{"anInt32":1}"#),
        (r#"{"colors":["RED","BLUE","NONE"]}"#, r#"{"colors":["RED","NONE"]}"#),
        (r#"{"colors":["BLUE"]}"#, "{}"),
        (r#"{"byString":{"a":"BLUE","b":"RED"}}"#, r#"{"byString":{"b":"RED"}}"#),
        (
            r#"{"any":{"@type":"t/google.protobuf.Duration","x":1,"value":"1s"}}"#,
            r#"{"any":{"@type":"t/google.protobuf.Duration","value":"1s"}}"#,
        ),
        (
            r#"{"any":{"@type":"t/test.everything.Everything","x":1}}"#,
            r#"{"any":{"@type":"t/test.everything.Everything"}}"#,
        ),
    ];
    for (text, canonical) in texts {
        let bytes = transcode.read(text.as_bytes(), &DecodeLimits::default()).unwrap();
        assert_eq!(print(EVERYTHING, &bytes).as_deref(), Ok(canonical), "{text}");
    }
    // What is known is still checked, and JSON is JSON.
    for text in [r#"{"anInt32":"x"}"#, r#"{"x":01}"#, r#"{"x":tru}"#] {
        assert!(transcode.read(text.as_bytes(), &DecodeLimits::default()).is_err(), "{text}");
    }
}
