//! Maximum matchings of minimum total cost in sparse bipartite graphs, exactly.
//!
//! Cardinality comes first, cost second. One search for both would need costs so large for the unmatched that every
//! vertex without a partner looks through all it can reach. So the two are taken apart:
//!
//! 1. A maximum matching, whatever its cost (Hopcroft and Karp).
//! 2. The decomposition of Dulmage and Mendelsohn: what alternating paths reach from unmatched left vertices. Whatever
//!    the maximum matching, it pairs every right vertex in there with a left vertex in there, and every left vertex
//!    outside with a right vertex outside.
//! 3. So there are two assignment problems in which one side is matched completely: the right side inside, the left
//!    side outside. Shortest augmenting paths with prices (Hungarian method; the start is that of Jonker and
//!    Volgenant) solve each; no search fails, and none leaves the neighbourhood it is needed in.
//!
//! # References
//! J. Hopcroft, R. Karp, SIAM J. Comput. 2, 1973; A. Dulmage, N. Mendelsohn, Canad. J. Math. 10, 1958;
//! R. Jonker, A. Volgenant, Computing 38, 1987.

use std::{cmp::Reverse, collections::BinaryHeap};

/// No partner.
pub(super) const NONE: u32 = u32::MAX;

/// The pairs that may be matched, and what each costs, by left vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    /// How many right vertices.
    pub n_right: usize,
    /// Where the pairs of each left vertex start; one more than there are left vertices.
    pub starts: Vec<usize>,
    /// The right vertex of each pair.
    pub right: Vec<u32>,
    /// The cost of each pair, at least 0. Sums over all vertices must fit in 63 bits.
    pub cost: Vec<i64>,
}

impl Pairs {
    fn n_left(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, left: usize) -> std::ops::Range<usize> {
        self.starts[left]..self.starts[left + 1]
    }

    fn neighbors(&self, left: usize) -> &[u32] {
        &self.right[self.of(left)]
    }

    /// The pairs between some left and some right vertices, seen from the right when `turned`; the vertices keep
    /// their numbers, and those left out have no pairs.
    fn restricted(&self, turned: bool, keep: impl Fn(usize, usize) -> bool) -> Self {
        let n_rows = if turned { self.n_right } else { self.n_left() };
        let n_columns = if turned { self.n_left() } else { self.n_right };
        let mut starts = vec![0; n_rows + 1];
        let each = |visit: &mut dyn FnMut(usize, u32, i64)| {
            for left in 0..self.n_left() {
                for pair in self.of(left).filter(|&pair| keep(left, self.right[pair] as usize)) {
                    if turned {
                        visit(self.right[pair] as usize, left as u32, self.cost[pair]);
                    } else {
                        visit(left, self.right[pair], self.cost[pair]);
                    }
                }
            }
        };
        each(&mut |row, _, _| starts[row + 1] += 1);
        for row in 0..n_rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let (mut right, mut cost) = (vec![0; starts[n_rows]], vec![0; starts[n_rows]]);
        each(&mut |row, column, price| {
            (right[next[row]], cost[next[row]]) = (column, price);
            next[row] += 1;
        });
        Self { n_right: n_columns, starts, right, cost }
    }
}

/// The partner of every left vertex, or [`NONE`], in a maximum matching of minimum total cost.
///
/// Of several such matchings it is always the same one.
pub(super) fn minimum_cost_maximum_matching(pairs: &Pairs) -> Vec<u32> {
    let (of_left, of_right) = maximum_matching(pairs);
    let (in_left, in_right) = reached_from_unmatched(pairs, &of_left, &of_right);
    // Outside: every left vertex is matched.
    let outside = pairs.restricted(false, |l, r| !in_left[l] && !in_right[r]);
    let mut partner = Assignment::solve(&outside).column_of;
    // Inside: every right vertex is.
    let inside = pairs.restricted(true, |l, r| in_left[l] && in_right[r]);
    for (right, &left) in Assignment::solve(&inside).column_of.iter().enumerate() {
        if left != NONE {
            partner[left as usize] = right as u32;
        }
    }
    partner
}

