//! Running the command and looking at what it did.

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Fails with everything that was printed unless the exit code is `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// Fails unless stderr has all of `parts`.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "stderr lacks {part:?}:\n{}", self.err);
        }
        self
    }

    /// The `error` of a report printed as JSON.
    #[track_caller]
    pub(crate) fn error_json(&self) -> serde_json::Value {
        let value: serde_json::Value =
            serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("{error}: {}", self.err));
        value["error"].clone()
    }
}

/// Longer than any run takes, so that a hang is a failed test and not a hung suite.
const LIMIT: Duration = Duration::from_mins(1);

/// A file among the tests.
pub(crate) fn file(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).to_str().unwrap().to_owned()
}

/// The command, not yet started, without colours and settings of the environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peregrine"));
    command.args(arguments).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs the command to its end.
pub(crate) fn peregrine(arguments: &[&str]) -> Run {
    finish(command(arguments))
}

/// Runs the command with something on its stdin.
pub(crate) fn peregrine_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut command = command(arguments);
    command.stdin(Stdio::piped());
    let mut child = spawn(&mut command);
    let mut stdin = child.stdin.take().unwrap();
    // The command may end without having read everything, which is for the test to judge.
    let _ = stdin.write_all(input);
    drop(stdin);
    wait(child)
}

/// Runs a prepared command to its end.
pub(crate) fn finish(mut command: Command) -> Run {
    wait(spawn(&mut command))
}

pub(crate) fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end and collects what was printed.
pub(crate) fn wait(mut child: Child) -> Run {
    let out = collect(child.stdout.take().unwrap());
    let err = collect(child.stderr.take().unwrap());
    let id = child.id();
    let (sender, ended) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let status = child.wait().unwrap();
        let _ = sender.send(());
        status
    });
    if ended.recv_timeout(LIMIT).is_err() {
        let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        panic!("the command did not end within {LIMIT:?}: {} {}", out.join().unwrap(), err.join().unwrap());
    }
    let status = waiter.join().unwrap();
    Run { code: status.code().unwrap_or(-1), out: out.join().unwrap(), err: err.join().unwrap() }
}

fn collect(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
