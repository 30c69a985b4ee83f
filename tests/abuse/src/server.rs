//! The attacked server in a process of its own, and how the attacker asks it for its figures: a word on its standard
//! input, a line on its standard output.

use std::io::{BufRead as _, BufReader, Write as _, stdin, stdout};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use peregrine_abuse::attacks;
use peregrine_server::Server;
use peregrine_testkit::{Journal, TestService};

/// What the server needs and needed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Bytes of heap that are in use.
    pub(crate) live: usize,
    /// The most since the figures were asked for last.
    pub(crate) peak: usize,
    /// Bytes of memory as the system counts them.
    pub(crate) resident: usize,
    /// Processor time so far.
    pub(crate) cpu: Duration,
    /// The most handlers at once.
    pub(crate) most_handlers: usize,
}

/// Serves, as the attack called `name` wants it, until the standard input ends.
pub(crate) fn serve(name: &str) -> anyhow::Result<()> {
    let attack = attacks::all().find(|attack| attack.name == name).context("no such attack")?;
    let journal = Arc::new(Journal::default());
    let service = TestService::new(Arc::clone(&journal));
    let server = (attack.server)(Server::builder().add_service(service));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    writeln!(stdout(), "{}", listener.local_addr()?.port())?;
    runtime.spawn(server.serve(listener));
    for _asked in stdin().lock().lines().map_while(Result::ok) {
        let Figures { live, peak, resident, cpu, most_handlers } =
            Figures::of_this_process(journal.counts().most);
        crate::HEAP.restart_peak();
        writeln!(stdout(), "{live} {peak} {resident} {} {most_handlers}", cpu.as_millis())?;
    }
    Ok(())
}

/// The server's process; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    port: u16,
}

impl Child {
    pub(crate) fn start(attack: &str) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let mut process = Command::new(program)
            .args(["serve", attack])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("could not start the server")?;
        let questions = process.stdin.take().context("the server has a standard input")?;
        let answers = BufReader::new(process.stdout.take().context("the server has a standard output")?);
        let mut child = Self { process, questions, answers, port: 0 };
        child.port = child.line()?.trim().parse().context("the server says its port first")?;
        Ok(child)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What the server says of itself now.
    pub(crate) fn figures(&mut self) -> anyhow::Result<Figures> {
        writeln!(self.questions, "figures")?;
        let line = self.line()?;
        let mut numbers = line.split_whitespace().map(|word| word.parse::<usize>().unwrap_or(0));
        let mut next = || numbers.next().context("the server says five numbers");
        Ok(Figures {
            live: next()?,
            peak: next()?,
            resident: next()?,
            cpu: Duration::from_millis(next()? as u64),
            most_handlers: next()?,
        })
    }

    /// The figures once they have come to rest, or after two seconds: connections end a second after their GOAWAY
    /// at the latest.
    pub(crate) async fn settled_figures(&mut self) -> anyhow::Result<Figures> {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let mut last = self.figures()?;
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.figures()?;
            if now.live >= last.live {
                return Ok(now);
            }
            last = now;
        }
        Ok(last)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line)?;
        anyhow::ensure!(read > 0, "the server has ended");
        Ok(line)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself, which its figures have shown then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Resident memory of this process in bytes; 0 where the system has no `/proc`.
pub(crate) fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.split_whitespace().next()?.parse::<usize>().ok()).unwrap_or(0) * 1_024
}

/// Processor time of this process; 0 where the system has no `/proc`.
pub(crate) fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in parentheses: user time is field 12 of the rest, system time 13, in ticks of 10 ms.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        rest.split_whitespace().skip(11).take(2).map(|word| word.parse::<u64>().unwrap_or(0)).sum();
    Duration::from_millis(ticks * 10)
}
