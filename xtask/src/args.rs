//! The command line of `cargo xtask`.

use anyhow::{Context as _, bail};

use crate::compare::Wanted;

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
    /// Measure beside other stacks.
    Compare(Wanted),
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
cargo xtask compare [STACK..] [SCENARIO..] [--rounds N] [--seconds N] [--write]  measure servers and clients beside
                                    other stacks' in turn (default 3 rounds, windows of 3 s); wants a quiet machine;
                                    --write puts the tables into docs/performance.md
cargo xtask compare memory [STACK..]  what servers hold for idle connections and open calls
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
    let mut numbers = Numbers::default();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--minutes" | "--rounds" | "--seconds" => {
                let number = args.next().and_then(|number| number.parse::<u64>().ok());
                let number = number.filter(|&number| number > 0);
                let number = number.with_context(|| format!("`{arg}` needs a whole number, at least 1"))?;
                *numbers.of(&arg) = Some(number);
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
    if numbers.minutes.is_some() && command != "fuzz" {
        bail!("`--minutes` belongs to `cargo xtask fuzz`");
    }
    if (numbers.rounds.is_some() || numbers.seconds.is_some()) && command != "compare" {
        bail!("`--rounds` and `--seconds` belong to `cargo xtask compare`");
    }
    if write && !["cost", "compare"].contains(&command.as_str()) {
        bail!("`--write` belongs to `cargo xtask cost` and `cargo xtask compare`");
    }
    match command.as_str() {
        "cost" => Ok(Command::Cost { filters: words, write }),
        "fuzz" => Ok(Command::Fuzz { targets: words, minutes: numbers.minutes.unwrap_or(FUZZ_MINUTES) }),
        "check" => Ok(Command::Check { names: words }),
        "test" => Ok(Command::Test { filters: words, full }),
        "big-protos" => Ok(Command::BigProtos { filters: words }),
        "interop" => Ok(Command::Interop { filters: words }),
        "conformance" => match words.iter().find(|word| !["server", "client"].contains(&word.as_str())) {
            Some(other) => bail!("`conformance` has the sides `server` and `client`, and no `{other}`"),
            None => Ok(Command::Conformance { sides: words, full }),
        },
        "compare" => Ok(Command::Compare(Wanted {
            words,
            rounds: numbers.rounds.unwrap_or(ROUNDS),
            seconds: numbers.seconds.unwrap_or(WINDOW_SECONDS),
            write,
        })),
        "citations" if words.is_empty() => Ok(Command::Citations),
        "rules" if words.is_empty() => Ok(Command::Rules),
        "coverage" if words.is_empty() => Ok(Command::Coverage),
        "mutants" if words.is_empty() => Ok(Command::Mutants),
        "tools" if words.is_empty() => Ok(Command::Tools),
        "help" => Ok(Command::Help),
        other => bail!("unknown command `{other}`; `cargo xtask help` lists the commands"),
    }
}

/// Flags with a number behind them.
#[derive(Default)]
struct Numbers {
    minutes: Option<u64>,
    rounds: Option<u64>,
    seconds: Option<u64>,
}

impl Numbers {
    fn of(&mut self, flag: &str) -> &mut Option<u64> {
        match flag {
            "--minutes" => &mut self.minutes,
            "--rounds" => &mut self.rounds,
            _ => &mut self.seconds,
        }
    }
}

/// How long a comparison takes if nobody says otherwise.
const ROUNDS: u64 = 3;
const WINDOW_SECONDS: u64 = 3;

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
    fn compare_takes_words_and_lengths() {
        let Command::Compare(wanted) = parse_line("compare tonic U256 --rounds 2 --write").unwrap() else {
            panic!("another command");
        };
        assert_eq!(wanted.words, ["tonic", "U256"]);
        assert_eq!((wanted.rounds, wanted.seconds, wanted.write), (2, WINDOW_SECONDS, true));
        assert!(parse_line("cost --rounds 2").unwrap_err().to_string().contains("xtask compare"));
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
