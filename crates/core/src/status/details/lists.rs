//! The details of `google.rpc` that are lists: quotas, preconditions, fields of a request, links.

use std::collections::BTreeMap;

use super::any::Detail;
use super::types::{LocalizedMessage, details};
use super::wire::{Merge, Value, Writer, insert, push_message, set_string};
use crate::codec::DecodeError;

/// Which quotas are used up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaFailure {
    /// One for each.
    pub violations: Vec<QuotaViolation>,
}

/// A quota that is used up: `google.rpc.QuotaFailure.Violation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaViolation {
    /// Whose quota, for example `clientip:192.0.2.1`.
    pub subject: String,
    /// What it is about and what can be done.
    pub description: String,
    /// The service that has the quota, if that is another one.
    pub api_service: String,
    /// The metric that is bounded.
    pub quota_metric: String,
    /// Which of the bounds on that metric.
    pub quota_id: String,
    /// For which region, user and so on.
    pub quota_dimensions: BTreeMap<String, String>,
    /// The bound.
    pub quota_value: i64,
    /// What the bound will be once a change of it is through.
    pub future_quota_value: Option<i64>,
}

impl QuotaFailure {
    /// A quota that is used up.
    pub fn violation(subject: impl Into<String>, description: impl Into<String>) -> Self {
        Self::default().and(subject, description)
    }

    /// One more of them.
    #[must_use]
    pub fn and(mut self, subject: impl Into<String>, description: impl Into<String>) -> Self {
        let (subject, description) = (subject.into(), description.into());
        self.violations.push(QuotaViolation { subject, description, ..QuotaViolation::default() });
        self
    }
}

/// Which conditions do not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreconditionFailure {
    /// One for each.
    pub violations: Vec<PreconditionViolation>,
}

/// A condition that does not hold: `google.rpc.PreconditionFailure.Violation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreconditionViolation {
    /// What sort of condition, for example `TOS`; the field `type`.
    pub kind: String,
    /// What has to meet it.
    pub subject: String,
    /// What is missing, in words.
    pub description: String,
}

impl PreconditionFailure {
    /// A condition that does not hold.
    pub fn violation(
        kind: impl Into<String>,
        subject: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self::default().and(kind, subject, description)
    }

    /// One more of them.
    #[must_use]
    pub fn and(
        mut self,
        kind: impl Into<String>,
        subject: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        let (kind, subject, description) = (kind.into(), subject.into(), description.into());
        self.violations.push(PreconditionViolation { kind, subject, description });
        self
    }
}

/// Which fields of the request are wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadRequest {
    /// One for each.
    pub field_violations: Vec<FieldViolation>,
}

/// A field that is wrong: `google.rpc.BadRequest.FieldViolation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldViolation {
    /// The path to it: `book.authors[2].name`.
    pub field: String,
    /// What is wrong, for people.
    pub description: String,
    /// The same for programs, in `UPPER_SNAKE_CASE`.
    pub reason: String,
    /// The same for people, in their language.
    pub localized_message: Option<LocalizedMessage>,
}

impl BadRequest {
    /// A field that is wrong.
    pub fn field(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::default().and(field, description)
    }

    /// One more of them.
    #[must_use]
    pub fn and(mut self, field: impl Into<String>, description: impl Into<String>) -> Self {
        let (field, description) = (field.into(), description.into());
        self.field_violations.push(FieldViolation { field, description, ..FieldViolation::default() });
        self
    }
}

/// Where to read on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Help {
    /// One for each.
    pub links: Vec<HelpLink>,
}

/// A link: `google.rpc.Help.Link`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HelpLink {
    /// What is found there.
    pub description: String,
    /// Where.
    pub url: String,
}

impl Help {
    /// A link.
    pub fn link(description: impl Into<String>, url: impl Into<String>) -> Self {
        Self::default().and(description, url)
    }

    /// One more of them.
    #[must_use]
    pub fn and(mut self, description: impl Into<String>, url: impl Into<String>) -> Self {
        self.links.push(HelpLink { description: description.into(), url: url.into() });
        self
    }
}

details! { QuotaFailure PreconditionFailure BadRequest Help }

/// A list in field 1 is all that these messages have.
macro_rules! lists {
    ($($name:ident . $list:ident)*) => {
        $(impl $name {
            fn write(&self, writer: &mut Writer) {
                for element in &self.$list {
                    let mut inner = Writer::default();
                    element.write(&mut inner);
                    writer.message(1, &inner.into_bytes());
                }
            }
        }

        impl Merge for $name {
            fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
                match (number, value) {
                    (1, Value::Bytes(element)) => push_message(&mut self.$list, element),
                    _ => Ok(()),
                }
            }
        })*
    };
}

lists! { QuotaFailure.violations PreconditionFailure.violations BadRequest.field_violations Help.links }

impl QuotaViolation {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.subject);
        writer.string(2, &self.description);
        writer.string(3, &self.api_service);
        writer.string(4, &self.quota_metric);
        writer.string(5, &self.quota_id);
        writer.map(6, &self.quota_dimensions);
        writer.integer(7, self.quota_value);
        if let Some(value) = self.future_quota_value {
            writer.present_integer(8, value);
        }
    }
}

impl Merge for QuotaViolation {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(subject)) => set_string(&mut self.subject, subject)?,
            (2, Value::Bytes(description)) => set_string(&mut self.description, description)?,
            (3, Value::Bytes(service)) => set_string(&mut self.api_service, service)?,
            (4, Value::Bytes(metric)) => set_string(&mut self.quota_metric, metric)?,
            (5, Value::Bytes(id)) => set_string(&mut self.quota_id, id)?,
            (6, Value::Bytes(entry)) => insert(&mut self.quota_dimensions, entry)?,
            (7, Value::Varint(value)) => self.quota_value = value as i64,
            (8, Value::Varint(value)) => self.future_quota_value = Some(value as i64),
            _ => {}
        }
        Ok(())
    }
}

impl PreconditionViolation {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.kind);
        writer.string(2, &self.subject);
        writer.string(3, &self.description);
    }
}

impl Merge for PreconditionViolation {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(kind)) => set_string(&mut self.kind, kind),
            (2, Value::Bytes(subject)) => set_string(&mut self.subject, subject),
            (3, Value::Bytes(description)) => set_string(&mut self.description, description),
            _ => Ok(()),
        }
    }
}

impl FieldViolation {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.field);
        writer.string(2, &self.description);
        writer.string(3, &self.reason);
        if let Some(message) = &self.localized_message {
            let mut inner = Writer::default();
            message.write(&mut inner);
            writer.message(4, &inner.into_bytes());
        }
    }
}

impl Merge for FieldViolation {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(field)) => set_string(&mut self.field, field),
            (2, Value::Bytes(description)) => set_string(&mut self.description, description),
            (3, Value::Bytes(reason)) => set_string(&mut self.reason, reason),
            (4, Value::Bytes(message)) => self.localized_message.get_or_insert_default().merge(message),
            _ => Ok(()),
        }
    }
}

impl HelpLink {
    fn write(&self, writer: &mut Writer) {
        writer.string(1, &self.description);
        writer.string(2, &self.url);
    }
}

impl Merge for HelpLink {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(description)) => set_string(&mut self.description, description),
            (2, Value::Bytes(url)) => set_string(&mut self.url, url),
            _ => Ok(()),
        }
    }
}
