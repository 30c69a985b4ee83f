//! The program `abuse`: runs each attack over loopback TCP against a server in a process of its own and prints the
//! table: how long a canary waits, what memory and processor time the server needs, what it answers.
//!
//! `abuse [--quick] [WORDS]`: all attacks, or those whose name contains the words. The server is this same program,
//! started again with the word `serve`; both only ever use 127.0.0.1.

mod canary;
mod report;
mod server;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use peregrine_abuse::{Attack, Ground, Line, Seen, attacks};
use peregrine_testkit::CountingAllocator;
use tokio::net::TcpStream;

use self::canary::Canary;
use self::report::Row;
use self::server::{Child, Figures};

/// What the server process has allocated.
#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

/// How long an attack may take. All of them are bounded in count as well.
const LONGEST: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((first, rest)) if first == "serve" => server::serve(&rest.join(" ")).map(|()| true),
        _ => run(&words),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Runs the attacks that were asked for; says whether the server answered each as it has to.
fn run(words: &[String]) -> anyhow::Result<bool> {
    let quick = words.iter().any(|word| word == "--quick");
    let wanted: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "--quick").collect();
    let wanted = wanted.join(" ");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut rows = Vec::new();
    for attack in attacks::all().filter(|attack| attack.name.contains(&wanted)) {
        let row = runtime
            .block_on(measure(attack, quick))
            .with_context(|| format!("attack {:?} (row {})", attack.name, attack.row))?;
        report::say(&row);
        rows.push(row);
    }
    anyhow::ensure!(!rows.is_empty(), "no attack's name contains {wanted:?}");
    Ok(report::verdict(&rows))
}

/// One attack on a fresh server, with a canary before and meanwhile.
async fn measure(attack: &'static Attack, quick: bool) -> anyhow::Result<Row> {
    let mut child = Child::start(attack.name)?;
    let port = child.port();
    let idle_for = Duration::from_millis(if quick { 200 } else { 1_500 });
    let idle = Canary::begin(port);
    tokio::time::sleep(idle_for).await;
    let idle = idle.end()?;

    let before = child.figures()?;
    let under_attack = Canary::begin(port);
    let begun = Instant::now();
    let ground = Ground::new(move || Box::pin(connect(port)));
    let seen = tokio::time::timeout(LONGEST, (attack.run)(&ground)).await;
    let took = begun.elapsed();
    // An attack that was over at once still needs a canary's worth of time.
    if took < idle_for {
        tokio::time::sleep(idle_for.saturating_sub(took)).await;
    }
    let attacked = under_attack.end()?;
    let meanwhile = child.figures()?;
    drop(ground);
    let after = child.settled_figures().await?;
    let (seen, in_time) = match seen {
        Ok(seen) => (seen, true),
        Err(_late) => (Seen { note: "not over in time".to_owned(), ..Seen::default() }, false),
    };
    Ok(Row {
        attack,
        accepted: in_time && attack.accepts(&seen) && attacked.failed == 0,
        seen,
        took,
        idle,
        attacked,
        peak: meanwhile.peak.saturating_sub(before.live),
        left: after.live.saturating_sub(before.live),
        resident: meanwhile.resident.saturating_sub(before.resident),
        cpu: after.cpu.saturating_sub(before.cpu),
        handlers: after.most_handlers,
    })
}

async fn connect(port: u16) -> Line {
    loop {
        // The system may be out of ports or of room in the backlog for a moment.
        match TcpStream::connect(("127.0.0.1", port)).await {
            Ok(stream) => {
                // A peer that waits for its own small frames would measure Nagle's algorithm.
                let _ = stream.set_nodelay(true);
                return Box::pin(stream);
            }
            Err(_busy) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// What the server process says of itself, at one time.
impl Figures {
    fn of_this_process(most_handlers: usize) -> Self {
        Self {
            live: HEAP.live_bytes(),
            peak: HEAP.peak_bytes(),
            resident: server::resident(),
            cpu: server::cpu(),
            most_handlers,
        }
    }
}
