//! Who a call is made for: metadata that proves it, sent over encrypted connections only.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::metadata::MetadataMap;
use crate::status::{Code, Status};

/// Makes the metadata that proves who a call is made for: a token, a signature.
///
/// Given to a channel for all of its calls, or to a [`Request`](crate::Request::credentials) for one. Asked before
/// each call, after the interceptors, so it may fetch or refresh what it needs; whatever it keeps is its own. Never
/// asked, and nothing sent, for a call over plaintext: that ends UNAUTHENTICATED.
// wire-rules 94
pub trait CallCredentials: Send + Sync + 'static {
    /// The metadata of one call. Nobody prints it: it is marked as sensitive.
    ///
    /// # Errors
    /// The call is not made and ends with this status; where its code is one that only a server's application may
    /// give (wire-rules 93), with INTERNAL.
    fn metadata(&self, audience: &Audience<'_>) -> impl Future<Output = Result<MetadataMap, Status>> + Send;
}

/// What a call is about to be made to, for credentials that depend on it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Audience<'a> {
    /// What the call sends as `:authority`.
    pub authority: &'a str,
    /// Full name of the service.
    pub service: &'a str,
    /// Name of the method.
    pub method: &'a str,
}

impl<'a> Audience<'a> {
    /// For those who make calls.
    pub fn new(authority: &'a str, service: &'a str, method: &'a str) -> Self {
        Self { authority, service, method }
    }

    /// The service as a URL, which is what tokens in JWT form have as their audience: `https://host/package.Service`.
    pub fn url(&self) -> String {
        format!("https://{}/{}", self.authority.strip_suffix(":443").unwrap_or(self.authority), self.service)
    }
}

/// A bearer token (RFC 6750), the same one for every call or a fresh one each time.
///
/// ```
/// # use peregrine_core::{BearerToken, Status};
/// # async fn current_token() -> Result<String, Status> { Ok("t0k3n".into()) }
/// let fixed = BearerToken::new("t0k3n");
/// let fresh = BearerToken::from_fn(|| async { current_token().await });
/// ```
#[derive(Clone)]
pub struct BearerToken<F = Fixed> {
    source: F,
}

/// A token that does not change.
#[derive(Clone)]
pub struct Fixed(Arc<str>);

impl BearerToken {
    /// Always this token.
    pub fn new(token: impl Into<String>) -> Self {
        Self { source: Fixed(token.into().into()) }
    }
}

impl<F, Fut> BearerToken<F>
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, Status>> + Send,
{
    /// The token that `source` gives for each call.
    pub fn from_fn(source: F) -> Self {
        Self { source }
    }
}

impl CallCredentials for BearerToken {
    async fn metadata(&self, _audience: &Audience<'_>) -> Result<MetadataMap, Status> {
        bearer(&self.source.0)
    }
}

impl<F, Fut> CallCredentials for BearerToken<F>
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, Status>> + Send,
{
    async fn metadata(&self, _audience: &Audience<'_>) -> Result<MetadataMap, Status> {
        bearer(&(self.source)().await?)
    }
}

fn bearer(token: &str) -> Result<MetadataMap, Status> {
    let mut metadata = MetadataMap::new();
    // What is wrong with a token is not for a log.
    let inserted = metadata.insert("authorization", &format!("Bearer {token}"));
    inserted.map_err(|_| Status::unauthenticated("the bearer token cannot stand in a header field"))?;
    Ok(metadata)
}

impl<F> fmt::Debug for BearerToken<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken").finish_non_exhaustive()
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fixed(..)")
    }
}

/// Credentials of any types, all of which a call carries. Empty it holds no memory.
#[derive(Clone, Default)]
pub struct CredentialSet {
    all: Vec<Arc<dyn Erased>>,
}

trait Erased: Send + Sync {
    fn metadata<'c>(&'c self, audience: &'c Audience<'_>) -> Making<'c>;
}

type Making<'c> = Pin<Box<dyn Future<Output = Result<MetadataMap, Status>> + Send + 'c>>;

impl<C: CallCredentials> Erased for C {
    fn metadata<'c>(&'c self, audience: &'c Audience<'_>) -> Making<'c> {
        Box::pin(CallCredentials::metadata(self, audience))
    }
}

impl CredentialSet {
    /// Adds some.
    pub fn push(&mut self, credentials: impl CallCredentials) {
        self.all.push(Arc::new(credentials));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds the metadata of all to that of a call.
    ///
    /// # Errors
    /// See [`CallCredentials::metadata`].
    pub async fn apply(&self, audience: &Audience<'_>, metadata: &mut MetadataMap) -> Result<(), Status> {
        for credentials in &self.all {
            let mut made = credentials.metadata(audience).await.map_err(of_control_plane)?;
            let names: Vec<String> = made.iter().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                made.set_sensitive(&name);
            }
            metadata.extend_from(&made)?;
        }
        Ok(())
    }
}

impl fmt::Debug for CredentialSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialSet").field("count", &self.all.len()).finish()
    }
}

/// A status that comes from what surrounds a call and not from the server's application: codes that callers take for
/// that application's word become INTERNAL (gRFC A54, wire-rules 93).
fn of_control_plane(status: Status) -> Status {
    match status.code() {
        Code::Ok
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::DataLoss => {
            let text =
                format!("the call's credentials failed with {}: {}", status.code().name(), status.message());
            Status::internal(text).with_source(status)
        }
        _ => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::block_on;

    const AUDIENCE: Audience<'static> = Audience { authority: "host:443", service: "a.S", method: "M" };

    fn applied(credentials: impl CallCredentials) -> Result<MetadataMap, Status> {
        let (mut set, mut metadata) = (CredentialSet::default(), MetadataMap::new());
        set.push(credentials);
        block_on(set.apply(&AUDIENCE, &mut metadata)).map(|()| metadata)
    }

    #[test]
    fn a_token_is_sent_as_bearer_and_printed_by_nobody() {
        let fresh = BearerToken::from_fn(|| async { Ok("s3cret".to_owned()) });
        for metadata in [applied(BearerToken::new("s3cret")), applied(fresh)] {
            let metadata = metadata.unwrap();
            assert_eq!(metadata.get("authorization"), Some("Bearer s3cret"));
            assert!(!format!("{metadata:?}").contains("s3cret"), "{metadata:?}");
        }
        assert!(!format!("{:?}", BearerToken::new("s3cret")).contains("s3cret"));
        let status = applied(BearerToken::new("s3cret\n")).unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
        assert!(!format!("{status:?}").contains("s3cret"), "{status:?}");
    }

    // wire-rules 93
    #[test]
    fn codes_of_the_application_are_not_for_credentials() {
        for number in 0..=16 {
            let code = Code::from_i32(number);
            let failing = BearerToken::from_fn(move || async move { Err(Status::new(code, "no")) });
            let status = applied(failing).unwrap_err();
            let allowed = [1, 2, 4, 7, 8, 12, 13, 14, 16].contains(&number);
            assert_eq!(status.code(), if allowed { code } else { Code::Internal }, "{code:?}");
            assert!(status.message().contains("no"));
        }
    }

    #[test]
    fn the_audience_is_the_services_url() {
        assert_eq!(AUDIENCE.url(), "https://host/a.S");
        assert_eq!(Audience { authority: "host:8443", ..AUDIENCE }.url(), "https://host:8443/a.S");
    }
}
