//! The asynchronous runtime of a command, and Ctrl-C.

use tokio::runtime::Runtime;

use crate::{
    exit::Exit,
    report::{Kind, Report},
};

/// Runs a command's work to its end, or until Ctrl-C drops it, which cancels the call it has running.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Report>>) -> Result<T, Report> {
    let runtime = start(tokio::runtime::Builder::new_current_thread())?;
    let result = runtime.block_on(async {
        tokio::select! {
            biased;
            result = work => result,
            () = interrupt() => Err(interrupted()),
        }
    });
    // A connection's task may hold a half-written reset: one turn of the loop lets it leave.
    runtime.block_on(tokio::task::yield_now());
    runtime.shutdown_background();
    result
}

/// The report of a command that Ctrl-C ended.
pub(crate) fn interrupted() -> Report {
    Report::new(Kind::Interrupted, Exit::Interrupted, "stopped by Ctrl-C")
}

/// A runtime with sockets, timers and signals.
pub(crate) fn start(mut builder: tokio::runtime::Builder) -> Result<Runtime, Report> {
    builder
        .enable_all()
        .build()
        .map_err(|error| Report::system("cannot start the runtime").fact("cause", error))
}

/// Waits for Ctrl-C or SIGTERM: what ends a server gracefully, by hand or from a service manager.
pub(crate) async fn asked_to_stop() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_unavailable) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = interrupt() => {}
        _ = terminated => {}
    }
}

/// Waits for Ctrl-C; for ever where it cannot be had.
pub(crate) async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