/// A maximum matching: partners of the left and of the right vertices.
fn maximum_matching(pairs: &Pairs) -> (Vec<u32>, Vec<u32>) {
    let n = pairs.n_left();
    let (mut of_left, mut of_right) = (vec![NONE; n], vec![NONE; pairs.n_right]);
    for left in 0..n {
        if let Some(&right) = pairs.neighbors(left).iter().find(|&&r| of_right[r as usize] == NONE) {
            (of_left[left], of_right[right as usize]) = (right, left as u32);
        }
    }
    let mut level = vec![u32::MAX; n];
    let mut cursor = vec![0; n];
    let (mut queue, mut path) = (Vec::new(), Vec::new());
    loop {
        // Layers of alternating paths from the unmatched left vertices.
        level.fill(u32::MAX);
        queue.clear();
        queue.extend((0..n).filter(|&l| of_left[l] == NONE));
        queue.iter().for_each(|&l| level[l] = 0);
        let (mut head, mut found) = (0, false);
        while head < queue.len() {
            let left = queue[head];
            head += 1;
            for &right in pairs.neighbors(left) {
                match of_right[right as usize] {
                    NONE => found = true,
                    next if level[next as usize] == u32::MAX => {
                        level[next as usize] = level[left] + 1;
                        queue.push(next as usize);
                    }
                    _ => {}
                }
            }
        }
        if !found {
            return (of_left, of_right);
        }
        // Disjoint augmenting paths through the layers, without recursion.
        cursor.copy_from_slice(&pairs.starts[..n]);
        for start in 0..n {
            if of_left[start] != NONE {
                continue;
            }
            path.clear();
            path.push(start);
            while let Some(&left) = path.last() {
                if cursor[left] == pairs.starts[left + 1] {
                    path.pop();
                    // The way here leads nowhere; its pair is passed over from now on.
                    if let Some(&before) = path.last() {
                        cursor[before] += 1;
                    }
                    continue;
                }
                let next = of_right[pairs.right[cursor[left]] as usize];
                if next == NONE {
                    for &left in path.iter().rev() {
                        let right = pairs.right[cursor[left]];
                        (of_left[left], of_right[right as usize]) = (right, left as u32);
                        // Nobody passes through these vertices again in this round.
                        cursor[left] = pairs.starts[left + 1];
                    }
                    break;
                }
                if level[next as usize] == level[left] + 1 {
                    path.push(next as usize);
                } else {
                    cursor[left] += 1;
                }
            }
        }
    }
}

/// The left and right vertices on alternating paths from unmatched left vertices.
fn reached_from_unmatched(pairs: &Pairs, of_left: &[u32], of_right: &[u32]) -> (Vec<bool>, Vec<bool>) {
    let (mut in_left, mut in_right) = (vec![false; of_left.len()], vec![false; of_right.len()]);
    let mut stack: Vec<usize> = (0..of_left.len()).filter(|&l| of_left[l] == NONE).collect();
    stack.iter().for_each(|&l| in_left[l] = true);
    while let Some(left) = stack.pop() {
        for &right in pairs.neighbors(left) {
            let right = right as usize;
            if in_right[right] {
                continue;
            }
            in_right[right] = true;
            // It has a partner: else the matching could be made larger.
            let next = of_right[right] as usize;
            if !in_left[next] {
                in_left[next] = true;
                stack.push(next);
            }
        }
    }
    (in_left, in_right)
}

/// An assignment of every row (left vertex) that has pairs, at minimum cost, grown row by row.
///
/// Each column has a price that never rises above 0 and is 0 while the column is free; every assigned row has the
/// column that is cheapest for it, price taken off. That proves the cost minimal.
struct Assignment<'a> {
    pairs: &'a Pairs,
    price: Vec<i64>,
    column_of: Vec<u32>,
    row_of: Vec<u32>,
}

