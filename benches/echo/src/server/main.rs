//! `bench-server PORT [--threads N] [--shared] [--mode inline|spawn|auto] [--codec buffa|prost|bytes] [--gzip]
//! [--tls CERT KEY] [--echo-metadata]`
//!
//! Serves the bench service on 127.0.0.1. One current-thread runtime; `--threads` asks for more, each with a listening
//! socket of its own, or with `--shared` for the workers of one multi-thread runtime. Driven by load generators of
//! other projects' making, so names and flags are fixed.

mod args;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use peregrine::{Encoding, PerCore, Server, ServerTls};
use peregrine_bench_echo::service;
use tokio::runtime::Builder;

use self::args::{Args, Codec, USAGE};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => return complain(&format!("{message}\n{USAGE}"), 2),
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("{error:#}"), 1),
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let mut server = Server::builder()
        // As the other stacks under measurement are set up: no practical limit of streams, large messages welcome.
        .max_concurrent_streams(u32::MAX >> 1)
        .max_receive_message_size(64 << 20)
        .execution(args.mode);
    if let Some([certificate, key]) = &args.tls {
        server = server.tls(ServerTls::from_files(certificate, key)?);
    }
    if args.gzip {
        server = server.compression(Encoding::Gzip);
    }
    let server = match args.codec {
        Codec::Buffa => service::mount_buffa(server, args.echo_metadata),
        Codec::Prost => service::mount_prost(server, args.echo_metadata),
        Codec::Bytes => service::mount_bytes(server, args.echo_metadata),
    };
    let address = (Ipv4Addr::LOCALHOST, args.port);
    let runtime = match args.threads.get() {
        // Nothing but its own threads works.
        2.. if !args.is_shared => {
            let cores = PerCore::bind_threads(address, args.threads)?;
            let runtime = Builder::new_current_thread().build()?;
            return Ok(runtime.block_on(server.serve_per_core(cores))?);
        }
        1 => Builder::new_current_thread().enable_all().build()?,
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build()?,
    };
    runtime.block_on(async {
        // On the runtime's own workers: the main thread of a multi-thread runtime is none of them.
        let served: Result<(), peregrine::Error> =
            tokio::spawn(server.serve(SocketAddr::from(address))).await?;
        Ok(served?)
    })
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(message: &str, code: u8) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(code)
}
