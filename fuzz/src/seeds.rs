//! What a fuzzer starts from: public vectors, where they are, and recordings of the engine itself.
//!
//! The vectors stand beside the project and not in it. Absent, as in a user's clone, they are done without;
//! where the environment has `PEREGRINE_VECTORS=required` that is a failure. `PEREGRINE_VECTORS_DIR` names
//! another place to look for them.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use peregrine_core::Status;
use peregrine_core::status::details::{Any, BadRequest, ErrorInfo, QuotaFailure, RetryInfo};
use peregrine_http2::{Config, Connection, Event, Field, Role};

use crate::bytes::Random;
use crate::{certificates, hpack, json};

/// An input and where it comes from.
pub type Seed = (String, Vec<u8>);

/// The seeds of the target called `name`, the same ones every time.
///
/// # Panics
/// If the vectors are required and absent, or there and not readable.
pub fn of(name: &str) -> Vec<Seed> {
    let mut seeds = Vec::new();
    match name {
        "frames" | "frames_differential" => {
            seeds.extend(frame_vectors());
            seeds.extend(connections());
            seeds.extend(recorded());
        }
        "hpack_decode" | "hpack_differential" => seeds.extend(stories()),
        "server_connection" => {
            seeds.extend(connections());
            seeds.extend(recorded().into_iter().filter(|(name, _)| name.ends_with("client")));
        }
        "status_details" => seeds.extend(details()),
        "client_connection" => {
            seeds.extend(recorded().into_iter().filter(|(name, _)| name.ends_with("server")));
        }
        "certificate_names" => seeds.push(certificates::seed()),
        "json_read" => seeds.extend(json::texts()),
        "json_print" => seeds.extend(json::messages()),
        _ => {}
    }
    // Choices, for the targets that read their input as such; noise for the others.
    let mut random = Random::new(7);
    for len in [0, 1, 20, 100, 400, 1500] {
        let octets = (0..len).map(|_| random.number() as u8).collect();
        seeds.push((format!("random octets, {len}"), octets));
    }
    seeds
}

/// A detail of several types, each with the octet that names it to the target, and a status with all of them.
fn details() -> Vec<Seed> {
    let info = ErrorInfo::new("REASON", "domain").with_metadata("key", "value");
    let retry = RetryInfo::after(Duration::new(3, 5));
    let quota = QuotaFailure::violation("subject", "description");
    let bad = BadRequest::field("field", "description");
    let all: [(u8, Any); 4] = [(0, info.into()), (1, retry.into()), (3, quota.into()), (5, bad.into())];
    let status = Status::aborted("x").with_details(all.iter().map(|(_, any)| any.clone()));
    let whole = [&[15][..], &status.details()].concat();
    let each =
        all.iter().map(|(kind, any)| (any.type_name().to_owned(), [&[*kind][..], &any.value].concat()));
    each.chain([("a status".to_owned(), whole)]).collect()
}

/// Both directions of connections on which a few calls are made, of several configurations.
fn recorded() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (number, window) in [65_535, 100, 1 << 20].into_iter().enumerate() {
        let [client, server] = record(window, number);
        seeds.push((format!("recorded {number} client"), client));
        seeds.push((format!("recorded {number} server"), server));
    }
    seeds
}

/// What client and server write while they make four calls.
fn record(window: u32, number: usize) -> [Vec<u8>; 2] {
    let now = Instant::now();
    let mut config = [Config::client(), Config::server()];
    for end in &mut config {
        end.initial_window_size = window;
    }
    let [client, server] = config;
    let mut ends = [Connection::new(Role::Client, client, now), Connection::new(Role::Server, server, now)];
    let mut wires = [Vec::new(), Vec::new()];
    let mut read = [0, 0];
    for round in 0..8 {
        if round % 2 == 0
            && let Ok(key) = ends[0].open(list(REQUEST), round == 4)
        {
            if let Ok(mut write) = ends[0].write_data(key, 30) {
                write.buffers().0.extend_from_slice(&[0; 30]);
                let _ = write.commit();
            }
            let _ = ends[0].end_stream(key);
        }
        for end in [0, 1] {
            take_output(&mut ends[end], &mut wires[end]);
        }
        for end in [1, 0] {
            let wire = &wires[1 - end];
            let connection = &mut ends[end];
            while let Ok(progress) = connection.handle_input(&wire[read[end]..], now) {
                read[end] += progress.consumed;
                match progress.event {
                    Some(Event::Headers { stream, .. }) if end == 1 => {
                        let _ = connection.send_headers(stream, list(RESPONSE), false);
                        let _ = connection.send_headers(stream, list(TRAILERS), true);
                    }
                    Some(Event::Data { stream, data, .. }) => connection.release(stream, data.len()),
                    _ => {}
                }
                if progress.consumed == 0 {
                    break;
                }
            }
        }
        if round == 6 {
            ends[number % 2].graceful_shutdown(now);
        }
    }
    wires
}

