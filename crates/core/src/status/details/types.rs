//! The details of `google.rpc` that hold one thing each: reason, delay, stack, request, resource, localized text.
//!
//! Fields carry the names of the protobuf types, which google/rpc/error_details.proto documents at length.

use std::collections::BTreeMap;
use std::time::Duration;

use super::any::Detail;
use super::wire::{Merge, Value, Writer, insert, push_string, set_string};
use crate::codec::DecodeError;

/// Why it failed, for programs: the one detail that every error of a public interface should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorInfo {
    /// The cause in `UPPER_SNAKE_CASE`, unique within `domain`.
    pub reason: String,
    /// Who names the reasons, usually the service's host name.
    pub domain: String,
    /// What else a program needs to know.
    pub metadata: BTreeMap<String, String>,
}

impl ErrorInfo {
    /// A reason of a domain.
    pub fn new(reason: impl Into<String>, domain: impl Into<String>) -> Self {
        Self { reason: reason.into(), domain: domain.into(), metadata: BTreeMap::new() }
    }

    /// Adds an entry to `metadata`.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// When to try again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryInfo {
    /// The least time to wait. On the wire at most 315,576,000,000 s; a negative one is read as zero.
    pub retry_delay: Option<Duration>,
}

impl RetryInfo {
    /// Not before `delay` has passed.
    pub fn after(delay: Duration) -> Self {
        Self { retry_delay: Some(delay) }
    }
}

/// Where it failed, for the developers of the service; not for the public.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebugInfo {
    /// The stack, innermost entry first.
    pub stack_entries: Vec<String>,
    /// Anything else.
    pub detail: String,
}

impl DebugInfo {
    /// Words for developers.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { stack_entries: Vec::new(), detail: detail.into() }
    }

    /// Adds an entry below those of the stack.
    #[must_use]
    pub fn with_stack_entry(mut self, entry: impl Into<String>) -> Self {
        self.stack_entries.push(entry.into());
        self
    }
}

/// Which request this was, for whoever looks for it in the logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestInfo {
    /// What the service calls the request.
    pub request_id: String,
    /// What served it, as the service encodes it.
    pub serving_data: String,
}

impl RequestInfo {
    /// A request by its id.
    pub fn new(request_id: impl Into<String>) -> Self {
        Self { request_id: request_id.into(), serving_data: String::new() }
    }

    /// Sets `serving_data`.
    #[must_use]
    pub fn with_serving_data(mut self, serving_data: impl Into<String>) -> Self {
        self.serving_data = serving_data.into();
        self
    }
}

/// Which resource it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceInfo {
    /// What sort of thing, for example `sql table`.
    pub resource_type: String,
    /// Which one.
    pub resource_name: String,
    /// Whose it is, if that matters.
    pub owner: String,
    /// What went wrong with it.
    pub description: String,
}

impl ResourceInfo {
    /// A resource by sort and name.
    pub fn new(resource_type: impl Into<String>, resource_name: impl Into<String>) -> Self {
        Self { resource_type: resource_type.into(), resource_name: resource_name.into(), ..Self::default() }
    }

    /// Sets `owner`.
    #[must_use]
    pub fn with_owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Sets `description`.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }
}

/// The error in the user's language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalizedMessage {
    /// The language, for example `de-CH`.
    pub locale: String,
    /// The text in it.
    pub message: String,
}

impl LocalizedMessage {
    /// A text in a language.
    pub fn new(locale: impl Into<String>, message: impl Into<String>) -> Self {
        Self { locale: locale.into(), message: message.into() }
    }
}

/// Makes each type a [`Detail`] of its name; the type itself says how its fields are written and read.
macro_rules! details {
    ($($name:ident)*) => {
        $(impl Detail for $name {
            const TYPE_NAME: &'static str = concat!("google.rpc.", stringify!($name));

            fn to_value(&self) -> Vec<u8> {
                let mut writer = Writer::default();
                self.write(&mut writer);
                writer.into_bytes()
            }

            fn from_value(value: &[u8]) -> Result<Self, DecodeError> {
                Self::from_bytes(value)
            }
        })*
    };
}
pub(super) use details;

