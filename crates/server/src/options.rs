//! What a server may be told, with the defaults.

use std::sync::Arc;
use std::time::Duration;

use peregrine_core::compression::Compression;
use peregrine_core::intercept::Interceptors;
use peregrine_core::stream::DEFAULT_BATCH_SIZE;
use peregrine_core::{Code, MessageFormat, Observe};
use peregrine_http2::{AdaptiveWindows, Config, Keepalive, Rate, WindowBudget};

use crate::call::errors::ErrorMapper;
use crate::secure::Secure;

/// Settings of a server, read once when it starts.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// What every connection's engine starts with; the hash seed and the age are each connection's own.
    pub(crate) engine: Config,
    pub(crate) max_receive_message_size: usize,
    pub(crate) max_send_message_size: usize,
    /// What a call without its one request message ends with (wire-rules 47 as settled).
    pub(crate) missing_message: Code,
    pub(crate) compression: Compression,
    pub(crate) stream_batch_size: usize,
    pub(crate) handshake_timeout: Duration,
    pub(crate) receive_timeout: Option<Duration>,
    pub(crate) secure: Secure,
    pub(crate) pending_handshakes: usize,
    pub(crate) max_connections: usize,
    pub(crate) accept_rate: Option<Rate>,
    pub(crate) shutdown_grace: Duration,
    pub(crate) execution: Execution,
    pub(crate) interceptors: Interceptors,
    pub(crate) observer: Option<Arc<dyn Observe>>,
    pub(crate) formats: Vec<Arc<dyn MessageFormat>>,
    pub(crate) error_mapper: Option<ErrorMapper>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            engine: engine(),
            max_receive_message_size: 4 * 1024 * 1024,
            max_send_message_size: u32::MAX as usize,
            missing_message: Code::Unimplemented,
            compression: Compression::off(),
            stream_batch_size: DEFAULT_BATCH_SIZE,
            handshake_timeout: Duration::from_secs(10),
            receive_timeout: Some(Duration::from_mins(10)),
            secure: Secure::default(),
            pending_handshakes: 1000,
            max_connections: usize::MAX,
            accept_rate: None,
            shutdown_grace: Duration::from_secs(30),
            execution: Execution::Auto,
            interceptors: Interceptors::default(),
            observer: None,
            formats: Vec::new(),
            error_mapper: None,
        }
    }
}

/// Octets that the windows of all connections of a server may grow by.
const WINDOW_BUDGET: u64 = 256 * 1024 * 1024;

fn engine() -> Config {
    let mut engine = Config::server();
    engine.whole_requests = true;
    engine.keepalive = Some(Keepalive {
        interval: Duration::from_hours(2),
        timeout: Duration::from_secs(20),
        without_streams: true,
    });
    let budget = Some(Arc::new(WindowBudget::new(WINDOW_BUDGET)));
    engine.adaptive_windows = Some(AdaptiveWindows { budget, ..AdaptiveWindows::default() });
    engine
}

/// Where calls run. Decided for each call before its first poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Execution {
    /// In place, on the connection's task, unless the mean poll of the method has been slow (above
    /// 100 us): such calls get a task of their own, so that they do not hold up their neighbours. The default.
    #[default]
    Auto,
    /// Always in place. The cheapest way for handlers that never compute for long.
    Inline,
    /// Always in a task of its own, as other stacks do. For handlers that compute or block.
    Spawn,
}