impl<'a> Assignment<'a> {
    /// Needs an assignment of all rows with pairs to exist.
    fn solve(pairs: &'a Pairs) -> Self {
        let (price, row_of) = (vec![0; pairs.n_right], vec![NONE; pairs.n_right]);
        let mut it = Self { pairs, price, column_of: vec![NONE; pairs.n_left()], row_of };
        let rows: Vec<usize> = (0..pairs.n_left()).filter(|&row| !pairs.of(row).is_empty()).collect();
        let free = it.bid(rows);
        it.augment(&free);
        it
    }

    /// The cost of a pair with the price of its column taken off.
    fn reduced(&self, pair: usize) -> i64 {
        self.pairs.cost[pair] - self.price[self.pairs.right[pair] as usize]
    }

    /// Rows take their cheapest column and lower its price until it is as dear as the next, which may drive
    /// out another row; a bounded number of times. Returns the rows that have no column yet.
    fn bid(&mut self, rows: Vec<usize>) -> Vec<usize> {
        let mut bids_left = 3 * rows.len();
        let mut free = Vec::new();
        let mut waiting = rows;
        waiting.reverse();
        while let Some(row) = waiting.pop() {
            if bids_left == 0 {
                free.push(row);
                continue;
            }
            bids_left -= 1;
            let (mut best, mut second) = ((i64::MAX, NONE), (i64::MAX, NONE));
            for pair in self.pairs.of(row) {
                let offer = (self.reduced(pair), self.pairs.right[pair]);
                if offer.0 < best.0 {
                    (best, second) = (offer, best);
                } else if offer.0 < second.0 {
                    second = offer;
                }
            }
            let mut column = best.1;
            if self.row_of[column as usize] != NONE {
                if second.0 == best.0 && self.row_of[second.1 as usize] == NONE {
                    column = second.1;
                } else if second.0 == best.0 || second.1 == NONE {
                    // Driving out another row would gain nothing.
                    free.push(row);
                    continue;
                }
            }
            if second.1 != NONE {
                self.price[column as usize] -= second.0 - best.0;
            }
            let driven_out = std::mem::replace(&mut self.row_of[column as usize], row as u32);
            self.column_of[row] = column;
            if driven_out != NONE {
                self.column_of[driven_out as usize] = NONE;
                waiting.push(driven_out as usize);
            }
        }
        free
    }

    /// A shortest augmenting path for each free row, by Dijkstra's method on the reduced costs.
    fn augment(&mut self, free: &[usize]) {
        let n_columns = self.pairs.n_right;
        let (mut distance, mut from) = (vec![i64::MAX; n_columns], vec![NONE; n_columns]);
        // Columns whose distance is set, and those of them that are settled.
        let (mut seen, mut settled): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut heap: BinaryHeap<Reverse<(i64, bool, u32)>> = BinaryHeap::new();
        for &start in free {
            let (mut row, mut so_far) = (start, 0);
            let end = loop {
                // What the row pays now: its own column is its cheapest; a free row's cheapest counts as 0.
                let paid = match self.column_of[row] {
                    NONE => self.pairs.of(row).map(|pair| self.reduced(pair)).min().unwrap_or(0),
                    column => self.cost_of(row, column),
                };
                for pair in self.pairs.of(row) {
                    let column = self.pairs.right[pair] as usize;
                    let through = so_far + self.reduced(pair) - paid;
                    if through < distance[column] {
                        if distance[column] == i64::MAX {
                            seen.push(column as u32);
                        }
                        (distance[column], from[column]) = (through, row as u32);
                        // Free columns come first among those equally far.
                        heap.push(Reverse((through, self.row_of[column] != NONE, column as u32)));
                    }
                }
                let next = loop {
                    match heap.pop() {
                        Some(Reverse((far, _, column))) if far > distance[column as usize] => {}
                        other => break other,
                    }
                };
                let Some(Reverse((far, is_taken, column))) = next else { break NONE };
                if !is_taken {
                    so_far = far;
                    break column;
                }
                settled.push(column);
                (row, so_far) = (self.row_of[column as usize] as usize, far);
            };
            debug_assert!(end != NONE, "every row of these problems can be assigned");
            for &column in &settled {
                self.price[column as usize] += distance[column as usize] - so_far;
            }
            let mut column = end;
            while column != NONE {
                let row = from[column as usize];
                self.row_of[column as usize] = row;
                column = std::mem::replace(&mut self.column_of[row as usize], column);
            }
            seen.drain(..).for_each(|column| distance[column as usize] = i64::MAX);
            settled.clear();
            heap.clear();
        }
    }

