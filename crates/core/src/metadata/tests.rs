//! The map itself; its form on the wire is tested beside `wire.rs`.

use super::*;

fn entries(map: &MetadataMap) -> Vec<(&str, &[u8])> {
    map.iter().map(|(name, value)| (name, value.as_bytes())).collect()
}

fn sample() -> MetadataMap {
    let mut map = MetadataMap::new();
    map.append("a", "1").unwrap();
    map.append("bb", "22").unwrap();
    map.append("a", "3").unwrap();
    map.append_bin("c-bin", &[0, 9]).unwrap();
    map
}

#[test]
fn entries_keep_the_order_of_insertion() {
    let map = sample();
    assert_eq!(entries(&map), [("a", &b"1"[..]), ("bb", b"22"), ("a", b"3"), ("c-bin", &[0, 9])]);
    assert_eq!(map.len(), 4);
    assert_eq!(map.iter().len(), 4);
    let all: Vec<_> = map.get_all("a").collect();
    assert_eq!(all, [MetadataValue::Ascii("1"), MetadataValue::Ascii("3")]);
}

#[test]
fn getters_are_typed_and_ignore_case() {
    let map = sample();
    assert_eq!(map.get("BB"), Some("22"));
    assert_eq!(map.get("a"), Some("1"));
    assert_eq!(map.get_bin("C-Bin"), Some(&[0, 9][..]));
    assert_eq!(map.get("c-bin"), None);
    assert_eq!(map.get_bin("a"), None);
    assert_eq!(map.get("missing"), None);
    assert!(map.contains_key("A") && !map.contains_key("z"));
}

#[test]
fn insert_replaces_and_append_adds() {
    let mut map = sample();
    map.insert("A", "new").unwrap();
    assert_eq!(entries(&map), [("bb", &b"22"[..]), ("c-bin", &[0, 9]), ("a", b"new")]);
    map.insert_bin("c-bin", b"x").unwrap();
    map.append_bin("c-bin", b"y").unwrap();
    assert_eq!(entries(&map), [("bb", &b"22"[..]), ("a", b"new"), ("c-bin", b"x"), ("c-bin", b"y")]);
}

#[test]
fn remove_leaves_no_gap() {
    let mut map = sample();
    assert_eq!(map.remove("A"), 2);
    assert_eq!(map.remove("a"), 0);
    assert_eq!(entries(&map), [("bb", &b"22"[..]), ("c-bin", &[0, 9])]);
    let mut fresh = MetadataMap::new();
    fresh.append("bb", "22").unwrap();
    fresh.append_bin("c-bin", &[0, 9]).unwrap();
    assert_eq!(map, fresh);
}

// wire-rules 21
#[test]
fn names_are_lowered_and_checked() {
    // [9113-8.2-1]
    let mut map = MetadataMap::new();
    map.insert("X-Request_Id.2", "v").unwrap();
    assert_eq!(entries(&map), [("x-request_id.2", &b"v"[..])]);
    for name in ["", "a b", "a:b", ":path", "ä", "a\n", "a/b", "a\0"] {
        assert_eq!(map.insert(name, "v").unwrap_err().reason(), InvalidMetadataReason::Name, "{name:?}");
        assert_eq!(map.append_bin(name, b"v").unwrap_err().reason(), InvalidMetadataReason::Name, "{name:?}");
    }
    assert_eq!(map.len(), 1);
}

// wire-rules 22
#[test]
fn text_values_are_stripped_and_checked() {
    let mut map = MetadataMap::new();
    map.insert("k", "  a b\t ").unwrap();
    assert_eq!(map.get("k"), Some("a b"));
    for value in ["a\nb", "a\tb", "\0", "\u{7f}", "\u{e9}"] {
        assert_eq!(map.insert("k", value).unwrap_err().reason(), InvalidMetadataReason::Value, "{value:?}");
    }
    assert_eq!(map.get("k"), Some("a b"), "a refused value leaves the old one");
}

#[test]
fn the_suffix_decides_between_text_and_bytes() {
    let mut map = MetadataMap::new();
    assert_eq!(map.insert("k-Bin", "v").unwrap_err().reason(), InvalidMetadataReason::TextForBinary);
    assert_eq!(map.insert_bin("k", b"v").unwrap_err().reason(), InvalidMetadataReason::BinaryForText);
    map.insert_bin("-bin", b"").unwrap();
    assert_eq!(map.get_bin("-bin"), Some(&b""[..]));
}

#[test]
fn errors_name_the_entry_in_one_line() {
    let mut map = MetadataMap::new();
    let error = map.insert("my key\n", "v").unwrap_err();
    assert_eq!(error.to_string(), "metadata \"my key\\n\": a name is one or more of 0-9 a-z _ - .");
    let long = "x ".repeat(10_000);
    assert!(map.insert(&long, "v").unwrap_err().to_string().len() < 250);
}

#[test]
fn equality_ignores_nothing() {
    let map = sample();
    assert_eq!(map, map.clone());
    let mut other = sample();
    other.set_sensitive("bb");
    assert_ne!(map, other, "sensitivity");
    let mut other = MetadataMap::new();
    other.append("bb", "22").unwrap();
    other.append("a", "1").unwrap();
    other.append("a", "3").unwrap();
    other.append_bin("c-bin", &[0, 9]).unwrap();
    assert_ne!(map, other, "order");
    let (mut left, mut right) = (MetadataMap::new(), MetadataMap::new());
    left.append("ab", "c").unwrap();
    right.append("a", "bc").unwrap();
    assert_ne!(left, right, "where the name ends");
}

