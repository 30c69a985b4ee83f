//! protox's complaints as our report: path on disk instead of import name, the line, a caret, the next step.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use miette::Diagnostic as _;

use super::resolver::Resolver;
use crate::error::{Error, Place};

/// The report for an error that protox gave.
pub(super) fn explain(error: &protox::Error, resolver: &Resolver) -> Error {
    let message = error.to_string();
    let mut report = Error::new(sentence(&message));
    if let Some(place) = place(error, resolver) {
        report = report.with_place(place);
    }
    if let Some(help) = error.help() {
        report = report.with_note(help.to_string());
    }
    for other in error.related().into_iter().flatten() {
        report = report.with_note(format!("also: {other}"));
    }
    match next_step(&message) {
        Some(next) => report.with_next(next),
        None => report,
    }
}

/// The first labelled span, in the text of the file that it lies in.
fn place(error: &protox::Error, resolver: &Resolver) -> Option<Place> {
    let opened = resolver.opened(error.file()?)?;
    // Names defined twice carry both spans; the second one is the mistake.
    let label = error.labels()?.last()?;
    let text = label.label().map(str::to_owned);
    Some(Place::from_span(&opened.shown, &opened.text, label.offset(), label.len(), text))
}

/// Without protox's own `file:line:column: ` in front, which the report gives itself.
fn sentence(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// Advice by kind of mistake, where there is some beyond the message itself.
fn next_step(message: &str) -> Option<String> {
    let mut next = String::new();
    if message.contains("is not defined") {
        next.push_str(
            "declare it, import the file that declares it, or write its full name with the package",
        );
    } else if message.contains("is defined twice") {
        next.push_str("rename one of the two");
    } else if message.starts_with("expected ") {
        let _ =
            write!(next, "look at the end of the statement before it: a missing ';' or brace shows up here");
    }
    (!next.is_empty()).then_some(next)
}

/// The `.proto` file beside a missing one whose name is closest, if one is close.
pub(super) fn nearest_proto(missing: &Path) -> Option<PathBuf> {
    let wanted = missing.file_name()?.to_str()?;
    let entries = std::fs::read_dir(missing.parent()?).ok()?;
    let protos = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "proto"));
    let scored = protos.filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        Some((edit_distance(wanted, name), path))
    });
    let (distance, path) = scored.min()?;
    (distance <= 3).then_some(path)
}

/// Levenshtein distance in bytes.
fn edit_distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
