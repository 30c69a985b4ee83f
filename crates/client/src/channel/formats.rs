//! The message formats that a channel was given, and how the messages of each method are rewritten.
//!
//! Asked by calls that are not in the codec's own format, and by no others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use peregrine_core::{Format, MessageFormat, MethodDescriptor, MethodFormat, Status};

/// A channel's formats, by [`Format::index`]; the place of the codecs' own stays empty.
#[derive(Debug, Default)]
pub(super) struct Formats([Option<Known>; Format::COUNT]);

#[derive(Debug)]
struct Known {
    format: Arc<dyn MessageFormat>,
    /// By path. Holds what has a descriptor only: as many as the program has methods.
    methods: Mutex<HashMap<Box<str>, Arc<MethodFormat>>>,
}

impl Formats {
    pub(super) fn add(&mut self, format: Arc<dyn MessageFormat>) {
        let place = &mut self.0[format.format().index()];
        *place = Some(Known { format, methods: Mutex::default() });
    }

    /// How the messages of a call of `method` in `format` are rewritten.
    ///
    /// # Errors
    /// UNIMPLEMENTED: the channel was not given the format, or the format does not know the method's types.
    #[cold]
    pub(super) fn method(
        &self,
        format: Format,
        method: &MethodDescriptor<'_>,
    ) -> Result<Arc<MethodFormat>, Status> {
        let Some(known) = &self.0[format.index()] else {
            return Err(Status::unimplemented(format!(
                "the channel was not given a way to write {}: its builder takes one, as in .json(Json::new())",
                format.content_type()
            )));
        };
        // Nothing in here can leave the table half changed.
        let mut methods = known.methods.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(method) = methods.get(method.path) {
            return Ok(Arc::clone(method));
        }
        let rewritten = Arc::new(known.format.method(method)?);
        methods.insert(method.path.into(), Arc::clone(&rewritten));
        Ok(rewritten)
    }
}
