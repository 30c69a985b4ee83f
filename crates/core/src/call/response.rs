//! A message on its way back to the caller, with what travels beside it.

use std::ops::{Deref, DerefMut};

use crate::call::Extensions;
use crate::metadata::MetadataMap;

/// A response message (or a stream of them) with initial and trailing metadata.
///
/// Derefs to the message; a plain message converts into one.
#[derive(Debug, Default)]
pub struct Response<T> {
    message: T,
    metadata: MetadataMap,
    trailers: MetadataMap,
    extensions: Extensions,
}

impl<T> Response<T> {
    /// A response without metadata.
    pub fn new(message: T) -> Self {
        Self {
            message,
            metadata: MetadataMap::new(),
            trailers: MetadataMap::new(),
            extensions: Extensions::new(),
        }
    }

    /// The message, dropping the rest.
    pub fn into_inner(self) -> T {
        self.message
    }

    /// Message, initial metadata, trailing metadata and extensions.
    pub fn into_parts(self) -> (T, MetadataMap, MetadataMap, Extensions) {
        (self.message, self.metadata, self.trailers, self.extensions)
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

    /// Values by type that stay inside the process.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Values by type, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// The same response around another message.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Response<U> {
        Response {
            message: f(self.message),
            metadata: self.metadata,
            trailers: self.trailers,
            extensions: self.extensions,
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
