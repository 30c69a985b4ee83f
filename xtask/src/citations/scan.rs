//! Citations in Rust files: ids in square brackets, in comments.

use std::path::Path;

use super::rules::is_id;

/// A place that cites a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Citation {
    /// `path:line`.
    pub(super) at: String,
    pub(super) in_test: bool,
}

/// Every citation of a file, with the id. Tests stand in files of their own, or in a module at the end of one.
pub(super) fn citations(path: &Path, text: &str, is_test: bool) -> Vec<(String, Citation)> {
    let mut found = Vec::new();
    let mut in_test = is_test;
    let mut last = "";
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        in_test |= last == "#[cfg(test)]" && trimmed.starts_with("mod ") && trimmed.ends_with('{');
        last = trimmed;
        let Some((_, comment)) = line.split_once("//") else { continue };
        for id in bracketed(comment).filter(|id| is_id(id)) {
            let at = format!("{}:{number}", path.display());
            found.push((id.to_owned(), Citation { at, in_test }));
        }
    }
    found
}

/// What stands in square brackets.
fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    text.split('[').skip(1).filter_map(|part| part.split_once(']')).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_cite_and_code_does_not() {
        // Angles for the brackets, or these lines would cite something themselves.
        let text = "let a = b<9113-1-1>;\n// why <9113-1-2>, <see> <9113-1-3>\n#[cfg(test)]\nmod tests {\n    \
                    // <7541-2.1-1>\n}\n";
        let text = text.replace('<', "[").replace('>', "]");
        let found = citations("a.rs".as_ref(), &text, false);
        let found: Vec<_> =
            found.iter().map(|(id, citation)| (&id[..], &citation.at[..], citation.in_test)).collect();
        let expected =
            [("9113-1-2", "a.rs:2", false), ("9113-1-3", "a.rs:2", false), ("7541-2.1-1", "a.rs:5", true)];
        assert_eq!(found, expected);
    }
}
