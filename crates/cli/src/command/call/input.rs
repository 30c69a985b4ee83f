//! The request messages: from `-d`, from files, from stdin, one after the other.

use std::{
    collections::VecDeque,
    fs,
    io::Read,
    path::{Path, PathBuf},
    thread,
};

use bytes::Bytes;
use prost::Message;
use prost_reflect::MessageDescriptor;
use tokio::sync::mpsc;

use crate::{
    json::{
        JsonError, decode,
        split::{Piece, Splitter},
    },
    report::{Excerpt, Report},
    schema::source::Source,
};

/// How the JSON is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputOptions {
    pub(super) allow_unknown_fields: bool,
}

/// The texts that hold the request messages, in order.
#[derive(Debug)]
pub(super) struct Input {
    waiting: VecDeque<Origin>,
    given: bool,
    current: Option<Reading>,
    /// Messages so far, for the errors of streams.
    count: usize,
}

#[derive(Debug)]
enum Origin {
    /// The argument of a `-d`.
    Argument(String),
    File(PathBuf),
    Stdin,
}

/// A text being read.
#[derive(Debug)]
struct Reading {
    /// What it is called in errors.
    name: String,
    splitter: Splitter,
    /// Set for a text that is still coming.
    chunks: Option<mpsc::Receiver<std::io::Result<Vec<u8>>>>,
}

/// The JSON of one message.
#[derive(Debug)]
pub(super) struct RequestText {
    /// What the text it stood in is called in errors.
    origin: String,
    first_line: usize,
    /// Counted from 1 over all texts.
    index: usize,
    text: String,
}

/// A message ready to be sent.
#[derive(Debug)]
pub(super) struct RequestMessage {
    pub(super) bytes: Bytes,
    /// Paths of fields that were skipped.
    pub(super) ignored: Vec<String>,
}

impl Input {
    /// From the arguments of `-d`, or a file.
    pub(super) fn new(data: &[String], file: Option<&Path>) -> Result<Self, Report> {
        let mut waiting: VecDeque<Origin> = data
            .iter()
            .map(|text| match text.strip_prefix('@') {
                Some("" | "-") => Origin::Stdin,
                Some(path) => Origin::File(path.into()),
                None => Origin::Argument(text.clone()),
            })
            .collect();
        waiting.extend(file.map(|path| Origin::File(path.to_owned())));
        if waiting.iter().filter(|origin| matches!(origin, Origin::Stdin)).count() > 1 {
            return Err(Report::usage("stdin can be read only once").fact("flag", "-d @"));
        }
        Ok(Self { given: !waiting.is_empty(), waiting, current: None, count: 0 })
    }

    /// Whether the command line names any input at all.
    pub(super) fn is_given(&self) -> bool {
        self.given
    }

    /// Whether stdin is part of it.
    pub(super) fn reads_stdin(&self) -> bool {
        self.waiting.iter().any(|origin| matches!(origin, Origin::Stdin))
    }

    /// The JSON of the next message, as soon as it is complete; `None` at the end of all texts. Waits for stdin
    /// where that is the input, so nothing that others need may be held meanwhile.
    pub(super) async fn next_text(&mut self) -> Result<Option<RequestText>, Report> {
        let Some((origin, piece)) = self.next_piece().await? else { return Ok(None) };
        self.count += 1;
        let text = String::from_utf8(piece.text).map_err(|error| {
            Report::input(format!("the JSON from {origin} is not UTF-8")).fact("cause", error.utf8_error())
        })?;
        Ok(Some(RequestText { origin, first_line: piece.first_line, index: self.count, text }))
    }

    async fn next_piece(&mut self) -> Result<Option<(String, Piece)>, Report> {
        loop {
            if self.current.is_none() {
                let Some(origin) = self.waiting.pop_front() else { return Ok(None) };
                self.current = Some(Reading::open(origin)?);
            }
            let Some(reading) = &mut self.current else { return Ok(None) };
            match reading.next_piece().await? {
                Some(piece) => return Ok(Some((reading.name.clone(), piece))),
                None => self.current = None,
            }
        }
    }
}

impl RequestText {
    /// The message that the JSON stands for.
    pub(super) async fn decode(
        &self,
        descriptor: &MessageDescriptor,
        options: InputOptions,
        source: &mut Source,
    ) -> Result<RequestMessage, Report> {
        let mut asked = Vec::new();
        loop {
            // Types may have been added since the descriptor was made: the pool is asked again.
            let current = source.schema().message(descriptor.full_name());
            let descriptor = current.as_ref().unwrap_or(descriptor);
            let error = match decode::decode(&self.text, descriptor, options.allow_unknown_fields) {
                Ok(decoded) => {
                    let bytes = Bytes::from(decoded.message.encode_to_vec());
                    return Ok(RequestMessage { bytes, ignored: decoded.ignored });
                }
                Err(error) => error,
            };
            match &error.missing_type {
                Some(missing) if !asked.contains(missing) && source.load(missing).await? => {
                    asked.push(missing.clone());
                }
                _ => return Err(self.report(error)),
            }
        }
    }

    fn report(&self, error: JsonError) -> Report {
        let which = if self.index > 1 { format!("message {}: ", self.index) } else { String::new() };
        let excerpt = Excerpt::new(&self.origin, self.first_line, &self.text, error.span, error.label);
        let mut report = Report::input(format!("{which}{}", error.message)).excerpt(excerpt);
        for (label, value) in error.facts {
            report = report.fact(label, value);
        }
        report
    }
}

impl Reading {
    fn open(origin: Origin) -> Result<Self, Report> {
        let whole = |name: String, text: &[u8]| {
            let mut splitter = Splitter::default();
            for chunk in text.chunks(CHUNK) {
                splitter.push(chunk);
            }
            splitter.finish();
            Self { name, splitter, chunks: None }
        };
        match origin {
            Origin::Argument(text) => Ok(whole("-d".to_owned(), text.as_bytes())),
            Origin::File(path) => {
                let text = fs::read(&path).map_err(|error| {
                    Report::input(format!("cannot read `{}`", path.display())).fact("cause", error)
                })?;
                Ok(whole(path.display().to_string(), &text))
            }
            Origin::Stdin => Ok(Self {
                name: "stdin".to_owned(),
                splitter: Splitter::default(),
                chunks: Some(read_stdin()),
            }),
        }
    }

    async fn next_piece(&mut self) -> Result<Option<Piece>, Report> {
        loop {
            if let Some(piece) = self.splitter.next_piece() {
                return Ok(Some(piece));
            }
            let Some(chunks) = &mut self.chunks else { return Ok(None) };
            match chunks.recv().await {
                Some(Ok(chunk)) => self.splitter.push(&chunk),
                Some(Err(error)) => return Err(Report::input("cannot read stdin").fact("cause", error)),
                None => {
                    self.splitter.finish();
                    self.chunks = None;
                }
            }
        }
    }
}

/// Bytes handed to the splitter at a time; each piece it cuts moves what is left of them.
const CHUNK: usize = 16 * 1024;

/// Reads stdin on a thread of its own. The thread may stay blocked in its read when the command ends, which the end
/// of the process takes care of; the runtime's own blocking pool would be waited for.
fn read_stdin() -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(4);
    thread::spawn(move || {
        let mut stdin = std::io::stdin();
        loop {
            let mut chunk = vec![0; CHUNK];
            let outcome = match stdin.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) => {
                    chunk.truncate(length);
                    Ok(chunk)
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = outcome.is_err();
            if sender.blocking_send(outcome).is_err() || failed {
                return;
            }
        }
    });
    receiver
}
