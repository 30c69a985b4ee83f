//! Without libFuzzer: replays files. With it (`cargo xtask fuzz` builds that): the fuzzer of one target.
#![cfg_attr(peregrine_fuzzing, no_main)]

#[cfg(peregrine_fuzzing)]
mod fuzzer {
    use std::sync::OnceLock;

    use libfuzzer_sys::fuzz_target;
    use peregrine_fuzz::{Target, target};

    /// One program has all targets, so that one build serves them all; the environment names the one to run.
    static TARGET: OnceLock<Target> = OnceLock::new();

    fuzz_target!(|input: &[u8]| {
        let target = TARGET.get_or_init(|| {
            let name = std::env::var("PEREGRINE_FUZZ_TARGET").unwrap_or_default();
            target(&name).unwrap_or_else(|| panic!("PEREGRINE_FUZZ_TARGET={name:?} is not a target"))
        });
        (target.run)(input);
    });
}

#[cfg(not(peregrine_fuzzing))]
#[expect(clippy::print_stderr, clippy::print_stdout, reason = "a program that talks to the one who runs it")]
fn main() -> std::process::ExitCode {
    match run() {
        Ok(said) => {
            println!("{said}");
            std::process::ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::from(2)
        }
    }
}

/// Replays files, names the targets, or writes the seeds of a target into a folder for libFuzzer to start from.
#[cfg(not(peregrine_fuzzing))]
fn run() -> Result<String, String> {
    use peregrine_fuzz::{TARGETS, seeds, target};

    let mut args = std::env::args().skip(1);
    let first = args.next();
    if first.as_deref() == Some("--targets") {
        return Ok(TARGETS.map(|target| target.name).join("\n"));
    }
    let write_seeds = first.as_deref() == Some("--write-seeds");
    let name = if write_seeds { args.next() } else { first };
    let Some(target) = name.and_then(|name| target(&name)) else {
        let names = TARGETS.map(|target| target.name).join(", ");
        return Err(format!(
            "usage: peregrine-fuzz TARGET FILE..\n       peregrine-fuzz --write-seeds TARGET FOLDER\n       \
             peregrine-fuzz --targets\n\
             TARGET is one of {names}"
        ));
    };
    let mut count = 0;
    if write_seeds {
        let folder = std::path::PathBuf::from(args.next().ok_or("no folder to write to")?);
        for (number, (_, seed)) in seeds::of(target.name).iter().enumerate() {
            let file = folder.join(format!("seed-{number}"));
            std::fs::write(&file, seed).map_err(|error| format!("{}: {error}", file.display()))?;
            count += 1;
        }
        return Ok(format!("{count} seeds"));
    }
    for file in args {
        let input = std::fs::read(&file).map_err(|error| format!("{file}: {error}"))?;
        (target.run)(&input);
        count += 1;
    }
    Ok(format!("{count} inputs, nothing wrong"))
}
