//! A header field as it passes through the engine.

use std::fmt;

/// A name and a value, borrowed. Names are lower case; neither need be UTF-8.
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Field<'a> {
    /// The name; begins with `:` if it is a pseudo-header field.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
    /// Must never enter a compression table, neither ours nor that of an intermediary (RFC 7541, 7.1.3).
    pub sensitive: bool,
}

impl<'a> Field<'a> {
    /// A plain field.
    #[inline]
    pub const fn new(name: &'a [u8], value: &'a [u8]) -> Self {
        Self { name, value, sensitive: false }
    }

    /// A field whose value is a secret.
    #[inline]
    pub const fn sensitive(name: &'a [u8], value: &'a [u8]) -> Self {
        Self { name, value, sensitive: true }
    }

    /// What the field counts for in a header list and in a dynamic table: both lengths and 32
    /// (RFC 9113, 6.5.2; RFC 7541, 4.1).
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of strings in memory")]
    pub const fn size(&self) -> usize {
        self.name.len() + self.value.len() + 32
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.sensitive { b"<sensitive>" } else { self.value };
        write!(f, "{}: {}", self.name.escape_ascii(), value.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, 4.1.
    #[test]
    fn a_field_counts_its_lengths_and_32() {
        assert_eq!(Field::new(b"", b"").size(), 32);
        assert_eq!(Field::new(b"abc", b"").size(), 35);
        assert_eq!(Field::new(b"abc", b"defgh").size(), 40);
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Field::new(b"name", b"a\n")), "name: a\\n");
        assert_eq!(
            format!("{:?}", Field::sensitive(b"authorization", b"secret")),
            "authorization: <sensitive>"
        );
    }
}
