//! grpcurl and grpc-go's own interoperability programs, built by `go install`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Install, require, step};
use crate::workspace::Workspace;

const GRPCURL: &str = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4";
const INTEROP: [&str; 2] =
    ["google.golang.org/grpc/interop/client@v1.85.0", "google.golang.org/grpc/interop/server@v1.85.0"];

/// grpc-go's programs.
#[derive(Debug)]
pub(crate) struct Interop {
    pub(crate) client: PathBuf,
    pub(crate) server: PathBuf,
}

pub(crate) fn grpcurl(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let install = Install::new(workspace, "grpcurl", GRPCURL);
    install.ensure(|| go_install(&install.folder, &[GRPCURL]))?;
    Ok(install.folder.join("grpcurl"))
}

pub(crate) fn interop(workspace: &Workspace) -> anyhow::Result<Interop> {
    let version = INTEROP.join(" ");
    let install = Install::new(workspace, "grpc-go", &version);
    install.ensure(|| go_install(&install.folder, &INTEROP))?;
    Ok(Interop { client: install.folder.join("client"), server: install.folder.join("server") })
}

/// `go install PACKAGE@VERSION` takes the dependencies that the package's own module pins.
fn go_install(folder: &Path, packages: &[&str]) -> anyhow::Result<()> {
    require("go", "version", "install Go 1.25 or newer (for grpcurl and grpc-go's interop programs)")?;
    // Run in the empty folder: a go.mod above the current one would be taken for the project's.
    step(Command::new("go").arg("install").args(packages).current_dir(folder).env("GOBIN", folder))
}
