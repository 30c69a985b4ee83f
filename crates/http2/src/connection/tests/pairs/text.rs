//! The header lists that a run sends, each named by a small number, so that what arrives can be compared with what
//! was meant. Asked by `layer` on both ends.

use super::super::pair::Random;
use super::super::{REQUEST, RESPONSE, TRAILERS};
use crate::{Field, Head};

/// What a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Request,
    Response,
    Trailers,
}

/// A list by its name. The same name always means the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Sent through the cached block of this number, below [`CACHED`].
    Cached(u8),
    /// Sent field by field; few distinct values in all, so that tables and memo meet them again.
    Own(u16),
    /// Sent field by field, with one short field of this number: in a table of few entries the same octets soon mean
    /// another list.
    Tiny(u8),
}

/// Cached blocks of each use at each end.
pub(super) const CACHED: usize = 3;

/// A field that owns its octets.
#[derive(Debug)]
pub(super) struct OwnedField {
    name: String,
    value: String,
    sensitive: bool,
}

impl OwnedField {
    pub(super) fn as_field(&self) -> Field<'_> {
        Field { name: self.name.as_bytes(), value: self.value.as_bytes(), sensitive: self.sensitive }
    }
}

impl Text {
    pub(super) fn fields(self, used: Use) -> Vec<OwnedField> {
        let base = match used {
            Use::Request => &REQUEST[..],
            Use::Response => &RESPONSE,
            Use::Trailers => &TRAILERS,
        };
        let own = |(name, value): &(&str, &str)| OwnedField {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            sensitive: false,
        };
        let mut list: Vec<_> = base.iter().map(own).collect();
        match self {
            Text::Cached(number) => list
                .extend((0..number).map(|at| field(&format!("x-always-{at}"), format!("{number}"), false))),
            Text::Own(number) => list.extend(metadata(number)),
            Text::Tiny(number) => list.push(field(&format!("x-{number}"), "v".to_owned(), false)),
        }
        list
    }

    /// Size of the list as RFC 9113 6.5.2 counts it.
    pub(super) fn size(self, used: Use) -> usize {
        self.fields(used).iter().map(|field| field.as_field().size()).sum()
    }

    /// Fails unless `head` is exactly this list: a memo or a table that is out of step shows here.
    pub(super) fn check(self, used: Use, head: &Head) {
        let list = self.fields(used);
        let (pseudo, regular): (Vec<_>, Vec<_>) = list.iter().partition(|field| field.name.starts_with(':'));
        for field in pseudo {
            let got = match field.name.as_str() {
                ":method" => head.method(),
                ":scheme" => head.scheme(),
                ":path" => head.path(),
                ":authority" => head.authority(),
                _ => {
                    let same = head.status().map(|status| status.to_string()) == Some(field.value.clone());
                    same.then_some(field.value.as_bytes())
                }
            };
            assert_eq!(got, Some(field.value.as_bytes()), "{} of {self:?} as {used:?}", field.name);
        }
        let expected = regular.iter().map(|field| field.as_field());
        assert!(
            head.fields().eq(expected),
            "{self:?} as {used:?} arrived as {:?}",
            head.fields().collect::<Vec<_>>()
        );
        assert_eq!(head.list_size(), self.size(used), "{self:?} as {used:?}");
    }
}

fn field(name: &str, value: String, sensitive: bool) -> OwnedField {
    OwnedField { name: name.to_owned(), value, sensitive }
}

/// Metadata of a list: names that clients repeat, values that come again and values that never do, some long enough
/// to empty a table or to need CONTINUATION.
fn metadata(number: u16) -> Vec<OwnedField> {
    const NAMES: [&str; 8] = [
        "x-request-id",
        "user-agent",
        "authorization",
        "grpc-timeout",
        "x-tenant",
        "trace-bin",
        "grpc-message",
        "cookie",
    ];
    let mut random = Random::new(u64::from(number));
    let count = random.below(6);
    let each = |_| {
        let name = match random.below(10) {
            at @ 0..8 => NAMES[at].to_owned(),
            _ => format!("x-{}", random.below(200)),
        };
        let len = match random.below(40) {
            0 => 20_000,
            1 => 4_000,
            2..6 => 300,
            _ => random.below(30),
        };
        let letter = (b'a' + random.below(3) as u8) as char;
        let value = if len < 20 && random.one_in(2) {
            random.below(1_000).to_string()
        } else {
            letter.to_string().repeat(len)
        };
        field(&name, value, random.one_in(8))
    };
    (0..count).map(each).collect()
}
