//! From what the runner asks for to a server's settings.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use peregrine::{Compression, Json, Server, ServerTls};
use peregrine_conformance::pb::{Protocol, ServerCompatRequest, ServerCompatResponse};

/// A server as `request` wants it, and what to answer the runner if it listens at `address`.
pub(crate) fn apply(
    request: &ServerCompatRequest,
    address: SocketAddr,
) -> Result<(Server, ServerCompatResponse)> {
    ensure!(request.protocol == Protocol::PROTOCOL_GRPC, "{:?} is not spoken here", request.protocol);
    // The suite's messages are small, and most of them would be sent as they are.
    let mut server = Server::builder().json(Json::new()).compression(Compression::adaptive().always());
    let mut response = ServerCompatResponse {
        host: address.ip().to_string(),
        port: address.port().into(),
        ..Default::default()
    };
    if request.use_tls {
        let own = request.server_creds.as_option().context("TLS is asked for without a certificate")?;
        let mut tls = ServerTls::from_pem(&own.cert, &own.key)?;
        if !request.client_tls_cert.is_empty() {
            tls = tls.client_ca_pem(&request.client_tls_cert)?;
        }
        server = server.tls(tls);
        response.pem_cert = own.cert.clone();
    }
    if request.message_receive_limit > 0 {
        server = server.max_receive_message_size(request.message_receive_limit as usize);
    }
    Ok((server, response))
}
