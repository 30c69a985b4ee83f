//! `cargo xtask compare memory`: what servers hold for connections and calls on which nothing happens.
//!
//! Bytes are the growth of the server's resident set from before the first connection to some seconds after the last
//! answer, divided by the number of connections or calls; sockets' buffers in the kernel are not among them. A runtime
//! that collects garbage may not have done so by then, so its figures are upper bounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::facts::Facts;
use super::rotation::pinned;
use super::stack::Stack;
use super::statistics::{Spread, short};
use super::{Wanted, step};
use crate::process::{self, Server};
use crate::report::{say, tail};
use crate::workspace::Workspace;

/// What is held, and the words for the program that makes it so. Stacks that give memory back after some seconds of
/// silence have done so after 13.
const KINDS: [(&str, &str); 2] = [
    ("idle connection", "idle size=256 conns=15000 meas=13"),
    ("open call", "open size=256 conns=100 conc=100000 meas=13"),
];

/// Measures the stacks among the words, or all.
pub(super) fn run(workspace: &Workspace, wanted: &Wanted) -> anyhow::Result<bool> {
    let stacks = stacks(&wanted.words[1..])?;
    raise_descriptor_limit();
    say(&Facts::read(workspace)?.to_string());
    // The load is one of our programs.
    Stack::Peregrine.build(workspace)?;
    let programs: Vec<_> = stacks
        .iter()
        .map(|&stack| anyhow::Ok((stack, stack.build(workspace)?)))
        .collect::<anyhow::Result<_>>()?;
    let logs = workspace.target().join("compare");
    std::fs::create_dir_all(&logs)?;
    let mut figures: BTreeMap<(Stack, &str), Vec<f64>> = BTreeMap::new();
    for _ in 0..wanted.rounds {
        for (stack, program) in &programs {
            for (kind, load) in KINDS {
                if *stack == Stack::Pajamax && kind == "open call" {
                    continue;
                }
                let log = logs.join(format!("{}-memory.log", stack.name()));
                let server = Server::start(&log, |port| pinned(0, &stack.command(program, port, 1)))?;
                match held(workspace, &server, load) {
                    Ok(bytes) => {
                        say(&format!("{:<12} {kind:<16} {} B", stack.name(), short(bytes)));
                        figures.entry((*stack, kind)).or_default().push(bytes);
                    }
                    Err(error) => say(&format!("{:<12} {kind:<16} {error:#}", stack.name())),
                }
            }
        }
    }
    say(&table(&stacks, &figures));
    Ok(true)
}

fn stacks(words: &[String]) -> anyhow::Result<Vec<Stack>> {
    if words.is_empty() {
        return Ok(Stack::ALL.into_iter().filter(|&stack| stack != Stack::Floor).collect());
    }
    let named = |word: &String| Stack::named(word).with_context(|| format!("there is no stack `{word}`"));
    words.iter().map(named).collect()
}

/// Bytes for each connection or call.
fn held(workspace: &Workspace, server: &Server, load: &str) -> anyhow::Result<f64> {
    let address = format!("127.0.0.1:{}", server.port());
    let load_program = workspace.release_program("bench-load");
    // What a process needs once is there before the first look.
    let mut first = Command::new(&load_program);
    step(first.arg(&address).args("unary size=256 conc=32 warm=0 meas=1".split(' ')))?;
    let mut run = Command::new(&load_program);
    run.arg(&address).args(load.split(' ')).arg(format!("pid={}", server.id()));
    let outcome = process::run(&mut pinned(1, &run), Duration::from_mins(2), |_| {})?;
    if !outcome.success() || !outcome.output.contains("errs=0") {
        bail!("{}: {}", outcome.verdict(), tail(&outcome.output, 2));
    }
    let bytes = outcome.output.split_whitespace().find_map(|word| word.strip_prefix("bytes="));
    Ok(bytes.context("no bytes=")?.parse()?)
}

fn table(stacks: &[Stack], figures: &BTreeMap<(Stack, &str), Vec<f64>>) -> String {
    let mut text =
        String::from("\n| server | bytes an idle connection | bytes an open call |\n|---|---|---|\n");
    for &stack in stacks {
        let cells = KINDS.map(|(kind, _)| {
            let figures = figures.get(&(stack, kind)).cloned().unwrap_or_default();
            Spread::of(figures).map_or_else(|| "-".to_owned(), |spread| format!("{:.0}", spread.median))
        });
        let _ = writeln!(text, "| {} | {} |", stack.name(), cells.join(" | "));
    }
    text
}

/// Each connection is a descriptor, here and in the servers, which inherit the limit.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Where this is not allowed, the load says that it cannot connect.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
