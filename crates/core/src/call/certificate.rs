//! The names in an X.509 certificate, read from its DER form.
//!
//! Only for certificates that the TLS library has verified. Still nothing here trusts the bytes: what is not as
//! expected ends the search, and the names found so far are kept.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names of the subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Names {
    pub(super) common_name: Option<String>,
    pub(super) dns: Vec<String>,
    pub(super) uris: Vec<String>,
    pub(super) emails: Vec<String>,
    pub(super) addresses: Vec<IpAddr>,
}

/// The names in `certificate`.
pub(super) fn names(certificate: &[u8]) -> Names {
    let mut names = Names::default();
    // A malformed certificate has the names up to the fault.
    let _fault = read_names(certificate, &mut names);
    names
}

/// Walks `Certificate` and `TBSCertificate` (RFC 5280 4.1). `None` where the bytes are something else.
fn read_names(certificate: &[u8], names: &mut Names) -> Option<()> {
    let mut signed = Reader(Reader(Reader(certificate).take(SEQUENCE)?).take(SEQUENCE)?);
    signed.skip_if(EXPLICIT_0)?; // version
    signed.take(INTEGER)?; // serial number
    signed.take(SEQUENCE)?; // signature algorithm
    signed.take(SEQUENCE)?; // issuer
    signed.take(SEQUENCE)?; // validity
    names.common_name = common_name(signed.take(SEQUENCE)?);
    signed.take(SEQUENCE)?; // public key
    signed.skip_if(IMPLICIT_1)?; // the unique ids of issuer
    signed.skip_if(IMPLICIT_2)?; // and subject
    let mut extensions = Reader(Reader(signed.take(EXPLICIT_3)?).take(SEQUENCE)?);
    while let Some(extension) = extensions.take(SEQUENCE) {
        let mut extension = Reader(extension);
        if extension.take(OBJECT_ID)? != SUBJECT_ALT_NAME {
            continue;
        }
        extension.skip_if(BOOLEAN)?; // critical
        let mut general = Reader(Reader(extension.take(OCTET_STRING)?).take(SEQUENCE)?);
        while let Some((tag, value)) = general.next() {
            names.add(tag, value);
        }
    }
    Some(())
}

/// The last common name of a subject, which is the most specific.
fn common_name(subject: &[u8]) -> Option<String> {
    let mut found = None;
    let mut sets = Reader(subject);
    while let Some(set) = sets.take(SET) {
        let mut attributes = Reader(set);
        while let Some(attribute) = attributes.take(SEQUENCE) {
            let mut attribute = Reader(attribute);
            if attribute.take(OBJECT_ID)? == COMMON_NAME
                && let Some((UTF8_STRING | PRINTABLE_STRING | IA5_STRING, text)) = attribute.next()
            {
                found = printable(text);
            }
        }
    }
    found
}

impl Names {
    /// Takes a `GeneralName` in (RFC 5280 4.2.1.6), if it is of a kind that is kept.
    fn add(&mut self, tag: u8, value: &[u8]) {
        let list = match tag {
            0x81 => &mut self.emails,
            0x82 => &mut self.dns,
            0x86 => &mut self.uris,
            0x87 => {
                if let Ok(octets) = <[u8; 4]>::try_from(value) {
                    self.addresses.push(Ipv4Addr::from(octets).into());
                } else if let Ok(octets) = <[u8; 16]>::try_from(value) {
                    self.addresses.push(Ipv6Addr::from(octets).into());
                }
                return;
            }
            _ => return,
        };
        list.extend(printable(value).filter(|text| text.is_ascii()));
    }
}

/// Text without control characters. A name with a NUL in it is read differently by different programs, and none is
/// honest.
fn printable(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

/// What is left of a run of DER values.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value and its tag. `None` at the end, or where there is no whole value of at most 16 MiB.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let (octets, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if octets.is_empty() || octets.len() > 3 {
                return None;
            }
            length = octets.iter().fold(0, |length, &octet| length << 8 | usize::from(octet));
            rest = after;
        }
        let (value, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, value))
    }

    /// The next value, which must have this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
    }

    /// Passes over the next value if it has this tag.
    fn skip_if(&mut self, tag: u8) -> Option<()> {
        if self.0.first() == Some(&tag) {
            self.next()?;
        }
        Some(())
    }
}

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const IMPLICIT_1: u8 = 0x81;
const IMPLICIT_2: u8 = 0x82;
const EXPLICIT_0: u8 = 0xa0;
const EXPLICIT_3: u8 = 0xa3;
/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

