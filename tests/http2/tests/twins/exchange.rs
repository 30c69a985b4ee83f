//! One case: octets go to an endpoint under its driver, and everything it says is written down.

use std::fmt::Write as _;

use peregrine_http2::frame::{FRAME_HEADER_LEN, Flags, Frame, FrameHeader};
use peregrine_http2::hpack::Decoder;
use peregrine_testkit::{PipeEnd, pipe, virtual_time};
use peregrine_tests_http2::{Asking, Replying};
use peregrine_transport::driver;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::octets::{ACK, ping, settings};

/// Which half is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Server,
    Client,
}

/// Octets to send, and the answer to them.
pub(crate) struct Case {
    ids: &'static str,
    /// Each step is sent at once, and the next when the answer to it is complete.
    steps: Vec<Vec<u8>>,
    start: Start,
    /// Everything the endpoint says, a line a frame; see [`Judge::line`]. "closed" is the end of the connection,
    /// without it the connection lived on and answered a last PING.
    answer: &'static [&'static str],
}

/// How a case begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The handshake is over: SETTINGS exchanged and acknowledged.
    Ready,
    /// Nothing has been sent. The answer holds the endpoint's own first frames.
    Bare,
}

/// Frames that are sent together.
pub(crate) fn case<const N: usize>(
    ids: &'static str,
    frames: [Vec<u8>; N],
    answer: &'static [&'static str],
) -> Case {
    let octets = frames.into_iter().flatten().collect();
    Case { ids, steps: vec![octets], start: Start::Ready, answer }
}

/// Frames that are sent one after the other, each when the answer to the one before has come.
pub(crate) fn in_steps<const N: usize>(
    ids: &'static str,
    frames: [Vec<u8>; N],
    answer: &'static [&'static str],
) -> Case {
    Case { ids, steps: frames.into(), start: Start::Ready, answer }
}

/// The very first octets of a connection.
pub(crate) fn bare(ids: &'static str, octets: &[u8], answer: &'static [&'static str]) -> Case {
    Case { ids, steps: vec![octets.to_vec()], start: Start::Bare, answer }
}

impl Case {
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.ids.split_whitespace()
    }
}

