//! The multi-line form that `Debug` of [`Status`](crate::Status) and [`Error`]
//! print, since `main` prints that form.

use std::error::Error as StdError;
use std::fmt;

use crate::Error;

/// What stands above the causes of a report.
pub(crate) struct Report<'a> {
    /// The report's first line.
    pub(crate) headline: &'a str,
    /// The next step of the failure itself; without one, that of the first cause that knows one is shown.
    pub(crate) hint: Option<&'a str>,
}

impl Report<'_> {
    /// Writes a line per cause, outermost first, and the next step last.
    ///
    /// A cause that only repeats what stands above it is left out, as wrappers tend to; what an [`Error`] among them
    /// knows of its phase, attempt and time is not. The chain is cut after [`MAX_CAUSES`] so that a cyclic `source()`
    /// ends.
    pub(crate) fn write_causes(
        self,
        f: &mut fmt::Formatter<'_>,
        first: Option<&(dyn StdError + 'static)>,
    ) -> fmt::Result {
        let mut said = self.headline.to_lowercase();
        let mut hint = self.hint;
        let mut cause = first;
        for _ in 0..MAX_CAUSES {
            let Some(error) = cause else { break };
            let text = error.to_string();
            let folded = text.to_lowercase();
            let of_ours = error.downcast_ref::<Error>().filter(|error| error.status().is_none());
            if let Some(error) = of_ours.filter(|error| error.message().is_empty()) {
                // It has no words of its own: what it knows belongs to what stands above.
                if let Some(peer) = error.peer() {
                    write!(f, "\n  peer: {peer}")?;
                }
            } else if !said.contains(&folded) {
                write!(f, "\n  caused by: {text}")?;
                said.push('\n');
                said.push_str(&folded);
            }
            if let Some(error) = of_ours {
                error.write_facts(f)?;
                hint = hint.or(error.hint());
            }
            cause = error.source();
        }
        if cause.is_some() {
            f.write_str("\n  caused by: (more causes left out)")?;
        }
        match hint {
            Some(hint) => write!(f, "\n  next step: {hint}"),
            None => Ok(()),
        }
    }
}

/// Causes shown by one report.
const MAX_CAUSES: usize = 16;
