//! Citations in Rust files: `wire-rules 42, 45 to 48` and `bug-reports 72` in comments, and tests called `bug_72_..`.

use std::path::Path;

use super::list::is_id;

/// Which list a citation is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Which {
    Wire,
    Reports,
}

/// A place that cites a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Citation {
    pub(super) which: Which,
    pub(super) id: String,
    /// The file, with slashes.
    pub(super) path: String,
    pub(super) line: usize,
    /// The function that the comment stands above or in; in test code it is the test.
    pub(super) function: Option<String>,
    pub(super) in_test: bool,
}

/// Every citation of a file. Tests stand in files of their own, or in a module at the end of one.
pub(super) fn citations(path: &Path, text: &str, is_test: bool) -> Vec<Citation> {
    let lines: Vec<&str> = text.lines().collect();
    let tests_from = if is_test { Some(0) } else { tests_module(&lines) };
    let mut found = Vec::new();
    let mut add = |which, id: &str, at: usize, function: Option<&str>| {
        found.push(Citation {
            which,
            id: id.to_owned(),
            path: path.display().to_string().replace('\\', "/"),
            line: at + 1,
            function: function.map(str::to_owned),
            in_test: tests_from.is_some_and(|from| at >= from),
        });
    };
    let mut at = 0;
    while at < lines.len() {
        let (comment, end) = comment_run(&lines, at);
        if let Some((comment, is_of_file)) = &comment {
            let function = if *is_of_file { None } else { function_at(&lines, end) };
            for (which, word) in [(Which::Wire, "wire-rules "), (Which::Reports, "bug-reports ")] {
                for id in comment.split(word).skip(1).flat_map(ids) {
                    add(which, &id, at, function);
                }
            }
        } else if let Some(name) = function_name(lines[at])
            && let Some(id) = name.strip_prefix("bug_").and_then(|rest| rest.split('_').next())
            && is_id(id)
        {
            add(Which::Reports, id.trim_start_matches('0'), at, Some(name));
        }
        at = end;
    }
    found
}

/// The comment that begins on line `at`, its lines joined, whether it is about the whole file, and the line behind it.
fn comment_run(lines: &[&str], at: usize) -> (Option<(String, bool)>, usize) {
    let own = |line: &str| line.trim_start().starts_with("//");
    if !own(lines[at]) {
        let trailing = lines[at].split_once("// ").map(|(_, comment)| (comment.to_owned(), false));
        return (trailing, at + 1);
    }
    let is_of_file = |line: &str| line.trim_start().starts_with("//!");
    let goes_on = |line: &str| own(line) && is_of_file(line) == is_of_file(lines[at]);
    let end = (at..lines.len()).find(|&line| !goes_on(lines[line])).unwrap_or(lines.len());
    let text: Vec<&str> =
        lines[at..end].iter().map(|line| line.trim().trim_start_matches(['/', '!'])).collect();
    (Some((text.join(" "), is_of_file(lines[at]))), end)
}

/// The function that starts behind a comment, attributes aside, or else the one around it.
fn function_at<'t>(lines: &[&'t str], behind: usize) -> Option<&'t str> {
    let next = lines[behind..].iter().find(|line| {
        let line = line.trim_start();
        !(line.is_empty() || line.starts_with('#') || line.starts_with("//"))
    });
    let before = || lines[..behind].iter().rev().find_map(|line| function_name(line));
    next.and_then(|line| function_name(line)).or_else(before)
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_head = before
        .split_whitespace()
        .all(|word| matches!(word, "async" | "const" | "unsafe" | "extern") || word.starts_with("pub"));
    let name = after.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    (is_head && !name.is_empty()).then_some(name)
}

fn tests_module(lines: &[&str]) -> Option<usize> {
    lines.windows(2).position(|pair| {
        pair[0].trim() == "#[cfg(test)]"
            && pair[1].trim().starts_with("mod ")
            && pair[1].trim().ends_with('{')
    })
}

/// The ids at the beginning of `text`: `42`, `42, N5 and 7`, `45 to 48`.
fn ids(text: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let mut to = false;
    for word in text.split_whitespace() {
        let id = word.trim_end_matches([',', '.', ';', ':', ')', '`', '"']);
        if word == "and" || word == "to" {
            to = word == "to";
            continue;
        }
        if !is_id(id) {
            break;
        }
        match ids.last().and_then(|from| range(from, id)).filter(|_| to) {
            Some(between) => ids.extend(between),
            None => ids.push(id.to_owned()),
        }
        to = false;
        if !word.ends_with(id) && !word.ends_with(',') {
            break;
        }
    }
    ids
}

/// What follows `from` until `to`, which is of the same letter.
fn range(from: &str, to: &str) -> Option<Vec<String>> {
    let digits = from.find(|c: char| c.is_ascii_digit())?;
    let letter = &from[..digits];
    let (first, last): (u32, u32) = (from[digits..].parse().ok()?, to.strip_prefix(letter)?.parse().ok()?);
    Some((first + 1..=last).map(|number| format!("{letter}{number}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Which, String, Option<String>, bool)> {
        let found = citations("a.rs".as_ref(), text, false);
        found.into_iter().map(|c| (c.which, c.id, c.function, c.in_test)).collect()
    }

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(ids("42"), ["42"]);
        assert_eq!(ids("42, N5) and more"), ["42", "N5"]);
        assert_eq!(ids("45 to 48 and the table"), ["45", "46", "47", "48"]);
        assert_eq!(ids("N1 to N3, 7: what"), ["N1", "N2", "N3", "7"]);
        assert_eq!(ids("64. A sentence 7"), ["64"]);
        assert!(ids("as settled").is_empty());
    }

    #[test]
    fn a_comment_belongs_to_the_function_below_or_around_it() {
        // The words are put together, or these lines would cite something themselves.
        let text = "//! The file: RULES 1.\n/// Why (RULES 2,\n/// 3).\n#[inline]\npub fn one() {\n    // RULES 4\n    \
                    two(); // RULES 5\n}\n#[cfg(test)]\nmod tests {\n    // RULES N6\n    #[test]\n    fn three() \
                    {}\n}\n";
        let wire = |id: &str, function: Option<&str>, in_test| {
            (Which::Wire, id.to_owned(), function.map(str::to_owned), in_test)
        };
        let expected = [
            wire("1", None, false),
            wire("2", Some("one"), false),
            wire("3", Some("one"), false),
            wire("4", Some("one"), false),
            wire("5", Some("one"), false),
            wire("N6", Some("three"), true),
        ];
        assert_eq!(found(&text.replace("RULES", &format!("wire-{}", "rules"))), expected);
    }

    #[test]
    fn a_test_named_after_a_report_cites_it() {
        let text = format!("async fn {}_07_credit() {{}}\nfn bug_free() {{}}\n", "bug");
        let expected = [(Which::Reports, "7".to_owned(), Some("bug_07_credit".to_owned()), false)];
        assert_eq!(found(&text), expected);
    }
}
