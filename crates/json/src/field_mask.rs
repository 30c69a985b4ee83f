//! Paths of `google.protobuf.FieldMask`: `snake_case` in messages, `lowerCamelCase` in JSON.

/// A path as JSON has it; `None` if the way back would not give the same.
pub(crate) fn camel_case(path: &str) -> Option<String> {
    let mut out = String::with_capacity(path.len());
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '_' => out.push(letters.next().filter(char::is_ascii_lowercase)?.to_ascii_uppercase()),
            'A'..='Z' => return None,
            letter => out.push(letter),
        }
    }
    (snake_case(&out)? == path).then_some(out)
}

/// A path of JSON as messages have it; `None` if it is no path in JSON's spelling.
pub(crate) fn snake_case(path: &str) -> Option<String> {
    let mut out = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        match letter {
            'A'..='Z' => out.extend(['_', letter.to_ascii_lowercase()]),
            'a'..='z' | '0'..='9' | '.' => out.push(letter),
            _ => return None,
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_both_ways_or_not_at_all() {
        for (snake, camel) in [("foo", "foo"), ("foo_bar.b", "fooBar.b"), ("a_b_c", "aBC"), ("_x", "X")] {
            assert_eq!(camel_case(snake).as_deref(), Some(camel));
            assert_eq!(snake_case(camel).as_deref(), Some(snake));
        }
        for snake in ["fooBar", "foo__bar", "foo_", "foo_3", "foo_Bar", "", "a,b", "a b", "ä"] {
            assert_eq!(camel_case(snake), None, "{snake}");
        }
        for camel in ["foo_bar", "", "a b", "ä"] {
            assert_eq!(snake_case(camel), None, "{camel}");
        }
    }
}
