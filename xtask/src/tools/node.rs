//! grpc-js, by npm, for the interoperability program of ours that is written on it.

use std::path::PathBuf;
use std::process::Command;

use super::{Install, require, step};
use crate::workspace::Workspace;

pub(crate) const PACKAGES: [&str; 2] = ["@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.1"];

/// The folder that `NODE_PATH` must name.
pub(crate) fn modules(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let version = PACKAGES.join(" ");
    let install = Install::new(workspace, "grpc-js", &version);
    install.ensure(|| {
        require("node", "--version", "install Node.js 20 or newer (for the grpc-js interop programs)")?;
        require("npm", "--version", "install npm (for the grpc-js interop programs)")?;
        step(
            Command::new("npm")
                .args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"])
                .arg(&install.folder)
                .args(PACKAGES),
        )
    })?;
    Ok(install.folder.join("node_modules"))
}
