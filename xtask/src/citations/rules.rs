//! A list of rules: `ID: text`, or `ID not done: text` with a `because:`; indented lines go on.

use anyhow::bail;

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// `9113-6.9.1-2`: text, section, number.
    pub(super) id: String,
    pub(super) text: String,
    /// Why it is deliberately not kept.
    pub(super) not_done: Option<String>,
}

pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Rule>> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let (Some(more), true) = (line.strip_prefix("    "), open) {
            if let Some(rule) = rules.last_mut() {
                go_on(rule, more.trim());
            }
            continue;
        }
        let Some((name, text)) =
            line.split_once(": ").filter(|_| line.starts_with(|c: char| c.is_ascii_digit()))
        else {
            // A heading, a sentence about the file, or nothing.
            open = false;
            continue;
        };
        let (id, not_done) = match name.strip_suffix(" not done") {
            Some(id) => (id, Some(String::new())),
            None => (name, None),
        };
        if !is_id(id) {
            bail!("line {number}: `{id}` is no id");
        }
        if rules.iter().any(|rule| rule.id == id) {
            bail!("line {number}: {id} is there twice");
        }
        rules.push(Rule { id: id.to_owned(), text: text.trim().to_owned(), not_done });
        open = true;
    }
    if let Some(rule) = rules.iter().find(|rule| rule.not_done.as_ref().is_some_and(String::is_empty)) {
        bail!("{} is not done and says no reason (`because:`)", rule.id);
    }
    Ok(rules)
}

/// A line that belongs to the rule above it.
fn go_on(rule: &mut Rule, more: &str) {
    let Rule { text, not_done, .. } = rule;
    match (not_done, more.strip_prefix("because: ")) {
        (Some(reason), Some(begun)) => begun.clone_into(reason),
        (Some(reason), None) if !reason.is_empty() => reason.extend([" ", more]),
        _ => text.extend([" ", more]),
    }
}

/// Four digits of the text, a section, a number.
pub(super) fn is_id(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(rfc), Some(section), Some(number), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    rfc.len() == 4 && is_number(rfc) && section.split('.').all(is_number) && is_number(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_go_on_over_indented_lines() {
        let text = "A list.\n\n3 Heading\n9113-3.4-1: one\n    and more\n9113-3.4-2 not done: two\n    too\n    \
                    because: it is\n    so\n";
        let rules = parse(text).unwrap();
        let expected = [("9113-3.4-1", "one and more", None), ("9113-3.4-2", "two too", Some("it is so"))];
        let found: Vec<_> =
            rules.iter().map(|rule| (&rule.id[..], &rule.text[..], rule.not_done.as_deref())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn mistakes_in_a_list_are_named() {
        for (text, named) in [
            ("9113-1-1: a\n9113-1-1: b\n", "twice"),
            ("9113-1: a\n", "no id"),
            ("9113-1-1 not done: a\n", "no reason"),
        ] {
            assert!(parse(text).unwrap_err().to_string().contains(named), "{text}");
        }
    }

    #[test]
    fn an_id_is_text_section_and_number() {
        assert!(is_id("9113-6.9.1-12") && is_id("7541-2.1-1"));
        for text in ["9113-6.9.1", "911-1-1", "9113--1", "9113-1.-1", "9113-1-1-1", "a-1-1"] {
            assert!(!is_id(text), "{text}");
        }
    }
}