/// Runs all cases; every one that is answered otherwise is shown.
pub(crate) fn check(half: Half, cases: &[Case]) {
    let mut wrong = String::new();
    for case in cases {
        let answer = answer_of(half, case);
        if answer != case.answer {
            let _ = writeln!(wrong, "{}: expected {:?}\n  got {answer:?}", case.ids, case.answer);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn answer_of(half: Half, case: &Case) -> Vec<String> {
    let mut answer = Vec::new();
    virtual_time(async {
        let mut judge = Judge::new(half);
        if case.start == Start::Ready {
            judge.start().await;
        }
        for step in &case.steps {
            if !judge.ask(step, &mut answer).await {
                answer.push("closed".to_owned());
                break;
            }
        }
        judge.leave().await;
    });
    answer
}

/// A peer without a mind of its own.
struct Judge {
    half: Half,
    io: PipeEnd,
    input: Vec<u8>,
    decoder: Decoder,
    task: JoinHandle<()>,
    /// Rounds so far: the payload of each one's PING.
    rounds: u8,
}

impl Judge {
    fn new(half: Half) -> Self {
        let (io, theirs) = pipe();
        let now = Instant::now().into_std();
        let task = match half {
            Half::Server => tokio::spawn(async move {
                driver::drive(theirs, &mut Replying::new(7, now)).await;
            }),
            Half::Client => tokio::spawn(async move {
                let mut asking = Asking::new("http", "localhost", 7, now).expect("nothing stands against it");
                driver::drive(theirs, &mut asking).await;
            }),
        };
        Self { half, io, input: Vec::new(), decoder: Decoder::new(4_096), task, rounds: 0 }
    }

    /// The handshake, with nothing in SETTINGS.
    async fn start(&mut self) {
        let preface: &[u8] = match self.half {
            Half::Server => PREFACE,
            Half::Client => b"",
        };
        let mut said = Vec::new();
        let hello = [preface, &settings(&[]), &ACKNOWLEDGED].concat();
        assert!(self.ask(&hello, &mut said).await, "{said:?}");
        let expected: &[&str] = match self.half {
            Half::Server => &SERVER_HELLO,
            Half::Client => &CLIENT_HELLO,
        };
        assert_eq!(said, expected);
    }

    /// Sends `octets` and writes down what comes. False if the connection was closed over it.
    async fn ask(&mut self, octets: &[u8], said: &mut Vec<String>) -> bool {
        // The acknowledgement of a PING overtakes queued data; that has left when a second one comes back.
        self.round(octets, said).await && self.round(&[], said).await
    }

    /// Sends `octets` and a PING behind them, and writes down what comes until that PING is acknowledged.
    async fn round(&mut self, octets: &[u8], said: &mut Vec<String>) -> bool {
        self.rounds += 1;
        let mark = [0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, self.rounds];
        // An endpoint that has closed takes no more; what it said can still be read.
        let _ = self.io.write_all(&[octets, &ping(0, mark)].concat()).await;
        while let Some((header, payload)) = self.frame().await {
            if let Ok(Frame::Ping(ping)) = Frame::parse(header, &payload)
                && ping.ack
                && ping.payload == mark
            {
                return true;
            }
            let line = self.line(header, &payload);
            said.push(line);
        }
        false
    }

    /// The next frame, a client's preface left out; `None` at the end of the connection.
    async fn frame(&mut self) -> Option<(FrameHeader, Vec<u8>)> {
        loop {
            if self.half == Half::Client && self.input.starts_with(PREFACE) {
                self.input.drain(..PREFACE.len());
            }
            if let Some(header) = FrameHeader::parse(&self.input)
                && self.input.len() >= header.frame_len()
            {
                let octets: Vec<u8> = self.input.drain(..header.frame_len()).collect();
                return Some((header, octets[FRAME_HEADER_LEN..].to_vec()));
            }
            if self.io.read_buf(&mut self.input).await.ok()? == 0 {
                assert!(self.input.is_empty(), "half a frame at the end: {:?}", self.input);
                return None;
            }
        }
    }

    /// A frame in words: its name, its stream and what is in it.
    fn line(&mut self, header: FrameHeader, payload: &[u8]) -> String {
        let stream = header.stream.value();
        let end = if header.flags.contains(Flags::END_STREAM) { " END" } else { "" };
        match Frame::parse(header, payload).expect("the endpoint writes what it would accept") {
            Frame::Headers(frame) => {
                assert!(frame.end_headers, "short blocks fit one frame");
                let mut first = String::new();
                self.decoder
                    .decode(frame.fragment, &mut |field| {
                        if first.is_empty() {
                            first = String::from_utf8_lossy(field.value).into_owned();
                        }
                    })
                    .expect("a block that can be decoded");
                format!("HEADERS {stream} {first}{end}")
            }
            Frame::Data(frame) => format!("DATA {stream} {}{end}", frame.data.len()),
            Frame::RstStream(frame) => format!("RST_STREAM {stream} {}", frame.code),
            Frame::GoAway(frame) => format!("GOAWAY {} {}", frame.last_stream.value(), frame.code),
            Frame::Settings(_) if header.flags.contains(Flags::ACK) => "SETTINGS ACK".to_owned(),
            Frame::Settings(_) => "SETTINGS".to_owned(),
            Frame::Ping(frame) if frame.ack => format!("PING ACK {:02x}", frame.payload[7]),
            Frame::Ping(_) => "PING".to_owned(),
            Frame::WindowUpdate(frame) => format!("WINDOW_UPDATE {stream} {}", frame.increment),
            // [9113-6.6-1]
            other => panic!("an endpoint sends no such frame: {other:?}"),
        }
    }

    /// Lets the endpoint go, which must then end by itself.
    async fn leave(self) {
        drop(self.io);
        self.task.await.expect("the driver does not panic");
    }
}

/// What a client begins with (RFC 9113 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// SETTINGS with ACK.
const ACKNOWLEDGED: [u8; 9] = [0, 0, 0, 4, ACK, 0, 0, 0, 0];

/// SETTINGS first; then the connection's window is raised to 1 MiB.
const SERVER_HELLO: [&str; 3] = ["SETTINGS", "WINDOW_UPDATE 0 983041", "SETTINGS ACK"];
// [9113-5.1.1-1]
const CLIENT_HELLO: [&str; 4] = ["SETTINGS", "WINDOW_UPDATE 0 983041", "HEADERS 1 GET END", "SETTINGS ACK"];
