//! Dependency direction: an edge between our crates goes to a lower layer, never sideways or up.
//!
//! Crates of the same layer therefore never see each other: `http2` knows no gRPC, `client` and `server`
//! stay apart. Development dependencies are free, since nobody who uses a crate gets them.

use std::collections::HashMap;

use super::{Finding, Project};
use crate::workspace::{DependencyKind, Package};

/// Our crates by layer. Whatever is not listed must be a program, a test or a tool (see [`FREE_FOLDERS`]).
const LAYERS: [(&str, u8); 12] = [
    ("peregrine-http2", 0),
    ("peregrine-core", 0),
    ("peregrine-codec", 1),
    ("peregrine-json", 1),
    ("peregrine-build", 2),
    ("peregrine-transport", 2),
    ("peregrine-client", 3),
    ("peregrine-server", 3),
    ("peregrine-services", 4),
    ("peregrine", 5),
    ("peregrine-cli", 6),
    ("peregrine-testkit", 7),
];

/// Folders whose packages nothing depends on, so that they may depend on anything.
const FREE_FOLDERS: [&str; 5] = ["tests", "benches", "examples", "fuzz", "xtask"];

/// The pure crates and everything from outside that they may use. None of these does I/O, and none brings
/// a dependency that does.
const PURE: [(&str, &[&str]); 3] = [
    ("peregrine-http2", &["bytes"]),
    (
        "peregrine-core",
        &["base64", "bytes", "flate2", "futures-core", "pin-project-lite", "snap", "zstd-safe"],
    ),
    ("peregrine-json", &["base64", "peregrine-core"]),
];

#[expect(clippy::unnecessary_wraps, reason = "the shape that all checks share")]
pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let packages = project.workspace.packages();
    Ok(packages.iter().flat_map(|package| edges(package).into_iter().chain(outside(package))).collect())
}

/// Edges from `package` to our own crates that do not go down.
fn edges(package: &Package) -> Vec<Finding> {
    let layers: HashMap<&str, u8> = LAYERS.into_iter().collect();
    let name = &package.name;
    let Some(&own) = layers.get(name.as_str()) else {
        let free = FREE_FOLDERS.iter().any(|folder| package.folder.starts_with(folder));
        let text = format!("{name} in {} has no layer yet", package.folder.display());
        return if free { Vec::new() } else { vec![Finding::failure(text)] };
    };
    let shipped = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Dev);
    shipped
        .filter_map(|dependency| {
            let below = *layers.get(dependency.name.as_str())?;
            (below >= own).then(|| {
                Finding::failure(format!(
                    "{name} (layer {own}) depends on {} (layer {below})",
                    dependency.name
                ))
            })
        })
        .collect()
}

/// Dependencies of a pure crate that are not on its list.
fn outside(package: &Package) -> Vec<Finding> {
    let Some((name, allowed)) = PURE.iter().find(|(pure, _)| *pure == package.name) else {
        return Vec::new();
    };
    let used = package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal);
    used.filter(|dependency| !allowed.contains(&dependency.name.as_str()))
        .map(|dependency| Finding::failure(format!("{name} is pure and may not use {}", dependency.name)))
        .collect()
}

/// Folders of the pure crates, for the scan of their sources.
pub(super) fn is_pure(package: &Package) -> bool {
    PURE.iter().any(|(name, _)| *name == package.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package(name: &str, folder: &str, dependencies: &[(&str, DependencyKind)]) -> Package {
        Package {
            name: name.into(),
            folder: folder.into(),
            dependencies: dependencies
                .iter()
                .map(|&(name, kind)| Dependency { name: name.into(), kind })
                .collect(),
            features: Vec::new(),
        }
    }

    #[test]
    fn sideways_and_upward_edges_are_found() {
        let client = package(
            "peregrine-client",
            "crates/client",
            &[
                ("peregrine-server", DependencyKind::Normal),
                ("peregrine", DependencyKind::Build),
                ("peregrine-core", DependencyKind::Normal),
                ("peregrine-testkit", DependencyKind::Dev),
            ],
        );
        assert_eq!(edges(&client).len(), 2);
    }

    #[test]
    fn a_crate_without_a_layer_is_found_unless_it_is_a_leaf() {
        assert_eq!(edges(&package("peregrine-new", "crates/new", &[])).len(), 1);
        assert!(edges(&package("interop", "tests/interop", &[])).is_empty());
    }

    #[test]
    fn a_pure_crate_uses_listed_crates_only() {
        let http2 = package(
            "peregrine-http2",
            "crates/http2",
            &[
                ("tokio", DependencyKind::Normal),
                ("bytes", DependencyKind::Normal),
                ("h2", DependencyKind::Dev),
            ],
        );
        let found = outside(&http2);
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("tokio"));
    }
}
