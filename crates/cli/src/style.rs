//! The few colours the command uses, as escape sequences around a value or as nothing.

use std::fmt::{self, Display};

/// Whether escape sequences are written. Copied freely.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// No escape sequence at all.
    pub(crate) const PLAIN: Self = Self { colour: false };

    pub(crate) fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// Headlines and names.
    pub(crate) fn bold<T: Display>(self, value: T) -> Painted<T> {
        self.paint("1", value)
    }

    /// Labels and rules beside the content proper.
    pub(crate) fn dim<T: Display>(self, value: T) -> Painted<T> {
        self.paint("2", value)
    }

    /// What went wrong.
    pub(crate) fn error<T: Display>(self, value: T) -> Painted<T> {
        self.paint("1;31", value)
    }

    /// What is well, and string values.
    pub(crate) fn good<T: Display>(self, value: T) -> Painted<T> {
        self.paint("32", value)
    }

    /// What deserves a look, and numbers.
    pub(crate) fn notice<T: Display>(self, value: T) -> Painted<T> {
        self.paint("33", value)
    }

    /// Field names, keywords, and commands to type.
    pub(crate) fn name<T: Display>(self, value: T) -> Painted<T> {
        self.paint("36", value)
    }

    fn paint<T>(self, code: &'static str, value: T) -> Painted<T> {
        Painted { code: self.colour.then_some(code), value }
    }
}

/// A value between an escape sequence and its reset.
pub(crate) struct Painted<T> {
    code: Option<&'static str>,
    value: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.code else { return self.value.fmt(f) };
        write!(f, "\x1b[{code}m")?;
        self.value.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_writes_no_escape_sequence_and_keeps_padding() {
        assert_eq!(format!("{:<4}|", Style::PLAIN.name("ab")), "ab  |");
        assert_eq!(Style::new(true).good("x").to_string(), "\x1b[32mx\x1b[0m");
    }
}
