//! What is said when something fails: one value for eyes and for programs.
//!
//! Every command returns `Result<Exit, Report>`; `main` renders the report on stderr, as sentences or, with
//! `--output json`, as one line of JSON with the same content.

mod call;
mod details;
mod excerpt;
mod human;
mod json;

use std::{fmt, io};

use serde_json::Value;

pub(crate) use call::{connect, metadata_text, out_of_time, status, status_of};
pub(crate) use excerpt::Excerpt;

use crate::{args::OutputFormat, console::Output, exit::Exit};

/// A failure: what, where, why, and what to do next.
pub(crate) struct Report(Box<Parts>);

/// What a report holds; public to the renderers only.
struct Parts {
    exit: Exit,
    kind: Kind,
    headline: String,
    facts: Vec<(&'static str, String)>,
    excerpt: Option<Excerpt>,
    next: Vec<String>,
    data: Vec<(&'static str, Value)>,
}

/// What a program branches on: the `kind` of the JSON form.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// The command line cannot be carried out.
    Usage,
    /// A file, header or JSON text given to the command does not fit.
    Input,
    /// The schema (reflection, .proto or descriptor set) cannot be had or does not hold a name.
    Schema,
    /// No connection, or not to a gRPC server.
    Connect,
    /// The call was made and ended with a status other than OK.
    Call,
    /// Our own output or the local system failed.
    System,
    /// Stopped by Ctrl-C.
    Interrupted,
    /// The reader of stdout has gone: nothing is said and the exit code is 0.
    OutputClosed,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Input => "input",
            Self::Schema => "schema",
            Self::Connect => "connect",
            Self::Call => "call",
            Self::System => "system",
            Self::Interrupted => "interrupted",
            Self::OutputClosed => "output-closed",
        }
    }
}

impl Report {
    /// A report of this kind; `headline` is one sentence without a full stop.
    pub(crate) fn new(kind: Kind, exit: Exit, headline: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            exit,
            kind,
            headline: headline.into(),
            facts: Vec::new(),
            excerpt: None,
            next: Vec::new(),
            data: Vec::new(),
        }))
    }

    /// The command line cannot be carried out.
    pub(crate) fn usage(headline: impl Into<String>) -> Self {
        Self::new(Kind::Usage, Exit::Usage, headline)
    }

    /// Something the command line names does not fit.
    pub(crate) fn input(headline: impl Into<String>) -> Self {
        Self::new(Kind::Input, Exit::Usage, headline)
    }

    /// The schema lacks something or cannot be read.
    pub(crate) fn schema(headline: impl Into<String>) -> Self {
        Self::new(Kind::Schema, Exit::Usage, headline)
    }

    /// The local system refused: a file cannot be written, a port cannot be bound.
    pub(crate) fn system(headline: impl Into<String>) -> Self {
        Self::new(Kind::System, Exit::Finding, headline)
    }

    /// Adds a labelled fact; the label is also the key of the JSON form.
    pub(crate) fn fact(mut self, label: &'static str, value: impl fmt::Display) -> Self {
        self.0.facts.push((label, value.to_string()));
        self
    }

    /// Shows the spot in the text that does not fit.
    pub(crate) fn excerpt(mut self, excerpt: Excerpt) -> Self {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// Adds a next step.
    pub(crate) fn next(mut self, step: impl Into<String>) -> Self {
        self.0.next.push(step.into());
        self
    }

    /// Adds what only programs read.
    pub(crate) fn data(mut self, key: &'static str, value: Value) -> Self {
        self.0.data.push((key, value));
        self
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        self.0.exit
    }

    /// Writes the report. A failure to write it has nowhere to be reported and is dropped.
    pub(crate) fn print(&self, output: &mut Output, format: OutputFormat) {
        if self.0.kind == Kind::OutputClosed {
            return;
        }
        let text = match format {
            OutputFormat::Text => human::render(&self.0, output.style()),
            OutputFormat::Json => json::render(&self.0),
        };
        let _ = io::Write::write_all(output, text.as_bytes());
    }
}

/// Failures to write a command's own output: a closed pipe is success, a full disk is not.
impl From<io::Error> for Report {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(Kind::OutputClosed, Exit::Ok, "the reader of the output has gone");
        }
        Self::system("cannot write the output").fact("cause", error)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&human::render(&self.0, crate::style::Style::PLAIN))
    }
}

/// `1 message`, `2 messages`.
pub(crate) fn counted(number: impl fmt::Display, thing: &str) -> String {
    let number = number.to_string();
    if number == "1" { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The causes of an error, outermost first, each as one line.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let line = error.to_string();
        // Wrappers often repeat the text of what they wrap.
        if lines.last().is_none_or(|last| *last != line) {
            lines.push(line);
        }
        cause = error.source();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::testing::captured;

    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    fn sample() -> Report {
        Report::new(Kind::Connect, Exit::Connect, "cannot connect to 127.0.0.1:1")
            .fact("phase", "connect")
            .fact("cause", "connection refused")
            .next("is the server running?")
            .data("attempts", 1.into())
    }

    #[test]
    fn both_forms_say_the_same() {
        let (mut console, out, err) = captured();
        sample().print(&mut console.err, OutputFormat::Text);
        assert_eq!(
            err.text(),
            "error: cannot connect to 127.0.0.1:1\n  phase: connect\n  cause: connection refused\n   next: is the server running?\n"
        );
        assert_eq!(out.text(), "");

        let (mut console, _, err) = captured();
        sample().print(&mut console.err, OutputFormat::Json);
        let value: Value = serde_json::from_str(&err.text()).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"error": {
                "kind": "connect", "exit_code": 3, "message": "cannot connect to 127.0.0.1:1",
                "phase": "connect", "cause": "connection refused", "attempts": 1,
                "next": ["is the server running?"],
            }})
        );
        assert_eq!(err.text().lines().count(), 1);
    }

    #[test]
    fn a_closed_pipe_is_success_and_says_nothing() {
        let (mut console, _, err) = captured();
        let report = Report::from(io::Error::from(io::ErrorKind::BrokenPipe));
        report.print(&mut console.err, OutputFormat::Text);
        assert_eq!((report.exit(), err.text()), (Exit::Ok, String::new()));
        assert_eq!(Report::from(io::Error::from(io::ErrorKind::StorageFull)).exit(), Exit::Finding);
    }

    #[test]
    fn repeated_causes_are_said_once() {
        let inner = io::Error::other(io::Error::other("deep"));
        assert_eq!(causes(&inner), Vec::<String>::new());
        assert_eq!(causes(&Outer(inner)), ["deep"]);
    }
}
