//! Leads the paths of generated code through the facade.
//!
//! A user's crate depends on `peregrine` alone, so `::buffa::Message` in it must become `::peregrine::rt::buffa::Message`.
//! Text in strings is not touched, and only the first segment of a global path counts (`super::buffa::X` is a user's
//! package of that name).

/// Appends `line`, in which every global path into one of `crates` starts with `runtime` instead of `::`. The line is of
/// laid-out code: where a path goes on, there is no space in front of `::`.
pub(super) fn through_runtime(line: &str, crates: &[&str], runtime: &str, out: &mut String) {
    let mut copied = 0;
    for (at, separator) in line.match_indices("::") {
        let name = first_word(&line[at + separator.len()..]);
        if starts_path(&line[..at]) && crates.contains(&name) && !in_string(&line[..at]) {
            out.push_str(&line[copied..at]);
            out.push_str(runtime);
            copied = at;
        }
    }
    out.push_str(&line[copied..]);
}

/// Whether a `::` after `before` begins a path rather than going on with one.
fn starts_path(before: &str) -> bool {
    !before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '>' | ')' | ']'))
}

fn first_word(text: &str) -> &str {
    let end = text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    &text[..end.unwrap_or(text.len())]
}

/// Whether a string is open at the end of `before`. None goes over several lines in generated code.
fn in_string(before: &str) -> bool {
    let mut open = false;
    let mut letters = before.as_bytes().iter();
    while let Some(&letter) = letters.next() {
        match letter {
            b'"' => open = !open,
            b'\\' if open => drop(letters.next()),
            // A quote as a character: `'"'`.
            b'\'' if !open && letters.as_slice().starts_with(b"\"'") => drop(letters.next()),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let mut out = String::new();
        through_runtime(line, &["buffa"], "::peregrine::rt", &mut out);
        out
    }

    #[test]
    fn global_paths_are_led_through_the_runtime() {
        for (line, expected) in [
            ("impl<'a> ::buffa::Message for Foo", "impl<'a> ::peregrine::rt::buffa::Message for Foo"),
            ("fn f(x: &'a ::buffa::Bytes)", "fn f(x: &'a ::peregrine::rt::buffa::Bytes)"),
            ("<T as ::buffa::Message>::Out", "<T as ::peregrine::rt::buffa::Message>::Out"),
            ("a(::buffa::b!(::buffa::X))", "a(::peregrine::rt::buffa::b!(::peregrine::rt::buffa::X))"),
            ("use ::buffa;", "use ::peregrine::rt::buffa;"),
            (r#"('"', ::buffa::X)"#, r#"('"', ::peregrine::rt::buffa::X)"#),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }

    #[test]
    fn packages_strings_and_other_crates_are_left_alone() {
        for line in [
            "type A = super::buffa::Message;",
            "type B = self::x::buffa::Y;",
            "type C = <X>::buffa::Y;",
            r#"const D: &str = "a \" ::buffa::Message";"#,
            "type E = ::buffa_types::Any;",
            "type F = ::core::option::Option<u8>;",
        ] {
            assert_eq!(rewritten(line), line);
        }
    }
}
