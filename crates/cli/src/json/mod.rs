//! JSON to messages and back, by schema.
//!
//! Input goes through [`split`] (a text or stdin into one piece a message), [`parse`] (a piece into a tree that
//! remembers where each part stood) and [`decode`] (the tree into a message, or an error that points at the
//! spot). Output goes through [`encode`]. [`template`] makes JSON to fill in.

pub(crate) mod decode;
pub(crate) mod encode;
mod number;
pub(crate) mod parse;
pub(crate) mod split;
pub(crate) mod template;
#[cfg(test)]
mod tests;
mod well_known;
pub(crate) mod write;

use std::ops::Range;

/// What is wrong with a JSON text, and where.
#[derive(Debug)]
pub(crate) struct JsonError {
    /// Bytes of the piece that the error is about.
    pub(crate) span: Range<usize>,
    /// The sentence, without a full stop.
    pub(crate) message: String,
    /// Stands beside the caret; may be empty.
    pub(crate) label: String,
    /// Labelled facts: what is expected, what may be chosen.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// A message type that an `Any` names and the schema lacks: the caller may know where to ask for it.
    pub(crate) missing_type: Option<String>,
}

impl JsonError {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { span, message: message.into(), label: label.into(), facts: Vec::new(), missing_type: None }
    }

    pub(crate) fn fact(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.facts.push((label, value.into()));
        self
    }
}