#[test]
fn debug_shows_values_but_no_secrets() {
    let mut map = sample();
    map.insert("authorization", "Bearer hunter2").unwrap();
    map.insert("x-key", "hunter2").unwrap();
    assert!(map.set_sensitive("X-Key"));
    assert!(!map.set_sensitive("absent"));
    let text = format!("{map:?}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains(r#""bb": "22""#) && text.contains(r#""c-bin": b"\x00\t""#), "{text}");
}

// wire-rules D3: nor does what goes over the entries of a map, or over the fields that are made of them.
#[test]
fn debug_of_iterators_and_fields_shows_no_secrets_either() {
    let mut map = sample();
    map.insert("authorization", "Bearer hunter2").unwrap();
    map.insert("x-key", "hunter2").unwrap();
    map.insert_bin("x-key-bin", b"hunter2").unwrap();
    assert!(map.set_sensitive("x-key") && map.set_sensitive("x-key-bin"));
    let secrets = ["hunter2", "aHVudGVyMg", "[97, 72, 86", "[104, 117, 110"];
    let mut scratch = Vec::new();
    let mut texts = vec![format!("{:?}", map.iter())];
    let mut rest = map.iter();
    while rest.next().is_some() {
        texts.push(format!("{rest:?}"));
    }
    texts.push(format!("{:?}", map.wire_fields(&mut scratch)));
    texts.extend(map.wire_fields(&mut scratch).map(|field| format!("{field:?}")));
    let status = crate::Status::internal("m").with_metadata(map.clone());
    texts.push(format!("{status:?}"));
    texts.push(format!("{:?}", status.wire_fields(&mut scratch)));
    for text in &texts {
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
    }
    assert!(
        texts[0].contains(r#"("bb", "22")"#) && texts[0].contains(r#"("x-key", (sensitive))"#),
        "{texts:?}"
    );
}

// wire-rules D3: an interceptor that puts a fresh token in the place of an old one need not know that it is secret.
#[test]
fn a_new_value_is_as_sensitive_as_the_one_it_replaces() {
    let mut map = sample();
    map.append_bin("k-bin", b"1").unwrap();
    assert!(map.set_sensitive("bb") && map.set_sensitive("k-bin"));
    map.insert("BB", "fresh").unwrap();
    map.insert_bin("k-bin", b"fresh").unwrap();
    map.insert("a", "open").unwrap();
    let mut scratch = Vec::new();
    let flags = |map: &MetadataMap, scratch: &mut Vec<u8>| -> Vec<_> {
        let fields = map.wire_fields(scratch);
        fields.map(|field| (String::from_utf8_lossy(field.name).into_owned(), field.sensitive)).collect()
    };
    let expected = [("c-bin", false), ("bb", true), ("k-bin", true), ("a", false)];
    assert_eq!(flags(&map, &mut scratch), expected.map(|(name, flag)| (name.to_owned(), flag)));
    // Once removed it is forgotten.
    map.remove("bb");
    map.insert("bb", "open").unwrap();
    assert!(!map.spans()[map.len() - 1].sensitive);
}

// wire-rules H1
#[test]
fn a_map_sized_once_does_not_grow() {
    let mut map = MetadataMap::with_capacity(48, 48 * 8);
    let (entries, bytes) = map.capacity();
    for index in 0..48 {
        map.append("key", &format!("{index:05}")).unwrap();
    }
    assert_eq!(map.capacity(), (entries, bytes));
    map.clear();
    assert!(map.is_empty());
    assert_eq!(map.capacity(), (entries, bytes));
}

#[test]
fn extending_keeps_both_maps_entries() {
    let mut map = sample();
    let mut more = MetadataMap::new();
    more.append("z", "26").unwrap();
    more.append_bin("y-bin", b"").unwrap();
    more.set_sensitive("z");
    map.extend_from(&more).unwrap();
    assert_eq!(map.len(), 6);
    assert_eq!(map.get("z"), Some("26"));
    assert_eq!(map.get_bin("y-bin"), Some(&b""[..]));
    assert_eq!(map.get_bin("c-bin"), Some(&[0, 9][..]));
    assert!(map.spans()[4].sensitive && !map.spans()[3].sensitive);
}

// wire-rules H1: a map that many calls have in common is copied by the one that changes it, and only then.
#[test]
fn a_clone_shares_its_entries_until_one_of_the_two_is_changed() {
    let changes: [fn(&mut MetadataMap); 6] = [
        |map| map.append("k", "w").unwrap(),
        |map| map.insert("bb", "w").unwrap(),
        |map| assert!(map.set_sensitive("bb")),
        |map| assert_eq!(map.remove("bb"), 1),
        |map| map.extend_from(&sample()).unwrap(),
        MetadataMap::clear,
    ];
    for change in changes {
        let original = sample();
        let mut clone = original.clone();
        assert_eq!(clone.get("bb").unwrap().as_ptr(), original.get("bb").unwrap().as_ptr());
        change(&mut clone);
        assert_ne!(clone, original);
        assert_eq!(original, sample());
    }
}

#[test]
fn the_last_to_share_a_map_changes_it_in_place() {
    let mut map = sample();
    drop(map.clone());
    let at = map.get("bb").unwrap().as_ptr();
    assert!(map.set_sensitive("bb"));
    assert_eq!(map.get("bb").unwrap().as_ptr(), at);
    map.clear();
    assert!(map.is_empty() && map.capacity() > (0, 0));
}
