//! Embeddings kept from one τ to the next, for sweeps.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::Embedding;

/// Embeddings of an earlier run by the set of vertices they are of, for a run at another τ to start from, and those that the run
/// leaves. Without any the run is an ordinary one.
#[derive(Debug, Default)]
pub struct Warm {
    before: HashMap<Members, Embedding>,
    after: Mutex<HashMap<Members, Embedding>>,
    n_used: Mutex<usize>,
}

/// A set of vertices: how many, and a fingerprint.
type Members = (usize, u64);

impl Warm {
    /// The embedding of a set of vertices at the last τ.
    pub(crate) fn start(&self, members: &[u32]) -> Option<&Embedding> {
        let found = self.before.get(&fingerprint(members));
        if found.is_some() {
            *self.n_used.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        found
    }

    /// Keeps an embedding for the next τ.
    pub(crate) fn keep(&self, members: &[u32], embedding: &Embedding) {
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        after.insert(fingerprint(members), embedding.clone());
    }

    /// What the next run starts from, and how often this one did.
    #[must_use]
    pub fn next(self) -> (Self, usize) {
        let before = self.after.into_inner().unwrap_or_else(PoisonError::into_inner);
        let n_used = self.n_used.into_inner().unwrap_or_else(PoisonError::into_inner);
        (Self { before, ..Self::default() }, n_used)
    }
}

/// Two sets of the same size differ in 64 bits of their hash, up to odds of one in 10¹⁹.
fn fingerprint(members: &[u32]) -> Members {
    let mix = |hash: u64, &v: &u32| (hash ^ u64::from(v)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    (members.len(), members.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_there_at_the_next_tau_and_gone_at_the_one_after() {
        let y = Embedding::new(3, 1, vec![0.0, 1.0, 2.0]).unwrap();
        let first = Warm::default();
        first.keep(&[1, 4, 7], &y);
        assert_eq!(first.start(&[1, 4, 7]), None);
        let (second, n_used) = first.next();
        assert_eq!((second.start(&[1, 4, 7]), second.start(&[1, 4, 8]), n_used), (Some(&y), None, 0));
        let (third, n_used) = second.next();
        assert_eq!((third.start(&[1, 4, 7]), n_used), (None, 1));
    }
}
