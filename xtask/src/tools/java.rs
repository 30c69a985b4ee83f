//! grpc-java's interoperability programs, by Maven, and the certificates that are built into them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Install, require, step};
use crate::workspace::Workspace;

/// What the module file in the tree names.
pub(crate) const INTEROP: &str = "io.grpc:grpc-interop-testing:1.79.0";
const MODULE: &str = "tests/interop/peers/pom.xml";
/// Holds the certificates.
const TESTING_JAR: &str = "grpc-testing-1.79.0.jar";
/// The plug-in by its version: Maven would take the newest.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies";

/// The programs, as classes, and the certificates that they use whatever their flags say.
#[derive(Debug)]
pub(crate) struct Interop {
    class_path: OsString,
    pub(crate) certificates: PathBuf,
}

impl Interop {
    /// The words that start `java` with one of the programs, in few threads and little memory.
    pub(crate) fn arguments(&self, class: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-cp"].map(OsString::from).into();
        words.push(self.class_path.clone());
        words.push(format!("io.grpc.testing.integration.{class}").into());
        words
    }
}

pub(crate) fn interop(workspace: &Workspace) -> anyhow::Result<Interop> {
    let install = Install::new(workspace, "grpc-java", INTEROP);
    let jars = install.folder.join("jars");
    let certificates = install.folder.join("certificates");
    install.ensure(|| {
        require("java", "-version", "install Java 17 or newer (for grpc-java's interop programs)")?;
        require("mvn", "--version", "install Maven (for grpc-java's interop programs)")?;
        require("unzip", "-v", "install unzip (for the certificates of grpc-java's interop programs)")?;
        let mut output = OsString::from("-DoutputDirectory=");
        output.push(&jars);
        step(
            Command::new("mvn")
                .args(["--quiet", "--batch-mode", "--file"])
                .arg(workspace.root().join(MODULE))
                .args([Path::new(COPY).as_os_str(), &output]),
        )?;
        // -j: into the folder itself.
        step(
            Command::new("unzip")
                .args(["-q", "-o", "-j"])
                .arg(jars.join(TESTING_JAR))
                .args(["certs/*", "-d"])
                .arg(&certificates),
        )
    })?;
    let mut class_path = jars.into_os_string();
    class_path.push("/*");
    Ok(Interop { class_path, certificates })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_names_what_the_module_file_pins() {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(MODULE);
        let text = std::fs::read_to_string(module).unwrap();
        for word in INTEROP.split(':') {
            assert!(text.contains(&format!(">{word}<")), "{word}");
        }
    }
}
