//! The stacks that take part, and how their client and server programs are started.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use super::Run;
use crate::tools::{go, python};

/// One implementation of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// Our own programs of `tests/interop`.
    Peregrine,
    /// grpc-go's programs, as published.
    GrpcGo,
    /// C-core through Python, with the program of ours in `tests/interop/peers`.
    Grpcio,
    /// tonic, with the programs of ours in `peers/tonic-interop`.
    Tonic,
}

/// A program with the arguments that come before the case's flags.
#[derive(Debug)]
pub(super) struct Launch {
    program: PathBuf,
    first: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Peer {
    pub(super) const ALL: [Self; 4] = [Self::Peregrine, Self::GrpcGo, Self::Grpcio, Self::Tonic];

    /// The server program, built or installed if need be.
    pub(super) fn server(self, run: &Run<'_>) -> anyhow::Result<Launch> {
        match self {
            Self::Peregrine => ours(run, "interop-server"),
            Self::GrpcGo => Ok(Launch::of(go::interop(run.workspace)?.server)),
            Self::Grpcio => grpcio(run, "server"),
            Self::Tonic => tonic(run, "tonic-interop-server"),
        }
    }

    /// The client program, built or installed if need be.
    pub(super) fn client(self, run: &Run<'_>) -> anyhow::Result<Launch> {
        match self {
            Self::Peregrine => ours(run, "interop-client"),
            Self::GrpcGo => Ok(Launch::of(go::interop(run.workspace)?.client)),
            Self::Grpcio => grpcio(run, "client"),
            Self::Tonic => tonic(run, "tonic-interop-client"),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peregrine => "peregrine",
            Self::GrpcGo => "grpc-go",
            Self::Grpcio => "grpcio",
            Self::Tonic => "tonic",
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
