//! The stacks that take part, and how their client and server programs are started.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use super::Run;
use crate::tools::{go, java, node, python};

/// One implementation of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// Our own programs of `tests/interop`.
    Peregrine,
    /// grpc-go's programs, as published.
    GrpcGo,
    /// grpc-java's programs on Netty, as published.
    GrpcJava,
    /// grpc-java's client on OkHttp.
    GrpcJavaOkHttp,
    /// C-core through Python, with the program of ours in `tests/interop/peers`.
    Grpcio,
    /// grpc-js, with the program of ours in `tests/interop/peers`.
    GrpcJs,
    /// tonic, with the programs of ours in `peers/tonic-interop`.
    Tonic,
    /// Bare frames, with the programs of ours in `tests/interop`.
    Raw,
}

/// A program with the arguments that come before the case's flags.
#[derive(Debug)]
pub(super) struct Launch {
    program: PathBuf,
    first: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Peer {
    /// Those that every run has.
    pub(super) const USUAL: [Self; 5] = [Self::Peregrine, Self::GrpcGo, Self::Grpcio, Self::Tonic, Self::Raw];

    /// Those of the matrix beside our own. Tonic's cells are in every run, and it has none but the basic ones.
    pub(super) const FOREIGN: [Self; 6] =
        [Self::GrpcGo, Self::GrpcJava, Self::GrpcJavaOkHttp, Self::Grpcio, Self::GrpcJs, Self::Raw];

    /// The server program, built or installed if need be.
    pub(super) fn server(self, run: &Run<'_>) -> anyhow::Result<Launch> {
        match self {
            Self::Peregrine => ours(run, "interop-server"),
            Self::GrpcGo => Ok(Launch::of(go::interop(run.workspace)?.server)),
            Self::GrpcJava | Self::GrpcJavaOkHttp => grpc_java(run, "TestServiceServer"),
            Self::Grpcio => grpcio(run, "server"),
            Self::GrpcJs => grpc_js(run, "server"),
            Self::Tonic => tonic(run, "tonic-interop-server"),
            Self::Raw => ours(run, "interop-raw-server"),
        }
    }

    /// The client program, built or installed if need be.
    pub(super) fn client(self, run: &Run<'_>) -> anyhow::Result<Launch> {
        match self {
            Self::Peregrine => ours(run, "interop-client"),
            Self::GrpcGo => Ok(Launch::of(go::interop(run.workspace)?.client)),
            Self::GrpcJava => grpc_java(run, "TestServiceClient"),
            Self::GrpcJavaOkHttp => {
                let mut launch = grpc_java(run, "TestServiceClient")?;
                launch.first.push("--use_okhttp=true".into());
                Ok(launch)
            }
            Self::Grpcio => grpcio(run, "client"),
            Self::GrpcJs => grpc_js(run, "client"),
            Self::Tonic => tonic(run, "tonic-interop-client"),
            Self::Raw => ours(run, "interop-raw-client"),
        }
    }

    /// Whether it is a program of another project, which may be missing on a machine.
    pub(super) fn is_foreign(self) -> bool {
        !matches!(self, Self::Peregrine | Self::Tonic | Self::Raw)
    }

    /// Its certificates are built in and cannot be chosen by flags.
    pub(super) fn is_java(self) -> bool {
        matches!(self, Self::GrpcJava | Self::GrpcJavaOkHttp)
    }

    /// Our programs on tonic and on bare frames know plaintext only.
    pub(super) fn knows_tls(self) -> bool {
        !matches!(self, Self::Tonic | Self::Raw)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peregrine => "peregrine",
            Self::GrpcGo => "grpc-go",
            Self::GrpcJava => "grpc-java",
            Self::GrpcJavaOkHttp => "grpc-java-okhttp",
            Self::Grpcio => "grpcio",
            Self::GrpcJs => "grpc-js",
            Self::Tonic => "tonic",
            Self::Raw => "raw",
        })
    }
}

impl Launch {
    fn of(program: PathBuf) -> Self {
        Self { program, first: Vec::new(), environment: Vec::new() }
    }

    pub(super) fn command(&self, flags: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.first)
            .args(flags)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

fn ours(run: &Run<'_>, name: &str) -> anyhow::Result<Launch> {
    run.build_ours()?;
    Ok(Launch::of(run.workspace.release_program(name)))
}

fn tonic(run: &Run<'_>, name: &str) -> anyhow::Result<Launch> {
    run.build_peers()?;
    Ok(Launch::of(run.peer_program(name)))
}

fn grpc_java(run: &Run<'_>, class: &str) -> anyhow::Result<Launch> {
    let first = java::interop(run.workspace)?.arguments(class);
    Ok(Launch { program: "java".into(), first, environment: Vec::new() })
}

fn grpc_js(run: &Run<'_>, side: &str) -> anyhow::Result<Launch> {
    let modules = node::modules(run.workspace)?;
    let script = run.root().join("tests/interop/peers/interop_node.js");
    Ok(Launch {
        program: "node".into(),
        first: vec![script.into_os_string(), side.into()],
        environment: vec![("NODE_PATH", modules.into_os_string())],
    })
}

fn grpcio(run: &Run<'_>, side: &str) -> anyhow::Result<Launch> {
    let python = python::interpreter(run.workspace)?;
    let script = run.root().join("tests/interop/peers/interop_python.py");
    Ok(Launch {
        program: python.interpreter,
        first: vec![script.into_os_string(), side.into()],
        environment: vec![
            ("PYTHONPATH", python.modules.into_os_string()),
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ],
    })
}