    /// The reduced cost of an assigned pair.
    fn cost_of(&self, row: usize, column: u32) -> i64 {
        self.pairs.of(row).find(|&pair| self.pairs.right[pair] == column).map_or(0, |pair| self.reduced(pair))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best (size, −cost) of all matchings.
    fn brute_force(pairs: &Pairs, left: usize, taken: u32) -> (i64, i64) {
        if left == pairs.n_left() {
            return (0, 0);
        }
        let mut best = brute_force(pairs, left + 1, taken);
        for pair in pairs.of(left).filter(|&pair| taken >> pairs.right[pair] & 1 == 0) {
            let (size, gain) = brute_force(pairs, left + 1, taken | 1 << pairs.right[pair]);
            best = best.max((size + 1, gain - pairs.cost[pair]));
        }
        best
    }

    fn value(pairs: &Pairs, partner: &[u32]) -> (i64, i64) {
        let mut taken = vec![false; pairs.n_right];
        let (mut size, mut gain) = (0, 0);
        for (left, &right) in partner.iter().enumerate().filter(|&(_, &right)| right != NONE) {
            assert!(!std::mem::replace(&mut taken[right as usize], true), "{right} is matched twice");
            size += 1;
            gain -= pairs.cost[pairs.of(left).find(|&pair| pairs.right[pair] == right).unwrap()];
        }
        (size, gain)
    }

    /// Small numbers without a generator: the digits of a linear recurrence.
    fn random_pairs(n_left: usize, n_right: usize, dense: u64, seed: u64) -> Pairs {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let (mut starts, mut right, mut cost) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..n_left {
            for column in 0..n_right {
                if draw(100) < dense {
                    right.push(column as u32);
                    cost.push(draw(if seed.is_multiple_of(2) { 4 } else { 1000 }) as i64);
                }
            }
            starts.push(right.len());
        }
        Pairs { n_right, starts, right, cost }
    }

    #[test]
    fn no_matching_is_larger_and_none_as_large_is_cheaper() {
        let mut unmatched = [0, 0];
        for seed in 0..3000 {
            let sizes = [(1, 1), (3, 5), (5, 3), (6, 6), (7, 7), (8, 5), (4, 9)];
            let (n_left, n_right) = sizes[seed as usize % sizes.len()];
            let pairs = random_pairs(n_left, n_right, 10 + seed % 5 * 15, seed);
            let partner = minimum_cost_maximum_matching(&pairs);
            let best = brute_force(&pairs, 0, 0);
            assert_eq!(value(&pairs, &partner), best, "seed {seed}: {pairs:?}");
            unmatched[usize::from((best.0 as usize) < n_left.min(n_right))] += 1;
        }
        assert!(unmatched.iter().all(|&n| n > 300), "both kinds of graph: {unmatched:?}");
    }

    #[test]
    fn a_pair_at_no_cost_is_not_always_taken() {
        // Left 0 and right 0 lie on top of each other, but left 1 has nobody else.
        let pairs = Pairs { n_right: 2, starts: vec![0, 2, 3], right: vec![0, 1, 0], cost: vec![0, 5, 5] };
        assert_eq!(minimum_cost_maximum_matching(&pairs), [1, 0]);
    }

    #[test]
    fn nothing_to_match() {
        let empty = Pairs { n_right: 0, starts: vec![0], right: Vec::new(), cost: Vec::new() };
        assert!(minimum_cost_maximum_matching(&empty).is_empty());
        let apart = Pairs { n_right: 3, starts: vec![0, 0, 0], right: Vec::new(), cost: Vec::new() };
        assert_eq!(minimum_cost_maximum_matching(&apart), [NONE, NONE]);
    }
}
