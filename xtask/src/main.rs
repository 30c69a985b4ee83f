//! The project's chores, run as `cargo xtask COMMAND`.
//!
//! `check` is what a change must pass before it is reviewed, `test` is the whole test run, `tools` only
//! installs what that run needs. Both print to a terminal and to a log alike: one line a step, the reason
//! of a failure under it, and what to do about it.

mod args;
mod big_protos;
mod check;
mod citations;
mod compare;
mod cost;
mod coverage;
mod fuzz;
mod mutants;
mod process;
mod report;
mod rules;
mod source;
mod suite;
mod tools;
mod workspace;

use std::process::ExitCode;

use crate::args::Command;
use crate::report::say;
use crate::workspace::Workspace;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("xtask: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Whether everything asked for passed.
fn run() -> anyhow::Result<bool> {
    let command = args::parse(std::env::args().skip(1))?;
    process::end_children_on_interrupt()?;
    let workspace = Workspace::find()?;
    match command {
        Command::Check { names } => check::run(&workspace, &names),
        Command::Test { filters, full } => suite::run(&workspace, &filters, full),
        Command::Conformance { sides, full } => suite::run_conformance(&workspace, &sides, full),
        Command::Interop { filters } => suite::interop::matrix::run(&workspace, &filters),
        Command::BigProtos { filters } => big_protos::run(&workspace, &filters),
        Command::Cost { filters, write } => cost::run(&workspace, &filters, write),
        Command::Compare(wanted) => compare::run(&workspace, &wanted),
        Command::Coverage => coverage::run(&workspace),
        Command::Mutants => mutants::run(&workspace),
        Command::Fuzz { targets, minutes } => fuzz::run(&workspace, &targets, minutes),
        Command::Citations => citations::run(&workspace),
        Command::Rules => rules::run(&workspace),
        Command::Tools => Ok(tools::install_all(&workspace)),
        Command::Help => {
            say(args::HELP);
            Ok(true)
        }
    }
}
