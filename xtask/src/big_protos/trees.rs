//! Which trees are generated, and in which pieces.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::tools::protos;
use crate::workspace::Workspace;

/// Protos that are generated in one go.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) name: String,
    /// Where imports are looked up.
    pub(super) roots: Vec<PathBuf>,
    /// Files, and folders of which every file is taken.
    pub(super) paths: Vec<PathBuf>,
    /// Whether the result is compiled as well.
    pub(super) check: bool,
}

/// What is compiled as well as generated: Envoy, and the parts of Google's APIs that gRPC itself knows.
pub(super) fn checked(workspace: &Workspace) -> anyhow::Result<Vec<Tree>> {
    let envoy = protos::envoy(workspace)?;
    let roots = [
        "data-plane-api",
        "xds",
        "googleapis",
        "protoc-gen-validate",
        "cel-spec/proto",
        "opentelemetry-proto",
        "client_model",
        "ratelimit/api",
    ];
    let mut trees = vec![Tree {
        name: "envoy".into(),
        roots: roots.map(|root| envoy.join(root)).to_vec(),
        paths: vec![envoy.join("data-plane-api"), envoy.join("ratelimit/api")],
        check: true,
    }];
    let google = protos::google(workspace)?;
    for part in ["rpc", "api", "pubsub"] {
        let paths = vec![google.join("google").join(part)];
        trees.push(Tree { name: format!("google-{part}"), roots: vec![google.clone()], paths, check: true });
    }
    Ok(trees)
}

/// A part of [`checked`] that takes seconds.
pub(crate) fn sample(workspace: &Workspace) -> anyhow::Result<Vec<Tree>> {
    let mut trees = checked(workspace)?;
    for tree in trees.iter_mut().filter(|tree| tree.name == "envoy") {
        tree.paths =
            tree.paths.iter().map(|path| path.join("envoy/service")).filter(|path| path.is_dir()).collect();
    }
    Ok(trees)
}

/// All of Google's APIs, split so that none takes more memory than a small machine has.
pub(super) fn all_of_google(workspace: &Workspace) -> anyhow::Result<Vec<Tree>> {
    let root = protos::google(workspace)?;
    let mut pieces = Vec::new();
    for folder in entries(&root.join("google"))?.into_iter().filter(|path| path.is_dir()) {
        // Tests of protobuf itself, bad on purpose, and the well-known types, which nobody generates.
        if !folder.ends_with("protobuf") {
            split(&folder, &mut pieces)?;
        }
    }
    split(&root.join("grafeas"), &mut pieces)?;
    Ok(pieces
        .into_iter()
        .map(|paths| {
            let name = paths[0].strip_prefix(&root).unwrap_or(&paths[0]).display().to_string();
            Tree { name: name.replace('/', "-"), roots: vec![root.clone()], paths, check: false }
        })
        .collect())
}

/// `folder` as one piece if it is small, else its folders and the files beside them.
fn split(folder: &Path, pieces: &mut Vec<Vec<PathBuf>>) -> anyhow::Result<()> {
    const LARGEST: usize = 500;

    let entries = entries(folder)?;
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.into_iter().partition(|path| path.is_dir());
    let files: Vec<PathBuf> = files.into_iter().filter(|path| is_proto(path)).collect();
    match count(folder)? {
        0 => {}
        number if number <= LARGEST || folders.is_empty() => pieces.push(vec![folder.to_path_buf()]),
        _ => {
            for folder in folders {
                split(&folder, pieces)?;
            }
            if !files.is_empty() {
                pieces.push(files);
            }
        }
    }
    Ok(())
}

fn count(folder: &Path) -> anyhow::Result<usize> {
    let mut number = 0;
    for path in entries(folder)? {
        number += if path.is_dir() { count(&path)? } else { usize::from(is_proto(&path)) };
    }
    Ok(number)
}

fn is_proto(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "proto")
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = std::fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_folders_are_split_and_no_file_is_lost() {
        let folder = std::env::temp_dir().join(format!("peregrine-split-{}", std::process::id()));
        for part in ["a", "b/c"] {
            std::fs::create_dir_all(folder.join(part)).unwrap();
            for number in 0..300 {
                std::fs::write(folder.join(part).join(format!("{number}.proto")), "").unwrap();
            }
        }
        std::fs::write(folder.join("beside.proto"), "").unwrap();
        std::fs::write(folder.join("README.md"), "").unwrap();
        let mut pieces = Vec::new();
        split(&folder, &mut pieces).unwrap();
        let expected = ["a", "b", "beside.proto"].map(|name| vec![folder.join(name)]);
        assert_eq!(pieces, expected);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
