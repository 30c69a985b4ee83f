//! Every test run replays what the fuzzer starts from and what it ever found, and mutates it a little.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use peregrine_fuzz::bytes::Random;
use peregrine_fuzz::{TARGETS, Target, seeds, target};

/// Mutations tried in each run of a target's test: some seconds without optimisation.
const MUTATIONS: usize = 600;

macro_rules! replays {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                replay(target(stringify!($name)).expect("a target of this name"));
            }
        )*

        #[test]
        fn every_target_is_replayed() {
            assert_eq!(TARGETS.map(|target| target.name), [$(stringify!($name)),*]);
        }
    };
}

replays! {
    frames
    frames_differential
    hpack_decode
    hpack_roundtrip
    hpack_differential
    server_connection
    client_connection
    operations
    status_details
    unary_paths
    certificate_names
    json_read
    json_print
}

fn replay(target: Target) {
    let seeds = seeds::of(target.name);
    let failures = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name));
    for (name, input) in seeds.iter().chain(&failures) {
        check(target, input, name);
    }
    let mut random = Random::new(20_26);
    for number in 0..MUTATIONS {
        let mut input = match seeds.get(random.below(seeds.len())) {
            Some((_, seed)) => seed.clone(),
            None => Vec::new(),
        };
        mutate(&mut input, &mut random);
        input.truncate(target.max_len);
        check(target, &input, &format!("mutation {number}"));
    }
}

/// Runs the target; an input that fails is kept as a file, ready for `fuzz/corpus`.
fn check(target: Target, input: &[u8], name: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-failed", target.name));
        std::fs::write(&file, input).expect("a folder for temporary files");
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        panic!("{name} fails: {text}; the input is in {}", file.display());
    }
}

/// A few small changes: octets changed, added, removed, pieces doubled.
fn mutate(input: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(5) {
            0 | 1 if at < input.len() => input[at] = random.number() as u8,
            2 if at < input.len() => input[at] ^= 1 << random.below(8),
            3 if at < input.len() => {
                let end = (at + random.below(20)).min(input.len());
                let piece: Vec<u8> = input[at..end].to_vec();
                if random.one_in(2) {
                    input.drain(at..end);
                } else {
                    input.splice(at..at, piece);
                }
            }
            _ => input.insert(at, random.number() as u8),
        }
    }
}

/// Name and content of the files in `folder`, if it is there.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("a readable entry").path();
            (path.display().to_string(), std::fs::read(&path).expect("a readable input"))
        })
        .collect();
    files.sort();
    files
}
