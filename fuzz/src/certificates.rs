//! The names in certificates: whatever the octets are, what is found is fit to be shown and compared.

use peregrine_core::PeerIdentity;
use peregrine_testkit::Authority;

use crate::seeds::Seed;

/// Reads `input` as a certificate.
pub fn names(input: &[u8]) {
    let identity = PeerIdentity::from_certificates([input.to_vec()]);
    let lists = [identity.dns_names(), identity.uris(), identity.emails()];
    for name in lists.into_iter().flatten() {
        assert!(!name.is_empty() && name.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{name:?}");
    }
    if let Some(name) = identity.common_name() {
        assert!(!name.is_empty() && !name.contains(char::is_control), "{name:?}");
    }
    assert!(identity.spiffe_id().is_none_or(|id| identity.uris() == [id]));
    let found: usize = lists.into_iter().flatten().map(String::len).sum();
    assert!(found <= input.len(), "more names than octets");
    assert_eq!(identity, PeerIdentity::from_certificates([input.to_vec()]));
}

/// A certificate with a name of every kind.
pub(crate) fn seed() -> Seed {
    let names = ["a.test", "*.b.test", "spiffe://a/b", "https://c.test/d", "e@f.test", "10.0.0.1", "fd00::1"];
    let certificate = Authority::new().issue_client("a client", &names);
    ("a client's certificate".to_owned(), der(&certificate.chain))
}

/// The octets of the first block of a PEM text.
fn der(pem: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in pem.lines().skip(1).take_while(|line| !line.starts_with('-')).flat_map(str::bytes) {
        let Some(value) = ALPHABET.iter().position(|&known| known == letter) else { continue };
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
        }
    }
    octets
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_has_a_name_of_every_kind() {
        let identity = PeerIdentity::from_certificates([seed().1]);
        assert_eq!(identity.common_name(), Some("a client"));
        assert_eq!(identity.dns_names(), ["a.test", "*.b.test"]);
        assert_eq!(identity.uris(), ["spiffe://a/b", "https://c.test/d"]);
        assert_eq!(identity.emails(), ["e@f.test"]);
        assert_eq!(identity.ip_addresses().len(), 2);
        assert_eq!(identity.spiffe_id(), None, "two URIs");
    }
}
