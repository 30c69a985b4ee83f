//! Peregrine's gRPC server.
//!
//! Users reach it through the `peregrine` crate. From the socket inwards: `listen` accepts and hands each
//! connection to the transport's driver; `connection` turns the engine's events into calls; `router` finds the
//! method; [`service`] holds the slots in which calls live; `call` writes replies.
//!
//! A call is one future that owns the service handle. It is polled at once, in place, on its connection's task;
//! only what is not ready is parked.

mod builder;
mod call;
mod connection;
mod listen;
mod method_config;
mod options;
mod router;
mod secure;
pub mod service;

pub use peregrine_http2::{
    AdaptiveWindows, Keepalive, LimitConfig as Limits, PingPolicy, Rate, WindowBudget,
};
#[cfg(feature = "_tls")]
pub use peregrine_transport::tls::{ServerTls, TlsVersion};

pub use self::builder::{IntoListener, Server};
pub use self::listen::{PerCore, ShutdownReport};
pub use self::method_config::MethodConfig;
pub use self::options::Execution;
