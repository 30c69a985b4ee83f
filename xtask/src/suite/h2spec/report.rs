//! What h2spec says about each case: its server half in a report (JUnit's XML), its client half on the terminal.

/// One case of the suite.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Section and number as the suite's own output has them: `http2/6.9.1/2`.
    id: String,
    title: String,
    outcome: CaseOutcome,
}

#[derive(Debug, PartialEq, Eq)]
enum CaseOutcome {
    Passed,
    Skipped,
    /// With what was expected and what came instead.
    Failed(String),
}

/// What became of a run.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) passed: usize,
    pub(super) faults: Vec<Fault>,
}

/// Something that must not be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) case: String,
    pub(super) what: String,
}

/// Holds the cases against what they must be: `total` of them, all passed but those in `excepted`, which must not
/// pass either, so that the list stays as short as it can be.
pub(super) fn judge(cases: &[Case], total: usize, excepted: &[&str]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut fault = |case: &str, what: String| verdict.faults.push(Fault { case: case.to_owned(), what });
    for case in cases {
        let listed = excepted.contains(&case.id.as_str());
        match &case.outcome {
            CaseOutcome::Passed if listed => {
                fault(&case.id, format!("passes and is listed as one that cannot: {}", case.title));
            }
            CaseOutcome::Passed => verdict.passed += 1,
            _ if listed => {}
            CaseOutcome::Skipped => fault(&case.id, format!("skipped: {}", case.title)),
            CaseOutcome::Failed(why) => fault(&case.id, format!("{}\n{why}", case.title)),
        }
    }
    if cases.len() != total {
        fault("count", format!("{} cases were run instead of {total}", cases.len()));
    }
    for listed in excepted.iter().filter(|listed| cases.iter().all(|case| case.id != **listed)) {
        fault(listed, "is listed and was not run".to_owned());
    }
    verdict
}

/// The cases of a report, in its order.
pub(super) fn parse_xml(xml: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut number = 0;
    let mut section = String::new();
    for part in xml.split("<testcase ").skip(1) {
        // What follows the last case of a suite belongs to the next one.
        let part = part.split("</testsuite>").next().unwrap_or_default();
        let package = attribute(part, "package");
        if package != section {
            section = package;
            number = 0;
        }
        number += 1;
        let outcome = if part.contains("<skipped>") || part.contains("<skipped/>") {
            CaseOutcome::Skipped
        } else if let Some(text) = element(part, "failure").or_else(|| element(part, "error")) {
            CaseOutcome::Failed(text)
        } else {
            CaseOutcome::Passed
        };
        cases.push(Case { id: format!("{section}/{number}"), title: attribute(part, "classname"), outcome });
    }
    cases
}

/// The cases of the client half's output: a heading for each section, then its cases, with a mark unless skipped.
/// Failures are explained under their case, and listed once more at the end.
pub(super) fn parse_printed(output: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut section = "";
    for line in output.lines().take_while(|line| !line.starts_with("Failures")) {
        // A case's line is written over while it runs.
        let line = line.rsplit('\r').next().unwrap_or_default().trim();
        let (passed, rest) = match line.split_once(' ') {
            Some(("\u{2714}", rest)) => (Some(true), rest),
            Some(("\u{d7}", rest)) => (Some(false), rest),
            _ => (None, line),
        };
        if let Some((number, title)) = rest.split_once(": ").filter(|(number, _)| is_number(number)) {
            let outcome = match passed {
                Some(true) => CaseOutcome::Passed,
                Some(false) => CaseOutcome::Failed(String::new()),
                None => CaseOutcome::Skipped,
            };
            let id = format!("client/{section}/{number}");
            cases.push(Case { id, title: title.to_owned(), outcome });
        } else if let Some((heading, _)) = line.split_once(". ").filter(|(heading, _)| is_section(heading)) {
            section = heading;
        } else if let Some(CaseOutcome::Failed(why)) = cases.last_mut().map(|case| &mut case.outcome) {
            why.extend([line, "\n"]);
        }
    }
    cases
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit())
}

