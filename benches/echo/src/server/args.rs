//! The program's flags. Few and fixed, so they are read by hand.

use std::num::NonZero;
use std::path::PathBuf;

use peregrine::Execution;

pub(crate) const USAGE: &str = "usage: bench-server PORT [--threads N] [--shared] [--mode inline|spawn|auto] \
[--codec buffa|prost|bytes] [--gzip] [--tls CERT KEY] [--echo-metadata]";

/// What to serve, and how.
#[derive(Debug, PartialEq)]
pub(crate) struct Args {
    pub(crate) port: u16,
    pub(crate) threads: NonZero<usize>,
    /// The threads are the workers of one runtime.
    pub(crate) is_shared: bool,
    pub(crate) mode: Execution,
    pub(crate) codec: Codec,
    /// Compress replies for clients that accept gzip.
    pub(crate) gzip: bool,
    /// Files of the certificate chain and the key, PEM.
    pub(crate) tls: Option<[PathBuf; 2]>,
    pub(crate) echo_metadata: bool,
}

/// How messages are encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Codec {
    Buffa,
    Prost,
    Bytes,
}

impl Args {
    /// Reads the arguments behind the program's name.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut port = None;
        let mut args = Self {
            port: 0,
            threads: NonZero::<usize>::MIN,
            is_shared: false,
            mode: Execution::Auto,
            codec: Codec::Buffa,
            gzip: false,
            tls: None,
            echo_metadata: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--threads" => {
                    let threads = value()?;
                    args.threads = threads
                        .parse()
                        .map_err(|_| format!("--threads wants a positive number, not {threads}"))?;
                }
                "--mode" => {
                    args.mode = match value()?.as_str() {
                        "inline" => Execution::Inline,
                        "spawn" => Execution::Spawn,
                        "auto" => Execution::Auto,
                        other => return Err(format!("--mode wants inline, spawn or auto, not {other}")),
                    };
                }
                "--codec" => {
                    args.codec = match value()?.as_str() {
                        "buffa" => Codec::Buffa,
                        "prost" => Codec::Prost,
                        "bytes" => Codec::Bytes,
                        other => return Err(format!("--codec wants buffa, prost or bytes, not {other}")),
                    };
                }
                "--shared" => args.is_shared = true,
                "--echo-metadata" => args.echo_metadata = true,
                "--tls" => args.tls = Some([value()?.into(), value()?.into()]),
                "--gzip" => args.gzip = true,
                _ => match word.parse() {
                    Ok(number) if port.is_none() => port = Some(number),
                    _ => return Err(format!("what is {word}?")),
                },
            }
        }
        args.port = port.ok_or("the port is missing")?;
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_fixed_flags_are_understood() {
        let line =
            "50051 --threads 2 --shared --mode spawn --codec prost --gzip --tls a.pem a.key --echo-metadata";
        let args = parse(line).unwrap();
        assert_eq!(
            args,
            Args {
                port: 50051,
                threads: 2.try_into().unwrap(),
                is_shared: true,
                mode: Execution::Spawn,
                codec: Codec::Prost,
                gzip: true,
                tls: Some(["a.pem".into(), "a.key".into()]),
                echo_metadata: true
            }
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_not_ignored() {
        for line in
            ["", "99999", "1 2", "1 --threads", "1 --threads 0", "1 --mode fast", "1 --tls a", "1 --what"]
        {
            assert!(parse(line).is_err(), "{line:?} was accepted");
        }
    }
}
