//! The error of this crate, and the report that a build script ends with.
//!
//! `main` of a build script prints `Debug` of its error, so `Debug` is the report for people: what, where with the line
//! and a caret, what was looked at, and what to do next. `Display` stays on one line.

use std::fmt;
use std::path::Path;

/// What a build script's `main` returns: `fn main() -> peregrine_build::Result { peregrine_build::compile("a.proto") }`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Why protos could not be compiled, or the result could not be written.
///
/// `Display` says it in one line, with `file:line:column` in front when there is a place. `Debug` is a report of
/// several lines with the source line, a caret and the next step.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    what: String,
    places: Vec<Place>,
    notes: Vec<String>,
    next: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A span of a proto file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Place {
    /// The path, as short as it can be shown.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The whole line; empty if the source is not at hand.
    pub source_line: String,
    /// Characters from the column on that are meant; at least 1.
    pub width: usize,
    /// Words to stand beside the spot.
    pub label: Option<String>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        let inner =
            Inner { what: what.into(), places: Vec::new(), notes: Vec::new(), next: None, cause: None };
        Self { inner: Box::new(inner) }
    }

    /// A file operation that failed; `what` names the operation ("reading", "writing").
    pub(crate) fn io(what: &str, path: &Path, cause: std::io::Error) -> Self {
        let mut error = Self::new(format!("{what} {} failed: {cause}", path.display()));
        error.inner.cause = Some(Box::new(cause));
        error
    }

    #[must_use]
    pub(crate) fn with_place(mut self, place: Place) -> Self {
        self.inner.places.push(place);
        self
    }

    #[must_use]
    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.inner.notes.push(note.into());
        self
    }

    #[must_use]
    pub(crate) fn with_next(mut self, next: impl Into<String>) -> Self {
        self.inner.next = Some(next.into());
        self
    }

    #[must_use]
    pub(crate) fn with_cause(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.inner.cause = Some(Box::new(cause));
        self
    }

    /// Quotes the source of places that know only their line. `find` gives, for the name of an imported file, its path
    /// for people and its text.
    pub(crate) fn with_sources<'a>(mut self, find: impl Fn(&str) -> Option<(&'a str, &'a str)>) -> Self {
        for place in self.inner.places.iter_mut().filter(|place| place.source_line.is_empty()) {
            if let Some((shown, text)) = find(&place.file) {
                shown.clone_into(&mut place.file);
                text.lines()
                    .nth(place.line - 1)
                    .unwrap_or_default()
                    .trim_end()
                    .clone_into(&mut place.source_line);
            }
        }
        self
    }

    /// What is wrong, in one line without the place.
    pub fn message(&self) -> &str {
        &self.inner.what
    }

    /// The spot in a proto file that the error is about.
    pub fn place(&self) -> Option<&Place> {
        self.inner.places.first()
    }

    /// What else is known about it.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.inner.notes.iter().map(String::as_str)
    }

    /// What to do about it.
    pub fn next_step(&self) -> Option<&str> {
        self.inner.next.as_deref()
    }

    /// Where in a proto file the error is: the file, and line and column, both counted from 1.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        self.inner.places.first().map(|place| (place.file.as_str(), place.line, place.column))
    }
}

impl Place {
    /// The span of `len` bytes at byte `offset` of `source`. An offset past the end means the end.
    pub(crate) fn from_span(
        file: &str,
        source: &str,
        offset: usize,
        len: usize,
        label: Option<String>,
    ) -> Self {
        let mut offset = offset.min(source.len());
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
        let line_start = source[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[offset..].find('\n').map_or(source.len(), |newline| offset + newline);
        let spanned_end = source.floor_char_boundary(offset.saturating_add(len).min(line_end));
        Self {
            file: file.to_owned(),
            line: source[..offset].matches('\n').count() + 1,
            column: source[line_start..offset].chars().count() + 1,
            source_line: source[line_start..line_end].trim_end().to_owned(),
            width: source[offset..spanned_end].trim_end().chars().count().max(1),
            label,
        }
    }

    /// A `Location.span` of descriptors: line, column and end column from 0, or four numbers if it spans several lines.
    pub(crate) fn from_location(file: &str, source: &str, span: &[i32], label: &str) -> Option<Self> {
        let number = |index: usize| usize::try_from(*span.get(index)?).ok();
        let (line, column) = (number(0)?, number(1)?);
        let source_line = source.lines().nth(line)?.trim_end().to_owned();
        let width = match span {
            [_, start, end] => usize::try_from(end - start).ok()?.max(1),
            _ => source_line.chars().count().saturating_sub(column).max(1),
        };
        Some(Self {
            file: file.to_owned(),
            line: line + 1,
            column: column + 1,
            source_line,
            width,
            label: Some(label.to_owned()),
        })
    }

    /// A position known by line and column (from 0) only, as descriptors give it.
    pub(crate) fn from_line(file: &str, line: usize, column: usize) -> Self {
        Self {
            file: file.to_owned(),
            line: line + 1,
            column: column + 1,
            source_line: String::new(),
            width: 1,
            label: None,
        }
    }

    fn write_to(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gutter = self.line.to_string().len().max(2);
        writeln!(out, "{:gutter$}--> {}:{}:{}", "", self.file, self.line, self.column)?;
        if self.source_line.is_empty() {
            return Ok(());
        }
        let (mut text, mut indent) = (String::new(), 0);
        for (at, letter) in self.source_line.chars().enumerate() {
            if at + 1 == self.column {
                indent = text.chars().count();
            }
            if letter == '\t' { text.push_str("    ") } else { text.push(letter) }
        }
        if self.column > self.source_line.chars().count() {
            indent = text.chars().count();
        }
        let label = self.label.as_deref().unwrap_or_default();
        writeln!(out, "{:gutter$} |", "")?;
        writeln!(out, "{:gutter$} | {text}", self.line)?;
        writeln!(out, "{:gutter$} | {:indent$}{} {label}", "", "", "^".repeat(self.width))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line, column)) = self.location() {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        f.write_str(&self.inner.what)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.inner.what)?;
        for place in &self.inner.places {
            place.write_to(f)?;
        }
        for note in &self.inner.notes {
            writeln!(f, "  note: {note}")?;
        }
        if let Some(next) = &self.inner.next {
            writeln!(f, "  next: {next}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.cause.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_shows_the_line_and_a_caret() {
        let source = "syntax = \"proto3\";\n\trpc Say (Helo) returns (Hi);\n";
        let offset = source.find("Helo").unwrap();
        let error = Error::new("name 'Helo' is not defined")
            .with_place(Place::from_span("a.proto", source, offset, 4, Some("found here".into())))
            .with_note("a note")
            .with_next("declare it");
        assert_eq!(error.to_string(), "a.proto:2:11: name 'Helo' is not defined");
        let expected = "name 'Helo' is not defined\n  --> a.proto:2:11\n   |\n 2 |     rpc Say (Helo) returns (Hi);\n   \
             |              ^^^^ found here\n  note: a note\n  next: declare it\n";
        assert_eq!(format!("{error:?}"), expected);
        assert_eq!(error.location(), Some(("a.proto", 2, 11)));
    }

    #[test]
    fn a_span_past_the_end_points_at_the_end() {
        let place = Place::from_span("a.proto", "message M {", 99, 5, None);
        assert_eq!((place.line, place.column, place.width), (1, 12, 1));
        assert!(format!("{:?}", Error::new("x").with_place(place)).contains("\n   |            ^"));
    }
}
