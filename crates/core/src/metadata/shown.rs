//! What `Debug` shows of metadata: all but secrets.

use std::fmt;

use crate::metadata::{Iter, MetadataMap, MetadataValue, WireField, WireFields};

impl fmt::Debug for MetadataMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().shown()).finish()
    }
}

impl<'a> Iter<'a> {
    /// The entries that are still to come, as `Debug` shows them.
    fn shown(&self) -> impl Iterator<Item = (&'a str, Shown<'a>)> + use<'a> {
        let sensitive = self.map.spans()[self.index..].iter().map(|span| span.sensitive);
        self.clone().zip(sensitive).map(|((name, value), sensitive)| {
            (name, if is_secret(name.as_bytes(), sensitive) { Shown::Secret } else { Shown::Value(value) })
        })
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shown()).finish()
    }
}

/// What `Debug` shows of a value.
enum Shown<'a> {
    Value(MetadataValue<'a>),
    Secret,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Secret => f.write_str("(sensitive)"),
        }
    }
}

impl fmt::Debug for MetadataValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(text) => write!(f, "{text:?}"),
            Self::Binary(bytes) => write!(f, "b\"{}\"", bytes.escape_ascii()),
        }
    }
}

impl fmt::Debug for WireField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = is_secret(self.name, self.sensitive);
        let value = if hidden { b"(sensitive)" } else { self.value };
        write!(f, "{}: {}", self.name.escape_ascii(), value.escape_ascii())
    }
}

impl fmt::Debug for WireFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// Whether `Debug` hides the value of an entry (wire-rules D3).
fn is_secret(name: &[u8], sensitive: bool) -> bool {
    sensitive || SECRETS.iter().any(|secret| secret.as_bytes() == name)
}

/// Names whose values `Debug` hides even if nobody marked them.
const SECRETS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];
