//! A value that all clones of its holder see change at once.

use std::sync::{Arc, PoisonError, RwLock};

/// What new handshakes use. Clones share it: a change reaches every holder, and handshakes that have begun go on with
/// what they began with.
pub(super) struct Current<T> {
    value: Arc<RwLock<Arc<T>>>,
}

impl<T> Current<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value: Arc::new(RwLock::new(Arc::new(value))) }
    }

    pub(super) fn get(&self) -> Arc<T> {
        Arc::clone(&self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts what `again` makes of the value into its place, if it makes anything; says whether it did.
    ///
    /// # Errors
    /// `again` failed: nothing has changed.
    pub(super) fn renew<E>(&self, again: impl FnOnce(&T) -> Result<Option<T>, E>) -> Result<bool, E> {
        let renewed = again(&self.get())?;
        Ok(renewed.map(|value| self.set(Arc::new(value))).is_some())
    }

    pub(super) fn set(&self, value: Arc<T>) {
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value) }
    }
}
