//! A server under test or to test against: started on a free loopback port, awaited, ended when dropped.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::{Group, POLL};
use crate::report::tail;

/// A listening program and where to reach it.
#[derive(Debug)]
pub(crate) struct Server {
    group: Group,
    port: u16,
    log: PathBuf,
}

impl Server {
    /// Starts what `command` makes of a free port and waits until the port accepts. What the program prints
    /// goes to `log`.
    pub(crate) fn start(log: &Path, command: impl Fn(u16) -> Command) -> anyhow::Result<Self> {
        // Between finding a port free and the program's bind, anyone may take it: worth a second try.
        let once = || {
            let port = free_port()?;
            Self::start_on(log, port, command(port))
        };
        once().or_else(|_| once())
    }

    /// Starts a program that was told its port already.
    pub(crate) fn start_on(log: &Path, port: u16, mut command: Command) -> anyhow::Result<Self> {
        let file = File::create(log).with_context(|| format!("could not write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let group = Group::spawn(&mut command)?;
        let mut server = Self { group, port, log: log.to_owned() };
        server.await_listening()?;
        Ok(server)
    }

    fn await_listening(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if let Some(status) = self.group.child.try_wait()? {
                bail!(
                    "the server ended before it listened on port {} ({status}): {}",
                    self.port,
                    self.last_words()
                );
            }
            if start.elapsed() > START_LIMIT {
                bail!("the server does not listen on port {}: {}", self.port, self.last_words());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.group.child.id()
    }

    /// Whether it still runs; a server that a client could bring down is a failure of its own.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.group.child.try_wait(), Ok(None))
    }

    /// Asks it to end (SIGTERM) and says how it did; `None` if it had to be killed.
    pub(crate) fn stop(mut self) -> Option<ExitStatus> {
        self.group.end()
    }

    /// The end of what it printed.
    pub(crate) fn last_words(&self) -> String {
        tail(&std::fs::read_to_string(&self.log).unwrap_or_default(), 8)
    }
}

/// A loopback port that nobody listens on at the moment.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

/// A start takes milliseconds; Python on a machine that also compiles takes a second.
const START_LIMIT: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_at_once_shows_its_last_words() {
        let log = std::env::temp_dir().join(format!("xtask-server-{}.log", std::process::id()));
        let error = Server::start(&log, |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo no such flag; exit 1"]);
            command
        })
        .unwrap_err();
        assert!(error.to_string().contains("no such flag"), "{error}");
        std::fs::remove_file(log).unwrap();
    }
}
