//! What every call sends, and what has to come back: bytes that are made once.

use std::sync::Arc;

use peregrine_bench_echo::measure::args::{Args, Mode};

/// One kind of call.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) path: &'static str,
    /// The request's messages, prefixes included: the content of its DATA frames.
    pub(crate) request: Arc<[u8]>,
    /// The reply's; the same memory if it is the same, so that large ones do not push each other out of the caches.
    pub(crate) reply: Arc<[u8]>,
    /// What follows on a call.
    pub(crate) then: Then,
}

/// What follows once a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next one.
    Again,
    /// Nothing: its connection rests.
    Rest,
    /// Not even its end: it stays open.
    StayOpen,
}

impl Plan {
    pub(crate) fn new(args: &Args) -> Self {
        let (count, size) = (args.count as u64, args.size);
        let numbered = || (1..=count).flat_map(|id| message(&echo(size, id))).collect();
        match args.mode {
            Mode::Unary => {
                let both: Arc<[u8]> = message(&echo(size, 7)).into();
                Self { path: "/bench.Bench/Echo", request: both.clone(), reply: both, then: Then::Again }
            }
            Mode::Idle => Self { then: Then::Rest, ..Self::new(&Args { mode: Mode::Unary, ..args.clone() }) },
            Mode::Open => {
                let both: Arc<[u8]> = message(&echo(size, 7)).into();
                let (request, reply) = (both.clone(), both);
                Self { path: "/bench.Bench/Bidi", request, reply, then: Then::StayOpen }
            }
            Mode::Stream => Self {
                path: "/bench.Bench/Stream",
                request: message(&two_numbers(count, size as u64)).into(),
                reply: numbered(),
                then: Then::Again,
            },
            Mode::Collect => Self {
                path: "/bench.Bench/Collect",
                request: numbered(),
                reply: message(&two_numbers(count, count * size as u64)).into(),
                then: Then::Again,
            },
        }
    }
}

/// A message behind its prefix.
fn message(encoded: &[u8]) -> Vec<u8> {
    let mut message = vec![0];
    message.extend((encoded.len() as u32).to_be_bytes());
    message.extend(encoded);
    message
}

/// An `EchoMsg`.
fn echo(size: usize, id: u64) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(size + 16);
    if size > 0 {
        encoded.push(0x0a);
        varint(size as u64, &mut encoded);
        encoded.resize(encoded.len() + size, 0x5a);
    }
    encoded.push(0x10);
    varint(id, &mut encoded);
    encoded
}

/// A `StreamReq` or a `Summary`: fields 1 and 2 as numbers. Zeros are not written.
fn two_numbers(first: u64, second: u64) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (tag, value) in [(0x08, first), (0x10, second)] {
        if value > 0 {
            encoded.push(tag);
            varint(value, &mut encoded);
        }
    }
    encoded
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> Plan {
        Plan::new(&Args::parse(line.split_whitespace().map(str::to_owned)).unwrap())
    }

    #[test]
    fn a_call_that_is_echoed_comes_back_as_it_went() {
        let plan = plan("127.0.0.1:1 unary size=3");
        assert_eq!(*plan.request, [0, 0, 0, 0, 7, 0x0a, 3, 0x5a, 0x5a, 0x5a, 0x10, 7]);
        assert_eq!(plan.reply, plan.request);
    }

    #[test]
    fn a_stream_is_asked_for_by_its_count_and_size() {
        let plan = plan("127.0.0.1:1 stream size=200 count=2");
        assert_eq!(*plan.request, [0, 0, 0, 0, 5, 0x08, 2, 0x10, 0xc8, 1]);
        assert_eq!(plan.reply.len(), 2 * (5 + 3 + 200 + 2));
    }

    #[test]
    fn a_collected_stream_is_summed_up() {
        let plan = plan("127.0.0.1:1 collect size=1 count=2");
        assert_eq!(*plan.reply, [0, 0, 0, 0, 4, 0x08, 2, 0x10, 2]);
        assert_eq!(
            *plan.request,
            [0, 0, 0, 0, 5, 0x0a, 1, 0x5a, 0x10, 1, 0, 0, 0, 0, 5, 0x0a, 1, 0x5a, 0x10, 2]
        );
    }
}
