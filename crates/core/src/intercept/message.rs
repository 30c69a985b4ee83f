//! Messages as hooks see them: of any type.

use std::any::Any;
use std::fmt;

use crate::codec::{Codec, EncodeError, EncodeTarget};
use crate::message::EncodeBuf;
use crate::status::Status;

/// A message on its way, in either direction.
pub struct Message<'a> {
    value: &'a dyn Any,
    len: Len,
}

/// Where the encoded length comes from: measured only if somebody asks.
enum Len {
    Known(usize),
    Measured(fn(&dyn Any) -> usize),
}

impl<'a> Message<'a> {
    /// A message that was decoded from so many bytes.
    pub fn decoded<T: 'static>(value: &'a T, len: usize) -> Self {
        Self { value, len: Len::Known(len) }
    }

    /// A message that is about to be encoded with codec `C`.
    pub fn outgoing<C: Codec<T>, T: 'static>(value: &'a T) -> Self {
        Self { value, len: Len::Measured(measure::<C, T>) }
    }

    /// The message, if it is a `T`: the generated type.
    pub fn downcast_ref<T: 'static>(&self) -> Option<&'a T> {
        self.value.downcast_ref()
    }

    /// Its length in bytes, encoded and not compressed.
    pub fn encoded_len(&self) -> usize {
        match self.len {
            Len::Known(len) => len,
            Len::Measured(measure) => measure(self.value),
        }
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("encoded_len", &self.encoded_len()).finish_non_exhaustive()
    }
}

/// Takes down what a codec announces, and has no room.
struct Ruler(usize);

impl EncodeTarget for Ruler {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        self.0 = len;
        Err(EncodeError::closed())
    }
}

fn measure<C: Codec<T>, T: 'static>(value: &dyn Any) -> usize {
    let mut ruler = Ruler(0);
    if let Some(value) = value.downcast_ref::<T>() {
        // Fails by design, once the length is known (wire-rules Z3).
        let _no_room = C::encode(value, &mut ruler);
    }
    ruler.0
}

/// Hooks for the messages of one direction of a call.
#[derive(Default)]
pub struct MessageHooks {
    hooks: Vec<Hook>,
}

type Hook = Box<dyn FnMut(&Message<'_>) -> Result<(), Status> + Send>;

impl MessageHooks {
    pub(crate) fn push(&mut self, hook: impl FnMut(&Message<'_>) -> Result<(), Status> + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Shows them a message.
    ///
    /// # Errors
    /// The first hook's that fails: the call ends with it.
    pub fn run(&mut self, message: &Message<'_>) -> Result<(), Status> {
        self.hooks.iter_mut().try_for_each(|hook| hook(message).map_err(Status::refuse_ok))
    }
}

impl fmt::Debug for MessageHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageHooks").field("count", &self.hooks.len()).finish()
    }
}
