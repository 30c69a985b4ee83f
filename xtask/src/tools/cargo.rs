//! Subcommands of cargo: the one on the path if its version is ours, else built into `target/tools`.

use std::path::PathBuf;

use super::{Install, step};
use crate::workspace::Workspace;

pub(crate) const DENY: Subcommand = Subcommand { name: "deny", version: "0.20.2" };
pub(crate) const LLVM_COV: Subcommand = Subcommand { name: "llvm-cov", version: "0.9.1" };
pub(crate) const MUTANTS: Subcommand = Subcommand { name: "mutants", version: "27.1.0" };

/// `cargo NAME`, pinned.
pub(crate) struct Subcommand {
    name: &'static str,
    version: &'static str,
}

impl Subcommand {
    /// The program, which wants its name as the first argument, as cargo would pass it.
    pub(crate) fn program(&self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let package = format!("cargo-{}", self.name);
        let version = format!("{package} {}", self.version);
        let own = workspace.cargo(&[self.name, "--version"]).output();
        if own.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == version) {
            return Ok(package.into());
        }
        let install = Install::new(workspace, &package, &version);
        install.ensure(|| {
            let build = install.folder.join("build");
            // Unoptimised: built in half the time, and what these do themselves takes seconds.
            step(
                workspace
                    .cargo(&["install", "--quiet", "--locked", "--debug", &package])
                    .args(["--version", self.version, "--root"])
                    .arg(&install.folder)
                    .env("CARGO_TARGET_DIR", &build),
            )?;
            // The build's leavings are a gigabyte that nobody needs again.
            Ok(std::fs::remove_dir_all(build)?)
        })?;
        Ok(install.folder.join("bin").join(package))
    }
}
