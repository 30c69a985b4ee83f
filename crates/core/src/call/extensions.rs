//! Values by type that travel with a request or response inside the process.

use std::any::{Any, TypeId};
use std::fmt;

/// At most one value per type. Interceptors leave values for handlers here.
#[derive(Default)]
pub struct Extensions {
    /// A handful of entries at most, so a scan beats a hash; empty it holds no memory.
    entries: Vec<(TypeId, Box<dyn Any + Send + Sync>)>,
}

impl Extensions {
    /// Empty; allocates nothing.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Stores `value` and returns the one of the same type that was there.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) -> Option<T> {
        let before = self.remove::<T>();
        self.entries.push((TypeId::of::<T>(), Box::new(value)));
        before
    }

    /// The value of type `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.position::<T>().and_then(|index| self.entries[index].1.downcast_ref())
    }

    /// The value of type `T`, to change.
    pub fn get_mut<T: Any + Send + Sync>(&mut self) -> Option<&mut T> {
        self.position::<T>().and_then(|index| self.entries[index].1.downcast_mut())
    }

    /// Takes the value of type `T` out.
    pub fn remove<T: Any + Send + Sync>(&mut self) -> Option<T> {
        let index = self.position::<T>()?;
        self.entries.swap_remove(index).1.downcast().ok().map(|value| *value)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn position<T: Any>(&self) -> Option<usize> {
        self.entries.iter().position(|(id, _)| *id == TypeId::of::<T>())
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("values", &self.entries.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_per_type() {
        let mut extensions = Extensions::new();
        assert!(extensions.is_empty());
        assert_eq!(extensions.insert(1_u32), None);
        assert_eq!(extensions.insert("text"), None);
        assert_eq!(extensions.insert(2_u32), Some(1));
        *extensions.get_mut::<u32>().unwrap() += 1;
        assert_eq!(extensions.get::<u32>(), Some(&3));
        assert_eq!(extensions.get::<u64>(), None);
        assert_eq!(extensions.remove::<&str>(), Some("text"));
        assert_eq!(extensions.remove::<&str>(), None);
        assert_eq!(extensions.remove::<u32>(), Some(3));
        assert!(extensions.is_empty());
    }
}
