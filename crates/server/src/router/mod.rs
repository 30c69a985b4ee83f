//! From a request's path to a method, by the raw bytes (wire-rules 4 to 6, R1, R2).
//!
//! Built once, before the server starts; looked up once per distinct header block, since the result lives in
//! the engine's memo.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use peregrine_core::{Format, MessageFormat, MethodDescriptor, MethodFormat, ServiceDescriptor, Status};

use crate::call::excerpt::shortened;
use crate::method_config::{MethodConfig, MethodSettings};
use crate::options::Options;
use crate::service::{CallSlot, InterceptedSlot, Service};

/// A method's place in the router: dense, so that a connection can keep its slots in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodIndex(pub(crate) u32);

impl MethodIndex {
    pub(crate) fn get(self) -> usize {
        self.0 as usize
    }
}

/// Every method that the server answers.
#[derive(Default)]
pub(crate) struct Router {
    methods: Vec<Method>,
    by_path: HashMap<Box<[u8]>, MethodIndex>,
    services: Vec<Arc<dyn Service>>,
    /// What stands in front of every path, without a slash at its end (wire-rules R3). Usually empty.
    prefix: Box<[u8]>,
    /// By [`Format::index`]: how the messages of each method are rewritten, or why they cannot be. Empty for the
    /// codecs' own format and for those that the server was not given.
    formats: [Vec<Result<MethodFormat, Status>>; Format::COUNT],
}

/// A method, mounted.
struct Method {
    service: usize,
    /// Its index in the service's own descriptor.
    index: usize,
    descriptor: &'static MethodDescriptor<'static>,
    settings: MethodSettings,
    poll_time: PollTime,
}

