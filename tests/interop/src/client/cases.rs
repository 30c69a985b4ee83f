//! The cases by their official names.

use std::pin::Pin;

use anyhow::{Result, bail, ensure};
use peregrine::{Channel, ClientTls, Code, Status};
use peregrine_interop::flags::Flags;
use peregrine_interop::pb::{TestServiceClient, UnimplementedServiceClient};

use crate::{compression, control, load_reports, metadata, negative, soak, streams, unary};

/// What a case works with.
pub(crate) struct Setup {
    pub(crate) test: TestServiceClient,
    pub(crate) unimplemented: UnimplementedServiceClient,
    /// Where to connect and how, for the case that opens a channel per call.
    way: Way,
    pub(crate) flags: Flags,
}

impl Setup {
    pub(crate) fn new(flags: Flags) -> Result<Self> {
        let way = Way::new(&flags)?;
        let channel = way.channel()?;
        Ok(Self {
            test: TestServiceClient::new(channel.clone()),
            unimplemented: UnimplementedServiceClient::new(channel),
            way,
            flags,
        })
    }

    /// A channel of its own.
    pub(crate) fn channel(&self) -> Result<Channel> {
        self.way.channel()
    }
}

/// What the flags say about connecting.
struct Way {
    target: String,
    tls: Option<ClientTls>,
    /// What the server is called, whatever its address is.
    name: Option<String>,
}

impl Way {
    fn new(flags: &Flags) -> Result<Self> {
        let host = flags.text("server_host").unwrap_or("127.0.0.1");
        let port = flags.number("server_port", 8080)?;
        let is_tls = flags.is_set("use_tls")?;
        let name = flags.text("server_host_override").map(str::to_owned);
        let mut tls = None;
        if is_tls {
            // There are no other roots to trust so far than the test authority's.
            let trust = ClientTls::with_ca_file(flags.file("ca_file", "ca.pem")?)?;
            tls = Some(match &name {
                Some(name) => trust.server_name(name),
                None => trust,
            });
        }
        let scheme = if is_tls { "https" } else { "http" };
        Ok(Self { target: format!("{scheme}://{host}:{port}"), tls, name })
    }

    fn channel(&self) -> Result<Channel> {
        let mut builder = Channel::builder(self.target.as_str());
        if let Some(tls) = &self.tls {
            builder = builder.tls(tls.clone());
        }
        if let Some(name) = &self.name {
            builder = builder.authority(name);
        }
        Ok(builder.build()?)
    }
}

/// A case, running.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;
/// A case.
pub(crate) type Case = for<'a> fn(&'a Setup) -> Running<'a>;

/// The case of this name, if there is one.
pub(crate) fn find(name: &str) -> Option<Case> {
    Some(match name {
        "empty_unary" => |setup| Box::pin(unary::empty_unary(setup)),
        "large_unary" => |setup| Box::pin(unary::large_unary(setup)),
        "status_code_and_message" => |setup| Box::pin(unary::status_code_and_message(setup)),
        "special_status_message" => |setup| Box::pin(unary::special_status_message(setup)),
        "unimplemented_method" => |setup| Box::pin(unary::unimplemented_method(setup)),
        "unimplemented_service" => |setup| Box::pin(unary::unimplemented_service(setup)),
        "client_compressed_unary" => |setup| Box::pin(compression::client_compressed_unary(setup)),
        "server_compressed_unary" => |setup| Box::pin(compression::server_compressed_unary(setup)),
        "client_compressed_streaming" => |setup| Box::pin(compression::client_compressed_streaming(setup)),
        "server_compressed_streaming" => |setup| Box::pin(compression::server_compressed_streaming(setup)),
        "client_streaming" => |setup| Box::pin(streams::client_streaming(setup)),
        "server_streaming" => |setup| Box::pin(streams::server_streaming(setup)),
        "ping_pong" => |setup| Box::pin(streams::ping_pong(setup)),
        "empty_stream" => |setup| Box::pin(streams::empty_stream(setup)),
        "custom_metadata" => |setup| Box::pin(metadata::custom_metadata(setup)),
        "timeout_on_sleeping_server" => |setup| Box::pin(control::timeout_on_sleeping_server(setup)),
        "cancel_after_begin" => |setup| Box::pin(control::cancel_after_begin(setup)),
        "cancel_after_first_response" => |setup| Box::pin(control::cancel_after_first_response(setup)),
        "very_large_request" => |setup| Box::pin(unary::very_large_request(setup)),
        "orca_per_rpc" => |setup| Box::pin(load_reports::orca_per_rpc(setup)),
        "orca_oob" => |setup| Box::pin(load_reports::orca_oob(setup)),
        "goaway" => |setup| Box::pin(negative::goaway(setup)),
        "rst_after_header" | "rst_during_data" | "rst_after_data" => |setup| Box::pin(negative::reset(setup)),
        "ping" => |setup| Box::pin(negative::ping(setup)),
        "max_streams" => |setup| Box::pin(negative::max_streams(setup)),
        "rpc_soak" => |setup| Box::pin(soak::rpc_soak(setup)),
        "channel_soak" => |setup| Box::pin(soak::channel_soak(setup)),
        _ => return None,
    })
}

/// The call failed, with this code and, where it matters, this message.
pub(crate) fn expect_status<T>(result: Result<T, Status>, code: Code, message: Option<&str>) -> Result<()> {
    let Err(status) = result else { bail!("the call succeeded where {} was expected", code.name()) };
    ensure!(status.code() == code, "{} was expected, not {status}", code.name());
    if let Some(message) = message {
        ensure!(status.message() == message, "message {message:?} was expected, not {:?}", status.message());
    }
    Ok(())
}
