//! When cargo runs a build script again: after a change to a proto or to what it imports, and not otherwise.

#![allow(clippy::unwrap_used, reason = "a helper of tests is a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MANIFEST: &str = r#"
[package]
name = "rebuild-probe"
version = "0.0.0"
edition = "2024"

[workspace]

[build-dependencies]
peregrine-build = { path = "BUILD", features = ["prost"] }
"#;

/// Leaves a mark each time that it runs.
const BUILD_SCRIPT: &str = r#"
fn main() -> peregrine_build::Result {
    use std::io::Write as _;
    let mut marks = std::fs::OpenOptions::new().create(true).append(true).open("../marks").unwrap();
    marks.write_all(b".").unwrap();
    peregrine_build::compile("proto/a.proto")
}
"#;

/// A package outside of the workspace, built into the workspace's target folder so that nothing is compiled twice.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        project.write("Cargo.toml", &MANIFEST.replace("BUILD", here.to_str().unwrap()));
        project.write("build.rs", BUILD_SCRIPT);
        project.write("src/main.rs", "fn main() {}");
        project.write("src/other.txt", "x");
        project.write("proto/a.proto", "syntax = \"proto3\"; import \"b.proto\"; message A { B b = 1; }");
        project.write("proto/b.proto", "syntax = \"proto3\"; message B {}");
        // The versions that are at hand.
        fs::copy(here.join("../../Cargo.lock"), project.path("Cargo.lock")).unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("package").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Builds, and says how often the build script has run so far.
    fn runs_after_build(&self) -> usize {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["build", "--offline", "--quiet"])
            .current_dir(self.path(""))
            .env("CARGO_TARGET_DIR", target)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(self.folder.path().join("marks")).unwrap().len()
    }
}

// bug-reports 96
#[test]
fn the_script_runs_again_for_a_changed_import_and_for_nothing_else() {
    let project = Project::new();
    assert_eq!(project.runs_after_build(), 1);
    assert_eq!(project.runs_after_build(), 1, "nothing changed");
    project.write("src/other.txt", "y");
    project.write("src/main.rs", "fn main() { }");
    assert_eq!(project.runs_after_build(), 1, "no proto changed");
    project.write("proto/b.proto", "syntax = \"proto3\"; message B { int32 x = 1; }");
    assert_eq!(project.runs_after_build(), 2, "an import changed");
    assert_eq!(project.runs_after_build(), 2, "nothing changed");
}
