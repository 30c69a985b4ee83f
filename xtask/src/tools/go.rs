//! grpcurl, grpc-go's own interoperability programs, h2spec and connectconformance, built by `go install`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Install, require, step};
use crate::workspace::Workspace;

const GRPCURL: &str = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4";
pub(crate) const INTEROP: [&str; 2] =
    ["google.golang.org/grpc/interop/client@v1.85.0", "google.golang.org/grpc/interop/server@v1.85.0"];

/// h2spec has no module file and would be built with the newest of all it uses; ours pins that, and has to name
/// these versions.
const H2SPEC: &str = "github.com/summerwind/h2spec v2.2.1+incompatible, golang.org/x/net v0.62.0";
/// Where the module file is, in the tree.
const H2SPEC_MODULE: &str = "tests/http2/h2spec";

/// As [`H2SPEC`], so that the sums of all that it is built from are in the tree.
const CONNECTCONFORMANCE: &str = "connectrpc.com/conformance v1.0.5";
const CONNECTCONFORMANCE_MODULE: &str = "tests/conformance/suite";

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

/// The two halves of h2spec.
#[derive(Debug)]
pub(crate) struct H2spec {
    /// Judges servers.
    pub(crate) client: PathBuf,
    /// Judges clients.
    pub(crate) server: PathBuf,
}

pub(crate) fn h2spec(workspace: &Workspace) -> anyhow::Result<H2spec> {
    let install = Install::new(workspace, "h2spec", H2SPEC);
    install.ensure(|| {
        require("go", "version", "install Go 1.26 or newer (for h2spec)")?;
        let module = workspace.root().join(H2SPEC_MODULE);
        step(Command::new("go").args(["install", "tool"]).current_dir(module).env("GOBIN", &install.folder))
    })?;
    Ok(H2spec { client: install.folder.join("h2spec"), server: install.folder.join("h2specd") })
}

/// The runner of the public suite of gRPC cases; it has its own client and server inside.
pub(crate) fn connectconformance(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let install = Install::new(workspace, "connectconformance", CONNECTCONFORMANCE);
    install.ensure(|| {
        require("go", "version", "install Go 1.26 or newer (for connectconformance)")?;
        let module = workspace.root().join(CONNECTCONFORMANCE_MODULE);
        step(Command::new("go").args(["install", "tool"]).current_dir(module).env("GOBIN", &install.folder))
    })?;
    Ok(install.folder.join("connectconformance"))
}

/// `go install PACKAGE@VERSION` takes the dependencies that the package's own module pins.
fn go_install(folder: &Path, packages: &[&str]) -> anyhow::Result<()> {
    require("go", "version", "install Go 1.25 or newer (for grpcurl and grpc-go's interop programs)")?;
    // Run in the empty folder: a go.mod above the current one would be taken for the project's.
    step(Command::new("go").arg("install").args(packages).current_dir(folder).env("GOBIN", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_name_what_the_module_files_pin() {
        for (folder, stamp) in [(H2SPEC_MODULE, H2SPEC), (CONNECTCONFORMANCE_MODULE, CONNECTCONFORMANCE)] {
            let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("go.mod");
            let text = std::fs::read_to_string(module).unwrap();
            for version in stamp.split(", ") {
                assert!(text.contains(version), "{version}");
            }
        }
    }
}