details! { ErrorInfo RetryInfo DebugInfo RequestInfo ResourceInfo LocalizedMessage }

impl ErrorInfo {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.reason);
        writer.string(2, &self.domain);
        writer.map(3, &self.metadata);
    }
}

impl Merge for ErrorInfo {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(reason)) => set_string(&mut self.reason, reason),
            (2, Value::Bytes(domain)) => set_string(&mut self.domain, domain),
            (3, Value::Bytes(entry)) => insert(&mut self.metadata, entry),
            _ => Ok(()),
        }
    }
}

impl RetryInfo {
    fn write(&self, writer: &mut Writer) {
        if let Some(delay) = self.retry_delay {
            let mut duration = Writer::default();
            let seconds = i64::try_from(delay.as_secs()).unwrap_or(MAX_SECONDS);
            duration.integer(1, seconds.min(MAX_SECONDS));
            duration.integer(2, i64::from(delay.subsec_nanos()));
            writer.message(1, &duration.into_bytes());
        }
    }
}

impl Merge for RetryInfo {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        if let (1, Value::Bytes(duration)) = (number, value) {
            let mut merged = WireDuration::of(self.retry_delay);
            merged.merge(duration)?;
            self.retry_delay = Some(merged.to_std());
        }
        Ok(())
    }
}

/// `google.protobuf.Duration`.
#[derive(Default)]
struct WireDuration {
    seconds: i64,
    nanos: i32,
}

impl WireDuration {
    fn of(duration: Option<Duration>) -> Self {
        let duration = duration.unwrap_or_default();
        let seconds = i64::try_from(duration.as_secs()).unwrap_or(MAX_SECONDS);
        Self { seconds, nanos: duration.subsec_nanos() as i32 }
    }

    /// What is below zero is zero, and what is over the most that may be said is that: it is written the same way.
    fn to_std(&self) -> Duration {
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.seconds), u64::try_from(self.nanos)) else {
            return Duration::ZERO;
        };
        let most = Duration::new(MAX_SECONDS as u64, 999_999_999);
        Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos)).min(most)
    }
}

impl Merge for WireDuration {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Varint(seconds)) => self.seconds = seconds as i64,
            (2, Value::Varint(nanos)) => self.nanos = nanos as i32,
            _ => {}
        }
        Ok(())
    }
}

impl DebugInfo {
    fn write(&self, writer: &mut Writer) {
        writer.strings(1, &self.stack_entries);
        writer.string(2, &self.detail);
    }
}

impl Merge for DebugInfo {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(entry)) => push_string(&mut self.stack_entries, entry),
            (2, Value::Bytes(detail)) => set_string(&mut self.detail, detail),
            _ => Ok(()),
        }
    }
}

impl RequestInfo {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.request_id);
        writer.string(2, &self.serving_data);
    }
}

impl Merge for RequestInfo {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(id)) => set_string(&mut self.request_id, id),
            (2, Value::Bytes(data)) => set_string(&mut self.serving_data, data),
            _ => Ok(()),
        }
    }
}

impl ResourceInfo {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.resource_type);
        writer.string(2, &self.resource_name);
        writer.string(3, &self.owner);
        writer.string(4, &self.description);
    }
}

impl Merge for ResourceInfo {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(sort)) => set_string(&mut self.resource_type, sort),
            (2, Value::Bytes(name)) => set_string(&mut self.resource_name, name),
            (3, Value::Bytes(owner)) => set_string(&mut self.owner, owner),
            (4, Value::Bytes(description)) => set_string(&mut self.description, description),
            _ => Ok(()),
        }
    }
}

impl LocalizedMessage {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.locale);
        writer.string(2, &self.message);
    }
}

impl Merge for LocalizedMessage {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(locale)) => set_string(&mut self.locale, locale),
            (2, Value::Bytes(message)) => set_string(&mut self.message, message),
            _ => Ok(()),
        }
    }
}

/// The most seconds that `google.protobuf.Duration` allows, some 10,000 years.
const MAX_SECONDS: i64 = 315_576_000_000;
