//! Embeddings kept from one τ to the next, for sweeps.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{Embedding, Start, Trace};

/// Embeddings of an earlier run by the set of vertices they are of, for a run at another τ to start from, and those that the run
/// leaves. Without any the run is an ordinary one.
#[derive(Debug, Default)]
pub struct Warm {
    before: HashMap<Members, Start>,
    after: Mutex<HashMap<Members, Start>>,
    n_used: Mutex<usize>,
}

/// A set of vertices: how many, and a fingerprint.
type Members = (usize, u64);

impl Warm {
    /// Where the sweeps of a set of vertices ended at the last τ; the usual start where it was not embedded then.
    pub(crate) fn start(&self, members: &[u32]) -> Start {
        let Some(found) = self.before.get(&fingerprint(members)) else { return Start::Unit };
        *self.n_used.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        found.clone()
    }

    /// Keeps where sweeps ended for the next τ, unless ε has vanished, as it does at τ = 2: the usual start is that
    /// solution already.
    pub(crate) fn keep(&self, members: &[u32], embedding: &Embedding, trace: &Trace) {
        let Some(epsilon) = trace.iterations.last().map(|sweep| sweep.epsilon).filter(|&e| e > 0.0) else {
            return;
        };
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        after.insert(fingerprint(members), Start::Resumed(embedding.clone(), epsilon));
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
    use crate::embedding::{Irrq, IrrqFit};

    #[test]
    fn what_is_kept_is_there_at_the_next_tau_and_gone_at_the_one_after() {
        let graph = crate::graph::gallery::planted(&[6, 6], 0.9, 0.1, 1);
        let IrrqFit { embedding: y, trace } = Irrq::new(1.0).fit(&graph).unwrap();
        let first = Warm::default();
        first.keep(&[1, 4, 7], &y, &trace);
        assert_eq!(first.start(&[1, 4, 7]), Start::Unit);
        let (second, n_used) = first.next();
        let resumed = Start::Resumed(y.clone(), trace.iterations.last().unwrap().epsilon);
        assert_eq!((second.start(&[1, 4, 7]), second.start(&[1, 4, 8]), n_used), (resumed, Start::Unit, 0));
        let (third, n_used) = second.next();
        assert_eq!((third.start(&[1, 4, 7]), n_used), (Start::Unit, 1));
        third.keep(&[1, 4, 7], &y, &Irrq::new(2.0).fit(&graph).unwrap().trace);
        assert_eq!(third.next().0.start(&[1, 4, 7]), Start::Unit);
    }
}
