//! The words of a program that makes load: an address, a mode, keys with values.

use std::net::SocketAddr;
use std::time::Duration;

/// What may stand behind the program's name.
pub const USAGE: &str = "ADDR unary|stream|collect|idle|open \
[size=256] [count=16] [conns=4] [conc=128] [warm=1] [meas=5] [calls=N] [pid=N]";

/// What to call, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// The server's.
    pub address: SocketAddr,
    /// The method.
    pub mode: Mode,
    /// Bytes of a message's payload.
    pub size: usize,
    /// Messages of a stream.
    pub count: usize,
    /// Connections.
    pub conns: usize,
    /// Calls at once, over all connections.
    pub conc: usize,
    /// How long calls are made before they are measured.
    pub warm: Duration,
    /// How long they are measured.
    pub meas: Duration,
    /// Measured calls in all; `meas` does not count then.
    pub calls: Option<u64>,
    /// The server's process, if its processor time is wanted too.
    pub pid: Option<u32>,
}

/// Which of the bench service's methods is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Echo.
    Unary,
    /// Stream.
    Stream,
    /// Collect.
    Collect,
    /// Echo, once on each connection, which then stays open.
    Idle,
    /// Bidi, of which each call stays open after one message.
    Open,
}

impl Args {
    /// Reads the arguments behind the program's name.
    ///
    /// # Errors
    /// What is wrong with them, as a sentence.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let address = words.next().ok_or("the address is missing")?;
        let address =
            address.parse().map_err(|_| format!("{address} is no address such as 127.0.0.1:50051"))?;
        let mode = match words.next().ok_or("the mode is missing")?.as_str() {
            "unary" => Mode::Unary,
            "stream" => Mode::Stream,
            "collect" => Mode::Collect,
            "idle" => Mode::Idle,
            "open" => Mode::Open,
            other => return Err(format!("unknown mode {other}")),
        };
        let second = Duration::from_secs(1);
        let mut args = Self {
            address,
            mode,
            size: 256,
            count: 16,
            conns: 4,
            conc: 128,
            warm: second,
            meas: 5 * second,
            calls: None,
            pid: None,
        };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{word} is no key=value"))?;
            let bad = |_| format!("{key} cannot be {value}");
            match key {
                "size" => args.size = value.parse().map_err(bad)?,
                "count" => args.count = value.parse().map_err(bad)?,
                "conns" => args.conns = value.parse().map_err(bad)?,
                "conc" => args.conc = value.parse().map_err(bad)?,
                "warm" => args.warm = seconds(value).ok_or_else(|| format!("warm cannot be {value}"))?,
                "meas" => args.meas = seconds(value).ok_or_else(|| format!("meas cannot be {value}"))?,
                "calls" => args.calls = Some(value.parse().map_err(bad)?),
                "pid" => args.pid = Some(value.parse().map_err(bad)?),
                _ => return Err(format!("unknown key {key}")),
            }
        }
        if args.conns == 0 || args.conc == 0 {
            return Err("conns and conc are at least 1".to_owned());
        }
        Ok(args)
    }
}

fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn keys_change_the_defaults() {
        let args =
            parse("127.0.0.1:1 stream size=64 count=3 conns=1 conc=2 warm=0.5 meas=2 calls=9 pid=5").unwrap();
        assert_eq!(args.mode, Mode::Stream);
        assert_eq!((args.size, args.count, args.conns, args.conc), (64, 3, 1, 2));
        assert_eq!((args.warm, args.meas), (Duration::from_millis(500), Duration::from_secs(2)));
        assert_eq!((args.calls, args.pid), (Some(9), Some(5)));
    }

    #[test]
    fn mistakes_are_named() {
        for line in [
            "",
            "x unary",
            "127.0.0.1:1",
            "127.0.0.1:1 fast",
            "127.0.0.1:1 unary size",
            "127.0.0.1:1 unary a=1",
        ]
        .into_iter()
        .chain([
            "127.0.0.1:1 unary size=x",
            "127.0.0.1:1 unary conns=0",
            "127.0.0.1:1 unary warm=-1",
        ]) {
            assert!(parse(line).is_err(), "{line:?} was accepted");
        }
    }
}