#[cfg(test)]
mod tests {
    use super::*;

    /// A DER value.
    fn value(tag: u8, content: &[&[u8]]) -> Vec<u8> {
        let content = content.concat();
        let mut bytes = vec![tag];
        match u8::try_from(content.len()) {
            Ok(length @ ..0x80) => bytes.push(length),
            _ => bytes.extend([0x82, (content.len() >> 8) as u8, content.len() as u8]),
        }
        bytes.extend(content);
        bytes
    }

    fn attribute(id: &[u8], kind: u8, text: &[u8]) -> Vec<u8> {
        value(SET, &[&value(SEQUENCE, &[&value(OBJECT_ID, &[id]), &value(kind, &[text])])])
    }

    /// A certificate as far as its names go.
    fn certificate(subject: &[&[u8]], names: &[&[u8]]) -> Vec<u8> {
        let names = value(OCTET_STRING, &[&value(SEQUENCE, names)]);
        let other = value(SEQUENCE, &[&value(OBJECT_ID, &[&[0x55, 0x1d, 0x0f]]), &value(OCTET_STRING, &[])]);
        let critical = value(BOOLEAN, &[&[0xff]]);
        let wanted = value(SEQUENCE, &[&value(OBJECT_ID, &[SUBJECT_ALT_NAME]), &critical, &names]);
        let signed = [
            value(EXPLICIT_0, &[&value(INTEGER, &[&[2]])]),
            value(INTEGER, &[&[1]]),
            value(SEQUENCE, &[]),
            value(SEQUENCE, &[&attribute(COMMON_NAME, UTF8_STRING, b"the issuer")]),
            value(SEQUENCE, &[]),
            value(SEQUENCE, subject),
            value(SEQUENCE, &[&[7; 200]]),
            value(IMPLICIT_1, &[&[0]]),
            value(EXPLICIT_3, &[&value(SEQUENCE, &[&other, &wanted])]),
        ];
        value(SEQUENCE, &[&value(SEQUENCE, &[&signed.concat()]), &value(SEQUENCE, &[])])
    }

    #[test]
    fn every_kind_of_name_is_found() {
        let names = names(&certificate(
            &[
                &attribute(&[0x55, 0x04, 0x0a], UTF8_STRING, b"an organisation"),
                &attribute(COMMON_NAME, PRINTABLE_STRING, b"less specific"),
                &attribute(COMMON_NAME, UTF8_STRING, "Zoë".as_bytes()),
            ],
            &[
                &value(0x82, &[b"a.test"]),
                &value(0x86, &[b"spiffe://a/b"]),
                &value(0x81, &[b"me@a.test"]),
                &value(0x87, &[&[10, 0, 0, 1]]),
                &value(0x87, &[&[0; 16]]),
                &value(0xa0, &[b"another kind"]),
                &value(0x82, &[b"*.b.test"]),
            ],
        ));
        assert_eq!(names.common_name.as_deref(), Some("Zoë"));
        assert_eq!(names.dns, ["a.test", "*.b.test"]);
        assert_eq!(names.uris, ["spiffe://a/b"]);
        assert_eq!(names.emails, ["me@a.test"]);
        assert_eq!(names.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.1", "::"]);
    }

    #[test]
    fn names_that_programs_read_differently_are_left_out() {
        let names = names(&certificate(
            &[&attribute(COMMON_NAME, UTF8_STRING, b"bank.test\0.evil.test")],
            &[
                &value(0x82, &[b"bank.test\0.evil.test"]),
                &value(0x82, &[b""]),
                &value(0x82, &["b\u{e4}nk.test".as_bytes()]),
                &value(0x86, &[b"\xff"]),
                &value(0x87, &[&[10, 0, 1]]),
            ],
        ));
        assert_eq!(names, Names::default());
    }

    #[test]
    fn any_bytes_are_read_to_the_fault_and_no_further() {
        let whole = certificate(
            &[&attribute(COMMON_NAME, UTF8_STRING, b"name")],
            &[&value(0x82, &[b"a.test"]), &value(0x87, &[&[10, 0, 0, 1]])],
        );
        for length in 0..whole.len() {
            assert_eq!(names(&whole[..length]), Names::default(), "cut at {length}");
        }
        for at in 0..whole.len() {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _any = names(&changed);
            }
        }
    }
}
