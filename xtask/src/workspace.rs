//! Where things are: the workspace's root, its target directory, its packages and its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

/// The workspace as cargo describes it.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Folder of the manifest, relative to the root.
    pub(crate) folder: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: Vec<String>,
}

/// One line of a member's dependency tables.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

impl Workspace {
    /// Asks cargo, from the manifest that built this program, so that any working directory will do.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .output()
            .context("could not start cargo")?;
        if !output.status.success() {
            bail!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Self::from_metadata(&serde_json::from_slice(&output.stdout)?)
    }

    fn from_metadata(metadata: &Value) -> anyhow::Result<Self> {
        let root = PathBuf::from(text(metadata, "workspace_root")?);
        let target = PathBuf::from(text(metadata, "target_directory")?);
        let mut packages = Vec::new();
        for package in metadata["packages"].as_array().context("metadata has no `packages`")? {
            let manifest = Path::new(text(package, "manifest_path")?);
            let folder = manifest.parent().unwrap_or(&root);
            let mut dependencies = Vec::new();
            for dependency in package["dependencies"].as_array().context("package has no `dependencies`")? {
                let kind = match dependency["kind"].as_str() {
                    None => DependencyKind::Normal,
                    Some("build") => DependencyKind::Build,
                    Some(_) => DependencyKind::Dev,
                };
                dependencies.push(Dependency { name: text(dependency, "name")?.to_owned(), kind });
            }
            let features = package["features"].as_object().context("package has no `features`")?;
            packages.push(Package {
                name: text(package, "name")?.to_owned(),
                folder: folder.strip_prefix(&root).unwrap_or(folder).to_owned(),
                dependencies,
                features: features.keys().cloned().collect(),
            });
        }
        Ok(Self { root, target, packages })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target directory; our own logs and tools live in folders of it.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// A program built by `cargo build --release`.
    pub(crate) fn release_program(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    pub(crate) fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// A command of cargo's, run at the root.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.args(args).current_dir(&self.root);
        command
    }

    /// Every file of the project, relative to the root and sorted. Build output, hidden folders other than
    /// our own and the lock files are left out.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        collect(&self.root, &self.root, &mut files)?;
        files.sort();
        Ok(files)
    }

    /// The text of a project file; `None` if it is not UTF-8 (pictures, recorded bytes).
    pub(crate) fn read(&self, file: &Path) -> anyhow::Result<Option<String>> {
        let path = self.root.join(file);
        let bytes = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        Ok(String::from_utf8(bytes).ok())
    }
}

/// The cargo that started us, so that a pinned toolchain stays pinned.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn text<'v>(value: &'v Value, key: &str) -> anyhow::Result<&'v str> {
    value[key].as_str().with_context(|| format!("cargo's metadata has no text `{key}`"))
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let hidden = name.starts_with('.') && !OWN_HIDDEN.contains(&&*name);
        if hidden || LEFT_OUT.contains(&&*name) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // Cargo marks its target directories so; a module folder may well be called `target`.
            if entry.path().join("CACHEDIR.TAG").exists() {
                continue;
            }
            collect(root, &entry.path(), files)?;
        } else if kind.is_file() {
            let path = entry.path();
            files.push(path.strip_prefix(root).unwrap_or(&path).to_owned());
        }
    }
    Ok(())
}

const OWN_HIDDEN: [&str; 3] = [".cargo", ".ci", ".gitignore"];
const LEFT_OUT: [&str; 3] = ["Cargo.lock", "node_modules", "__pycache__"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_gives_members_with_their_edges() {
        let metadata = serde_json::json!({
            "workspace_root": "/p", "target_directory": "/p/target",
            "packages": [{
                "name": "a", "manifest_path": "/p/crates/a/Cargo.toml",
                "dependencies": [{"name": "b", "kind": null}, {"name": "c", "kind": "dev"}],
                "features": {"default": []},
            }],
        });
        let workspace = Workspace::from_metadata(&metadata).unwrap();
        let package = &workspace.packages()[0];
        assert_eq!(package.folder, Path::new("crates/a"));
        assert_eq!(package.dependencies[0].kind, DependencyKind::Normal);
        assert_eq!(package.dependencies[1].kind, DependencyKind::Dev);
    }
}
