//! Things that are kept while there is room, those not used for longest going first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A bounded store of shared things by name.
#[derive(Debug)]
pub struct Cache<T> {
    inner: Mutex<Inner<T>>,
    max_bytes: usize,
}

#[derive(Debug)]
struct Inner<T> {
    entries: HashMap<String, Entry<T>>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry<T> {
    value: Arc<T>,
    bytes: usize,
    used: u64,
}

impl<T> Cache<T> {
    /// Room for so many bytes; a single larger thing is kept alone.
    pub fn new(max_bytes: usize) -> Self {
        Self { inner: Mutex::new(Inner { entries: HashMap::new(), bytes: 0, clock: 0 }), max_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept under a name.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let entry = inner.entries.get_mut(name)?;
        entry.used = now;
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a thing of so many bytes, in place of what was there, and drops others until there is room.
    pub fn put(&self, name: String, value: Arc<T>, bytes: usize) {
        let mut inner = self.lock();
        inner.clock += 1;
        let used = inner.clock;
        if let Some(old) = inner.entries.insert(name, Entry { value, bytes, used }) {
            inner.bytes -= old.bytes;
        }
        inner.bytes += bytes;
        while inner.bytes > self.max_bytes && inner.entries.len() > 1 {
            let oldest = inner.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { return };
            if let Some(entry) = inner.entries.remove(&name) {
                inner.bytes -= entry.bytes;
            }
        }
    }

    /// How many things are kept, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.entries.len(), inner.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let cache = Cache::new(100);
        for (name, bytes) in [("a", 40), ("b", 40)] {
            cache.put(name.into(), Arc::new(name), bytes);
        }
        assert_eq!(cache.get("a").as_deref(), Some(&"a"));
        cache.put("c".into(), Arc::new("c"), 50);
        assert_eq!((cache.get("b"), cache.size()), (None, (2, 90)));
        cache.put("a".into(), Arc::new("A"), 10);
        assert_eq!((cache.get("a").as_deref(), cache.size()), (Some(&"A"), (2, 60)));
        cache.put("large".into(), Arc::new("large"), 1000);
        assert_eq!(cache.size(), (1, 1000), "a thing larger than the room is kept alone");
        cache.put("small".into(), Arc::new("small"), 1);
        assert_eq!(cache.size(), (1, 1));
    }
}
