//! Rust identifiers out of proto names.
//!
//! Used by every part of the generator that emits a name, so that one rule decides how a keyword, a name in another
//! case and a name of underscores only come out (wire-rules G1).

use proc_macro2::{Ident, Span};

/// Words that are no identifiers in some edition of Rust, reserved ones included.
const KEYWORDS: &[&str] = &[
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// Keywords that have no raw form.
pub(crate) const NEVER_RAW: &[&str] = &["Self", "crate", "self", "super"];

/// `name` as an identifier: `r#name` for a keyword, `name_` for the four keywords that have no raw form.
///
/// `name` must consist of ASCII letters, digits and underscores, as every proto identifier does; a leading digit (left
/// by a change of case) gets an underscore in front.
pub(crate) fn ident(name: &str) -> Ident {
    let span = Span::call_site();
    if NEVER_RAW.contains(&name) || name == "_" {
        Ident::new(&format!("{name}_"), span)
    } else if KEYWORDS.contains(&name) {
        Ident::new_raw(name, span)
    } else if name.starts_with(|first: char| first.is_ascii_digit()) {
        Ident::new(&format!("_{name}"), span)
    } else {
        Ident::new(name, span)
    }
}

/// The identifier that source text spells, `r#` included.
pub(crate) fn ident_from_source(text: &str) -> Ident {
    match text.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => ident(text),
    }
}

/// `SayHello`, `sayHello` and `say_hello` as `say_hello`; `HTTPGet` as `http_get`; `V2Thing` as `v2_thing`.
///
/// The result is empty for a name of underscores only.
pub(crate) fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for word in words(name) {
        if !out.is_empty() {
            out.push('_');
        }
        out.extend(word.chars().map(|letter| letter.to_ascii_lowercase()));
    }
    out
}

/// The name of a type after a service: kept as written (`HTTPGateway`), except that it starts with a capital letter
/// and has no underscores (`foo_service` is `FooService`).
pub(crate) fn type_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for part in name.split('_') {
        let mut letters = part.chars();
        if let Some(first) = letters.next() {
            out.push(first.to_ascii_uppercase());
            out.push_str(letters.as_str());
        }
    }
    out
}

/// Splits at underscores, before a capital that follows a small letter, and before the last capital of a run that is
/// followed by a small letter. Digits belong to the word they follow.
fn words(name: &str) -> Vec<&str> {
    #[derive(Clone, Copy, Eq, PartialEq)]
    enum Case {
        Start,
        Lower,
        Upper,
    }

    let mut words = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let bytes = part.as_bytes();
        let (mut begin, mut case) = (0, Case::Start);
        for at in 0..bytes.len() {
            let here = bytes[at];
            let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let starts_word =
                here.is_ascii_uppercase() && (case == Case::Lower || case == Case::Upper && next_is_lower);
            if starts_word && at > begin {
                words.push(&part[begin..at]);
                begin = at;
            }
            if here.is_ascii_uppercase() {
                case = Case::Upper;
            } else if here.is_ascii_lowercase() {
                case = Case::Lower;
            }
        }
        words.push(&part[begin..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rpc_names_become_snake_case() {
        for (name, expected) in [
            ("SayHello", "say_hello"),
            ("sayHello", "say_hello"),
            ("say_hello", "say_hello"),
            ("HTTPGet", "http_get"),
            ("GetHTTP", "get_http"),
            ("V2Thing", "v2_thing"),
            ("get2Things", "get2_things"),
            ("_Foo__Bar_", "foo_bar"),
            ("A", "a"),
            ("ABTest", "ab_test"),
            ("__", ""),
        ] {
            assert_eq!(snake_case(name), expected, "{name}");
        }
    }

    #[test]
    fn service_names_keep_their_spelling() {
        assert_eq!(type_case("HTTPGateway"), "HTTPGateway");
        assert_eq!(type_case("foo_service"), "FooService");
        assert_eq!(type_case("greeter"), "Greeter");
    }

    // wire-rules G1
    #[test]
    fn every_keyword_becomes_an_identifier() {
        for keyword in KEYWORDS {
            let text = ident(keyword).to_string();
            let expected =
                if NEVER_RAW.contains(keyword) { format!("{keyword}_") } else { format!("r#{keyword}") };
            assert_eq!(text, expected);
        }
        assert_eq!(ident("_").to_string(), "__");
        assert_eq!(ident("2d").to_string(), "_2d");
        assert_eq!(ident_from_source("r#type").to_string(), "r#type");
    }
}
