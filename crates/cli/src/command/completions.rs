//! `peregrine completions SHELL`: the completion script, made from the same definitions as parser and help.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use clap_complete_nushell::Nushell;

use crate::{
    args::{Cli, CompletionShell},
    console::Console,
    exit::Exit,
    report::Report,
};

pub(super) fn run(shell: CompletionShell, console: &mut Console) -> Result<Exit, Report> {
    let mut command = Cli::command();
    let name = "peregrine";
    // Generated into memory, since the generators do not take a failed write well.
    let mut script = Vec::new();
    match shell {
        CompletionShell::Bash => generate(Shell::Bash, &mut command, name, &mut script),
        CompletionShell::Elvish => generate(Shell::Elvish, &mut command, name, &mut script),
        CompletionShell::Fish => generate(Shell::Fish, &mut command, name, &mut script),
        CompletionShell::Nushell => generate(Nushell, &mut command, name, &mut script),
        CompletionShell::PowerShell => generate(Shell::PowerShell, &mut command, name, &mut script),
        CompletionShell::Zsh => generate(Shell::Zsh, &mut command, name, &mut script),
    }
    console.out.write_all(&script)?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::testing::captured;

    #[test]
    fn every_shell_gets_a_script_with_the_commands() {
        for shell in <CompletionShell as clap::ValueEnum>::value_variants() {
            let (mut console, out, _) = captured();
            run(*shell, &mut console).unwrap();
            for command in ["call", "describe", "health", "completions"] {
                assert!(out.text().contains(command), "{shell:?} lacks {command}");
            }
        }
    }
}
