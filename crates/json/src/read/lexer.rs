//! JSON text, token by token (RFC 8259), strictly: nothing that the grammar does not have is let through.

use std::borrow::Cow;

use super::Fault;

/// What comes next in a text. Strings and numbers are still to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

impl Next {
    /// In an error.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::True | Self::False => "a bool",
            Self::Null => "null",
        }
    }
}

/// A place in a JSON text.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Bytes before the next token, white space left out.
    pub(super) fn position(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// Looks at the next value without taking it.
    pub(super) fn peek(&mut self) -> Result<Next, Fault> {
        self.skip_space();
        Ok(match self.byte() {
            Some(b'{') => Next::Object,
            Some(b'[') => Next::Array,
            Some(b'"') => Next::String,
            Some(b'-' | b'0'..=b'9') => Next::Number,
            Some(b't') => Next::True,
            Some(b'f') => Next::False,
            Some(b'n') => Next::Null,
            Some(_) => return Err(self.fault("this begins no JSON value")),
            None => return Err(self.fault("the text ends where a value is expected")),
        })
    }

    /// Takes `true`, `false` or `null`.
    pub(super) fn word(&mut self, word: Next) -> Result<(), Fault> {
        let word = match word {
            Next::True => "true",
            Next::False => "false",
            _ => "null",
        };
        let rest = self.text[self.at..].strip_prefix(word);
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        if !rest.is_some_and(ends) {
            return Err(self.fault(format!("this is not {word:?}")));
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes `{` or `[`.
    pub(super) fn open(&mut self) {
        self.at += 1;
    }

    /// Whether there is another element before `close`, which is taken if there is none. `is_first`: no comma is due.
    pub(super) fn more(&mut self, close: u8, is_first: bool) -> Result<bool, Fault> {
        self.skip_space();
        match self.byte() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                self.skip_space();
                if self.byte() == Some(close) {
                    return Err(self.fault("a comma with nothing behind it"));
                }
                Ok(true)
            }
            Some(_) if is_first => Ok(true),
            Some(_) => Err(self.fault(format!("expected a comma or {:?}", char::from(close)))),
            None => Err(self.fault(format!("the text ends before {:?}", char::from(close)))),
        }
    }

    /// Takes a name and the colon behind it.
    pub(super) fn name(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            return Err(self.fault("expected a name in quotes"));
        }
        let name = self.string()?;
        self.skip_space();
        if self.byte() != Some(b':') {
            return Err(self.fault("expected a colon"));
        }
        self.at += 1;
        Ok(name)
    }

    /// Takes a number, as text.
    pub(super) fn number(&mut self) -> Result<&'a str, Fault> {
        let rest = &self.text[self.at..];
        let end = rest.find(|next: char| !matches!(next, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let number = &rest[..end.unwrap_or(rest.len())];
        if !is_number(number) {
            return Err(self.fault("this is no JSON number"));
        }
        self.at += number.len();
        Ok(number)
    }

    /// Takes a string, quotes and escapes removed.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at + 1;
        self.at = start;
        let mut owned: Option<String> = None;
        let mut copied = start;
        loop {
            match self.byte() {
                Some(b'"') => {
                    let tail = &self.text[copied..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        None => Cow::Borrowed(tail),
                        Some(mut owned) => {
                            owned.push_str(tail);
                            Cow::Owned(owned)
                        }
                    });
                }
                Some(b'\\') => {
                    let owned = owned.get_or_insert_default();
                    owned.push_str(&self.text[copied..self.at]);
                    let letter = self.escape()?;
                    owned.push(letter);
                    copied = self.at;
                }
                Some(0..=0x1f) => return Err(self.fault("a control character in a string must be escaped")),
                Some(_) => self.at += 1,
                None => return Err(self.fault("the text ends inside of a string")),
            }
        }
    }

    /// Takes an escape; the place is at its backslash.
    fn escape(&mut self) -> Result<char, Fault> {
        let simple = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.fault("there is no such escape")),
        };
        self.at += 2;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let first = self.code_unit(self.at)?;
        let mut code = u32::from(first);
        let mut len = 6;
        if (0xd800..0xdc00).contains(&first) {
            let second = self.code_unit(self.at + 6).ok().filter(|second| (0xdc00..0xe000).contains(second));
            let Some(second) = second else { return Err(self.fault("half of a surrogate pair")) };
            code = 0x1_0000 + ((code - 0xd800) << 10) + (u32::from(second) - 0xdc00);
            len = 12;
        }
        let letter = char::from_u32(code).ok_or_else(|| self.fault("half of a surrogate pair"))?;
        self.at += len;
        Ok(letter)
    }

    /// The number of the `\uXXXX` at `at`.
    fn code_unit(&self, at: usize) -> Result<u16, Fault> {
        let escape = self.text.as_bytes().get(at..at + 6);
        let digits = escape.and_then(|escape| escape.strip_prefix(b"\\u"));
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let number =
            digits.and_then(|digits| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        number.ok_or_else(|| self.fault("\\u takes four hexadecimal digits"))
    }

    /// Skips a value, however deep it goes: without recursion.
    pub(super) fn skip_value(&mut self) -> Result<(), Fault> {
        // What closes each object and array that is open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            let opened = match self.peek()? {
                Next::Object => Some(b'}'),
                Next::Array => Some(b']'),
                Next::String => {
                    self.string()?;
                    None
                }
                Next::Number => {
                    self.number()?;
                    None
                }
                word => {
                    self.word(word)?;
                    None
                }
            };
            let mut is_first = opened.is_some();
            if let Some(close) = opened {
                self.open();
                open.push(close);
            }
            loop {
                let Some(&close) = open.last() else { return Ok(()) };
                if self.more(close, is_first)? {
                    if close == b'}' {
                        self.name()?;
                    }
                    break;
                }
                open.pop();
                is_first = false;
            }
        }
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.fault("something follows the value")) }
    }

    pub(super) fn fault(&self, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::at(self.at, message)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }
}

