//! Pinned tools of other projects, installed into `target/tools` by their own package managers when a run
//! needs them. A tool whose version is already there costs nothing.

pub(crate) mod cargo;
pub(crate) mod go;
pub(crate) mod java;
pub(crate) mod llvm;
pub(crate) mod node;
pub(crate) mod protos;
pub(crate) mod python;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::process;
use crate::report::{say, seconds, tail};
use crate::workspace::Workspace;

/// Installs everything that the checks and the tests need; says what is missing on this machine.
pub(crate) fn install_all(workspace: &Workspace) -> bool {
    let results = [
        go::grpcurl(workspace).map(drop),
        go::interop(workspace).map(drop),
        go::h2spec(workspace).map(drop),
        go::connectconformance(workspace).map(drop),
        python::interpreter(workspace).map(drop),
        cargo::DENY.program(workspace).map(drop),
    ];
    let mut complete = true;
    for error in results.into_iter().filter_map(Result::err) {
        say(&format!("{error:#}"));
        complete = false;
    }
    complete
}

/// One installed tool: a folder of `target/tools` and the stamp in it that names what it holds.
struct Install<'a> {
    folder: PathBuf,
    /// Everything that decides what the folder holds; another text means another install.
    version: &'a str,
}

impl<'a> Install<'a> {
    fn new(workspace: &Workspace, name: &str, version: &'a str) -> Self {
        Self { folder: workspace.target().join("tools").join(name), version }
    }

    /// Runs `steps` into the empty folder unless the stamp says that they ran before.
    fn ensure(&self, steps: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let stamp = self.folder.join("installed");
        if std::fs::read_to_string(&stamp).is_ok_and(|text| text == self.version) {
            return Ok(());
        }
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)
                .with_context(|| format!("could not clear {}", self.folder.display()))?;
        }
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("could not create {}", self.folder.display()))?;
        let start = Instant::now();
        say(&format!("installing {}", self.version));
        steps()?;
        std::fs::write(stamp, self.version)?;
        say(&format!("installed {} in {}", self.version, seconds(start.elapsed())));
        Ok(())
    }
}

/// Runs one step of an install; its failure shows the end of what the package manager said.
fn step(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let outcome = process::run(command, Duration::from_mins(15), |_| {})?;
    if !outcome.success() {
        bail!("`{program}` failed ({}): {}", outcome.verdict(), tail(&outcome.output, 6));
    }
    Ok(())
}

/// Fails with one line that says what is missing and what for.
fn require(program: &str, version_argument: &str, advice: &str) -> anyhow::Result<()> {
    let found =
        Command::new(program).arg(version_argument).output().is_ok_and(|output| output.status.success());
    if !found {
        bail!("`{program}` is missing: {advice}");
    }
    Ok(())
}
