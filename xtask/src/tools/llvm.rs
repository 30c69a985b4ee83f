//! LLVM's own tools, of the version that the compiler is built on: others may not know its format.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

/// The two programs that read what an instrumented program writes.
pub(crate) struct LlvmTools {
    pub(crate) cov: PathBuf,
    pub(crate) profdata: PathBuf,
}

impl LlvmTools {
    /// As Debian names them, or as rustup's component brings them.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let about = rustc("-vV")?;
        let after = |key: &str| about.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let major = after("LLVM version: ").split('.').next().unwrap_or_default();
        let libraries = PathBuf::from(rustc("--print=sysroot")?.trim()).join("lib/rustlib");
        let component = libraries.join(after("host: ")).join("bin");
        let find = |name: &str| {
            let places = [PathBuf::from(format!("{name}-{major}")), component.join(name)];
            places.into_iter().find(|program| Command::new(program).arg("--version").output().is_ok())
        };
        match (find("llvm-cov"), find("llvm-profdata")) {
            (Some(cov), Some(profdata)) => Ok(LlvmTools { cov, profdata }),
            _ => bail!(
                "`llvm-cov-{major}` and `llvm-profdata-{major}` are missing: `apt-get install llvm-{major}`, or \
                 `rustup component add llvm-tools`"
            ),
        }
    }
}

fn rustc(argument: &str) -> anyhow::Result<String> {
    let output = Command::new("rustc").arg(argument).output().context("could not start rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
