//! cargo-deny: the one on the path if its version is ours, else built into `target/tools`.

use std::path::PathBuf;
use std::process::Command;

use super::{Install, step};
use crate::workspace::Workspace;

const VERSION: &str = "0.20.2";

pub(crate) fn program(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let version = format!("cargo-deny {VERSION}");
    let own = Command::new("cargo-deny").arg("--version").output();
    if own.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == version) {
        return Ok("cargo-deny".into());
    }
    let install = Install::new(workspace, "cargo-deny", &version);
    install.ensure(|| {
        let build = install.folder.join("build");
        // Unoptimised: built in half the time, and it runs for a second.
        step(
            workspace
                .cargo(&["install", "--quiet", "--locked", "--debug", "cargo-deny", "--version", VERSION])
                .arg("--root")
                .arg(&install.folder)
                .env("CARGO_TARGET_DIR", &build),
        )?;
        // The build's leavings are a gigabyte that nobody needs again.
        Ok(std::fs::remove_dir_all(build)?)
    })?;
    Ok(install.folder.join("bin/cargo-deny"))
}
