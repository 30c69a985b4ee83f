//! Programs that several parts start, built when the first of them asks.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{anyhow, bail};

use super::Run;
use crate::process;
use crate::report::{say, seconds, tail};

/// What has been built so far in this run, or why it could not be.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// The package whose programs of ours are enough for this run; all of them if there is none.
    only: Option<&'static str>,
    ours: OnceCell<Result<(), String>>,
    peers: OnceCell<Result<(), String>>,
    certificates: OnceCell<Result<PathBuf, String>>,
}

impl Programs {
    /// Those of one package, for a run that starts no others.
    pub(super) fn only(package: &'static str) -> Self {
        Self { only: Some(package), ..Self::default() }
    }
}

impl Run<'_> {
    /// Our programs in release form, as users build them.
    pub(super) fn build_ours(&self) -> anyhow::Result<()> {
        let package = self.programs.only.map(|package| ["--package", package]);
        let args: Vec<&str> =
            ["build", "--release"].into_iter().chain(package.into_iter().flatten()).collect();
        let build = || self.build("our programs", &args);
        self.programs
            .ours
            .get_or_init(|| build().map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(|why| anyhow!(why))
    }

    /// A folder with `ca.pem`, `server1.pem` and `server1.key`, made in this run.
    pub(super) fn certificates(&self) -> anyhow::Result<PathBuf> {
        let make = || {
            self.build_ours()?;
            let folder = self.logs.join("certificates");
            let mut command = Command::new(self.workspace.release_program("interop-certificates"));
            let outcome = process::run(command.arg(&folder), LIMIT, |_| {})?;
            if !outcome.success() {
                bail!("could not make certificates ({}): {}", outcome.verdict(), tail(&outcome.output, 6));
            }
            anyhow::Ok(folder)
        };
        self.programs
            .certificates
            .get_or_init(|| make().map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(|why| anyhow!(why))
    }

    /// The peers that are written in Rust, from their own workspace.
    pub(super) fn build_peers(&self) -> anyhow::Result<()> {
        let build =
            || self.build("the Rust peers", &["build", "--locked", "--manifest-path=peers/Cargo.toml"]);
        self.programs
            .peers
            .get_or_init(|| build().map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(|why| anyhow!(why))
    }

    /// A program of the peers' workspace.
    pub(super) fn peer_program(&self, name: &str) -> PathBuf {
        self.peers_target().join("debug").join(name)
    }

    /// Inside our own target directory, so that one folder holds everything that can be thrown away.
    fn peers_target(&self) -> PathBuf {
        self.workspace.target().join("peers")
    }

    fn build(&self, what: &str, args: &[&str]) -> anyhow::Result<()> {
        say(&format!("building {what}"));
        let mut command = self.workspace.cargo(args);
        command.arg("--quiet");
        if args.iter().any(|arg| arg.contains("peers")) {
            command.env("CARGO_TARGET_DIR", self.peers_target());
        }
        let outcome = process::run(&mut command, LIMIT, |_| {})?;
        if !outcome.success() {
            bail!("could not build {what} ({}):\n{}", outcome.verdict(), tail(&outcome.output, 40));
        }
        say(&format!("built {what} in {}", seconds(outcome.elapsed)));
        Ok(())
    }
}

/// A cold release build on a small shared machine.
const LIMIT: Duration = Duration::from_mins(30);
