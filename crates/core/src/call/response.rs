//! A message on its way back to the caller, with what travels beside it.

use std::ops::{Deref, DerefMut};

use crate::call::Extensions;
use crate::compression::Compression;
use crate::metadata::MetadataMap;

/// A response message (or a stream of them) with initial and trailing metadata.
///
/// Derefs to the message; a plain message converts into one.
#[derive(Debug, Default)]
pub struct Response<T> {
    message: T,
    metadata: MetadataMap,
    trailers: MetadataMap,
    /// What most responses do without. A response is moved several times on its way to its caller.
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
struct Rare {
    extensions: Extensions,
    compressed: bool,
    compression: Option<Compression>,
}

impl Rare {
    const NONE: &'static Self = &Self { extensions: Extensions::new(), compressed: false, compression: None };
}

impl<T> Response<T> {
    /// A response without metadata.
    pub fn new(message: T) -> Self {
        Self { message, metadata: MetadataMap::new(), trailers: MetadataMap::new(), rare: None }
    }

    fn rare(&self) -> &Rare {
        self.rare.as_deref().unwrap_or(Rare::NONE)
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// On a client, for a response of one message: whether the server sent it compressed. Of a stream, each message
    /// is asked about: [`Streaming::was_compressed`](crate::Streaming::was_compressed).
    // wire-rules 31
    pub fn was_compressed(&self) -> bool {
        self.rare().compressed
    }

    /// Sets [`was_compressed`](Self::was_compressed); done by the client.
    pub fn set_compressed(&mut self, compressed: bool) {
        if compressed || self.rare.is_some() {
            self.rare_mut().compressed = compressed;
        }
    }

    /// The message, dropping the rest.
    pub fn into_inner(self) -> T {
        self.message
    }

    /// Message, initial metadata, trailing metadata and extensions.
    pub fn into_parts(self) -> (T, MetadataMap, MetadataMap, Extensions) {
        let extensions = self.rare.map_or_else(Extensions::new, |rare| rare.extensions);
        (self.message, self.metadata, self.trailers, extensions)
    }

    /// The message.
    pub fn get_ref(&self) -> &T {
        &self.message
    }

    /// The message, to change.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.message
    }

    /// Initial metadata, sent as response headers.
    pub fn metadata(&self) -> &MetadataMap {
        &self.metadata
    }

    /// Initial metadata, to change.
    pub fn metadata_mut(&mut self) -> &mut MetadataMap {
        &mut self.metadata
    }

    /// Trailing metadata, sent beside the status.
    pub fn trailers(&self) -> &MetadataMap {
        &self.trailers
    }

    /// Trailing metadata, to change.
    pub fn trailers_mut(&mut self) -> &mut MetadataMap {
        &mut self.trailers
    }

    /// Whether there is nothing beside the message.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.rare.is_none() && self.metadata.is_empty() && self.trailers.is_empty()
    }

    /// Takes initial and trailing metadata out.
    #[inline]
    pub fn take_metadata(&mut self) -> (MetadataMap, MetadataMap) {
        (std::mem::take(&mut self.metadata), std::mem::take(&mut self.trailers))
    }

    /// Values by type that stay inside the process.
    pub fn extensions(&self) -> &Extensions {
        &self.rare().extensions
    }

    /// Values by type, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.rare_mut().extensions
    }

    /// On a server: compresses the response's messages so, whatever the server, the service or the method are set to,
    /// if the client accepts an encoding of it. See also [`uncompressed`](Self::uncompressed). The call fails with INTERNAL
    /// if an encoding is not compiled in, or the setting is not [possible](Compression::check) otherwise.
    // wire-rules P2, T4
    #[must_use]
    pub fn compress(mut self, compression: impl Into<Compression>) -> Self {
        self.rare_mut().compression = Some(compression.into());
        self
    }

    /// On a server: sends the response's messages as they are. For those that mix secrets with what the caller chose,
    /// whose compressed length would tell about the secret (CRIME; wire-rules P2).
    #[must_use]
    pub fn uncompressed(self) -> Self {
        self.compress(Compression::off())
    }

    /// What was said of its compression.
    pub fn compression(&self) -> Option<&Compression> {
        self.rare().compression.as_ref()
    }

    /// The same response around another message.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Response<U> {
        Response {
            message: f(self.message),
            metadata: self.metadata,
            trailers: self.trailers,
            rare: self.rare,
        }
    }
}

impl<T> Deref for Response<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl<T> DerefMut for Response<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.message
    }
}

impl<T> From<T> for Response<T> {
    fn from(message: T) -> Self {
        Self::new(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_derefs_and_maps_and_keeps_its_metadata() {
        let mut response: Response<Vec<u8>> = vec![1].into();
        response.push(2);
        response.metadata_mut().insert("head", "1").unwrap();
        response.trailers_mut().insert("tail", "2").unwrap();
        response.extensions_mut().insert(5_u8);
        let response = response.map(|bytes| bytes.len());
        assert_eq!(*response, 2);
        let (message, metadata, trailers, extensions) = response.into_parts();
        assert_eq!(message, 2);
        assert_eq!((metadata.get("head"), trailers.get("tail")), (Some("1"), Some("2")));
        assert_eq!(extensions.get::<u8>(), Some(&5));
    }
}
