//! Disjoint sets of the numbers 0 … n − 1.

use crate::labels::Labels;

/// Disjoint sets that can be joined; the smallest member stands for its set. Paths are halved as they are walked.
#[derive(Debug)]
pub(crate) struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    /// Each number in a set of its own.
    pub(crate) fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    /// The member that stands for the set of `v`.
    pub(crate) fn root(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            let above = self.parent[self.parent[v as usize] as usize];
            self.parent[v as usize] = above;
            v = above;
        }
        v
    }

    /// Joins two sets; whether they were apart.
    pub(crate) fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        low != high
    }

    /// Joins with the set of `v` whatever `each` names; how many sets were apart from it.
    pub(crate) fn join_all(&mut self, v: u32, each: impl FnOnce(&mut dyn FnMut(u32))) -> usize {
        let mut own = self.root(v);
        let mut joined = 0;
        each(&mut |other| {
            // Most often it is known already.
            if self.parent[other as usize] == own {
                return;
            }
            let root = self.root(other);
            if root != own {
                let (low, high) = (own.min(root), own.max(root));
                self.parent[high as usize] = low;
                own = low;
                joined += 1;
            }
            self.parent[other as usize] = own;
        });
        joined
    }

    /// The sets as labels.
    pub(crate) fn labels(&mut self) -> Labels {
        let roots: Vec<u32> = (0..self.parent.len() as u32).map(|v| self.root(v)).collect();
        Labels::from_raw(&roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_numbers_share_a_label_and_their_smallest_member() {
        let mut sets = DisjointSets::new(6);
        assert!(sets.join(4, 2) && sets.join(5, 4) && sets.join(1, 3));
        assert!(!sets.join(2, 5), "they were together already");
        assert_eq!([4, 5, 3, 0].map(|v| sets.root(v)), [2, 2, 1, 0]);
        assert_eq!(sets.labels().as_slice(), &[0, 1, 2, 1, 2, 2]);
        assert_eq!(sets.join_all(0, |join| [3, 1, 0, 5].into_iter().for_each(join)), 2);
        assert_eq!(sets.labels().as_slice(), &[0; 6]);
        assert_eq!(DisjointSets::new(0).labels().n_segments(), 0);
    }
}
