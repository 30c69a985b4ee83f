//! `peregrine demo`: a server with every shape of call, and a call of each to it.
//!
//! [`service`] has the handlers, [`tour`] makes the calls, [`print`] shows them; this module starts the server, prints, and stays until
//! Ctrl-C.

mod print;
mod service;
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
            report = server.stop() => said(&report?, console),
            () = runtime::interrupt() => Ok(Exit::Interrupted),
        }
    });
    runtime.shutdown_background();
    result
}

/// How long running calls may go on after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// The server, serving on a task of its own.
struct Running {
    port: u16,
    health: Health,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<ShutdownReport, peregrine::Error>>,
}

impl Running {
    async fn start(args: &DemoArgs) -> Result<Self, Report> {
        let listener = listen(args).await?;
        let port = listener.local_addr().map_err(Report::from)?.port();
        let (stop, stopped) = oneshot::channel::<()>();
        let health = Health::new();
        health.set("demo.v1.Demo", ServingStatus::Serving);
        let server = Server::builder()
            .shutdown_grace(GRACE)
            .add_service(DemoServer::new(DemoService))
            .add_service(health.service());
        let server = Reflection::of(&server).map_err(|error| server_failed(&error))?.mount(server);
        let task = tokio::spawn(server.serve_with_shutdown(listener, async {
            let _ = stopped.await;
        }));
        Ok(Self { port, health, stop, task })
    }

    async fn stop(self) -> Result<ShutdownReport, Report> {
        // Watchers hear of it before connections are told to go.
        self.health.shut_down();
        let _ = self.stop.send(());
        match self.task.await {
            Ok(Ok(report)) => Ok(report),
            Ok(Err(error)) => Err(server_failed(&error)),
            Err(error) => Err(Report::system("the demo's server has failed").fact("cause", error)),
        }
    }
}

/// The port that was asked for; with `--once` any other when that one is taken.
async fn listen(args: &DemoArgs) -> Result<TcpListener, Report> {
    match TcpListener::bind(("127.0.0.1", args.port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && args.once => {
            TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| cannot_listen(0, &error))
        }
        Err(error) => Err(cannot_listen(args.port, &error)),
    }
}

fn cannot_listen(port: u16, error: &io::Error) -> Report {
    let report = Report::system(format!("cannot listen on 127.0.0.1:{port}")).fact("cause", error);
    match error.kind() {
        io::ErrorKind::AddrInUse => report.next("choose another with --port PORT; 0 takes a free one"),
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
        let page = print::Page { address: &address, once: args.once, program: &super::program() };
        page.print(&steps, &mut console.out)?;
    }
    console.out.flush()?;
    Ok(())
}

/// What the graceful end had to cut, if anything.
fn said(report: &ShutdownReport, console: &mut Console) -> Result<Exit, Report> {
    if !report.is_clean() {
        let calls = report::counted(report.cut_calls, "call");
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
