//! `interop-certificates FOLDER`: writes a test authority and a server's certificate by the names that the programs of
//! every stack look for: `ca.pem`, `server1.pem`, `server1.key`.
//!
//! Made anew for each run, so that no private key is in the tree and nothing expires there.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use peregrine_testkit::Authority;

/// What the server of the suite is called (`--server_host_override=foo.test.google.fr`), and where it listens.
const NAMES: [&str; 4] = ["*.test.google.fr", "localhost", "127.0.0.1", "::1"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = &words[..] else { bail!("usage: interop-certificates FOLDER") };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let authority = Authority::new();
    let server = authority.issue(&NAMES);
    for (name, text) in
        [("ca.pem", &authority.pem), ("server1.pem", &server.chain), ("server1.key", &server.key)]
    {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("interop-certificates: {error:#}");
    ExitCode::FAILURE
}
