//! `cargo xtask interop`: our programs with every other stack's, on either side, in plaintext and over TLS.
//!
//! The cells are printed as two tables, and a whole run keeps them in `docs/interop.md` with its date and the versions.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::Context as _;

use super::{Cell, Column, Peer, Run, Way, run_columns};
use crate::report::say;
use crate::suite::programs::Programs;
use crate::tools::{go, java, node, python};
use crate::workspace::Workspace;

/// Runs the cells whose id contains one of `filters`, or all; says whether all of them passed.
pub(crate) fn run(workspace: &Workspace, filters: &[String]) -> anyhow::Result<bool> {
    let mut run = Run::new(workspace, filters, false)?;
    run.programs = Programs::only("peregrine-interop");
    run.results.begin("interop");
    let mut cells = Vec::new();
    for way in Way::ALL {
        for peer in Peer::FOREIGN {
            cells.extend(column(&mut run, Peer::Peregrine, peer, way));
        }
        for peer in Peer::FOREIGN {
            cells.extend(column(&mut run, peer, Peer::Peregrine, way));
        }
    }
    run.results.end();
    let tables = tables(&cells);
    say(&format!("\n{tables}"));
    run.results.print_summary();
    let passed = run.results.all_passed();
    if passed && filters.is_empty() && !run.results.has_skipped() {
        let path = run.root().join(PAGE);
        std::fs::write(&path, page(&tables, cells.len(), &today()?))
            .with_context(|| format!("could not write {}", path.display()))?;
        say(&format!("wrote {PAGE}"));
    }
    Ok(passed)
}

/// One client and one server; each gets a server of its own, since grpc-java's programs dictate the certificates.
fn column(run: &mut Run<'_>, client: Peer, server: Peer, way: Way) -> Vec<Cell> {
    let column = Column::new(run, client, server, way);
    if column.cases.is_empty() { Vec::new() } else { run_columns(run, server, &[column], way, false) }
}

/// Where a whole run leaves its tables.
const PAGE: &str = "docs/interop.md";

fn page(tables: &str, cells: usize, date: &str) -> String {
    let stacks: Vec<String> = [
        go::INTEROP.iter().map(|package| (*package).to_owned()).collect(),
        vec![java::INTEROP.to_owned()],
        python::PACKAGES.iter().map(|package| (*package).to_owned()).collect(),
        node::PACKAGES.iter().map(|package| (*package).to_owned()).collect(),
    ]
    .concat();
    format!(
        "# Interoperability\n\n\
         The official interoperability cases between Peregrine's programs (`tests/interop`) and those of other stacks,\n\
         written by `cargo xtask interop` on {date}: {cells} cells, all of them passed. The command installs what it\n\
         needs into `target/tools`; Go, Java with Maven, Python and Node.js have to be there. A part of these cells\n\
         is in every test run (`cargo xtask test interop`).\n\n\
         `yes` passed, `tls` passed in plaintext and over TLS, `-` is not offered by the other side. `raw` is this\n\
         project's own on bare frames; grpcio and grpc-js run programs of `tests/interop/peers`. The cases are\n\
         described in gRPC's interop-test-descriptions and http2-interop-test-descriptions. tonic's are in every test\n\
         run.\n\n\
         {tables}\n\
         ## Versions\n\n{}\n",
        stacks.iter().fold(String::new(), |mut list, stack| {
            let _ = writeln!(list, "- `{stack}`");
            list
        })
    )
}

fn tables(cells: &[Cell]) -> String {
    let as_client = table(cells, |cell| (cell.client == Peer::Peregrine).then_some(cell.server));
    let as_server = table(cells, |cell| (cell.server == Peer::Peregrine).then_some(cell.client));
    format!(
        "## Peregrine's client against other servers\n\n{as_client}\n\
         ## Other clients against Peregrine's server\n\n{as_server}"
    )
}

/// A row for each case, a column for each peer that `other` finds.
fn table(cells: &[Cell], other: impl Fn(&Cell) -> Option<Peer>) -> String {
    let mine: Vec<(Peer, &Cell)> = cells.iter().filter_map(|cell| Some((other(cell)?, cell))).collect();
    let (mut peers, mut cases) = (Vec::new(), Vec::new());
    for (peer, cell) in &mine {
        if !peers.contains(peer) {
            peers.push(*peer);
        }
        if !cases.contains(&cell.case) {
            cases.push(cell.case);
        }
    }
    let mut text = String::from("| case |");
    for peer in &peers {
        let _ = write!(text, " {peer} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(peers.len()));
    for case in cases {
        let _ = write!(text, "\n| {case} |");
        for peer in &peers {
            let here = mine.iter().filter(|(other, cell)| other == peer && cell.case == case);
            let _ = write!(text, " {} |", mark(here.map(|(_, cell)| *cell)));
        }
    }
    text.push('\n');
    text
}

/// What a peer's cells of one case amount to.
fn mark<'a>(cells: impl Iterator<Item = &'a Cell>) -> &'static str {
    let (mut plain, mut tls) = (None, None);
    for cell in cells {
        match cell.way {
            Way::Plaintext => plain = Some(cell.passed),
            Way::Tls => tls = Some(cell.passed),
        }
    }
    match (plain, tls) {
        (None, None) => "-",
        (Some(false), _) | (_, Some(false)) => "FAILED",
        (Some(true), None) => "yes",
        (_, Some(true)) => "tls",
    }
}

/// The date as the system writes it.
fn today() -> anyhow::Result<String> {
    let output = Command::new("date").arg("+%Y-%m-%d").output().context("`date` is missing")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn cell(server: Peer, way: Way, case: &'static str, passed: bool) -> Cell {
        Cell { client: Peer::Peregrine, server, way, case, passed }
    }

    #[test]
    fn a_table_has_a_row_a_case_and_a_column_a_peer() {
        let cells = [
            cell(Peer::GrpcGo, Way::Plaintext, "a", true),
            cell(Peer::GrpcGo, Way::Tls, "a", true),
            cell(Peer::GrpcGo, Way::Plaintext, "b", true),
            cell(Peer::Raw, Way::Plaintext, "b", false),
        ];
        let text = table(&cells, |cell| Some(cell.server));
        assert_eq!(text, "| case | grpc-go | raw |\n|---|---|---|\n| a | tls | - |\n| b | yes | FAILED |\n");
    }

    #[test]
    fn the_page_in_the_tree_is_of_the_pinned_versions() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
        let text = std::fs::read_to_string(path).unwrap();
        let pinned =
            go::INTEROP.iter().chain([&java::INTEROP]).chain(&python::PACKAGES).chain(&node::PACKAGES);
        for version in pinned {
            assert!(text.contains(version), "{version} is not in {PAGE}: run `cargo xtask interop`");
        }
    }
}
