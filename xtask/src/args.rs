//! The command line of `cargo xtask`.

use anyhow::{Context as _, bail};

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Run the named checks, or all of them.
    Check { names: Vec<String> },
    /// Run the tests whose id contains one of the filters, or all of them.
    Test { filters: Vec<String>, full: bool },
    /// Run the whole interoperability matrix, or those of its cells whose id contains one of the filters.
    Interop { filters: Vec<String> },
    /// Run the public suite of gRPC cases on the named sides, `server` or `client`, or on both.
    Conformance { sides: Vec<String>, full: bool },
    /// Run the named fuzz targets, or all of them, so many minutes each.
    Fuzz { targets: Vec<String>, minutes: u64 },
    /// Print which rules of HTTP/2 are cited, and which are not kept.
    Citations,
    /// Generate code from the large trees of protos whose name contains one of the filters, or from all.
    BigProtos { filters: Vec<String> },
    /// Count what a call costs in the scenarios whose name contains one of the filters, or in all; make the figures the
    /// ceilings.
    Cost { filters: Vec<String>, write: bool },
    /// Measure what compression saves and costs, beside tonic.
    CompareCompression,
    /// Measure which lines of the engine its tests run.
    Coverage,
    /// Change the engine in small ways and see whether its tests notice.
    Mutants,
    /// Write and print how the rules of gRPC are kept.
    Rules,
    /// Install the pinned tools that the tests need.
    Tools,
    /// Print the usage.
    Help,
}

pub(crate) const HELP: &str = "\
cargo xtask check [NAME..]          run all checks, or the named ones (`check list` names them)
cargo xtask test [FILTER..] [--full]  run all tests, or those whose id contains a filter: rust, demo, newcomer,
                                    grpcurl, h2spec, conformance, interop, interop/tonic, large_unary, load, ...
                                    --full makes soaks long, runs the peers among themselves too, and the whole of
                                    conformance
cargo xtask interop [FILTER..]      run every interoperability case with every stack that has it, plaintext and TLS;
                                    without a filter, writes docs/interop.md
cargo xtask conformance [server] [client] [--full]  run the public suite of gRPC cases; --full with every
                                    compression and message format
cargo xtask fuzz [TARGET..] [--minutes N]  run all fuzz targets, or the named ones, N minutes each (default 10)
cargo xtask citations               how the rules of HTTP/2 are kept: cited in code and in tests, or not done, and why
cargo xtask rules                   how the rules of gRPC are kept; writes docs/conformance.md
cargo xtask big-protos [FILTER..]   generate code from the protos of Envoy and of Google's APIs, and compile part of it
cargo xtask cost [FILTER..] [--write]  count what a call costs (instructions, allocations, socket calls) and compare it
                                    with benches/cost/cost.toml; --write makes the figures its ceilings
cargo xtask compare compression     what gzip saves and costs on 64 KiB of protobuf data, beside tonic
cargo xtask coverage                measure which lines of the engine its tests run
cargo xtask mutants                 change the engine in small ways and see whether its tests notice (hours)
cargo xtask tools                   install the pinned tools of the tests into target/tools and stop
";

/// Reads the arguments that follow `cargo xtask`.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let mut words = Vec::new();
    let mut full = false;
    let mut write = false;
    let mut minutes = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--minutes" => {
                let number = args.next().and_then(|number| number.parse::<u64>().ok());
                let minutes_given = number.filter(|&number| number > 0);
                minutes = Some(minutes_given.context("`--minutes` needs a whole number, at least 1")?);
            }
            "--full" => full = true,
            "--write" => write = true,
            "-h" | "--help" => return Ok(Command::Help),
            flag if flag.starts_with('-') => {
                bail!("unknown flag `{flag}`; `cargo xtask help` lists the flags")
            }
            _ => words.push(arg),
        }
    }
    if words.is_empty() {
        return Ok(Command::Help);
    }
    let command = words.remove(0);
    if full && !["test", "conformance"].contains(&command.as_str()) {
        bail!("`--full` belongs to `cargo xtask test` and `cargo xtask conformance`");
    }
    if minutes.is_some() && command != "fuzz" {
        bail!("`--minutes` belongs to `cargo xtask fuzz`");
    }
    if write && command != "cost" {
        bail!("`--write` belongs to `cargo xtask cost`");
    }
    match command.as_str() {
        "cost" => Ok(Command::Cost { filters: words, write }),
        "fuzz" => Ok(Command::Fuzz { targets: words, minutes: minutes.unwrap_or(FUZZ_MINUTES) }),
        "check" => Ok(Command::Check { names: words }),
        "test" => Ok(Command::Test { filters: words, full }),
        "big-protos" => Ok(Command::BigProtos { filters: words }),
        "interop" => Ok(Command::Interop { filters: words }),
        "conformance" => match words.iter().find(|word| !["server", "client"].contains(&word.as_str())) {
            Some(other) => bail!("`conformance` has the sides `server` and `client`, and no `{other}`"),
            None => Ok(Command::Conformance { sides: words, full }),
        },
        "compare" if words == ["compression"] => Ok(Command::CompareCompression),
        "compare" => bail!("`cargo xtask compare compression` is the one comparison there is"),
        "citations" if words.is_empty() => Ok(Command::Citations),
        "rules" if words.is_empty() => Ok(Command::Rules),
        "coverage" if words.is_empty() => Ok(Command::Coverage),
        "mutants" if words.is_empty() => Ok(Command::Mutants),
        "tools" if words.is_empty() => Ok(Command::Tools),
        "help" => Ok(Command::Help),
        other => bail!("unknown command `{other}`; `cargo xtask help` lists the commands"),
    }
}

/// How long a fuzz target runs if nobody says otherwise.
const FUZZ_MINUTES: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> anyhow::Result<Command> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn filters_and_full_go_to_test() {
        let expected = Command::Test { filters: vec!["interop".into()], full: true };
        assert_eq!(parse_line("test interop --full").unwrap(), expected);
    }

    #[test]
    fn fuzz_takes_targets_and_minutes() {
        let expected = Command::Fuzz { targets: vec!["frames".into()], minutes: 3 };
        assert_eq!(parse_line("fuzz frames --minutes 3").unwrap(), expected);
        assert!(parse_line("fuzz --minutes").is_err() && parse_line("fuzz --minutes 0").is_err());
        assert!(parse_line("test --minutes 3").unwrap_err().to_string().contains("xtask fuzz"));
    }

    #[test]
    fn conformance_takes_sides_and_full() {
        let both = Command::Conformance { sides: Vec::new(), full: true };
        assert_eq!(parse_line("conformance --full").unwrap(), both);
        let server = Command::Conformance { sides: vec!["server".into()], full: false };
        assert_eq!(parse_line("conformance server").unwrap(), server);
        assert!(parse_line("conformance sever").unwrap_err().to_string().contains("`server`"));
    }

    #[test]
    fn compare_says_what_there_is_to_compare() {
        assert_eq!(parse_line("compare compression").unwrap(), Command::CompareCompression);
        assert!(parse_line("compare").unwrap_err().to_string().contains("compare compression"));
    }

    #[test]
    fn nothing_asked_prints_the_usage() {
        assert_eq!(parse_line("").unwrap(), Command::Help);
    }

    #[test]
    fn unknown_words_say_where_to_look() {
        assert!(parse_line("tset").unwrap_err().to_string().contains("cargo xtask help"));
        assert!(parse_line("check --full").unwrap_err().to_string().contains("xtask test"));
        assert!(parse_line("test --fast").unwrap_err().to_string().contains("--fast"));
    }
}