fn take_output(connection: &mut Connection, wire: &mut Vec<u8>) {
    while connection.poll_output() {
        let mut slices = [IoSlice::new(&[]); 8];
        let filled = connection.output_slices(&mut slices);
        let before = wire.len();
        slices[..filled].iter().for_each(|slice| wire.extend_from_slice(slice));
        connection.advance_output(wire.len() - before);
    }
}

/// The frames of http2-frame-test-case, broken ones too.
fn frame_vectors() -> Vec<Seed> {
    let Some(folder) = vectors("http2-frames") else { return Vec::new() };
    let cases = files(&folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "json"));
    cases.map(|path| (path.display().to_string(), hex(&json(&path)["wire"]))).collect()
}

/// Recorded connections, as a server saw them.
fn connections() -> Vec<Seed> {
    let Some(archive) = vectors("http2-fuzz-seeds.tar.xz") else { return Vec::new() };
    unpacked(&archive, |path| {
        let is_seed = path.file_name().is_some_and(|name| name.len() == 64);
        is_seed.then(|| std::fs::read(path).expect("a readable seed"))
    })
}

/// One HPACK story of each encoder, its blocks in order.
fn stories() -> Vec<Seed> {
    let Some(archive) = vectors("hpack-stories.tar.xz") else { return Vec::new() };
    unpacked(&archive, |path| {
        if path.file_name().is_none_or(|name| name != "story_03.json") {
            return None;
        }
        let story = json(path);
        let cases = story["cases"].as_array().expect("cases");
        let blocks: Vec<Vec<u8>> =
            cases.iter().filter(|case| case["wire"].is_string()).map(|case| hex(&case["wire"])).collect();
        let mut input = hpack::steps(&blocks);
        input.truncate(4096);
        Some(input)
    })
}

/// Where the vectors called `name` are, if they are there.
fn vectors(name: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("PEREGRINE_VECTORS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")),
    };
    let path = folder.join(name);
    let required = std::env::var_os("PEREGRINE_VECTORS").is_some_and(|value| value == "required");
    assert!(
        path.exists() || !required,
        "the vectors {name} are required and absent from {}",
        folder.display()
    );
    path.exists().then_some(path)
}

/// The files of an archive that `read` wants, in the order of their names.
fn unpacked(archive: &Path, read: impl Fn(&Path) -> Option<Vec<u8>>) -> Vec<Seed> {
    let unique = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(format!("peregrine-seeds-{unique}"));
    std::fs::create_dir_all(&folder).expect("a folder to unpack to");
    let tar = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&folder).status();
    assert!(tar.expect("tar, to unpack the seeds").success(), "tar could not unpack {}", archive.display());
    let seeds = files(&folder)
        .into_iter()
        .filter_map(|path| Some((path.strip_prefix(&folder).ok()?.display().to_string(), read(&path)?)));
    let seeds = seeds.collect();
    std::fs::remove_dir_all(&folder).expect("the unpacked seeds can be removed");
    seeds
}

/// Every file below `folder`, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("a readable case")).expect("a case in JSON")
}

fn hex(text: &serde_json::Value) -> Vec<u8> {
    let text = text.as_str().expect("octets in hex");
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).expect("hex") as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn list(list: &'static [(&'static str, &'static str)]) -> impl Iterator<Item = Field<'static>> + Clone {
    list.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
}

const REQUEST: &[(&str, &str)] = &[
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/grpc.testing.TestService/UnaryCall"),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
    ("grpc-timeout", "1S"),
];
const RESPONSE: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];
const TRAILERS: &[(&str, &str)] = &[("grpc-status", "0")];
