//! A list of rules: `ID: text` or `ID not yet: text`, with `suite:` and `because:` on indented lines.

use anyhow::bail;

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// `42`, `N5`.
    pub(super) id: String,
    pub(super) text: String,
    /// Cases of public suites that try it.
    pub(super) suite: Option<String>,
    /// Why it is not kept yet.
    pub(super) not_yet: Option<String>,
}

/// Rules under a heading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) rules: Vec<Rule>,
}

pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(heading) = line.strip_prefix("# ") {
            sections.push(Section { heading: heading.to_owned(), rules: Vec::new() });
            continue;
        }
        // What stands before the first heading is about the file.
        let Some(section) = sections.last_mut() else { continue };
        if let Some(more) = line.strip_prefix("    ") {
            let Some(rule) = section.rules.last_mut() else { bail!("line {number} belongs to no rule") };
            match more.split_once(": ") {
                Some(("suite", cases)) => rule.suite = Some(cases.to_owned()),
                Some(("because", reason)) if rule.not_yet.is_some() => rule.not_yet = Some(reason.to_owned()),
                _ => {
                    bail!("line {number}: neither `suite:` nor the `because:` of a rule that is not kept yet")
                }
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let Some((name, text)) = line.split_once(": ") else { bail!("line {number} is no rule") };
        let (id, not_yet) = match name.strip_suffix(" not yet") {
            Some(id) => (id, Some(String::new())),
            None => (name, None),
        };
        if !is_id(id) {
            bail!("line {number}: `{id}` is no id");
        }
        let rule = Rule { id: id.to_owned(), text: text.to_owned(), suite: None, not_yet };
        section.rules.push(rule);
    }
    let rules = || sections.iter().flat_map(|section| &section.rules);
    for rule in rules() {
        if rules().filter(|other| other.id == rule.id).count() > 1 {
            bail!("{} is there twice", rule.id);
        }
        if rule.not_yet.as_deref() == Some("") {
            bail!("{} is not kept yet and says no reason (`because:`)", rule.id);
        }
    }
    Ok(sections)
}

/// A number, or a capital letter and a number.
pub(super) fn is_id(text: &str) -> bool {
    let number = text.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(text);
    (1..=3).contains(&number.len()) && number.bytes().all(|octet| octet.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_under_headings() {
        let text = "About.\n\n# One\n1: a\n    suite: h2spec\nN2 not yet: b\n    because: no\n";
        let rule = |id: &str, text: &str, suite: Option<&str>, not_yet: Option<&str>| Rule {
            id: id.to_owned(),
            text: text.to_owned(),
            suite: suite.map(str::to_owned),
            not_yet: not_yet.map(str::to_owned),
        };
        let rules = vec![rule("1", "a", Some("h2spec"), None), rule("N2", "b", None, Some("no"))];
        assert_eq!(parse(text).unwrap(), [Section { heading: "One".to_owned(), rules }]);
    }

    #[test]
    fn mistakes_in_a_list_are_named() {
        for (text, named) in [
            ("# A\n1: a\n1: b\n", "twice"),
            ("# A\nRule: a\n", "no id"),
            ("# A\n1 not yet: a\n", "no reason"),
            ("# A\n1: a\n    because: b\n", "line 3"),
            ("# A\n    suite: b\n", "line 2"),
            ("# A\nwords\n", "line 2"),
        ] {
            assert!(parse(text).unwrap_err().to_string().contains(named), "{text}");
        }
    }
}
