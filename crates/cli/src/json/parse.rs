//! JSON text to a tree that remembers where each part stood.
//!
//! Strict RFC 8259: what gRPC servers' own JSON would refuse is refused here, with the place. Numbers are kept as
//! text, since only the field they go to knows their type.

use std::ops::Range;

use super::JsonError;

/// Nesting allowed, the same as protobuf's usual recursion limit.
const MAX_DEPTH: usize = 100;

/// A value and the bytes of the text it came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As written; the grammar of JSON numbers has been checked.
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A member of an object. Names may repeat: the decoder decides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) name_span: Range<usize>,
    pub(crate) node: Node,
}

impl Value {
    /// The kind of value with its article, for "expected .., found ..".
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// Parses the one value that `text` holds.
pub(crate) fn parse(text: &str) -> Result<Node, JsonError> {
    let mut parser = Parser { text, at: 0 };
    parser.skip_space();
    let node = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.unexpected("the end of the text"));
    }
    Ok(node)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonError> {
        if depth > MAX_DEPTH {
            let span = self.at..self.at + 1;
            return Err(JsonError::new(span, format!("nested deeper than {MAX_DEPTH} levels"), "too deep"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z') => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { span: start..self.at, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        let open = self.at;
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(b'}') if members.is_empty() => break,
                Some(b'"') => {}
                None => return Err(self.unclosed(open)),
                _ => return Err(self.unexpected("a field name in double quotes")),
            }
            let name_start = self.at;
            let name = self.string()?;
            let name_span = name_start..self.at;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:` after the field name"));
            }
            self.at += 1;
            self.skip_space();
            let node = self.value(depth + 1)?;
            members.push(Member { name, name_span, node });
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                None => return Err(self.unclosed(open)),
                _ => return Err(self.unexpected("`,` or `}`")),
            }
        }
        self.at += 1;
        Ok(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        let open = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(b']') if items.is_empty() => break,
                None => return Err(self.unclosed(open)),
                _ => {}
            }
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                None => return Err(self.unclosed(open)),
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    fn word(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_')) {
            self.at += 1;
        }
        match &self.text[start..self.at] {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            word => Err(JsonError::new(
                start..self.at,
                format!("`{word}` is no JSON value"),
                "text goes in double quotes",
            )),
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.digits();
        let leading_zero = whole > 1 && self.text.as_bytes()[self.at - whole] == b'0';
        let mut ok = whole > 0 && !leading_zero;
        if self.peek() == Some(b'.') {
            self.at += 1;
            ok &= self.digits() > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            ok &= self.digits() > 0;
        }
        // `12abc` is one mistake, not a number and then another.
        while matches!(self.peek(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_')) {
            self.at += 1;
            ok = false;
        }
        let text = &self.text[start..self.at];
        if !ok {
            return Err(JsonError::new(start..self.at, format!("`{text}` is no JSON number"), ""));
        }
        Ok(Value::Number(text.to_owned()))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let open = self.at;
        self.at += 1;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let run = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            string.push_str(&rest[..run]);
            self.at += run;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => string.push(self.escape()?),
                Some(control) => {
                    return Err(JsonError::new(
                        self.at..self.at + 1,
                        format!("a string cannot hold the control character {:?} as it is", control as char),
                        "write it as an escape, such as \\n",
                    ));
                }
                None => {
                    return Err(JsonError::new(open..open + 1, "the string is not closed", "it starts here"));
                }
            }
        }
        self.at += 1;
        Ok(string)
    }

    /// One escape sequence, with the backslash at the front; a surrogate pair counts as one.
    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        let letter = self.text[start + 1..].chars().next();
        self.at += 1 + letter.map_or(0, char::len_utf8);
        let plain = match letter {
            Some('"') => '"',
            Some('\\') => '\\',
            Some('/') => '/',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode_escape(start),
            _ => {
                let message = format!("`{}` is no escape sequence", &self.text[start..self.at]);
                return Err(JsonError::new(start..self.at, message, "a backslash itself is written \\\\"));
            }
        };
        Ok(plain)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        let mut unit = self.hex_unit(start)?;
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex_unit(start)?;
            if (0xdc00..0xe000).contains(&low) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        char::from_u32(unit).ok_or_else(|| {
            JsonError::new(
                start..self.at,
                "half of a surrogate pair is no character",
                "the other half is missing",
            )
        })
    }

    fn hex_unit(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(JsonError::new(start..self.at, "\\u needs four hexadecimal digits", ""));
        }
        let unit = u32::from_str_radix(&self.text[self.at..self.at + 4], 16).unwrap_or(0);
        self.at += 4;
        Ok(unit)
    }

    fn unexpected(&self, expected: &str) -> JsonError {
        let Some(found) = self.text[self.at..].chars().next() else {
            return JsonError::new(self.at..self.at, format!("{expected} is missing"), "the text ends here");
        };
        let span = self.at..self.at + found.len_utf8();
        let label = match found {
            '\'' => "strings go in double quotes",
            '/' | '#' => "JSON has no comments",
            '}' | ']' if self.text[..self.at].trim_end().ends_with(',') => {
                "the comma before it is one too many"
            }
            _ => "",
        };
        JsonError::new(span, format!("{expected} is expected here, not `{found}`"), label)
    }

    fn unclosed(&self, open: usize) -> JsonError {
        let what = if self.text.as_bytes()[open] == b'{' { "object" } else { "array" };
        JsonError::new(open..open + 1, format!("the {what} is not closed"), "it starts here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (String, Range<usize>) {
        let error = parse(text).unwrap_err();
        (format!("{} {}", error.message, error.label), error.span)
    }

    #[test]
    fn every_part_knows_its_place() {
        let text = r#" {"a": [1, -2.5e3], "b": "x\n\u00e4\ud83d\ude00"} "#;
        let node = parse(text).unwrap();
        assert_eq!(&text[node.span.clone()], text.trim());
        let Value::Object(members) = node.value else { panic!("object") };
        assert_eq!(&text[members[0].name_span.clone()], "\"a\"");
        let Value::Array(items) = &members[0].node.value else { panic!("array") };
        assert_eq!(&text[items[1].span.clone()], "-2.5e3");
        assert_eq!(members[1].node.value, Value::String("x\n\u{e4}\u{1f600}".into()));
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        assert_eq!(error("{\"a\": 1,}").1, 8..9);
        assert!(error("{\"a\": 1,}").0.contains("one too many"));
        assert!(error("{'a': 1}").0.contains("double quotes"));
        assert!(error("{a: 1}").0.contains("field name in double quotes"));
        assert!(error("{\"a\" 1}").0.contains("`:`"));
        assert!(error("{\"a\": 1").0.contains("not closed"));
        assert!(error("{\"a\": 1 // x\n}").0.contains("no comments"));
        assert!(error("\"abc").0.contains("not closed"));
        assert!(error("[01]").0.contains("`01` is no JSON number"));
        assert!(error("12abc").0.contains("`12abc`"));
        assert!(error("[True]").0.contains("a value is expected"));
        assert!(error("[nil]").0.contains("`nil`"));
        assert!(error("\"\\x\"").0.contains("no escape"));
        assert!(error("\"\\ud800\"").0.contains("surrogate"));
        assert!(error("\"\\u12\"").0.contains("four"));
        assert!(error("\"a\nb\"").0.contains("control"));
        assert!(error("").0.contains("missing"));
        assert!(error("{} {}").0.contains("end of the text"));
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert!(error(&deep).0.contains("deeper"));
        assert!(parse(&("[".repeat(100) + &"]".repeat(100))).is_ok());
    }
}
