//! Programs that xtask starts: each in a process group of its own, bounded in time, ended by that group's
//! id and by nothing else.

mod server;

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};

pub(crate) use self::server::{Server, free_port};

/// How a program that was run to its end came out.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None` if it was still running at its limit and was ended by us.
    status: Option<ExitStatus>,
    /// Standard output and standard error in the order they were written.
    pub(crate) output: String,
    pub(crate) elapsed: Duration,
}

impl Outcome {
    pub(crate) fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// `None` if it was ended by a signal.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.status?.code()
    }

    /// One line on how it ended, for a report.
    pub(crate) fn verdict(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => format!("still running after {} s, ended", self.elapsed.as_secs()),
        }
    }
}

/// Runs `command` to its end, at most `limit` long; `on_line` sees each line of its output as it comes.
pub(crate) fn run(
    command: &mut Command,
    limit: Duration,
    mut on_line: impl FnMut(&str),
) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let (reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut group = Group::spawn(command)?;
    // The command keeps its copy of the pipe's writing end; without this the reader never sees the end.
    command.stdout(Stdio::null()).stderr(Stdio::null());

    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });

    let mut output = String::new();
    let mut status = None;
    let mut deadline = start + limit;
    loop {
        match lines.recv_timeout(POLL.min(deadline.saturating_duration_since(Instant::now()))) {
            Ok(line) => {
                on_line(line.trim_end());
                output.push_str(&line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if status.is_none() {
            status = group.child.try_wait()?;
            if status.is_some() {
                // A grandchild may hold the pipe open; what the program itself said is long in it.
                deadline = deadline.min(Instant::now() + AFTER_EXIT);
            }
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    // The pipe can close a moment before the program is gone.
    while status.is_none() && Instant::now() < deadline {
        status = group.child.try_wait()?;
        thread::sleep(POLL);
    }
    group.end();
    Ok(Outcome { status, output, elapsed: start.elapsed() })
}

/// A child and the process group it leads; both end when this is dropped.
#[derive(Debug)]
struct Group {
    child: Child,
    pid: Pid,
}

impl Group {
    fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.process_group(0).spawn().with_context(|| format!("could not start `{program}`"))?;
        let pid = Pid::from_child(&child);
        live_groups().push(pid);
        Ok(Self { child, pid })
    }

    /// Asks the group to end, and after [`PATIENCE`] makes it. Returns how the child ended of its own will.
    fn end(&mut self) -> Option<ExitStatus> {
        let asked = Instant::now();
        // Fails when the group is gone already, which is what is wanted.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let mut status = self.child.try_wait().unwrap_or_default();
        while status.is_none() && asked.elapsed() < PATIENCE {
            thread::sleep(POLL);
            status = self.child.try_wait().unwrap_or_default();
        }
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = self.child.wait();
        live_groups().retain(|&pid| pid != self.pid);
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if live_groups().contains(&self.pid) {
            self.end();
        }
    }
}

/// Groups are cut off from the terminal's own interrupt, so Ctrl-C must be handed on to those still living.
pub(crate) fn end_children_on_interrupt() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        for &pid in live_groups().iter() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        std::process::exit(130);
    })
    .context("could not install the interrupt handler")
}

fn live_groups() -> std::sync::MutexGuard<'static, Vec<Pid>> {
    LIVE_GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

static LIVE_GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// How often a waiting loop looks again.
const POLL: Duration = Duration::from_millis(10);
/// How long a program has to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the output of a program that has exited is still read.
const AFTER_EXIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_both_streams_is_kept_in_order() {
        let mut lines = Vec::new();
        let outcome = run(
            Command::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]),
            Duration::from_secs(20),
            |line| lines.push(line.to_owned()),
        )
        .unwrap();
        assert!(!outcome.success());
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(outcome.output, "one\ntwo\n");
    }

    #[test]
    fn a_program_past_its_limit_is_ended_with_its_children() {
        let outcome =
            run(Command::new("sh").args(["-c", "sleep 100 & sleep 100"]), Duration::from_millis(50), |_| {})
                .unwrap();
        assert!(outcome.verdict().contains("still running"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error =
            run(&mut Command::new("no-such-program-here"), Duration::from_secs(1), |_| {}).unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
    }
}
