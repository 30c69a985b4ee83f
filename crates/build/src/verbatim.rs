//! Comments on their way round the parser and the printer.
//!
//! A doc comment reads the same before and after formatting, and comments are half of large protos. So one line stands
//! for each of them while the code is parsed and printed, and the comment takes its place in the finished text.

use crate::doc;

/// Comments that are kept back.
#[derive(Default)]
pub(crate) struct Verbatim {
    /// What goes behind `///`, each line with its newline.
    comments: Vec<String>,
}

/// What stands for a comment, up to its number. No proto can write it: all of their comments are kept back.
const PLACE: &str = "/// \u{e000}";

impl Verbatim {
    /// Keeps the lines of a comment back. Returns what to put behind `///` in its place; `None` if there are no lines.
    pub(crate) fn keep<'l>(&mut self, lines: impl IntoIterator<Item = &'l str>) -> Option<String> {
        let mut comment = String::new();
        for line in lines {
            if line.is_ascii() && !line.contains('\r') {
                comment.push_str(line);
            } else {
                comment.extend(line.chars().filter_map(doc::sayable));
            }
            comment.push('\n');
        }
        if comment.is_empty() {
            return None;
        }
        self.comments.push(comment);
        Some(format!("{}{}", &PLACE["///".len()..], self.comments.len() - 1))
    }

    /// Appends `code`, with every comment in its place and indented like it.
    pub(crate) fn put_back(&self, code: &str, out: &mut String) {
        let mut rest = code;
        while let Some(at) = rest.find(PLACE) {
            let (before, after) = (&rest[..at], &rest[at + PLACE.len()..]);
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let comment = after[..digits].parse().ok().and_then(|number: usize| self.comments.get(number));
            out.push_str(before);
            match comment {
                Some(comment) => put_comment(comment, &before[line_start(before)..], out),
                None => out.push_str(&rest[at..at + PLACE.len() + digits]),
            }
            rest = &after[digits..];
        }
        out.push_str(rest);
    }
}

fn line_start(text: &str) -> usize {
    text.rfind('\n').map_or(0, |newline| newline + 1)
}

/// `out` ends with the indentation of the first line.
fn put_comment(comment: &str, indentation: &str, out: &mut String) {
    for (at, line) in comment.lines().enumerate() {
        if at > 0 {
            out.push('\n');
            out.push_str(indentation);
        }
        out.push_str("///");
        out.push_str(line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_come_back_with_the_indentation_of_their_place() {
        let mut verbatim = Verbatim::default();
        assert_eq!(verbatim.keep([]), None);
        let one = verbatim.keep([" One."]).unwrap();
        let two = verbatim.keep([" Two", "", " lines."]).unwrap();
        let mut out = String::new();
        verbatim.put_back(&format!("///{one}\nmod a {{\n    ///{two}\n    b\n}}\n"), &mut out);
        assert_eq!(out, "/// One.\nmod a {\n    /// Two\n    ///\n    /// lines.\n    b\n}\n");
    }

    #[test]
    fn nothing_that_rustc_refuses_is_left() {
        let mut verbatim = Verbatim::default();
        let place = verbatim.keep([" a\rb \u{202e}c"]).unwrap();
        let mut out = String::new();
        verbatim.put_back(&format!("///{place}\n"), &mut out);
        assert_eq!(out, "/// a b c\n");
    }
}
