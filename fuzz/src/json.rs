//! JSON as a message format: any text and any message.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use peregrine_core::{DecodeLimits, Transcode};
use peregrine_json::Json;

use crate::seeds::Seed;

/// Types with every kind of field, those of `crates/json/tests/proto`.
static TYPES: LazyLock<[Arc<dyn Transcode>; 2]> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/json/tests/proto");
    let mut compiler = protox::Compiler::new([&folder]).expect("the folder is there");
    compiler.include_imports(true);
    for file in ["everything.proto", "older.proto"] {
        compiler.open_file(folder.join(file)).expect("the protos compile");
    }
    let json = Json::new().types(&compiler.encode_file_descriptor_set()).expect("a set with its imports");
    ["test.everything.Everything", "test.older.Older"]
        .map(|name| json.message(name).expect("it is in the set"))
});

/// The first of the types.
pub(crate) fn everything() -> &'static Arc<dyn Transcode> {
    &TYPES[0]
}

/// What is read is printed, unless it cannot be; and what is printed is read as the same message.
pub fn read(input: &[u8]) {
    for of in TYPES.iter() {
        if let Ok(message) = of.read(input, &DecodeLimits::default()) {
            check_printed(of, &message);
        }
    }
}

/// What is printed is read as the same message.
pub fn print(input: &[u8]) {
    for of in TYPES.iter() {
        check_printed(of, input);
    }
}

/// Compared as text, which is the same for equal messages.
fn check_printed(of: &Arc<dyn Transcode>, message: &[u8]) {
    let Ok(printed) = of.write(message) else { return };
    let text = String::from_utf8_lossy(&printed);
    let again = of.read(&printed, &DecodeLimits::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let printed_again = of.write(&again).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(text, String::from_utf8_lossy(&printed_again));
}

/// Texts that have something of everything.
pub(crate) const TEXTS: [&str; 4] = [
    r#"{"aDouble":1.5e3,"aString":"a\u00e4\n","someBytes":"AQI","colors":["RED",7],"byBool":{"true":"x"},"int32s":[1,"2"]}"#,
    r#"{"everythings":[{"timestamp":"2030-01-02T03:04:05.6Z"}],"duration":"-1.5s","fieldMask":"a,bC","chosenNull":null}"#,
    r#"{"aStruct":{"a":[1,null,{"b":false}]},"any":{"@type":"t/google.protobuf.Duration","value":"1s"},"boolValue":true}"#,
    r#"{"needed":1,"closedMap":{"a":"FIRST"},"part":{"deep":{"text":"x"}},"[test.older.text_extension]":"y"}"#,
];

/// Where the fuzzer of [`read`] starts.
pub(crate) fn texts() -> Vec<Seed> {
    TEXTS.iter().map(|text| ((*text).to_owned(), text.as_bytes().to_vec())).collect()
}

/// Where the fuzzer of [`print()`] starts: the messages of those texts.
pub(crate) fn messages() -> Vec<Seed> {
    let read = |text: &str, of: &Arc<dyn Transcode>| {
        of.read(text.as_bytes(), &DecodeLimits::default()).ok().map(|message| (text.to_owned(), message))
    };
    TEXTS.iter().flat_map(|text| TYPES.iter().filter_map(|of| read(text, of))).collect()
}
