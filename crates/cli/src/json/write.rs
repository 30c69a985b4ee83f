//! JSON text, on one line or laid out, in colour or not.
//!
//! A writer of tokens: the encoder and the template walk their own structures and need no tree in between.

use std::fmt::Write;

use crate::style::Style;

/// How JSON is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// One member a line, indented; else one line in all.
    pub(crate) pretty: bool,
    pub(crate) style: Style,
}

/// Text under construction.
pub(super) struct Writer {
    text: String,
    layout: Layout,
    /// For each open bracket: whether something stands in it already.
    open: Vec<bool>,
}

impl Writer {
    pub(super) fn new(layout: Layout) -> Self {
        Self { text: String::new(), layout, open: Vec::new() }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// `{` or `[`.
    pub(super) fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.open.push(false);
    }

    /// `}` or `]`.
    pub(super) fn close(&mut self, bracket: char) {
        if self.open.pop() == Some(true) {
            self.line();
        }
        self.text.push(bracket);
    }

    /// What stands before each item of an array and each key.
    pub(super) fn item(&mut self) {
        if let Some(filled) = self.open.last_mut() {
            if std::mem::replace(filled, true) {
                self.text.push(',');
            }
            self.line();
        }
    }

    /// The name of a member, with its colon.
    pub(super) fn key(&mut self, name: &str) {
        self.item();
        let name = quoted(name);
        let _ = write!(self.text, "{}:", self.layout.style.name(name));
        if self.layout.pretty {
            self.text.push(' ');
        }
    }

    pub(super) fn string(&mut self, value: &str) {
        let value = quoted(value);
        let _ = write!(self.text, "{}", self.layout.style.good(value));
    }

    /// A number, `true`, `false` or `null`, already in JSON's own spelling.
    pub(super) fn bare(&mut self, value: &str) {
        let _ = write!(self.text, "{}", self.layout.style.notice(value));
    }

    /// A number as serde_json writes it; a whole float loses its `.0`, as in other ProtoJSON writers.
    pub(super) fn number(&mut self, value: &str) {
        self.bare(value.strip_suffix(".0").unwrap_or(value));
    }

    /// A finished tree.
    pub(super) fn tree(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::String(text) => self.string(text),
            serde_json::Value::Array(items) => {
                self.open('[');
                for item in items {
                    self.item();
                    self.tree(item);
                }
                self.close(']');
            }
            serde_json::Value::Object(members) => {
                self.open('{');
                for (name, member) in members {
                    self.key(name);
                    self.tree(member);
                }
                self.close('}');
            }
            serde_json::Value::Number(number) => self.number(&number.to_string()),
            other => self.bare(&other.to_string()),
        }
    }

    fn line(&mut self) {
        if self.layout.pretty {
            self.text.push('\n');
            for _ in 0..self.open.len() {
                self.text.push_str("  ");
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(value: &serde_json::Value, layout: Layout) -> String {
        let mut writer = Writer::new(layout);
        writer.tree(value);
        writer.finish()
    }

    #[test]
    fn layouts_differ_only_in_space() {
        let value = serde_json::json!({"a": [1.0, {"b": null}], "c": {}, "d": [], "e": "x\"y"});
        let layout = |pretty| Layout { pretty, style: Style::PLAIN };
        assert_eq!(tree(&value, layout(false)), r#"{"a":[1,{"b":null}],"c":{},"d":[],"e":"x\"y"}"#);
        let pretty = tree(&value, layout(true));
        assert_eq!(
            pretty,
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n  \"d\": [],\n  \"e\": \"x\\\"y\"\n}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&pretty).unwrap()["e"], value["e"]);
    }
}
