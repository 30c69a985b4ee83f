//! protox's complaints as our report: path on disk instead of import name, the line, a caret, the next step.

use miette::Diagnostic as _;

use super::resolver::Resolver;
use super::suggest;
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
    match next_step(&message, error, resolver) {
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
fn next_step(message: &str, error: &protox::Error, resolver: &Resolver) -> Option<String> {
    if message.contains("is not defined") {
        let name = message.split('\'').nth(1).unwrap_or_default();
        let user = error.file().unwrap_or_default();
        Some(resolver.with_opened(|opened| suggest::for_undefined(name, user, opened)))
    } else if message.contains("is defined twice") {
        Some("rename one of the two".to_owned())
    } else if message.starts_with("expected ") {
        Some("look at the end of the statement before it: a missing ';' or brace shows up here".to_owned())
    } else {
        None
    }
}
