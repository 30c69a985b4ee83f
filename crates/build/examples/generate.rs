//! Generates from whole folders of protos and says how long it took: for trying large trees, and for comparing.
//!
//! ```text
//! generate CODEC OUT ROOT[,ROOT..] PATH..
//! generate CODEC OUT SET
//! ```
//!
//! A path is a `.proto` file, or a folder of which every such file is compiled; imports are looked up in the roots. `OUT` is a
//! folder; the descriptors go there as well, as `descriptors.binpb`, for other generators to try. `SET` is such a file:
//! nothing is compiled then. Fails unless every message, service and rpc of the descriptors is in the code.

#![allow(clippy::print_stdout, reason = "the figures go to whoever started it")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use peregrine_build::Codec;
use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorSet, MessageOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [codec, out, from, paths @ ..] = args.as_slice() else {
        return Err("usage: generate CODEC OUT (SET | ROOT[,ROOT..] PATH..)".into());
    };
    let codec: Codec = codec.parse()?;
    let config = || peregrine_build::configure().codec(codec);
    let set = if paths.is_empty() {
        fs::read(from)?
    } else {
        let mut files = Vec::new();
        for path in paths {
            find_protos(Path::new(path), &mut files)?;
        }
        files.sort();
        let clock = Clock::start();
        let set = config().includes(from.split(',')).descriptor_set(files.as_slice())?;
        println!("{} files compiled to descriptors in {clock}", files.len());
        set
    };
    let clock = Clock::start();
    let generated = config().generate(&set)?;
    println!("code generated in {clock}");
    let (wanted, made) = (Counts::of_descriptors(&set)?, Counts::of_code(&generated[0].content, codec));
    println!("{made}");
    if made != wanted {
        return Err(format!("the descriptors have {wanted}").into());
    }
    fs::create_dir_all(out)?;
    fs::write(Path::new(out).join("descriptors.binpb"), set)?;
    for file in generated {
        println!("{}: {} bytes, {} lines", file.name, file.content.len(), file.content.lines().count());
        fs::write(Path::new(out).join(file.name), file.content)?;
    }
    Ok(())
}

fn find_protos(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            find_protos(&entry?.path(), found)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "proto") {
        found.push(path.to_path_buf());
    }
    Ok(())
}

/// How many of each there are.
#[derive(Default, PartialEq)]
struct Counts {
    messages: usize,
    services: usize,
    rpcs: usize,
}

impl Counts {
    /// Of all files that code is generated for.
    fn of_descriptors(set: &[u8]) -> Result<Self, prost::DecodeError> {
        let mut counts = Self::default();
        for file in FileDescriptorSet::decode(set)?.file {
            if !format!("{}.", file.package()).starts_with("google.protobuf.") {
                counts.messages += file.message_type.iter().map(messages).sum::<usize>();
                counts.services += file.service.len();
                counts.rpcs += file.service.iter().map(|service| service.method.len()).sum::<usize>();
            }
        }
        Ok(counts)
    }

    /// By what is written once for each of them.
    fn of_code(code: &str, codec: Codec) -> Self {
        let message = match codec {
            Codec::Prost => "fn full_name() ->",
            _ => "const FULL_NAME: &'static str",
        };
        let count = |piece| code.matches(piece).count();
        Self {
            messages: count(message),
            services: count(": ::peregrine::rt::ServiceDescriptor ="),
            rpcs: count("::peregrine::rt::MethodDescriptor {"),
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { messages, services, rpcs } = self;
        write!(f, "{messages} messages, {services} services, {rpcs} rpcs")
    }
}

/// `message` and those in it, without the entries of maps.
fn messages(message: &DescriptorProto) -> usize {
    let nested = message.nested_type.iter();
    let nested = nested.filter(|nested| !nested.options.as_ref().is_some_and(MessageOptions::map_entry));
    1 + nested.map(messages).sum::<usize>()
}

/// Time passed, and time on a processor, which a busy machine does not falsify.
struct Clock {
    start: Instant,
    on_processor: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), on_processor: on_processor() }
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2?}", self.start.elapsed())?;
        match (self.on_processor, on_processor()) {
            (Some(before), Some(after)) => {
                write!(f, " ({:.2?} on a processor)", after.saturating_sub(before))
            }
            _ => Ok(()),
        }
    }
}

/// How long this program's thread has run, on systems that say so in a file.
fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
