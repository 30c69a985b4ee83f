//! The message formats that a channel was given, and how the messages of each method are rewritten.
//!
//! Asked by calls that are not in the codec's own format, and by no others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use peregrine_core::{
    CallOptions, Error, Format, MessageFormat, MethodDescriptor, MethodFormat, Phase, Status,
};

use crate::call_error::hinted;

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

    /// Whether the format that `options` name is there.
    pub(super) fn check(&self, options: &CallOptions, of: &str) -> Result<(), Error> {
        match options.format {
            None | Some(Format::Proto) => Ok(()),
            Some(format) if self.0[format.index()].is_some() => Ok(()),
            Some(format) => {
                Err(Error::new(Phase::Config, format!("{of}: {}", not_given(format))).with_hint(HOW_TO_GIVE))
            }
        }
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
            return Err(hinted(Status::unimplemented(not_given(format)), HOW_TO_GIVE));
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

fn not_given(format: Format) -> String {
    format!("the channel was not given a way to write {}", format.content_type())
}

const HOW_TO_GIVE: &str = "give its builder one, as in .json(Json::new())";
