//! The stories of hpack-test-case: sequences of field blocks as 14 encoders wrote them, one decoder a story.
//!
//! Each story is decoded; its field lists are then encoded by us and read by our decoder and by one of
//! another make.

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use peregrine_http2::hpack::{Decoder, Encoder, Field};
use serde_json::Value;

use crate::{hex, json_files, vectors};

#[test]
fn stories_of_every_encoder_decode_and_ours_are_understood() {
    let Some(archive) = vectors("hpack-stories.tar.xz") else { return };
    let folder = unpack(&archive);
    let files = json_files(&folder);
    assert_eq!(files.len(), 478, "stories in {}", archive.display());
    // A file costs some tens of milliseconds without optimisation.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for share in files.chunks(files.len().div_ceil(threads)) {
            scope.spawn(|| share.iter().for_each(|file| check(file)));
        }
    });
    std::fs::remove_dir_all(&folder).expect("the unpacked stories can be removed");
}

fn unpack(archive: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stories-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder to unpack to");
    let tar = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&folder).status();
    let tar = tar.expect("tar, to unpack the stories");
    assert!(tar.success(), "tar could not unpack {} (is xz there?): {tar}", archive.display());
    folder
}

fn check(file: &Path) {
    let name = file.display().to_string();
    let text = std::fs::read(file).expect("a readable story");
    let story: Value = serde_json::from_slice(&text).expect("a story in JSON");
    let cases = story["cases"].as_array().expect("cases");
    if cases.iter().all(|case| case["wire"].is_string()) {
        decode(cases, &name);
    }
    // The other decoder is slow and the lists are the same in every folder: it reads those of one.
    encode(cases, name.contains("raw-data"), &name);
}

/// Decodes the blocks in order and compares the fields.
fn decode(cases: &[Value], name: &str) {
    let mut decoder = Decoder::new(4096);
    for (number, case) in cases.iter().enumerate() {
        if let Some(size) = case["header_table_size"].as_u64() {
            decoder.set_limit(size as usize);
        }
        let mut fields = Vec::new();
        decoder
            .decode(&hex(case["wire"].as_str().expect("wire")), &mut |field| fields.push(owned(field)))
            .unwrap_or_else(|error| panic!("{name}, case {number}: {error}"));
        assert_eq!(fields, expected(case), "{name}, case {number}");
    }
}

/// Encodes the field lists in order and reads the blocks back.
fn encode(cases: &[Value], other: bool, name: &str) {
    let mut encoder = Encoder::new(1);
    let (mut ours, mut theirs) = (Decoder::new(4096), loona_hpack::Decoder::new());
    for (number, case) in cases.iter().enumerate() {
        let list = expected(case);
        let mut block = Vec::new();
        encoder.encode_block(list.iter().map(|(name, value)| Field::new(name, value)), &mut block);
        let mut fields = Vec::new();
        ours.decode(&block, &mut |field| fields.push(owned(field)))
            .unwrap_or_else(|error| panic!("{name}, case {number}: {error}"));
        assert_eq!(fields, list, "{name}, case {number}");
        if other {
            let fields = theirs.decode(&block);
            assert_eq!(fields.ok(), Some(list), "{name}, case {number}: read by the other decoder");
        }
    }
}

fn owned(field: Field<'_>) -> (Vec<u8>, Vec<u8>) {
    (field.name.to_vec(), field.value.to_vec())
}

/// The field list of a case: an array of objects with one member each.
fn expected(case: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    let fields = case["headers"].as_array().expect("headers");
    let members = fields.iter().flat_map(|field| field.as_object().expect("a field"));
    members.map(|(name, value)| (name.clone().into(), value.as_str().expect("a value").into())).collect()
}
