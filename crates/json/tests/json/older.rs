//! What proto2 and editions have: closed enums, groups, extensions, presence everywhere.

use peregrine_core::DecodeLimits;
use peregrine_json::Json;
use prost::Message;
use prost_reflect::DescriptorPool;

use crate::support::{OLDER, SET, is_same, message, print, read};

#[test]
fn canonical_json_of_proto2_is_read_and_printed_as_it_is() {
    let texts = [
        "{}",
        r#"{"needed":0,"given":0,"closed":"FIRST"}"#,
        r#"{"closedList":["FIRST","SECOND"],"closedPacked":["SECOND"],"closedMap":{"a":"FIRST"}}"#,
        r#"{"part":{"inner":1,"deep":{"text":""}},"parts":[{"inner":1},{}],"numbers":[1,2]}"#,
        r#"{"part":{}}"#,
        r#"{"[test.older.text_extension]":"x","[test.older.older_extension]":[{"needed":1}]}"#,
        r#"{"[test.older.Older.inner_extension]":5}"#,
    ];
    for text in texts {
        let bytes = read(OLDER, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(print(OLDER, &bytes).as_deref(), Ok(text));
        assert!(is_same(OLDER, &bytes, &message(OLDER, text)), "{text}");
    }
}

#[test]
fn numbers_that_a_closed_enum_does_not_name_are_left_out() {
    let cases: [(&[u8], &str); 7] = [
        (&[0x18, 9], "{}"),
        (&[0x18, 1, 0x18, 9], r#"{"closed":"FIRST"}"#),
        (&[0x20, 1, 0x20, 9, 0x20, 2], r#"{"closedList":["FIRST","SECOND"]}"#),
        (&[0x2a, 3, 9, 2, 9], r#"{"closedPacked":["SECOND"]}"#),
        (&[0x2a, 1, 9], "{}"),
        (&[0x32, 5, 0x0a, 1, b'a', 16, 9], "{}"),
        (&[0x32, 5, 0x0a, 1, b'a', 16, 9, 0x32, 5, 0x0a, 1, b'b', 16, 1], r#"{"closedMap":{"b":"FIRST"}}"#),
    ];
    for (bytes, text) in cases {
        assert_eq!(print(OLDER, bytes).as_deref(), Ok(text), "{bytes:02x?}");
    }
}

#[test]
fn what_is_no_group_and_no_extension_is_refused() {
    for text in
        [r#"{"Part":{}}"#, r#"{"part":1}"#, r#"{"[test.older.nothing]":1}"#, r#"{"text_extension":"x"}"#]
    {
        assert!(read(OLDER, text).is_err(), "{text}");
    }
}

/// `test.older.Older` as a file with an edition says the same, with features that differ from the edition's defaults.
#[test]
fn editions_are_understood_by_their_features() {
    let pool = DescriptorPool::decode(SET.as_slice()).unwrap();
    let file = pool.files().find(|file| file.name() == "older.proto").unwrap();
    let mut file = file.file_descriptor_proto().clone();
    file.syntax = Some("editions".to_owned());
    for field in &mut file.message_type[0].field {
        if let Some(options) = &mut field.options {
            options.packed = None;
        }
    }
    let mut bytes = file.encode_to_vec();
    // edition = 2023; options { features { enum_type: CLOSED, repeated_field_encoding: EXPANDED } }
    bytes.extend_from_slice(&[0x70, 0xe8, 7]);
    bytes.extend_from_slice(&[0x42, 7, 0x92, 3, 4, 0x10, 2, 0x18, 2]);
    let mut set = vec![0x0a];
    prost::encoding::encode_varint(bytes.len() as u64, &mut set);
    set.extend_from_slice(&bytes);
    let transcode = Json::new().types(&set).unwrap().message(OLDER).unwrap();
    let bytes = transcode.read(br#"{"needed":0,"numbers":[1,2]}"#, &DecodeLimits::default()).unwrap();
    assert_eq!(bytes, [8, 0, 0x48, 1, 0x48, 2], "presence, and no packing");
    assert_eq!(transcode.write(&[0x18, 9]).unwrap(), b"{}", "closed enums");
}
