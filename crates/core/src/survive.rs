//! Running the user's code where a panic of it must go no further (wire-rules E1).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `code` returns, or `None` if it panicked. The value of the panic is the user's too: one that panics when it is
/// dropped is left where it lies.
#[inline(always)]
pub fn survive<R>(code: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => Some(value),
        Err(panic) => {
            bury(panic);
            None
        }
    }
}

#[cold]
fn bury(panic: Box<dyn Any + Send>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(panic);
    }
}

/// Drops a value of the user's, whose destructor may panic.
pub fn drop_quietly<T>(value: T) {
    let _panicked = survive(|| drop(value));
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// Panics when it is dropped, with another one of its kind.
    struct Bomb(u8);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Bomb(self.0 - 1));
            }
        }
    }

    // wire-rules E1
    #[test]
    fn panics_whose_values_panic_are_survived() {
        assert_eq!(survive(|| 7), Some(7));
        for depth in 0..3 {
            assert_eq!(survive(|| panic_any(Bomb(depth))), None::<()>);
            drop_quietly(Bomb(depth));
        }
    }
}
