//! Every schema that is known, for the `Any`s whose type may be of another one than the message around them.

use std::sync::{Arc, PoisonError, RwLock};

use crate::schema::{LinkError, MessageId, Schema};

/// Schemas by descriptor set, which only grow in number.
#[derive(Debug, Default)]
pub(crate) struct Types {
    sets: RwLock<Vec<Set>>,
}

#[derive(Debug)]
struct Set {
    encoded: Box<[u8]>,
    schema: Arc<Schema>,
}

impl Types {
    /// The schema of an encoded `google.protobuf.FileDescriptorSet`, made when it is first asked for.
    ///
    /// # Errors
    /// The bytes are no such set, or it lacks imports.
    pub(crate) fn schema(&self, set: &[u8]) -> Result<Arc<Schema>, LinkError> {
        let find = |sets: &[Set]| {
            sets.iter().find(|known| *known.encoded == *set).map(|known| Arc::clone(&known.schema))
        };
        // Nothing under the locks can leave the list half changed.
        if let Some(schema) = find(&self.sets.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(schema);
        }
        let schema = Arc::new(Schema::parse(set)?);
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = find(&sets) {
            return Ok(schema);
        }
        sets.push(Set { encoded: set.into(), schema: Arc::clone(&schema) });
        Ok(schema)
    }

    /// The message that a type URL names by what stands behind its last slash.
    pub(crate) fn find(&self, url: &str) -> Option<(Arc<Schema>, MessageId)> {
        let (_, full_name) = url.rsplit_once('/')?;
        self.named(full_name)
    }

    /// The message with a full name. Of several schemas that have it, the one that was made first.
    pub(crate) fn named(&self, full_name: &str) -> Option<(Arc<Schema>, MessageId)> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        sets.iter().find_map(|set| Some((Arc::clone(&set.schema), set.schema.find(full_name)?)))
    }
}
