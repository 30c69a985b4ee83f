//! The stacks that take part: how their programs are built and started, and which versions they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::scenario::{Kind, Scenario};
use super::step;
use crate::tools::go;
use crate::workspace::Workspace;

/// An implementation of gRPC with a server of the bench service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Stack {
    Tonic,
    Peregrine,
    Volo,
    Connect,
    Pajamax,
    GrpcGo,
    /// No gRPC, but what it cannot be cheaper than: bare frames on the same runtime.
    Floor,
}

impl Stack {
    /// The first one is what the others are compared with.
    pub(super) const ALL: [Self; 7] =
        [Self::Tonic, Self::Peregrine, Self::Volo, Self::Connect, Self::Pajamax, Self::GrpcGo, Self::Floor];

    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stack| stack.name() == word)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tonic => "tonic",
            Self::Peregrine => "peregrine",
            Self::Volo => "volo",
            Self::Connect => "connectrpc",
            Self::Pajamax => "pajamax",
            Self::GrpcGo => "grpc-go",
            Self::Floor => "floor",
        }
    }

    /// Whether it has a part in the scenario at all.
    pub(super) fn takes_part(self, scenario: &Scenario) -> bool {
        match scenario.kind {
            Kind::Server => match self {
                Self::Pajamax => scenario.is_unary(),
                // It takes one DATA frame for a whole message.
                Self::Floor => scenario.is_unary() && scenario.name != "U1M",
                _ => true,
            },
            Kind::Threads => matches!(self, Self::Tonic | Self::Peregrine | Self::Volo | Self::Connect),
            Kind::Client => self.client().is_some(),
        }
    }

    /// Builds its programs, with all that the compiler can do, and says where the server is.
    pub(super) fn build(self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        match self {
            Self::Peregrine | Self::Floor => {
                step(&mut workspace.cargo(&[
                    "build",
                    "--quiet",
                    "--release",
                    "--package=peregrine-bench-echo",
                ]))?;
                let name = if self == Self::Floor { "bench-floor" } else { "bench-server" };
                Ok(workspace.release_program(name))
            }
            Self::Tonic => peer(workspace, "tonic-bench", "tonic-server"),
            Self::Volo => peer(workspace, "volo-bench", "volo-server"),
            Self::Connect => peer(workspace, "connect-bench", "connect-server"),
            Self::Pajamax => peer(workspace, "pajamax-bench", "pajamax-server"),
            Self::GrpcGo => go::bench_server(workspace),
        }
    }

    /// The words that start its server, which `program` is.
    pub(super) fn command(self, program: &Path, port: u16, threads: u32) -> Command {
        let mut command = Command::new(program);
        command.arg(port.to_string());
        if threads > 1 {
            command.args(["--threads", &threads.to_string()]);
        }
        if self == Self::GrpcGo {
            // It has one processor. Told so, its scheduler does not look for others.
            command.env("GOMAXPROCS", "1");
        }
        command
    }

    /// The name of its client, which lies beside its server.
    pub(super) fn client(self) -> Option<&'static str> {
        match self {
            Self::Tonic => Some("tonic-client"),
            Self::Peregrine => Some("bench-client"),
            _ => None,
        }
    }

    /// What was measured, by its version.
    pub(super) fn version(self, workspace: &Workspace) -> anyhow::Result<String> {
        match self {
            Self::Peregrine => {
                let mut git = Command::new("git");
                git.args(["rev-parse", "--short", "HEAD"]).current_dir(workspace.root());
                // A tree from an archive has no commits.
                let commit = step(&mut git).unwrap_or_default();
                Ok(format!("at commit {}", commit.trim()))
            }
            Self::Floor => Ok("tokio, bare frames".to_owned()),
            Self::GrpcGo => go::bench_version(),
            Self::Tonic => locked(workspace, "tonic"),
            Self::Volo => locked(workspace, "volo-grpc"),
            Self::Connect => locked(workspace, "connectrpc"),
            Self::Pajamax => locked(workspace, "pajamax"),
        }
    }
}

/// Builds one package of the peers' workspace by itself: another one would change the features that it is built with.
fn peer(workspace: &Workspace, package: &str, program: &str) -> anyhow::Result<PathBuf> {
    let target = workspace.target().join("peers");
    let mut build = workspace.cargo(&[
        "build",
        "--quiet",
        "--profile=measured",
        "--locked",
        "--manifest-path=peers/Cargo.toml",
        "--package",
        package,
    ]);
    step(build.arg("--target-dir").arg(&target))?;
    Ok(target.join("measured").join(program))
}

/// The version of a crate that the peers' lock file has.
fn locked(workspace: &Workspace, name: &str) -> anyhow::Result<String> {
    let path = workspace.root().join("peers/Cargo.lock");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let wanted = format!("name = \"{name}\"");
    let mut lines = text.lines().skip_while(|line| *line != wanted);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.with_context(|| format!("{} has no {name}", path.display()))?.to_owned())
}