impl Router {
    /// Mounts a service.
    ///
    /// # Errors
    /// The name of the service, when one of that name is mounted already.
    pub(crate) fn add(&mut self, service: Arc<dyn Service>) -> Result<(), &'static str> {
        let descriptor = service.descriptor();
        if self.services.iter().any(|other| other.descriptor().name == descriptor.name) {
            return Err(descriptor.name);
        }
        for (index, method) in descriptor.methods.iter().enumerate() {
            self.by_path.insert(method.path.as_bytes().into(), MethodIndex(self.methods.len() as u32));
            self.methods.push(Method {
                service: self.services.len(),
                index,
                descriptor: method,
                settings: MethodSettings::default(),
                poll_time: PollTime::default(),
            });
        }
        self.services.push(service);
        Ok(())
    }

    /// Expects this in front of every path: `/api` for `/api/Service/Method`.
    ///
    /// # Errors
    /// No path can begin so.
    pub(crate) fn mount_under(&mut self, prefix: &str) -> Result<(), &'static str> {
        match prefix.as_bytes() {
            [] => {}
            [b'/', .., b'/'] | [b'/'] => {
                return Err("it ends with a slash, and the path behind it begins with one");
            }
            [b'/', rest @ ..] if rest.iter().all(u8::is_ascii_graphic) => {}
            [b'/', ..] => return Err("it has characters that a path cannot have"),
            _ => return Err("it does not begin with a slash"),
        }
        self.prefix = prefix.as_bytes().into();
        Ok(())
    }

    /// From now on calls of the methods mounted so far may come in another format.
    pub(crate) fn add_format(&mut self, format: &dyn MessageFormat) {
        let methods = self.methods.iter().map(|method| {
            let service = self.services[method.service].descriptor();
            // A descriptor written by hand may name its schema once, for the whole service.
            let file_descriptor_set = service.file_descriptor_set;
            format.method(&MethodDescriptor { file_descriptor_set, ..*method.descriptor })
        });
        self.formats[format.format().index()] = methods.collect();
    }

    /// Whether calls may come in this format.
    pub(crate) fn speaks(&self, format: Format) -> bool {
        format == Format::Proto || !self.formats[format.index()].is_empty()
    }

    /// Whether calls of this method may come in this format.
    pub(crate) fn check_format(&self, method: MethodIndex, format: Format) -> Result<(), &Status> {
        match self.formats[format.index()].get(method.get()) {
            Some(Err(reason)) => Err(reason),
            _ => Ok(()),
        }
    }

    /// How the messages of a call are rewritten; `None` if the codec reads them as they are.
    #[inline]
    pub(crate) fn format(&self, method: MethodIndex, format: Format) -> Option<&MethodFormat> {
        if format == Format::Proto {
            return None;
        }
        self.formats[format.index()].get(method.get())?.as_ref().ok()
    }

    /// Settles what holds for each method: what `options` say, what `configs` say of its service, and what they say of
    /// the method itself; of two that name the same, the later one. Called once, before the server starts.
    ///
    /// # Errors
    /// A name that is neither a mounted service's nor a method's.
    pub(crate) fn settle(
        &mut self,
        options: &Options,
        configs: &[(String, MethodConfig)],
    ) -> Result<(), String> {
        let names = configs.iter().map(|(name, config)| (name.strip_prefix('/').unwrap_or(name), config));
        for (name, _) in names.clone() {
            let is_known =
                |method: &Method| name == method.descriptor.service || name == &method.descriptor.path[1..];
            if !self.methods.iter().any(is_known) {
                return Err(name.to_owned());
            }
        }
        for method in &mut self.methods {
            let mut settings = MethodSettings::of_server(options);
            let of_service = names.clone().filter(|(name, _)| *name == method.descriptor.service);
            let of_method = names.clone().filter(|(name, _)| *name == &method.descriptor.path[1..]);
            of_service.chain(of_method).for_each(|(_, config)| settings.apply(config));
            settings.settle();
            method.settings = settings;
        }
        Ok(())
    }

    pub(crate) fn settings(&self, method: MethodIndex) -> &MethodSettings {
        &self.methods[method.get()].settings
    }

    /// The method for a path, compared as bytes: no percent-decoding, no query, case-sensitive.
    pub(crate) fn find(&self, path: &[u8]) -> Option<MethodIndex> {
        self.by_path.get(path.strip_prefix(&*self.prefix)?).copied()
    }

    /// The same status for an unknown service and an unknown method (wire-rules 6, R2).
    pub(crate) fn unimplemented(path: &[u8]) -> Status {
        Status::unimplemented(format!("unknown method {}", shortened(path)))
    }

    pub(crate) fn descriptor(&self, method: MethodIndex) -> &'static MethodDescriptor<'static> {
        self.methods[method.get()].descriptor
    }

    pub(crate) fn poll_time(&self, method: MethodIndex) -> &PollTime {
        &self.methods[method.get()].poll_time
    }

    pub(crate) fn slot(&self, method: MethodIndex) -> Option<Pin<Box<dyn CallSlot>>> {
        let method = &self.methods[method.get()];
        let slot = self.services[method.service].slot(method.index)?;
        let settings = &method.settings;
        if settings.interceptors.is_empty() {
            return Some(slot);
        }
        Some(InterceptedSlot::boxed(method.descriptor, settings, slot))
    }

    pub(crate) fn services(&self) -> impl Iterator<Item = &'static ServiceDescriptor> {
        self.services.iter().map(|service| service.descriptor())
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.services().map(|service| service.name)).finish()
    }
}

/// An exponentially weighted mean of how long polls of a method's calls take, shared by all connections: a sample
/// of those in place, and the first poll of every call in a task of its own. It decides, before a call's first poll,
/// whether the call runs in place or is spawned.
#[derive(Debug, Default)]
pub(crate) struct PollTime {
    nanos: AtomicU32,
}

impl PollTime {
    /// Weight of a new sample: 1/8.
    const SHIFT: u32 = 3;
    /// Mean poll from which on calls are spawned: neighbours on the connection would wait that long.
    const SPAWN_ABOVE_NANOS: u32 = 100_000;

    pub(crate) fn record(&self, nanos: u32) {
        let mean = self.nanos.load(Ordering::Relaxed);
        // Lost updates between threads do not matter for a mean.
        let next = if nanos >= mean {
            mean + ((nanos - mean) >> Self::SHIFT)
        } else {
            mean - ((mean - nanos) >> Self::SHIFT)
        };
        self.nanos.store(next, Ordering::Relaxed);
    }

    pub(crate) fn should_spawn(&self) -> bool {
        self.nanos.load(Ordering::Relaxed) > Self::SPAWN_ABOVE_NANOS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_spawned_after_slow_polls_and_inline_again_after_fast_ones() {
        let time = PollTime::default();
        assert!(!time.should_spawn());
        for _ in 0..8 {
            time.record(5_000_000);
        }
        assert!(time.should_spawn());
        for _ in 0..64 {
            time.record(1_000);
        }
        assert!(!time.should_spawn());
    }
}
