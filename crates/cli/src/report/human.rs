//! A report as sentences for a terminal or a log.

use std::fmt::Write;

use super::Parts;
use crate::style::Style;

/// Headline, the excerpt if there is one, then labelled lines with the labels right-aligned.
pub(super) fn render(parts: &Parts, style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} {}", style.error("error:"), style.bold(&parts.headline));
    if let Some(excerpt) = &parts.excerpt {
        excerpt.render(&mut text, style);
    }
    let next = parts.next.iter().map(|step| ("next", step.as_str()));
    let lines: Vec<_> =
        parts.facts.iter().map(|(label, value)| (*label, value.as_str())).chain(next).collect();
    let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let mut previous = "";
    for (label, value) in lines {
        let shown = if label == previous { String::new() } else { format!("{label}:") };
        previous = label;
        let mut value_lines = value.lines();
        let first = value_lines.next().unwrap_or("");
        let _ = writeln!(text, "  {} {first}", style.dim(format_args!("{shown:>w$}", w = width + 1)));
        for line in value_lines {
            let _ = writeln!(text, "  {:w$}{line}", "", w = width + 2);
        }
    }
    text
}
