//! JSON text as it grows.

use std::fmt::{Display, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Writes values one after another; whoever uses it sees to the grammar.
#[derive(Debug, Default)]
pub(super) struct Text {
    out: Vec<u8>,
}

impl Text {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes) }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// The place to come [`back_to`](Self::back_to).
    pub(super) fn mark(&self) -> usize {
        self.out.len()
    }

    /// Takes back what was written since a [`mark`](Self::mark).
    pub(super) fn back_to(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    /// Punctuation, `true`, `null` and the like.
    pub(super) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A comma, unless what comes is the first of its kind.
    pub(super) fn comma_unless(&mut self, is_first: &mut bool) {
        if !std::mem::take(is_first) {
            self.out.push(b',');
        }
    }

    /// A name and its colon.
    pub(super) fn name(&mut self, name: &str) {
        self.string(name);
        self.out.push(b':');
    }

    pub(super) fn number(&mut self, number: impl Display) {
        // Writing to a vector does not fail.
        let _ = write!(Formatter(&mut self.out), "{number}");
    }

    /// As text, for numbers that not every reader of JSON can hold.
    pub(super) fn quoted(&mut self, number: impl Display) {
        let _ = write!(Formatter(&mut self.out), "\"{number}\"");
    }

    /// A number or, where JSON has none, its name.
    pub(super) fn double(&mut self, value: f64) {
        match Unusual::of(value) {
            None => self.float_text(format_args!("{value:?}")),
            Some(name) => self.raw(name.0),
        }
    }

    /// As [`double`](Self::double), with as many digits as tell it from other floats.
    pub(super) fn float(&mut self, value: f32) {
        match Unusual::of(f64::from(value)) {
            None => self.float_text(format_args!("{value:?}")),
            Some(name) => self.raw(name.0),
        }
    }

    /// Digits without a fraction of nothing: `1`, not `1.0`.
    fn float_text(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = Formatter(&mut self.out).write_fmt(text);
        if self.out.ends_with(b".0") {
            self.out.truncate(self.out.len() - 2);
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        let start = self.out.len();
        // Padded: four letters for every three bytes begun.
        self.out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        let written = STANDARD.encode_slice(bytes, &mut self.out[start..]);
        self.out.truncate(start + written.unwrap_or(0));
        self.out.push(b'"');
    }

    pub(super) fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let bytes = text.as_bytes();
        let mut copied = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0x08 => "\\b",
                0x0c => "\\f",
                0..=0x1f | 0x7f => "",
                _ => continue,
            };
            self.out.extend_from_slice(&bytes[copied..at]);
            copied = at + 1;
            if escape.is_empty() {
                let _ = write!(Formatter(&mut self.out), "\\u{byte:04x}");
            } else {
                self.raw(escape);
            }
        }
        self.out.extend_from_slice(&bytes[copied..]);
        self.out.push(b'"');
    }
}

/// The text of a number that JSON has no digits for.
struct Unusual(&'static str);

impl Unusual {
    fn of(value: f64) -> Option<Self> {
        if value.is_finite() {
            None
        } else if value.is_nan() {
            Some(Self("\"NaN\""))
        } else if value > 0.0 {
            Some(Self("\"Infinity\""))
        } else {
            Some(Self("\"-Infinity\""))
        }
    }
}

/// Formatted text into bytes.
struct Formatter<'a>(&'a mut Vec<u8>);

impl Write for Formatter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Text)) -> String {
        let mut text = Text::default();
        write(&mut text);
        String::from_utf8(text.into_bytes()).unwrap()
    }

    #[test]
    fn floats_are_short_and_read_back_the_same() {
        let doubles = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (123_456_789.0, "123456789"),
            (f64::NAN, "\"NaN\""),
            (f64::INFINITY, "\"Infinity\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ];
        for (value, text) in doubles {
            assert_eq!(written(|out| out.double(value)), text);
        }
        assert_eq!(written(|out| out.float(0.1)), "0.1");
        assert_eq!(written(|out| out.float(f32::MAX)), "3.4028235e38");
    }

    #[test]
    fn strings_are_escaped_where_json_asks_for_it() {
        let all: String = (0..=0x7f_u8).map(char::from).chain("äß€😀".chars()).collect();
        let text = written(|out| out.string(&all));
        let back: String = serde_json::from_str(&text).unwrap();
        assert_eq!(back, all);
        assert_eq!(written(|out| out.string("a\"\\\u{1}\n")), r#""a\"\\\u0001\n""#);
    }

    #[test]
    fn bytes_are_padded_base64_of_the_usual_alphabet() {
        let cases: [(&[u8], &str); 4] =
            [(b"", ""), (b"a", "YQ=="), (b"ab", "YWI="), (b"\xff\xfe\xfd", "//79")];
        for (bytes, text) in cases {
            assert_eq!(written(|out| out.bytes(bytes)), format!("\"{text}\""));
        }
    }
}
