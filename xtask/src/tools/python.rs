//! A virtual environment with grpcio, and the Python code of the interop service in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::{Install, require, step};
use crate::workspace::Workspace;

/// grpcio is C-core's Python face; grpcio-tools brings the protoc that makes the service's code.
pub(crate) const PACKAGES: [&str; 3] = ["grpcio==1.85.1", "grpcio-tools==1.85.1", "protobuf==7.36.2"];

/// The service that all interop programs share, relative to the root.
const PROTO: &str = "tests/interop/proto/testing.proto";

/// The environment's interpreter; `PYTHONPATH` must name `modules`.
#[derive(Debug)]
pub(crate) struct Python {
    pub(crate) interpreter: PathBuf,
    pub(crate) modules: PathBuf,
}

pub(crate) fn interpreter(workspace: &Workspace) -> anyhow::Result<Python> {
    let version = PACKAGES.join(" ");
    let install = Install::new(workspace, "python", &version);
    install.ensure(|| {
        require("python3", "--version", "install Python 3.9 or newer (for the grpcio interop programs)")?;
        step(Command::new("python3").args(["-m", "venv"]).arg(install.folder.join("venv")))
            .context("could not make a virtual environment; on Debian install python3-venv")?;
        step(
            Command::new(install.folder.join("venv/bin/pip"))
                .args(["install", "--quiet", "--disable-pip-version-check"])
                .args(PACKAGES),
        )
    })?;
    let python = Python {
        interpreter: install.folder.join("venv/bin/python"),
        modules: install.folder.join("modules"),
    };
    std::fs::create_dir_all(&python.modules)?;
    let proto = workspace.root().join(PROTO);
    let folder = proto.parent().unwrap_or(workspace.root());
    // Made anew each time: it takes a tenth of a second and is never stale.
    step(
        Command::new(&python.interpreter)
            .args(["-m", "grpc_tools.protoc"])
            .args([flag("--proto_path=", folder), flag("--python_out=", &python.modules)])
            .args([flag("--grpc_python_out=", &python.modules), proto.clone().into_os_string()]),
    )
    .context("could not generate the Python code of the interop service")?;
    Ok(python)
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}
