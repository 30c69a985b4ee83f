//! The report that h2spec writes (JUnit's XML), and what it means.

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
pub(super) fn parse(xml: &str) -> Vec<Case> {
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
        let cases = parse(REPORT);
        let ids: Vec<&str> = cases.iter().map(|case| &case.id[..]).collect();
        assert_eq!(ids, ["http2/5.1/1", "http2/5.1/2", "http2/5.1/3", "http2/5.2/1"]);
        assert_eq!((&cases[0].title[..], &cases[0].outcome), ("Sends \"a\"", &CaseOutcome::Passed));
        assert_eq!(cases[1].outcome, CaseOutcome::Failed("DATA frame\nHEADERS Frame".into()));
        assert_eq!((&cases[2].outcome, &cases[3].outcome), (&CaseOutcome::Skipped, &CaseOutcome::Passed));
    }

    #[test]
    fn what_fails_or_is_left_out_is_a_fault_unless_it_is_listed() {
        let cases = parse(REPORT);
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
