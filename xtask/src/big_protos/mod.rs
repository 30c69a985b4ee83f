//! `cargo xtask big-protos`: generates from the large trees of protos that people use, with each codec.
//!
//! The trees come from packages ([`tools::protos`](crate::tools::protos)). Envoy's API and the parts of Google's that
//! gRPC knows are compiled as well, in a package that depends on the facade alone. Takes minutes, and gigabytes of memory.

mod trees;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::bail;

pub(crate) use self::trees::{Tree, sample};
use crate::process;
use crate::report::{indent, say, seconds, tail};
use crate::workspace::Workspace;

const CODECS: [&str; 2] = ["buffa", "prost"];

/// The program that generates, an example of the generator's crate.
const GENERATOR: [&str; 6] =
    ["--quiet", "--release", "--package=peregrine-build", "--features=prost", "--example", "generate"];

/// Generates from the trees whose name contains one of the filters, or from all; says whether all went well.
pub(crate) fn run(workspace: &Workspace, filters: &[String]) -> anyhow::Result<bool> {
    let mut trees = trees::checked(workspace)?;
    trees.extend(trees::all_of_google(workspace)?);
    trees.retain(|tree| {
        filters.is_empty() || filters.iter().any(|filter| tree.name.contains(filter.as_str()))
    });
    say("building the generator");
    step(workspace.cargo(&["build"]).args(GENERATOR), LIMIT)?;
    let mut failed = Vec::new();
    for tree in &trees {
        for codec in CODECS {
            if let Err(error) = try_tree(workspace, tree, codec) {
                say(&format!("{} with {codec} failed:\n{}", tree.name, indent(&format!("{error:#}"), 2)));
                failed.push(format!("{} with {codec}", tree.name));
            }
        }
    }
    say(&format!("{} passed, {} failed", trees.len() * CODECS.len() - failed.len(), failed.len()));
    Ok(failed.is_empty())
}

fn try_tree(workspace: &Workspace, tree: &Tree, codec: &str) -> anyhow::Result<()> {
    let folder = workspace.target().join("big-protos");
    let out = folder.join(format!("{}-{codec}", tree.name));
    let (said, elapsed) = generate(&workspace.release_program("examples/generate"), tree, codec, &out)?;
    let figures: Vec<&str> = said.lines().collect();
    say(&format!("{} with {codec} in {}: {}", tree.name, seconds(elapsed), figures.join("; ")));
    if tree.check {
        let (_, elapsed) = check(workspace, &folder.join("check"), &out, codec)?;
        say(&format!("{} with {codec}: compiled in {}", tree.name, seconds(elapsed)));
    } else {
        // A gigabyte of text that nobody looks at when it is right.
        std::fs::remove_dir_all(out)?;
    }
    Ok(())
}

/// Runs the generator at `program` on a tree; returns what it said and how long it took. It fails unless every message,
/// service and rpc of the tree comes out.
fn generate(program: &Path, tree: &Tree, codec: &str, out: &Path) -> anyhow::Result<(String, Duration)> {
    let roots: Vec<&str> = tree.roots.iter().filter_map(|root| root.to_str()).collect();
    step(Command::new(program).arg(codec).arg(out).arg(roots.join(",")).args(&tree.paths), LIMIT)
}

/// A slice of all this for every test run: generates Envoy's services and the parts of Google's APIs that gRPC knows, a
/// thousand messages in seconds. `report` gets the id of each that is wanted and how it went. `trees` are those of
/// [`sample`].
pub(crate) fn run_sample(
    workspace: &Workspace,
    trees: &[Tree],
    wanted: impl Fn(&str) -> bool,
    mut report: impl FnMut(&str, anyhow::Result<Duration>),
) -> anyhow::Result<()> {
    let id = |tree: &Tree, codec: &str| format!("big_protos/{}/{codec}", tree.name);
    let cases = trees.iter().flat_map(|tree| CODECS.map(|codec| (tree, codec)));
    let cases: Vec<_> = cases.filter(|(tree, codec)| wanted(&id(tree, codec))).collect();
    if cases.is_empty() {
        return Ok(());
    }
    let in_debug = GENERATOR.iter().filter(|word| **word != "--release");
    step(workspace.cargo(&["build"]).args(in_debug), LIMIT)?;
    let program = workspace.target().join("debug/examples/generate");
    for (tree, codec) in cases {
        let out = workspace.target().join("big-protos").join(format!("sample-{}-{codec}", tree.name));
        let outcome = generate(&program, tree, codec, &out);
        report(&id(tree, codec), outcome.map(|(_, elapsed)| elapsed));
    }
    Ok(())
}

/// `cargo check` on what was generated, in a package that names no crate but the facade.
fn check(
    workspace: &Workspace,
    package: &Path,
    out: &Path,
    codec: &str,
) -> anyhow::Result<(String, Duration)> {
    let facade = workspace.root().join("crates/peregrine");
    let manifest = format!(
        "[package]\nname = \"big-protos\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[features]\n\
         buffa = [\"peregrine/buffa\"]\nprost = [\"peregrine/prost\"]\n\n[dependencies]\n\
         peregrine = {{ path = \"{}\", default-features = false }}\n",
        facade.display()
    );
    std::fs::create_dir_all(package.join("src"))?;
    std::fs::write(package.join("Cargo.toml"), manifest)?;
    // The versions that the workspace uses.
    std::fs::copy(workspace.root().join("Cargo.lock"), package.join("Cargo.lock"))?;
    let generated: PathBuf = out.join("peregrine.rs");
    std::fs::write(package.join("src/lib.rs"), format!("include!(\"{}\");\n", generated.display()))?;
    let mut command = workspace.cargo(&["check", "--quiet", "--features", codec]);
    // Half a million lines leave gigabytes behind for a next time that never comes.
    command.current_dir(package).env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", workspace.target());
    step(&mut command, LIMIT)
}

/// Runs a command that must succeed; returns what it printed and how long it took.
fn step(command: &mut Command, limit: Duration) -> anyhow::Result<(String, Duration)> {
    let outcome = process::run(command, limit, |_| {})?;
    if !outcome.success() {
        bail!("{} ({})", tail(&outcome.output, 20), outcome.verdict());
    }
    Ok((outcome.output, outcome.elapsed))
}

/// For one tree, on a machine that does other things as well.
const LIMIT: Duration = Duration::from_mins(30);
