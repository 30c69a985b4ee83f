//! Questions and answers, whatever the version of the protocol.

use std::collections::HashSet;

use bytes::Bytes;
use peregrine_core::{Code, Status};

use super::index::{FileId, Index};

/// What a tool asks.
#[derive(Debug)]
pub(super) enum Question {
    FileByName(String),
    FileWithSymbol(String),
    FileWithExtension(String, i32),
    ExtensionNumbers(String),
    ListServices,
    /// A request that asks nothing this server knows.
    Unknown,
}

/// What it gets.
#[derive(Debug)]
pub(super) enum Answer {
    Files(Vec<Bytes>),
    ExtensionNumbers(String, Vec<i32>),
    Services(Vec<String>),
    Error(Code, String),
}

impl Index {
    /// Answers one question of a stream; `sent` are the files that went before.
    pub(super) fn answer(&self, question: Question, sent: &mut HashSet<FileId>) -> Answer {
        let found = match question {
            Question::FileByName(name) => self.file(&name).ok_or_else(|| format!("file {name}")),
            Question::FileWithSymbol(name) => self.symbol(&name).ok_or_else(|| format!("symbol {name}")),
            Question::FileWithExtension(message, number) => {
                self.extension(&message, number).ok_or_else(|| format!("extension {number} of {message}"))
            }
            Question::ExtensionNumbers(message) => {
                return match self.extension_numbers(&message) {
                    Some(numbers) => Answer::ExtensionNumbers(message, numbers),
                    None => not_found(&format!("message {message}")),
                };
            }
            Question::ListServices => {
                return Answer::Services(self.services().map(str::to_owned).collect());
            }
            Question::Unknown => {
                let status = Status::invalid_argument("the request asks for nothing that is known here");
                return Answer::Error(status.code(), status.message().to_owned());
            }
        };
        match found {
            Ok(file) => Answer::Files(self.with_imports(file, sent)),
            Err(what) => not_found(&what),
        }
    }
}

fn not_found(what: &str) -> Answer {
    Answer::Error(Code::NotFound, format!("{what} is not known here"))
}
