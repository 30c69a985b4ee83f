//! The spot in a text that does not fit, with a caret under it.
//!
//! Used for JSON input and for .proto files.

use std::{fmt::Write, ops::Range};

use serde_json::{Value, json};

use crate::style::Style;

/// Longer lines are cut to a window of this many characters around the spot: JSON often is one long line.
const WINDOW: usize = 96;

/// One line of a text and a stretch of it.
#[derive(Debug)]
pub(crate) struct Excerpt {
    origin: String,
    /// Both counted from 1; columns are characters.
    line: usize,
    column: usize,
    /// The line, or the window of it.
    text: String,
    /// Characters of `text` before the caret.
    indent: usize,
    carets: usize,
    label: String,
}

impl Excerpt {
    /// Points at the bytes `span` of `text`. `origin` names the text (`-d`, `stdin`, a file); `first_line` is
    /// the number of the text's first line within the origin, counted from 1.
    pub(crate) fn new(
        origin: impl Into<String>,
        first_line: usize,
        text: &str,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Self {
        let start = text.floor_char_boundary(span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = text.floor_char_boundary(span.end).clamp(start, line_end);
        let column = text[line_start..start].chars().count();
        let carets = text[start..end].chars().count();
        let line = first_line + before.matches('\n').count();
        Self::of_line(origin, &text[line_start..line_end], (line, column + 1, carets), label)
    }

    /// Points into a line that is known by its number. The spot is line and column, both counted from 1, and the
    /// number of characters meant.
    pub(crate) fn of_line(
        origin: impl Into<String>,
        text: &str,
        (line, column, carets): (usize, usize, usize),
        label: impl Into<String>,
    ) -> Self {
        let characters: Vec<char> =
            text.trim_end_matches('\r').chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let (text, indent, carets) = window(&characters, column.saturating_sub(1), carets.max(1));
        Self { origin: origin.into(), line, column, text, indent, carets, label: label.into() }
    }

    pub(super) fn render(&self, text: &mut String, style: Style) {
        let number = self.line.to_string();
        let gutter = number.len();
        let bar = style.dim("|");
        let blank = format!("{:gutter$}", "");
        let _ = writeln!(text, "{blank}{} {}:{}:{}", style.dim("-->"), self.origin, self.line, self.column);
        let _ = writeln!(text, "{blank} {bar}");
        let _ = writeln!(text, "{} {bar} {}", style.dim(&number), self.text);
        let carets = "^".repeat(self.carets);
        let label = if self.label.is_empty() { String::new() } else { format!(" {}", self.label) };
        let _ = writeln!(
            text,
            "{blank} {bar} {:indent$}{}",
            "",
            style.error(format_args!("{carets}{label}")),
            indent = self.indent
        );
        let _ = writeln!(text, "{blank} {bar}");
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "origin": self.origin,
            "line": self.line,
            "column": self.column,
            "text": self.text,
            "label": self.label,
        })
    }
}

/// At most [`WINDOW`] characters of `line` that hold the spot, with an ellipsis where something was cut.
fn window(line: &[char], column: usize, carets: usize) -> (String, usize, usize) {
    if line.len() <= WINDOW {
        return (line.iter().collect(), column, carets);
    }
    let start = column.saturating_sub(WINDOW / 2).min(line.len() - WINDOW);
    let end = start + WINDOW;
    let mut text = String::new();
    let mut indent = column - start;
    if start > 0 {
        text.push('…');
        indent += 1;
    }
    text.extend(&line[start..end]);
    if end < line.len() {
        text.push('…');
    }
    (text, indent, carets.min(end.saturating_sub(column).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(excerpt: &Excerpt) -> String {
        let mut text = String::new();
        excerpt.render(&mut text, Style::PLAIN);
        text
    }

    #[test]
    fn the_caret_stands_under_the_spot() {
        let text = "{\n  \"prise\": 3\n}";
        let start = text.find("\"prise\"").unwrap();
        let excerpt = Excerpt::new("-d", 1, text, start..start + 7, "no such field");
        assert_eq!(
            rendered(&excerpt),
            " --> -d:2:3\n  |\n2 |   \"prise\": 3\n  |   ^^^^^^^ no such field\n  |\n"
        );
    }

    #[test]
    fn characters_not_bytes_are_counted() {
        let text = "{\"ä\": \"ö\", \"x\": 1}";
        let start = text.find("\"x\"").unwrap();
        let excerpt = Excerpt::new("-d", 7, text, start..start + 3, "");
        assert!(rendered(&excerpt).contains("\n  |            ^^^\n"), "{}", rendered(&excerpt));
        assert_eq!((excerpt.line, excerpt.column), (7, 12));
    }

    #[test]
    fn a_long_line_is_cut_around_the_spot() {
        let text = format!("[{}\"bad\"{}]", "1, ".repeat(200), ", 2".repeat(200));
        let start = text.find("\"bad\"").unwrap();
        let excerpt = Excerpt::new("stdin", 1, &text, start..start + 5, "");
        let shown = rendered(&excerpt);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[2].chars().count() < 110);
        let caret = lines[3].chars().position(|c| c == '^').unwrap();
        assert_eq!(lines[2].chars().skip(caret).take(5).collect::<String>(), "\"bad\"");
    }

    #[test]
    fn the_end_of_the_text_can_be_pointed_at() {
        let excerpt = Excerpt::new("-d", 1, "{", 1..1, "the text ends here");
        assert!(rendered(&excerpt).contains("|  ^ the text ends here"), "{}", rendered(&excerpt));
        // A span past the end or inside a character must not panic.
        let _ = Excerpt::new("-d", 1, "ä", 1..9, "");
    }
}
