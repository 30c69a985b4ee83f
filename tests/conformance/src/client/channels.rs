//! Channels by what distinguishes them, so that the cases of one server share a connection, as a program's calls do.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use peregrine::{Channel, ClientTls, Code, Format, Json};
use peregrine_conformance::pb::ClientCompatRequest;

/// All channels of this program.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    open: Mutex<HashMap<Key, Channel>>,
}

/// What a connection is made for. Everything else is an option of the call.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    host: String,
    port: u32,
    server_certificate: Bytes,
    own_certificate: Bytes,
}

impl Channels {
    /// The channel for `case`, which connects when its first call is made.
    pub(crate) fn channel(&self, case: &ClientCompatRequest) -> Result<Channel> {
        let own = case.client_tls_creds.as_option();
        let key = Key {
            host: case.host.clone(),
            port: case.port,
            server_certificate: case.server_tls_cert.clone(),
            own_certificate: own.map(|own| own.cert.clone()).unwrap_or_default(),
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = open.get(&key) {
            return Ok(channel.clone());
        }
        let channel = connect(case)?;
        open.insert(key, channel.clone());
        Ok(channel)
    }
}

fn connect(case: &ClientCompatRequest) -> Result<Channel> {
    let place = format!("{}:{}", case.host, case.port);
    let builder = if case.server_tls_cert.is_empty() {
        Channel::builder(format!("http://{place}"))
    } else {
        let mut tls = ClientTls::with_ca_pem(&case.server_tls_cert)?;
        if let Some(own) = case.client_tls_creds.as_option() {
            tls = tls.identity_pem(&own.cert, &own.key)?;
        }
        Channel::builder(format!("https://{place}")).tls(tls)
    };
    // One case wants UNKNOWN, where gRPC's table of HTTP statuses, and with it the library, says INTERNAL (wire-rules
    // 55).
    let builder = builder.code_for_http_status(431, Code::Unknown);
    Ok(builder.json(Json::new()).format(Format::Proto).build()?)
}
