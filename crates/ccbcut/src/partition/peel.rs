//! One group of a part against the rest of it.
//!
//! Where no embedding can help, a part is split by groups known beforehand: the connected components of its
//! subgraph, which cost no inner edge, or, as the last resort, single vertices.

use super::threshold::{Split, SplitContext, evaluate};
use crate::error::Result;

/// Of all splits {one group, all others} with at least `min_size` members on either side, the one with the lowest cost
/// in the whole graph, the first group on ties; `None` when there is none. `groups` holds one group number per member, dense from 0.
///
/// # Complexity
/// O(n + edges of the members) time and O(n) space.
pub(super) fn best_group(
    ctx: &SplitContext<'_>,
    members: &[u32],
    groups: &[u32],
    min_size: usize,
) -> Result<Option<Split>> {
    let n_groups = groups.iter().max().map_or(0, |&g| g as usize + 1);
    if n_groups < 2 {
        return Ok(None);
    }
    let position = ctx.positions(members)?;
    let mut sums = vec![Sums::default(); n_groups];
    for (p, &v) in members.iter().enumerate() {
        let own = &mut sums[groups[p] as usize];
        own.size += 1;
        own.mass += ctx.pi[v as usize];
        ctx.graph.for_each_neighbor(v as usize, |j, w| match position[j] {
            u32::MAX => own.outer += w,
            q if groups[q as usize] != groups[p] => own.inner += w,
            _ => {}
        });
    }
    let rest = sums_of_the_others(&sums);
    let cost = |g: usize| {
        let own = sums[g];
        ctx.criterion.total([
            ctx.part_cost(own.inner + own.outer, own.mass),
            ctx.part_cost(own.inner + rest[g].outer, rest[g].mass),
        ])
    };
    let mut best: Option<(f64, usize)> = None;
    for g in (0..n_groups).filter(|&g| sums[g].size.min(members.len() - sums[g].size) >= min_size) {
        let cost = cost(g);
        if best.is_none_or(|(lowest, _)| cost < lowest) {
            best = Some((cost, g));
        }
    }
    let Some((_, best)) = best else { return Ok(None) };
    let is_chosen = |p: &usize| groups[*p] as usize == best;
    let (chosen, others): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(is_chosen);
    let sorted: Vec<u32> = chosen.iter().chain(&others).map(|&p| members[p]).collect();
    let position = ctx.positions(&sorted)?;
    Ok(Some(evaluate(ctx, &position, &sorted, chosen.len())))
}

/// Two groups of about equal size made of many: the largest first, each to the lighter bin.
pub(super) fn lighter_bin(ctx: &SplitContext<'_>, members: &[u32], groups: &[u32]) -> Vec<u32> {
    let mut masses = vec![0.0; groups.iter().max().map_or(0, |&g| g as usize + 1)];
    members.iter().zip(groups).for_each(|(&v, &g)| masses[g as usize] += ctx.pi[v as usize]);
    let mut order: Vec<usize> = (0..masses.len()).collect();
    order.sort_by(|&a, &b| masses[b].total_cmp(&masses[a]).then(a.cmp(&b)));
    let (mut bins, mut bin_of) = ([0.0, 0.0], vec![0; masses.len()]);
    for group in order {
        let bin = usize::from(bins[1] < bins[0]);
        bins[bin] += masses[group];
        bin_of[group] = bin as u32;
    }
    groups.iter().map(|&g| bin_of[g as usize]).collect()
}

#[derive(Clone, Copy, Default)]
struct Sums {
    /// Members of the group.
    size: usize,
    /// π of the group.
    mass: f64,
    /// Weight of its edges to other groups of the part.
    inner: f64,
    /// Weight of its edges that leave the part.
    outer: f64,
}

/// For each group the sums over all others: those before plus those after, as subtraction would lose digits.
fn sums_of_the_others(sums: &[Sums]) -> Vec<Sums> {
    let mut others = vec![Sums::default(); sums.len()];
    let mut before = Sums::default();
    for (other, own) in others.iter_mut().zip(sums) {
        *other = before;
        before.mass += own.mass;
        before.outer += own.outer;
    }
    let mut after = Sums::default();
    for (other, own) in others.iter_mut().zip(sums).rev() {
        other.mass += after.mass;
        other.outer += after.outer;
        after.mass += own.mass;
        after.outer += own.outer;
    }
    others
}

#[cfg(test)]
mod tests {
    use super::{super::threshold::naive, *};
    use crate::{
        cost::Criterion,
        graph::{Balance, gallery},
        random::Random,
    };

    #[test]
    fn the_best_group_agrees_with_brute_force() {
        for seed in 0..20 {
            let graph = gallery::wide(20, 0.2, 3.0, seed);
            let pi = Balance::Normalized.weights(&graph).unwrap();
            let mut random = Random::new(seed);
            let members: Vec<u32> = (0..20).filter(|_| random.uniform() < 0.7).collect();
            let groups: Vec<u32> = (0..members.len()).map(|p| (p % 4) as u32).collect();
            let ctx = SplitContext { graph: &graph, pi: &pi, criterion: Criterion::Ccb { tau: 1.0 } };
            let cost = |g: u32| {
                let (a, b): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(|&p| groups[p] == g);
                let pick = |side: Vec<usize>| -> Vec<u32> { side.iter().map(|&p| members[p]).collect() };
                naive::part_cost(&ctx, &pick(a)) + naive::part_cost(&ctx, &pick(b))
            };
            let lowest = (0..4).map(cost).min_by(f64::total_cmp).unwrap();
            let split = best_group(&ctx, &members, &groups, 1).unwrap().unwrap();
            assert!((split.cost(ctx.criterion) - lowest).abs() <= 1e-12 * lowest);
            assert_eq!(split.low.len() + split.high.len(), members.len());
        }
    }

    #[test]
    fn one_group_cannot_be_split() {
        let graph = gallery::path(3);
        let ctx = SplitContext { graph: &graph, pi: &[1.0; 3], criterion: Criterion::Ccb { tau: 1.0 } };
        assert_eq!(best_group(&ctx, &[0, 1], &[0, 0], 1).unwrap(), None);
        assert_eq!(best_group(&ctx, &[], &[], 1).unwrap(), None);
        // Either end costs the same: the first is taken.
        let split = best_group(&ctx, &[0, 1, 2], &[0, 1, 2], 1).unwrap().unwrap();
        assert_eq!((split.low, split.high), (vec![0], vec![1, 2]));
    }
}
