//! The schema that a command works with: services, methods and message types by name.
//!
//! It comes whole from files ([`files`]), or piece by piece from a server's reflection service
//! ([`reflection`]), whose file descriptors are put together by [`assemble`]; [`source`] hides the difference. [`find`] resolves names as users type them, [`print`]
//! writes definitions as proto text.

pub(crate) mod assemble;
mod editions;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod print;
mod reflection;
pub(crate) mod source;
pub(crate) mod wire;

use prost_reflect::{DescriptorPool, MessageDescriptor, ServiceDescriptor};

/// A set of definitions.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) pool: DescriptorPool,
}

impl Schema {
    /// Full names of the services, sorted.
    pub(crate) fn service_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.pool.services().map(|service| service.full_name().to_owned()).collect();
        names.sort();
        names
    }

    /// The service of this full name.
    pub(crate) fn service(&self, name: &str) -> Option<ServiceDescriptor> {
        self.pool.get_service_by_name(name)
    }

    /// The message of this full name.
    pub(crate) fn message(&self, name: &str) -> Option<MessageDescriptor> {
        self.pool.get_message_by_name(name)
    }
}
