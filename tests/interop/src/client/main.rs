//! `interop-client --server_host=H --server_port=N --test_case=CASE [--use_tls=true] ...`
//!
//! Runs one case of the interop specification `--num_times` times. Ends with 0 only if each assertion of the case
//! held; otherwise it prints what did not, and the status code's name where a call failed.

mod cases;
mod compression;
mod control;
mod load_reports;
mod metadata;
mod negative;
mod soak;
mod streams;
mod unary;

use std::process::ExitCode;

use anyhow::{Context, Result};
use peregrine::Status;
use peregrine_interop::flags::Flags;

use self::cases::Setup;

const FLAGS: &[&str] = &[
    "server_host",
    "server_host_override",
    "server_port",
    "test_case",
    "use_tls",
    "use_test_ca",
    "ca_file",
    "use_alts",
    "service_config_json",
    "num_times",
    "soak_iterations",
    "soak_max_failures",
    "soak_per_iteration_max_acceptable_latency_ms",
    "soak_min_time_ms_between_rpcs",
    "soak_overall_timeout_seconds",
    "soak_request_size",
    "soak_response_size",
    "soak_num_threads",
];

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

async fn run() -> Result<()> {
    let flags = Flags::parse(std::env::args().skip(1), FLAGS)?;
    let case = flags.text("test_case").context("--test_case is missing")?.to_owned();
    let case = cases::find(&case).with_context(|| format!("unsupported test case {case}"))?;
    let times = flags.number("num_times", 1)?;
    let setup = Setup::new(flags)?;
    for _ in 0..times {
        case(&setup).await?;
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    if let Some(status) = error.downcast_ref::<Status>() {
        eprintln!("{}", status.code().name());
    }
    eprintln!("interop-client: {error:#}");
    ExitCode::FAILURE
}