/// Whether `text` is a number as JSON's grammar has it.
pub(super) fn is_number(text: &str) -> bool {
    fn digits(rest: &[u8]) -> usize {
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    let bytes = text.as_bytes();
    let mut rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(text: &str) -> Result<(), String> {
        let mut lexer = Lexer::new(text);
        lexer.skip_value().and_then(|()| lexer.end()).map_err(|fault| fault.message.into_owned())
    }

    #[test]
    fn texts_of_the_grammar_are_read_to_their_end() {
        let texts = [
            "null",
            " true ",
            "-0.5e-10",
            "0",
            "1E+2",
            "\"\"",
            r#""\u00e4\ud83d\ude00\n\/""#,
            "[]",
            "{}",
            "[1, [ ], {\"a\" : {\"b\":[null]}, \"c\":\"d\"}]",
            "\t\r\n{\"\":0}\n",
        ];
        for text in texts {
            assert_eq!(skipped(text), Ok(()), "{text}");
        }
        assert_eq!(skipped(&"[".repeat(100_000)), Err("the text ends before ']'".to_owned()));
        assert_eq!(skipped(&("[".repeat(100_000) + &"]".repeat(100_000))), Ok(()));
    }

    #[test]
    fn what_the_grammar_does_not_have_is_refused() {
        let texts = [
            "",
            " ",
            "nul",
            "nulll",
            "True",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "0x1",
            "1e+",
            "NaN",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "{\"a\":}",
            "{",
            "[",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"\\u+123\"",
            "\"\u{1}\"",
            "\"\n\"",
            "1 1",
            "{}{}",
            "'a'",
            "// c\n1",
            "[1}",
            "{\"a\":1]",
            "\u{feff}1",
            "\u{a0}1",
            "{\"a\":1,,\"b\":1}",
            "[\"a\":1]",
        ];
        for text in texts {
            assert!(skipped(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn escapes_become_their_characters() {
        let mut lexer = Lexer::new(r#""a\"\\\/\b\f\n\r\t\u0041\uD83D\uDE00z""#);
        assert_eq!(lexer.string().unwrap(), "a\"\\/\u{8}\u{c}\n\r\tA\u{1f600}z");
        let mut lexer = Lexer::new("\"plain ä\"");
        assert!(matches!(lexer.string().unwrap(), Cow::Borrowed("plain ä")));
    }
}
