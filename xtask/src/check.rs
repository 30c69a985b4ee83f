//! `cargo xtask check`: what a change must pass before anyone reads it.
//!
//! Each check lives in a module of its own and returns findings. A check that finds something prints where,
//! what, and what to do about it; the others go on, so that one run shows everything there is to mend.

mod architecture;
mod cargo;
mod citations;
mod deny;
mod features;
mod layers;
mod links;
mod panics;
mod purity;
mod rules;
mod sizes;
mod stubs;
mod unsafety;

use std::cell::OnceCell;
use std::time::Instant;

use anyhow::bail;

use crate::report::{indent, say, seconds};
use crate::source::{self, Source};
use crate::workspace::Workspace;

/// One thing found, and whether it fails the check or only asks for thought.
#[derive(Debug)]
pub(crate) struct Finding {
    text: String,
    fails: bool,
}

impl Finding {
    fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), fails: true }
    }

    fn warning(text: impl Into<String>) -> Self {
        Self { text: text.into(), fails: false }
    }
}

struct Check {
    name: &'static str,
    what: &'static str,
    remedy: &'static str,
    run: fn(&Project<'_>) -> anyhow::Result<Vec<Finding>>,
}

/// Quick ones first, so that the common slips show within a second.
const CHECKS: [Check; 15] = [
    Check {
        name: "format",
        what: "rustfmt leaves every file as it is",
        remedy: "run `cargo fmt --all` (and `cargo fmt --all --manifest-path peers/Cargo.toml`)",
        run: cargo::format,
    },
    Check {
        name: "layers",
        what: "crates depend downwards only, and the pure ones on nothing that does I/O",
        remedy: "move the code to the layer that may know both, or change the table in \
                 xtask/src/check/layers.rs together with ARCHITECTURE.md",
        run: layers::check,
    },
    Check {
        name: "purity",
        what: "the pure crates read no clock, socket, file, environment or randomness",
        remedy: "take the value as an argument (`now: Instant`, `hash_seed: u64`) and let the caller read it",
        run: purity::check,
    },
    Check {
        name: "sizes",
        what: "a file has one concept and a function fits on a screen or two",
        remedy: "divide by concept: a file stops at 1,200 lines, a function at 120",
        run: sizes::check,
    },
    Check {
        name: "unsafe",
        what: "unsafe code stands in the listed files only, each block with its reason",
        remedy: "write it without unsafe; if measurement says otherwise, list the file in \
                 xtask/src/check/unsafety.rs and put a `SAFETY:` comment above each block",
        run: unsafety::check,
    },
    Check {
        name: "panics",
        what: "nothing a peer sends can panic: clippy's lints are on, exceptions are proven one by one",
        remedy: "use `get`, `checked_*`, `saturating_*`, or put `#[expect(clippy::.., reason = \"the proof\")]` \
                 on the item",
        run: panics::check,
    },
    Check {
        name: "stubs",
        what: "nothing is left for later: no todo macro, no ignored test, no marker comment",
        remedy: "finish it, or open an issue and take the marker out",
        run: stubs::check,
    },
    Check {
        name: "links",
        what: "texts and code name no private folder, and only hosts that every reader can reach",
        remedy: "name the thing relative to the project, or add a public host to xtask/src/check/links.rs",
        run: links::check,
    },
    Check {
        name: "architecture",
        what: "every file that the texts and the comments name is there",
        remedy: "correct the text: a map that lies is worse than none",
        run: architecture::check,
    },
    Check {
        name: "citations",
        what: "each rule of HTTP/2 is cited beside code and beside a test, or listed as not done",
        remedy: "cite the rule's id in brackets where it is kept and where that is tested, or say in \
                 crates/http2/rules why it is not",
        run: citations::check,
    },
    Check {
        name: "rules",
        what: "each rule of gRPC is cited beside code and beside a test, and docs/conformance.md shows it",
        remedy: "cite the rule where it is kept and tested, then run `cargo xtask rules`, which writes the page",
        run: rules::check,
    },
    Check {
        name: "clippy",
        what: "clippy is silent on all targets",
        remedy: "follow the hint, or write `#[expect(.., reason = \"..\")]` where the hint is wrong",
        run: cargo::clippy,
    },
    Check {
        name: "features",
        what: "every package builds with none of its features and with each alone",
        remedy: "put what needs the feature behind it, whole modules rather than lines",
        run: features::check,
    },
    Check {
        name: "doc",
        what: "rustdoc builds, private items too, without a warning",
        remedy: "mend the link or the markup that rustdoc names",
        run: cargo::doc,
    },
    Check {
        name: "deny",
        what: "dependencies have allowed licences and sources, and none is banned",
        remedy: "choose another dependency, or change deny.toml with a reason beside the line",
        run: deny::check,
    },
];

/// What the checks look at; sources are parsed when the first of them asks.
pub(crate) struct Project<'w> {
    workspace: &'w Workspace,
    sources: OnceCell<Vec<Source>>,
}

impl Project<'_> {
    fn sources(&self) -> anyhow::Result<&[Source]> {
        if let Some(sources) = self.sources.get() {
            return Ok(sources);
        }
        let sources = source::sources(self.workspace)?;
        Ok(self.sources.get_or_init(|| sources))
    }
}

/// Runs the named checks, or all; says whether all of them passed.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> anyhow::Result<bool> {
    if names.iter().any(|name| name == "list") {
        for check in &CHECKS {
            say(&format!("{:13} {}", check.name, check.what));
        }
        return Ok(true);
    }
    if let Some(unknown) = names.iter().find(|&name| CHECKS.iter().all(|check| check.name != name)) {
        bail!("no check is called `{unknown}`; `cargo xtask check list` names them");
    }
    let project = Project { workspace, sources: OnceCell::new() };
    let mut failed = Vec::new();
    for check in CHECKS.iter().filter(|check| names.is_empty() || names.iter().any(|name| name == check.name))
    {
        if !run_one(check, &project) {
            failed.push(check.name);
        }
    }
    if failed.is_empty() {
        say("all checks passed");
    } else {
        say(&format!("failed: {}; again with `cargo xtask check {}`", failed.join(", "), failed.join(" ")));
    }
    Ok(failed.is_empty())
}

fn run_one(check: &Check, project: &Project<'_>) -> bool {
    let start = Instant::now();
    // A check that could not run is a finding like any other: the rest still shows what it knows.
    let findings = (check.run)(project).unwrap_or_else(|error| vec![Finding::failure(format!("{error:#}"))]);
    let fails = findings.iter().any(|finding| finding.fails);
    let verdict = if fails { "FAILED" } else { "ok" };
    say(&format!("{:13} {verdict:6} {:>8}   {}", check.name, seconds(start.elapsed()), check.what));
    for finding in &findings {
        let kind = if finding.fails { "" } else { "note: " };
        say(&indent(&format!("{kind}{}", finding.text), 4));
    }
    if fails {
        say(&indent(&format!("what to do: {}", check.remedy), 4));
    }
    !fails
}
