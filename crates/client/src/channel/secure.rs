//! TLS over the streams of a channel, if it was built with that; the only file here that knows the feature `tls`.

use std::time::Duration;

use peregrine_core::{Error, Phase};
use peregrine_transport::driver::Closed;
use peregrine_transport::net::{Security, Target};
#[cfg(feature = "_tls")]
use peregrine_transport::tls::{ClientTls, HandshakeError};

use super::connector::Opened;

/// What a channel does with a stream before HTTP/2 begins on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Secure {
    #[cfg(feature = "_tls")]
    tls: Option<ClientTls>,
}

#[cfg(feature = "_tls")]
impl Secure {
    pub(super) fn with(tls: ClientTls) -> Self {
        Self { tls: Some(tls) }
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Settles what `target` and the settings say together.
    pub(super) fn for_target(self, target: &Target) -> Result<Self, Error> {
        match (self.tls, target.security()) {
            (None, Security::Tls) => {
                let tls = ClientTls::with_system_roots()
                    .map_err(|error| error.with_peer(format!("https://{target}")))?;
                Ok(Self { tls: Some(tls.for_host(&target.host())?) })
            }
            (Some(_), Security::Plaintext) => {
                Err(Error::new(Phase::Config, "TLS is set up, but http:// means plaintext")
                    .with_peer(format!("http://{target}"))
                    .with_hint("write https://, or leave .tls(..) out"))
            }
            (Some(tls), _) => Ok(Self { tls: Some(tls.for_host(&target.host())?) }),
            (None, _) => Ok(Self { tls: None }),
        }
    }

    /// The handshake, within `limit`.
    pub(super) async fn secure(
        &self,
        opened: Opened,
        target: &Target,
        limit: Duration,
    ) -> Result<Opened, Error> {
        let Some(tls) = &self.tls else { return Ok(opened) };
        let handshake = async {
            Ok(match opened {
                Opened::Socket(stream, peer) => Opened::Boxed(Box::new(tls.connect(stream).await?), peer),
                Opened::Boxed(stream, peer) => Opened::Boxed(Box::new(tls.connect(stream).await?), peer),
            })
        };
        match tokio::time::timeout(limit, handshake).await {
            Ok(secured) => secured.map_err(|error| crate::error::not_secured(target, error)),
            Err(_) => Err(crate::error::silent_in_tls(target, limit)),
        }
    }
}

#[cfg(feature = "_tls")]
impl Secure {
    /// What the server had against the handshake, if it says so only now that HTTP/2 should begin.
    pub(super) fn refusal(&self, target: &Target, closed: &Closed) -> Option<Error> {
        let (Some(tls), Closed::Io(error)) = (&self.tls, closed) else { return None };
        let late = HandshakeError::late_alert(error, tls.has_identity())?;
        Some(crate::error::not_secured(target, late))
    }
}

#[cfg(not(feature = "_tls"))]
impl Secure {
    #[expect(clippy::unused_self, reason = "the same face as with TLS")]
    pub(super) fn is_tls(&self) -> bool {
        false
    }

    pub(super) fn for_target(self, target: &Target) -> Result<Self, Error> {
        if target.security() == Security::Tls {
            return Err(Error::new(Phase::Config, "this program was built without TLS")
                .with_peer(format!("https://{target}"))
                .with_hint("switch on the feature `tls` of the crate peregrine"));
        }
        Ok(self)
    }

    #[expect(clippy::unused_self, reason = "the same face as with TLS")]
    pub(super) fn refusal(&self, _target: &Target, _closed: &Closed) -> Option<Error> {
        None
    }

    #[expect(clippy::unused_async, reason = "the same face as with TLS")]
    pub(super) async fn secure(
        &self,
        opened: Opened,
        _target: &Target,
        _limit: Duration,
    ) -> Result<Opened, Error> {
        Ok(opened)
    }
}