fn is_section(text: &str) -> bool {
    text.split('.').all(is_number)
}

fn attribute(text: &str, name: &str) -> String {
    let value = text.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    value.map(|(value, _)| plain(value)).unwrap_or_default()
}

fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}"))?;
    let (_, rest) = rest.split_once('>')?;
    let (content, _) = rest.split_once(&format!("</{name}>")).unwrap_or((rest, ""));
    Some(plain(content))
}

fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (entity, char) in
        [("&#34;", "\""), ("&#39;", "'"), ("&#xA;", "\n"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
    {
        text = text.replace(entity, char);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="5.1. Streams" package="http2/5.1" id="5.1" tests="3">
    <testcase package="http2/5.1" classname="Sends &#34;a&#34;" time="0.0016"></testcase>
    <testcase package="http2/5.1" classname="b" time="2.0">
      <error>DATA frame
HEADERS Frame</error>
    </testcase>
    <testcase package="http2/5.1" classname="c" time="0.1">
      <skipped></skipped>
    </testcase>
  </testsuite>
  <testsuite name="5.2" package="http2/5.2" id="5.2" tests="1">
    <testcase package="http2/5.2" classname="d" time="0.1"></testcase>
  </testsuite>
</testsuites>"#;

    #[test]
    fn cases_are_numbered_within_their_section() {
        let cases = parse_xml(REPORT);
        let ids: Vec<&str> = cases.iter().map(|case| &case.id[..]).collect();
        assert_eq!(ids, ["http2/5.1/1", "http2/5.1/2", "http2/5.1/3", "http2/5.2/1"]);
        assert_eq!((&cases[0].title[..], &cases[0].outcome), ("Sends \"a\"", &CaseOutcome::Passed));
        assert_eq!(cases[1].outcome, CaseOutcome::Failed("DATA frame\nHEADERS Frame".into()));
        assert_eq!((&cases[2].outcome, &cases[3].outcome), (&CaseOutcome::Skipped, &CaseOutcome::Passed));
    }

    #[test]
    fn the_client_half_is_read_off_its_output() {
        let output = "Generic tests for HTTP/2 client\n  4. HTTP Frames\n    4.1. Frame Format\n\r      \u{2714} 1: Sends: a\n\
                      accept tcp 127.0.0.1:1: use of closed network connection\n\r      \u{d7} 2: b\n        \
                      -> why\n             Expected: PING\n\n  5. Streams\n\r      3: c\nFailures: \n      \u{d7} 2: b\n";
        let cases = parse_printed(output);
        let found: Vec<_> = cases.iter().map(|case| (&case.id[..], &case.title[..], &case.outcome)).collect();
        let failed = CaseOutcome::Failed("-> why\nExpected: PING\n\n".into());
        let expected = [
            ("client/4.1/1", "Sends: a", &CaseOutcome::Passed),
            ("client/4.1/2", "b", &failed),
            ("client/5/3", "c", &CaseOutcome::Skipped),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_fails_or_is_left_out_is_a_fault_unless_it_is_listed() {
        let cases = parse_xml(REPORT);
        let faults = |total, excepted: &[&str]| -> Vec<String> {
            judge(&cases, total, excepted).faults.into_iter().map(|fault| fault.case).collect()
        };
        assert_eq!(faults(4, &[]), ["http2/5.1/2", "http2/5.1/3"]);
        assert_eq!(faults(4, &["http2/5.1/2", "http2/5.1/3"]), Vec::<String>::new());
        assert_eq!(faults(5, &["http2/5.1/2", "http2/5.1/3"]), ["count"]);
        assert_eq!(faults(4, &["http2/5.1/2", "http2/5.1/3", "http2/5.2/1", "x"]), ["http2/5.2/1", "x"]);
        assert_eq!(judge(&cases, 4, &["http2/5.1/2"]).passed, 2);
    }
}
