//! Part `newcomer`: a new project outside the workspace, made by typing what the README says.
//!
//! The README's shell block is run as written (the project's name and the relative path to our crates
//! included) and each code block that opens with a comment naming a file is saved to that file. Only the
//! port is changed, to one that is free.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::Run;
use crate::process::{self, Server, free_port};
use crate::report::tail;

/// The project that the README makes.
const PROJECT: &str = "greeter";
/// The port that its programs name.
const PORT: &str = "50051";

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let id = "newcomer/readme";
    if !run.wants(id) {
        return Ok(());
    }
    let readme = std::fs::read_to_string(run.root().join("README.md")).context("could not read README.md")?;
    let start = std::time::Instant::now();
    let folder = Folder::new()?;
    let answer = follow(run, &readme, &folder.0)?;
    if answer.trim() == "Hello, Ada!" {
        run.results.pass(id, start.elapsed());
    } else {
        run.results.fail(id, &format!("the client printed {answer:?}"));
    }
    Ok(())
}

/// Makes, builds and runs the project; returns what its client printed.
fn follow(run: &Run<'_>, readme: &str, folder: &Path) -> anyhow::Result<String> {
    // The README's commands expect our clone beside the new project.
    std::os::unix::fs::symlink(run.root(), folder.join("peregrine"))?;
    let blocks = blocks(readme);
    let shell = blocks.iter().find(|block| block.language == "sh" && block.text.contains("cargo new"));
    let shell = shell.context("the README has no shell block with `cargo new`")?;
    succeed(Command::new("sh").args(["-e", "-c", &shell.text]).current_dir(folder))?;

    let project = folder.join(PROJECT);
    let port = free_port()?;
    let mut files = 0;
    for (file, text) in blocks.iter().filter_map(Block::file) {
        let path = project.join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(&project))?;
        std::fs::write(&path, text.replace(PORT, &port.to_string()))?;
        files += 1;
    }
    if files < 4 {
        bail!("the README shows {files} files; proto, build script, server and client are expected");
    }
    // The same versions as ours: what is tested is the README, not the registry of the day.
    std::fs::copy(run.root().join("Cargo.lock"), project.join("Cargo.lock"))?;
    let target = run.workspace.target().join("newcomer");
    succeed(
        Command::new("cargo")
            .args(["build", "--quiet"])
            .current_dir(&project)
            .env("CARGO_TARGET_DIR", &target),
    )?;
    let server = Command::new(target.join("debug").join(PROJECT));
    let _server = Server::start_on(&run.log("newcomer-server"), port, server)?;
    succeed(&mut Command::new(target.join("debug/client")))
}

/// Runs a command that must succeed; returns what it printed.
fn succeed(command: &mut Command) -> anyhow::Result<String> {
    let outcome = process::run(command, LIMIT, |_| {})?;
    if !outcome.success() {
        bail!("{command:?} failed ({}):\n{}", outcome.verdict(), tail(&outcome.output, 40));
    }
    Ok(outcome.output)
}

/// A fenced block of the README.
struct Block {
    language: String,
    text: String,
}

impl Block {
    /// The file that the block's first line names in a comment, and the whole text.
    fn file(&self) -> Option<(&str, &str)> {
        let name = self.text.lines().next()?.strip_prefix("// ")?.split_whitespace().next()?;
        let is_file = [".rs", ".proto"].iter().any(|end| name.ends_with(end));
        is_file.then_some((name, self.text.as_str()))
    }
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in markdown.lines() {
        if let Some(language) = line.strip_prefix("```") {
            match open.take() {
                Some(block) => blocks.push(block),
                None => open = Some(Block { language: language.trim().to_owned(), text: String::new() }),
            }
        } else if let Some(block) = &mut open {
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    blocks
}

/// A folder outside the workspace, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("peregrine-newcomer-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind is a few kilobytes in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A debug build of the whole stack on a small shared machine.
const LIMIT: Duration = Duration::from_mins(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_name_a_file_become_that_file() {
        let markdown =
            "text\n```rust\n// build.rs\nfn main() {}\n```\n```sh\ncargo new x\n```\n```rust\nlet x;\n```\n";
        let blocks = blocks(markdown);
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks[0].file(), Some(("build.rs", "// build.rs\nfn main() {}\n")));
        assert_eq!(blocks[1].language, "sh");
        assert_eq!(blocks[2].file(), None);
    }
}
