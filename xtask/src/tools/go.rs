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

/// As [`H2SPEC`]: what the bench server on grpc-go is built from.
const BENCH: &str = "google.golang.org/grpc v1.85.0, google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2";
const BENCH_MODULE: &str = "peers/grpc-go-bench";
const BENCH_PROTO: &str = "benches/echo/proto";

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

/// The bench service on grpc-go. Its messages are generated where it is built.
pub(crate) fn bench_server(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let source = workspace.root().join(BENCH_MODULE).join("main.go");
    let version = format!("{BENCH}\n{}", std::fs::read_to_string(source)?);
    let install = Install::new(workspace, "grpc-go-bench", &version);
    let folder = &install.folder;
    install.ensure(|| {
        require("go", "version", "install Go 1.26 or newer (for grpc-go's bench server)")?;
        require("protoc", "--version", "install protoc (for grpc-go's bench server)")?;
        for file in ["main.go", "go.mod", "go.sum"] {
            std::fs::copy(workspace.root().join(BENCH_MODULE).join(file), folder.join(file))?;
        }
        let go =
            |words: &[&str]| step(Command::new("go").args(words).current_dir(folder).env("GOBIN", folder));
        go(&["install", "tool"])?;
        let mut protoc = Command::new("protoc");
        protoc.arg("--proto_path").arg(workspace.root().join(BENCH_PROTO)).arg("bench.proto");
        for plugin in ["go", "go-grpc"] {
            let program = folder.join(format!("protoc-gen-{plugin}"));
            protoc.arg(format!("--plugin=protoc-gen-{plugin}={}", program.display()));
            protoc.arg(format!("--{plugin}_out=.")).arg(format!("--{plugin}_opt=module=bench"));
            protoc.arg(format!("--{plugin}_opt=Mbench.proto=bench/pb"));
        }
        step(protoc.current_dir(folder))?;
        go(&["build", "-o", "grpc-go-server", "."])
    })?;
    Ok(folder.join("grpc-go-server"))
}

/// What [`bench_server`] is built from.
pub(crate) fn bench_version() -> anyhow::Result<String> {
    let go = Command::new("go").arg("version").output()?;
    let go = String::from_utf8_lossy(&go.stdout).replace("go version ", "");
    let grpc = BENCH.split([' ', ',']).nth(1).unwrap_or_default();
    let go = go.split(' ').next().unwrap_or_default();
    Ok(format!("{grpc} ({go})"))
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
        let stamps =
            [(H2SPEC_MODULE, H2SPEC), (CONNECTCONFORMANCE_MODULE, CONNECTCONFORMANCE), (BENCH_MODULE, BENCH)];
        for (folder, stamp) in stamps {
            let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("go.mod");
            let text = std::fs::read_to_string(module).unwrap();
            for version in stamp.split(", ") {
                assert!(text.contains(version), "{version}");
            }
        }
    }
}
