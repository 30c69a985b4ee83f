//! Part `load`: the bench programs with every codec, and the soak. Short: it is the answers that count here, the
//! figures are measured elsewhere.

use std::process::Command;
use std::time::Duration;

use super::Run;
use crate::process::{self, Server};
use crate::report::tail;

/// Codecs of the bench server, each with another way to execute calls, so that all pairs of habits are met.
const SERVERS: [(&str, &str); 3] = [("buffa", "auto"), ("prost", "inline"), ("bytes", "spawn")];
/// Call shapes that the bench client has.
const SHAPES: [&str; 3] = ["unary", "stream", "collect"];
/// Bytes of a payload: one that shares frames with others, and one that takes many frames.
const SIZES: [u32; 2] = [16, 1 << 20];

const SOAK_ID: &str = "load/soak";
const CUTS_ID: &str = "load/cuts";

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    for (codec, mode) in SERVERS {
        let id = |shape: &str, size: u32| format!("load/{codec}-{mode}-{shape}-{size}");
        let wanted: Vec<(&str, u32)> = SHAPES
            .into_iter()
            .flat_map(|shape| SIZES.map(|size| (shape, size)))
            .filter(|&(shape, size)| run.wants(&id(shape, size)))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        run.build_ours()?;
        let program = run.workspace.release_program("bench-server");
        let server = Server::start(&run.log(&format!("load-{codec}")), |port| {
            let mut command = Command::new(&program);
            command.args([&port.to_string(), "--codec", codec, "--mode", mode]);
            command
        })?;
        for (shape, size) in wanted {
            bench(run, &id(shape, size), shape, size, &server)?;
        }
    }
    if run.wants(SOAK_ID) {
        // Ten thousand streams of mixed shapes with cancels and deadlines.
        let seconds = if run.full { 60 } else { 10 };
        soak(run, SOAK_ID, seconds, &["--streams", "10000", "--connections", "100"])?;
    }
    if run.wants(CUTS_ID) {
        // Through a proxy that cuts connections; a turn of noise and quiet takes 30 seconds.
        let seconds = if run.full { 600 } else { 32 };
        soak(run, CUTS_ID, seconds, &["--cuts", "--streams", "1000", "--connections", "50"])?;
    }
    Ok(())
}

/// One short run of the bench client; every call must be answered.
fn bench(run: &mut Run<'_>, id: &str, shape: &str, size: u32, server: &Server) -> anyhow::Result<()> {
    let mut command = Command::new(run.workspace.release_program("bench-client"));
    command.args([format!("127.0.0.1:{}", server.port()), shape.to_owned(), format!("size={size}")]);
    command.args(["conns=2", "conc=8", "count=4", "warm=0.1", "meas=0.3"]);
    let outcome = process::run(&mut command, Duration::from_secs(30), |_| {})?;
    if outcome.success() && outcome.output.split_whitespace().any(|word| word == "errs=0") {
        run.results.pass(id, outcome.elapsed);
    } else {
        let said = tail(&outcome.output, 6);
        run.results.fail(id, &format!("{}\n{said}\nserver: {}", outcome.verdict(), server.last_words()));
    }
    Ok(())
}

/// A run of the soak program, which judges its calls and what is left afterwards.
fn soak(run: &mut Run<'_>, id: &str, seconds: u64, flags: &[&str]) -> anyhow::Result<()> {
    run.build_ours()?;
    let mut command = Command::new(run.workspace.release_program("soak"));
    command.args(["--seconds", &seconds.to_string()]).args(flags);
    let outcome = process::run(&mut command, Duration::from_secs(seconds + 90), |_| {})?;
    if outcome.success() {
        run.results.pass(id, outcome.elapsed);
    } else {
        run.results.fail(id, &format!("{}\n{}", outcome.verdict(), tail(&outcome.output, 10)));
    }
    Ok(())
}
