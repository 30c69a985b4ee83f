//! What a figure depends on beside the code: the machine, its system, the compiler, and what else ran.

use std::fmt;
use std::process::Command;

use anyhow::Context as _;

use super::step;
use crate::workspace::Workspace;

#[derive(Debug)]
pub(super) struct Facts {
    processor: String,
    processors: usize,
    kernel: String,
    rustc: String,
    date: String,
    /// The mean number of running programs over the last minute, before anything was measured.
    load: f64,
}

impl Facts {
    pub(super) fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let text =
            |path: &str| std::fs::read_to_string(path).with_context(|| format!("could not read {path}"));
        let processor = text("/proc/cpuinfo")?
            .lines()
            .find_map(|line| Some(line.strip_prefix("model name")?.split_once(": ")?.1.to_owned()))
            .unwrap_or_else(|| "an unnamed processor".to_owned());
        Ok(Self {
            processor,
            processors: std::thread::available_parallelism()?.get(),
            kernel: text("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            rustc: step(Command::new("rustc").arg("--version").current_dir(workspace.root()))?
                .trim()
                .to_owned(),
            date: step(Command::new("date").arg("+%Y-%m-%d"))?.trim().to_owned(),
            load: text("/proc/loadavg")?.split(' ').next().unwrap_or_default().parse()?,
        })
    }

    /// Whether something else ran, which figures have to be read with.
    pub(super) fn is_busy(&self) -> bool {
        self.load > QUIET
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}, {} processors, Linux {}, {}",
            self.date, self.processor, self.processors, self.kernel, self.rustc
        )?;
        if self.is_busy() {
            write!(f, "; **the machine was busy with other work** (load {:.1})", self.load)?;
        }
        Ok(())
    }
}

/// A load of less comes from the shell and this program's own start.
const QUIET: f64 = 0.7;
