//! The multi-line form that `Debug` of [`Status`](crate::Status) and
//! [`Error`](crate::Error) print, since `main` prints that form.

use std::error::Error;
use std::fmt;

/// Writes one line per cause below `first`, outermost first.
///
/// The chain is cut after [`MAX_CAUSES`] so that a cyclic `source()` ends.
pub(crate) fn write_causes(f: &mut fmt::Formatter<'_>, first: Option<&(dyn Error + 'static)>) -> fmt::Result {
    let mut cause = first;
    for _ in 0..MAX_CAUSES {
        let Some(error) = cause else { return Ok(()) };
        write!(f, "\n  caused by: {error}")?;
        cause = error.source();
    }
    f.write_str("\n  caused by: (more causes left out)")
}

/// Causes shown by one report.
const MAX_CAUSES: usize = 16;
