//! `peregrine demo`: a server with every shape of call, in plaintext and over TLS, and a call of each to it.
//!
//! [`service`] has the handlers, [`tour`] makes the calls, [`print`] shows them, [`tls`] opens the second port; this
//! module starts the servers, prints, and stays until Ctrl-C.

mod print;
mod service;
mod tls;
mod tour;

use std::{
    io::{self, Write},
    time::Duration,
};

use peregrine::{
    Server, ShutdownReport,
    health::{Health, ServingStatus},
    reflection::Reflection,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use self::{
    pb::demo::v1::{DemoClient, DemoServer},
    service::DemoService,
    tls::TlsPort,
    tour::Tour,
};
use crate::{
    args::{DemoArgs, GlobalArgs},
    console::Console,
    exit::Exit,
    report::{self, Report},
    runtime,
};

/// What the build script made of `proto/demo.proto`.
mod pb {
    peregrine::include_proto!();
}

pub(super) fn run(args: &DemoArgs, global: &GlobalArgs, console: &mut Console) -> Result<Exit, Report> {
    let runtime = runtime::start(tokio::runtime::Builder::new_multi_thread())?;
    let result = runtime.block_on(async {
        let server = Running::start(args).await?;
        tokio::select! {
            biased;
            shown = show(&server, args, global, console) => shown?,
            () = runtime::interrupt() => {}
        }
        if !args.once {
            runtime::asked_to_stop().await;
            writeln!(console.err, "\nshutting down; Ctrl-C again cuts what still runs")?;
        }
        tokio::select! {
            cut_calls = server.stop() => said(cut_calls?, console),
            () = runtime::interrupt() => Ok(Exit::Interrupted),
        }
    });
    runtime.shutdown_background();
    result
}

/// How long running calls may go on after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// The servers, each on a task of its own.
struct Running {
    port: u16,
    /// Not with `--once`: nobody else would call it.
    tls: Option<TlsPort>,
    health: Health,
    servers: Vec<OneServer>,
}

struct OneServer {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<ShutdownReport, peregrine::Error>>,
}

impl Running {
    async fn start(args: &DemoArgs) -> Result<Self, Report> {
        let listener = listen(args).await?;
        let port = listener.local_addr().map_err(Report::from)?.port();
        let health = Health::new();
        health.set("demo.v1.Demo", ServingStatus::Serving);
        let mut servers = vec![OneServer::start(Server::builder(), &health, listener)?];
        let mut tls = None;
        if !args.once {
            // The next port, unless one was asked for; beside a free port another free one.
            let next = if args.port == 0 { 0 } else { args.port.saturating_add(1) };
            let (open, listener, protection) =
                TlsPort::open(args.tls_port.unwrap_or(next), args.tls_port.is_some()).await?;
            servers.push(OneServer::start(Server::builder().tls(protection), &health, listener)?);
            tls = Some(open);
        }
        Ok(Self { port, tls, health, servers })
    }

    /// Ends gracefully. Returns how many calls had to be cut.
    async fn stop(self) -> Result<usize, Report> {
        // Watchers hear of it before connections are told to go.
        self.health.shut_down();
        let mut tasks = Vec::new();
        for server in self.servers {
            let _ = server.stop.send(());
            tasks.push(server.task);
        }
        let mut cut_calls = 0;
        for task in tasks {
            match task.await {
                Ok(Ok(report)) => cut_calls += report.cut_calls,
                Ok(Err(error)) => return Err(server_failed(&error)),
                Err(error) => {
                    return Err(Report::system("the demo's server has failed").fact("cause", error));
                }
            }
        }
        Ok(cut_calls)
    }
}

impl OneServer {
    fn start(server: Server, health: &Health, listener: TcpListener) -> Result<Self, Report> {
        let (stop, stopped) = oneshot::channel::<()>();
        let server = server
            .shutdown_grace(GRACE)
            .add_service(DemoServer::new(DemoService))
            .add_service(health.service());
        let server = Reflection::of(&server).map_err(|error| server_failed(&error))?.mount(server);
        let task = tokio::spawn(server.serve_with_shutdown(listener, async {
            let _ = stopped.await;
        }));
        Ok(Self { stop, task })
    }
}

/// The port that was asked for; with `--once` any other when that one is taken.
async fn listen(args: &DemoArgs) -> Result<TcpListener, Report> {
    match TcpListener::bind(("127.0.0.1", args.port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && args.once => {
            TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| cannot_listen(0, "--port", &error))
        }
        Err(error) => Err(cannot_listen(args.port, "--port", &error)),
    }
}

fn cannot_listen(port: u16, flag: &str, error: &io::Error) -> Report {
    let report = Report::system(format!("cannot listen on 127.0.0.1:{port}")).fact("cause", error);
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            report.next(format!("choose another with {flag} PORT; 0 takes a free one"))
        }
        io::ErrorKind::PermissionDenied => {
            report.next("ports below 1024 need privileges: choose a higher one")
        }
        _ => report,
    }
}

/// Makes the calls and prints them.
async fn show(
    server: &Running,
    args: &DemoArgs,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<(), Report> {
    let address = format!("127.0.0.1:{}", server.port);
    let client = DemoClient::connect(format!("http://{address}"))
        .await
        .map_err(|error| report::connect(&error, None))?;
    let steps =
        Tour::new(client).steps().await.map_err(|status| report::status(&status, "the demo's own call"))?;
    if super::wants_json(global) {
        print::json(&steps, &mut console.out)?;
    } else {
        let tls =
            server.tls.as_ref().map(|tls| print::Protected { port: tls.port, authority: tls.authority() });
        let page = print::Page { address: &address, tls, once: args.once, program: &super::program() };
        page.print(&steps, &mut console.out)?;
    }
    console.out.flush()?;
    Ok(())
}

/// What the graceful end had to cut, if anything.
fn said(cut_calls: usize, console: &mut Console) -> Result<Exit, Report> {
    if cut_calls > 0 {
        let calls = report::counted(cut_calls, "call");
        console.note(format_args!("cut after {GRACE:.0?}: {calls}"))?;
    }
    Ok(Exit::Ok)
}

/// The demo's own server could not be set up or failed.
fn server_failed(error: &peregrine::Error) -> Report {
    let mut report = Report::system(error.to_string());
    for cause in report::causes(error) {
        report = report.fact("cause", cause);
    }
    match error.hint() {
        Some(hint) => report.next(hint),
        None => report,
    }
}
