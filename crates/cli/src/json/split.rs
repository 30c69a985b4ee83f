//! A flow of JSON text into one piece a message.
//!
//! Messages may stand on lines of their own, spread over many lines, or follow each other directly. Text comes in
//! as it is read (stdin of a bidirectional call is sent on message by message), so the splitter only counts
//! brackets and quotes; whether a piece is sound is the parser's business.

use std::collections::VecDeque;

/// Cuts incoming text at the ends of top-level values.
#[derive(Debug)]
pub(crate) struct Splitter {
    buffer: Vec<u8>,
    /// Bytes of `buffer` already looked at.
    scanned: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Line of the origin on which `buffer` begins, counted from 1.
    line: usize,
    pieces: VecDeque<Piece>,
}

/// The text of one message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Piece {
    /// Line of the origin on which the text begins, counted from 1.
    pub(crate) first_line: usize,
    pub(crate) text: Vec<u8>,
}

impl Default for Splitter {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            scanned: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            line: 1,
            pieces: VecDeque::new(),
        }
    }
}

impl Splitter {
    /// Takes the next bytes of the flow.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.scan();
    }

    /// The flow has ended: what is left is a piece too, sound or not.
    pub(crate) fn finish(&mut self) {
        self.cut(self.buffer.len());
        self.depth = 0;
        self.in_string = false;
    }

    /// The next complete message.
    pub(crate) fn next_piece(&mut self) -> Option<Piece> {
        self.pieces.pop_front()
    }

    fn scan(&mut self) {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            let at = self.scanned;
            self.scanned += 1;
            if self.in_string {
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == b'"' {
                    self.in_string = false;
                    self.cut_if_top(at + 1);
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    // A closing bracket too many ends a piece as well, for the parser to complain about.
                    self.depth = self.depth.saturating_sub(1);
                    self.cut_if_top(at + 1);
                }
                // A bare word or number at the top ends where the space begins.
                b' ' | b'\t' | b'\r' | b'\n' => self.cut_if_top(at),
                _ => {}
            }
        }
    }

    fn cut_if_top(&mut self, end: usize) {
        if self.depth == 0 {
            self.cut(end);
        }
    }

    /// Makes a piece of the first `end` bytes, unless they are blank.
    fn cut(&mut self, end: usize) {
        let blank = self.buffer[..end].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let first_line = self.line + newlines(&self.buffer[..blank]);
        if blank < end {
            self.line += newlines(&self.buffer[..end]);
            self.pieces.push_back(Piece { first_line, text: self.buffer[blank..end].to_vec() });
        } else {
            self.line = first_line;
        }
        self.buffer.drain(..end);
        self.scanned = self.scanned.saturating_sub(end);
    }
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.split(|&byte| byte == b'\n').count() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&str]) -> Vec<(usize, String)> {
        let mut splitter = Splitter::default();
        let mut pieces = Vec::new();
        for chunk in chunks {
            splitter.push(chunk.as_bytes());
        }
        splitter.finish();
        while let Some(piece) = splitter.next_piece() {
            pieces.push((piece.first_line, String::from_utf8(piece.text).unwrap()));
        }
        pieces
    }

    #[test]
    fn lines_and_concatenation_and_pretty_text_are_split_alike() {
        let expected = vec![(1, "{\"a\":1}".to_owned()), (1, "{\"b\":2}".to_owned())];
        assert_eq!(split(&["{\"a\":1}{\"b\":2}"]), expected);
        assert_eq!(split(&["{\"a\":1} {\"b\":2}"]), expected);
        assert_eq!(
            split(&["\n{\n \"a\": [1]\n}\n\n{}\n"]),
            [(2, "{\n \"a\": [1]\n}".to_owned()), (6, "{}".to_owned())]
        );
        assert_eq!(split(&["1 \"x\" true\n"]), [(1, "1".into()), (1, "\"x\"".into()), (1, "true".into())]);
        assert_eq!(split(&["  \n "]), []);
    }

    #[test]
    fn brackets_inside_strings_do_not_count() {
        assert_eq!(split(&[r#"{"a":"}\"{"}{}"#]), [(1, r#"{"a":"}\"{"}"#.to_owned()), (1, "{}".to_owned())]);
    }

    #[test]
    fn any_chunking_gives_the_same_pieces() {
        let text = "{\"a\": \"\\\\\"}\n[1, {\"b\": \"]\"}] null {";
        let whole = split(&[text]);
        for cut in 0..=text.len() {
            assert_eq!(split(&[&text[..cut], &text[cut..]]), whole, "{cut}");
        }
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(split(&bytes.iter().map(String::as_str).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn a_message_is_ready_as_soon_as_it_ends() {
        let mut splitter = Splitter::default();
        splitter.push(b"{\"a\": 1}");
        assert!(splitter.next_piece().is_some());
        splitter.push(b"{\"a\"");
        assert!(splitter.next_piece().is_none());
    }
}
