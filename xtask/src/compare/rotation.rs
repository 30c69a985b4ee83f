//! All servers up, each asked whether it answers, then round after round of windows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::scenario::{Kind, Scenario};
use super::stack::Stack;
use super::window::{Side, Window};
use crate::process::Server;
use crate::report::say;
use crate::workspace::Workspace;

/// A stack in a role: a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) stack: Stack,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Role {
    /// A server on processor 0.
    Pinned,
    /// A server with so many threads on all processors.
    Free(u32),
    /// A client on processor 1.
    Client,
}

/// Programs that run, and what is asked of them.
pub(super) struct Rotation {
    scenarios: Vec<(&'static Scenario, Vec<Entry>)>,
    servers: BTreeMap<Entry, Server>,
    programs: BTreeMap<Stack, PathBuf>,
    load: PathBuf,
    unanswered: Vec<(&'static str, Entry)>,
    versions: Vec<(Stack, String)>,
}

/// What all rounds showed.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) scenarios: Vec<(&'static Scenario, Vec<Entry>)>,
    /// By scenario and entry, in order of rounds.
    windows: BTreeMap<(&'static str, Entry), Vec<Window>>,
    /// Who did not answer what, or not rightly.
    pub(super) unanswered: Vec<(&'static str, Entry)>,
    pub(super) versions: Vec<(Stack, String)>,
}

impl Rotation {
    /// Builds and starts all that is needed.
    pub(super) fn start(
        workspace: &Workspace,
        stacks: &[Stack],
        scenarios: &[&'static Scenario],
    ) -> anyhow::Result<Self> {
        let mut programs = BTreeMap::new();
        let mut versions = Vec::new();
        // Ours has the load in it and answers the clients, so it is always there.
        for stack in [Stack::Peregrine].iter().chain(stacks) {
            if programs.contains_key(stack) {
                continue;
            }
            say(&format!("building {}", stack.name()));
            programs.insert(*stack, stack.build(workspace)?);
        }
        for &stack in stacks {
            versions.push((stack, stack.version(workspace)?));
        }
        let scenarios: Vec<_> =
            scenarios.iter().map(|&scenario| (scenario, entries(scenario, stacks))).collect();
        let logs = workspace.target().join("compare");
        std::fs::create_dir_all(&logs)?;
        let mut rotation = Self {
            scenarios,
            servers: BTreeMap::new(),
            programs,
            load: workspace.release_program("bench-load"),
            unanswered: Vec::new(),
            versions,
        };
        rotation.start_servers(&logs)?;
        rotation.ask(&workspace.release_program("bench-client"));
        Ok(rotation)
    }

    fn start_servers(&mut self, logs: &Path) -> anyhow::Result<()> {
        let mut wanted: Vec<Entry> = Vec::new();
        for (scenario, entries) in &self.scenarios {
            match scenario.kind {
                Kind::Server | Kind::Threads => wanted.extend(entries),
                Kind::Client => wanted.push(FOR_CLIENTS),
            }
        }
        for entry in wanted {
            if self.servers.contains_key(&entry) {
                continue;
            }
            let program = &self.programs[&entry.stack];
            let log = logs.join(format!("{}.log", entry.label().replace(' ', "-")));
            let server = Server::start(&log, |port| {
                let threads = if let Role::Free(threads) = entry.role { threads } else { 1 };
                let command = entry.stack.command(program, port, threads);
                if entry.role == Role::Pinned { pinned(0, &command) } else { command }
            })
            .with_context(|| entry.label())?;
            self.servers.insert(entry, server);
        }
        Ok(())
    }

    /// Strikes out who does not answer a whole client, which knows what the load does not look at.
    fn ask(&mut self, client: &Path) {
        for (scenario, entries) in &mut self.scenarios {
            if scenario.kind == Kind::Client {
                continue;
            }
            entries.retain(|entry| {
                let mut ask = Command::new(client);
                ask.arg(address(&self.servers[entry])).args(scenario.load.split(' '));
                ask.args(["warm=0", "calls=200"]);
                let answer = Window::of(&mut ask, Side::Client, ASKED);
                let is_right = answer.as_ref().is_ok_and(|window| window.errors == 0 && window.rate > 0.0);
                if !is_right {
                    let why = answer.map_or_else(
                        |error| format!("{error:#}"),
                        |window| format!("{} wrong answers", window.errors),
                    );
                    say(&format!("{} does not answer {}: {why}", entry.label(), scenario.name));
                    self.unanswered.push((scenario.name, *entry));
                }
                is_right
            });
        }
    }

    /// Measures; ends the servers.
    pub(super) fn run(self, rounds: u64, length: Duration) -> anyhow::Result<Results> {
        let mut windows: BTreeMap<(&'static str, Entry), Vec<Window>> = BTreeMap::new();
        for round in 0..rounds as usize {
            for (number, (scenario, entries)) in self.scenarios.iter().enumerate() {
                let first = (round + number) % entries.len().max(1);
                for entry in entries[first..].iter().chain(&entries[..first]) {
                    let window = self
                        .window(scenario, *entry, length)
                        .with_context(|| format!("{} at {}", entry.label(), scenario.name))?;
                    say(&format!(
                        "{round} {:<10} {:<22} cpu_us={:.3} rate={:.0} p50_us={:.0} p99_us={:.0} errs={}",
                        scenario.name,
                        entry.label(),
                        window.cpu_us,
                        window.rate,
                        window.p50_us,
                        window.p99_us,
                        window.errors
                    ));
                    windows.entry((scenario.name, *entry)).or_default().push(window);
                }
            }
        }
        Ok(Results {
            scenarios: self.scenarios,
            windows,
            unanswered: self.unanswered,
            versions: self.versions,
        })
    }

    fn window(&self, scenario: &Scenario, entry: Entry, length: Duration) -> anyhow::Result<Window> {
        let limit = 3 * length + Duration::from_secs(30);
        if scenario.kind == Kind::Client {
            let server = &self.programs[&entry.stack];
            let client = server.with_file_name(entry.stack.client().unwrap_or_default());
            let mut run = pinned(1, &words(&client, &self.servers[&FOR_CLIENTS], scenario, length));
            return Window::of(&mut run, Side::Client, limit);
        }
        let load = words(&self.load, &self.servers[&entry], scenario, length);
        if scenario.kind == Kind::Server {
            return Window::of(&mut pinned(1, &load), Side::Server, limit);
        }
        // The load must not be the bottleneck of two threads: one on each processor.
        thread::scope(|scope| {
            let other = scope.spawn(|| Window::of(&mut pinned(0, &load), Side::Server, limit));
            let one = Window::of(&mut pinned(1, &load), Side::Server, limit)?;
            let other = other.join().map_err(|_| anyhow::anyhow!("the second load panicked"))??;
            Ok(one.beside(other))
        })
    }
}

impl Results {
    pub(super) fn windows(&self, scenario: &Scenario, entry: Entry) -> &[Window] {
        self.windows.get(&(scenario.name, entry)).map_or(&[], Vec::as_slice)
    }

    /// Wrong answers in all windows.
    pub(super) fn errors(&self) -> u64 {
        self.windows.values().flatten().map(|window| window.errors).sum()
    }
}

impl Entry {
    pub(super) fn label(self) -> String {
        match self.role {
            Role::Pinned => self.stack.name().to_owned(),
            Role::Free(1) => format!("{}, 1 thread", self.stack.name()),
            Role::Free(threads) => format!("{}, {threads} threads", self.stack.name()),
            Role::Client => format!("{} client", self.stack.name()),
        }
    }
}

/// Who takes part in a scenario.
fn entries(scenario: &Scenario, stacks: &[Stack]) -> Vec<Entry> {
    let stacks = stacks.iter().copied().filter(|stack| stack.takes_part(scenario));
    let roles: &[Role] = match scenario.kind {
        Kind::Server => &[Role::Pinned],
        Kind::Threads => &[Role::Free(1), Role::Free(2)],
        Kind::Client => &[Role::Client],
    };
    stacks.flat_map(|stack| roles.iter().map(move |&role| Entry { stack, role })).collect()
}

/// The words of a program that makes load.
fn words(program: &Path, server: &Server, scenario: &Scenario, length: Duration) -> Command {
    let mut command = Command::new(program);
    command.arg(address(server)).args(scenario.load.split(' '));
    command.args([
        "warm=0.5".to_owned(),
        format!("meas={}", length.as_secs_f64()),
        format!("pid={}", server.id()),
    ]);
    command
}

fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port())
}

/// The same command on one processor. `taskset` becomes the program, so that the process id is the program's.
pub(super) fn pinned(processor: u32, command: &Command) -> Command {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", &processor.to_string()]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            pinned.env(name, value);
        }
    }
    pinned
}

/// The server that clients are measured against: the fastest there is, so that they are the bottleneck.
const FOR_CLIENTS: Entry = Entry { stack: Stack::Peregrine, role: Role::Pinned };
/// How long the questions to one server may take.
const ASKED: Duration = Duration::from_secs(20);
