//! The end of a call, as the hooks of interceptors see it.

use std::fmt;

use crate::metadata::MetadataMap;
use crate::status::{Code, Status};
use crate::survive::{drop_quietly, survive};

/// How a call ended.
///
/// On a server a hook runs before the end is sent, and on a client before the caller has it, so that what it changes
/// counts; unless the call was [given up](Self::is_abandoned), since nobody hears of the end then.
#[derive(Debug)]
pub struct CallEnd {
    result: Result<MetadataMap, Status>,
    is_abandoned: bool,
}

impl CallEnd {
    /// OK, or the code of the status.
    pub fn code(&self) -> Code {
        self.result.as_ref().err().map_or(Code::Ok, Status::code)
    }

    /// The status, unless that is OK.
    pub fn status(&self) -> Option<&Status> {
        self.result.as_ref().err()
    }

    /// Trailing metadata, of success or failure.
    pub fn trailers(&self) -> &MetadataMap {
        match &self.result {
            Ok(trailers) => trailers,
            Err(status) => status.metadata(),
        }
    }

    /// Trailing metadata, to change.
    pub fn trailers_mut(&mut self) -> &mut MetadataMap {
        match &mut self.result {
            Ok(trailers) => trailers,
            Err(status) => status.metadata_mut(),
        }
    }

    /// Ends the call with this status instead. A status that says OK becomes INTERNAL.
    pub fn fail(&mut self, status: Status) {
        self.result = Err(status.refuse_ok());
    }

    /// Whether the call was given up before it was answered: the peer or the caller left, or the deadline passed on a
    /// server.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }
}

/// The hooks for the end of one call. Each runs once: with the end it is told, or as abandoned when this is dropped.
/// One that panics makes the end UNKNOWN for those that follow.
// wire-rules E1
#[derive(Default)]
pub struct EndHooks {
    hooks: Vec<Hook>,
}

type Hook = Box<dyn FnOnce(&mut CallEnd) + Send>;

impl EndHooks {
    pub(crate) fn push(&mut self, hook: impl FnOnce(&mut CallEnd) + Send + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Whether there are none, or they have run.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// The call has ended so; what the hooks make of it.
    ///
    /// # Errors
    /// The status that the call ends with.
    pub fn run(&mut self, result: Result<MetadataMap, Status>) -> Result<MetadataMap, Status> {
        self.tell(CallEnd { result, is_abandoned: false })
    }

    /// Nobody waits for the end any more; `status` is what it would have been.
    pub fn run_abandoned(&mut self, status: Status) {
        let _nobody_hears_it = self.tell(CallEnd { result: Err(status), is_abandoned: true });
    }

    fn tell(&mut self, mut end: CallEnd) -> Result<MetadataMap, Status> {
        for hook in std::mem::take(&mut self.hooks).into_iter().rev() {
            // One that panics fails its call and keeps none of the others from being told; nor may it unwind out of the
            // destructor that this may be called from, which would end the process.
            if survive(|| hook(&mut end)).is_none() {
                let status = Status::unknown("a hook of an interceptor panicked");
                drop_quietly(std::mem::replace(&mut end.result, Err(status)));
            }
        }
        end.result
    }
}

impl Drop for EndHooks {
    fn drop(&mut self) {
        if !self.hooks.is_empty() {
            self.run_abandoned(Status::cancelled("the call was given up before its end"));
        }
    }
}

impl fmt::Debug for EndHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndHooks").field("count", &self.hooks.len()).finish()
    }
}
