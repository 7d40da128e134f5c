//! A block eigensolver for large operators with an inexact inverse.
//!
//! Generalised Davidson with everything in blocks: the basis grows by the mapped residuals of the pairs that have not
//! converged, is made orthonormal by matrix products, and is restarted with the current and the previous Ritz vectors
//! (GD+1 of Stathopoulos and Saad 1998, doi:10.1137/S1064827596308197), which keeps the speed of conjugate gradients
//! with little memory. Two lengths are watched: that of the residual itself, relative to a bound of the operator, and
//! that of the mapped residual, which says how far the vector would still move.

use super::{
    LinearOperator, axpy,
    dense::symmetric_eigen,
    for_each_column, norm,
    orthonormalize::project_out,
    space::{Space, add_combination, block_for, combination, combine, gram, panel},
};

/// Steps in which the residual must fall by a fifth: otherwise rounding is all that moves.
const STALL_STEPS: usize = 15;

/// Residuals below this share of the tolerance are nothing but noise.
const FAR_BELOW: f64 = 0.02;

/// What may be set.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// How many eigenpairs are wanted.
    pub n_pairs: usize,
    /// Largest accepted ‖Ax − λx‖ …
    pub residual_tol: f64,
    /// … plus this times λ.
    pub relative_tol: f64,
    /// Residuals of pairs in a dense band that runs on beyond the last one known may be larger by this factor.
    pub band_slack: f64,
    /// Largest accepted length of the mapped residual.
    pub mapped_tol: f64,
    /// Steps before giving up.
    pub max_steps: usize,
    /// Most vectors of the basis; more make fewer steps, at the price of memory.
    pub max_basis: usize,
    /// Whether what the basis is mapped to is kept as well. Without, a step costs twice the products with A.
    pub keeps_image: bool,
    /// Seed of the vectors that fill up the first basis.
    pub seed: u64,
}

/// What came out: converged or not, the best pairs found.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Eigenvalues, increasing.
    pub values: Vec<f64>,
    /// Eigenvectors, orthonormal, one after the other.
    pub vectors: Vec<f64>,
    /// Further vectors of the block, not converged: they speed up the next solve of a similar problem.
    pub guards: Vec<f64>,
    /// The largest ‖Ax − λx‖.
    pub residual: f64,
    /// The largest ‖Ax − λx‖/λ, in a band divided by the slack.
    pub relative: f64,
    /// The largest length of a mapped residual.
    pub mapped: f64,
    /// Whether both are as small as asked for.
    pub converged: bool,
    /// Steps taken.
    pub steps: usize,
}

/// Smallest eigenpairs of `a` on the complement of the unit vector `null`.
///
/// `inverse(r)` replaces R by an approximation of A⁺R; `start` may hold guesses.
///
/// # Complexity
/// A step costs one product with `a` and one call of `inverse` per pair that has not converged, and O(n b) per vector
/// for a basis of b vectors.
pub fn smallest(
    a: &impl LinearOperator,
    inverse: &dyn Fn(&mut [f64]),
    null: &[f64],
    start: Vec<f64>,
    params: &Params,
) -> Outcome {
    let n = a.dim();
    let wanted = params.n_pairs.min(n - 1);
    let block = block_for(wanted).min(n - 1);
    let capacity = params.max_basis.max(3 * block).min(n - 1);
    let mut space = if params.keeps_image { Space::new(n, null) } else { Space::without_image(n, null) };
    let copied = |r: &[f64], t: &mut [f64]| {
        t.copy_from_slice(r);
        inverse(t);
    };
    space.fill_start(a, &copied, start, block, params.seed);
    space.basis.reserve_exact((capacity - space.len()) * n);
    let (mut previous, mut known): (Vec<f64>, Vec<Known>) = (Vec::new(), Vec::new());
    let (mut steps, mut lowest, mut before) = (0, f64::INFINITY, f64::INFINITY);
    loop {
        let (mut values, mut rotation) = symmetric_eigen(&space.projected, space.len());
        let count = block.min(space.len());
        values.truncate(count);
        rotation.truncate(count * space.len());
        // The residuals will stand behind the basis: there must be room for them.
        let is_full = space.len() + count > capacity;
        if is_full {
            rotation = space.keep_ritz(&rotation, &previous, count);
        }
        previous.clone_from(&rotation);
        let m = space.len();
        space.append_residuals(a, &values, (!is_full).then_some(&rotation));
        let lengths: Vec<f64> = space.basis[m * n..].chunks_exact(n).map(norm).collect();
        let (goals, scales) = goals(&values, params);
        let recalled: Vec<Option<f64>> =
            values.iter().zip(&lengths).map(|(v, l)| recall(&known, *v, *l)).collect();
        let active = active(&lengths, &goals, &recalled, wanted, params.mapped_tol);
        space.keep_behind(m, &active);
        inverse(&mut space.basis[m * n..]);
        // Pairs far below the tolerance are not judged by what was known of them before.
        let still = |j: usize| if lengths[j] > FAR_BELOW * goals[j] { recalled[j] } else { None };
        let mut moves: Vec<f64> = (0..count).map(|j| still(j).unwrap_or_default()).collect();
        let mapped = space.basis[m * n..].chunks_exact(n);
        active.iter().zip(mapped).for_each(|(&j, mapped)| moves[j] = norm(mapped));
        known.retain(|known| active.iter().all(|&j| !known.may_be(values[j])));
        known.extend(active.iter().map(|&j| Known { value: values[j], length: lengths[j], moved: moves[j] }));
        let largest = |ratios: &[f64]| largest_ratio(&lengths[..wanted.min(count)], ratios);
        let residual = lengths.iter().take(wanted).copied().fold(0.0, f64::max);
        let (relative, excess) = (largest(&scales), largest(&goals));
        let farthest = moves.iter().take(wanted).copied().fold(0.0, f64::max);
        let converged = excess <= 1.0 && farthest <= params.mapped_tol;
        lowest = f64::min(lowest, excess.max(farthest / params.mapped_tol));
        let mut stalled = false;
        if steps % STALL_STEPS == 0 {
            stalled = lowest > 0.8 * before;
            before = lowest;
        }
        let figures =
            Outcome { residual, relative, mapped: farthest, converged, steps, ..Outcome::default() };
        if converged || stalled || steps >= params.max_steps || !residual.is_finite() {
            space.basis.truncate(m * n);
            return figures.with_pairs(values, space.into_combination(&rotation), wanted);
        }
        let done = |j: usize| lengths[j] <= 0.5 * goals[j] && moves[j] <= 0.5 * params.mapped_tol;
        let fresh: Vec<usize> = (0..active.len()).filter(|&a| !done(active[a])).collect();
        space.keep_behind(m, &fresh);
        steps += 1;
        if space.take_in(a, m) == 0 {
            // Nothing new: rounding is all that is left.
            return Outcome {
                steps,
                ..figures.with_pairs(values, space.into_combination(&rotation), wanted)
            };
        }
    }
}

impl Outcome {
    /// Takes in a block of pairs, of which the first ones are wanted.
    fn with_pairs(mut self, mut values: Vec<f64>, mut vectors: Vec<f64>, wanted: usize) -> Self {
        let n = vectors.len() / values.len().max(1);
        let wanted = wanted.min(values.len());
        self.guards = vectors.split_off(wanted * n);
        values.truncate(wanted);
        Self { values, vectors, ..self }
    }
}

fn largest_ratio(lengths: &[f64], goals: &[f64]) -> f64 {
    lengths.iter().zip(goals).map(|(l, g)| l / g).fold(0.0, f64::max)
}

/// What residuals may be, and what they are compared with in the report.
fn goals(values: &[f64], params: &Params) -> (Vec<f64>, Vec<f64>) {
    let first_in_band = band(values);
    let slack = |j: usize| if j < first_in_band { 1.0 } else { params.band_slack };
    let goal = |value: f64| params.residual_tol + params.relative_tol * value.max(0.0);
    values.iter().enumerate().map(|(j, &value)| (slack(j) * goal(value), slack(j) * value)).unzip()
}

/// How far a vector would have moved at an earlier step: a bound, as long as its residual has only become shorter.
struct Known {
    value: f64,
    length: f64,
    moved: f64,
}

impl Known {
    /// Whether it is known of a vector of this eigenvalue.
    fn may_be(&self, value: f64) -> bool {
        (value - self.value).abs() <= 1e-3 * self.value.abs()
    }
}

/// What is known of a pair, if anything; the worst where several have nearly its eigenvalue.
fn recall(known: &[Known], value: f64, length: f64) -> Option<f64> {
    let same = known.iter().filter(|known| known.may_be(value) && length <= known.length);
    same.map(|known| known.moved).reduce(f64::max)
}

/// The pairs whose residuals have to be mapped. Those beyond the wanted ones only help; those far below the tolerance would add
/// nothing but noise, and of those that are as good as asked for nothing else is to be learned.
fn active(
    lengths: &[f64],
    goals: &[f64],
    recalled: &[Option<f64>],
    wanted: usize,
    mapped_tol: f64,
) -> Vec<usize> {
    let rests = |j: usize, share: f64| {
        lengths[j] <= FAR_BELOW * goals[j]
            || (lengths[j] <= share * goals[j]
                && recalled[j].is_some_and(|moved| moved <= share * mapped_tol))
    };
    if (0..wanted.min(lengths.len())).all(|j| rests(j, 1.0)) {
        return Vec::new();
    }
    (0..lengths.len()).filter(|&j| !rests(j, 0.5)).collect()
}

/// The first of the pairs whose eigenvalues run on, each within a twentieth of the next, to the last one known: beyond the few
/// informative pairs of a graph without separators there is a dense band of others, in which one vector is as good as another
/// and none of them converges. Small groups of close eigenvalues with a gap behind them are none.
fn band(values: &[f64]) -> usize {
    let mut first = values.len().saturating_sub(1);
    while first > 0 && values[first] - values[first - 1] < 0.05 * values[first] {
        first -= 1;
    }
    first
}

impl Space<'_> {
    /// V S of a basis that is no longer needed.
    fn into_combination(mut self, rotation: &[f64]) -> Vec<f64> {
        let count = combine(&mut self.basis, rotation, self.n);
        self.basis.truncate(count * self.n);
        self.basis.shrink_to_fit();
        self.basis
    }

    /// Drops all columns behind the first ones but some, which are named in increasing order.
    fn keep_behind(&mut self, first: usize, kept: &[usize]) {
        let n = self.n;
        for (to, &from) in kept.iter().enumerate().filter(|(to, from)| to < *from) {
            let from = (first + from) * n;
            self.basis.copy_within(from..from + n, (first + to) * n);
        }
        self.basis.truncate((first + kept.len()) * n);
    }

    /// R = A X − X Θ behind the basis, for X = V S, or where no S is given, the first columns of V.
    fn append_residuals(&mut self, a: &impl LinearOperator, values: &[f64], rotation: Option<&Vec<f64>>) {
        let (n, m) = (self.n, self.len());
        let panel = if self.keeps_image { values.len().max(1) } else { panel(values.len()) };
        self.basis.resize((m + values.len()) * n, 0.0);
        let mut spare = self.block(if rotation.is_some() { panel.min(values.len()) * n } else { 0 });
        let (basis, residuals) = self.basis.split_at_mut(m * n);
        for (at, out) in residuals.chunks_mut(panel * n).enumerate() {
            let (first, count) = (at * panel, out.len() / n);
            let vectors = match rotation {
                None => &basis[first * n..][..out.len()],
                Some(rotation) => {
                    spare.fill(0.0);
                    let vectors = &mut spare[..out.len()];
                    add_combination(basis, &rotation[first * m..][..count * m], vectors, n, 1.0);
                    &*vectors
                }
            };
            match (self.keeps_image, rotation) {
                (false, _) => a.apply_block(vectors, out),
                (true, None) => out.copy_from_slice(&self.image[..out.len()]),
                (true, Some(rotation)) => add_combination(&self.image, rotation, out, n, 1.0),
            }
            for_each_column(out, n, |j, out| axpy(-values[first + j], &vectors[j * n..][..n], out));
        }
        self.give_back(spare);
    }

    /// Keeps the span of the Ritz vectors and of the previous ones; returns the coefficients of the former in it.
    fn keep_ritz(&mut self, rotation: &[f64], previous: &[f64], count: usize) -> Vec<f64> {
        let m = self.len();
        let mut kept = rotation.to_vec();
        let older = previous.len() / count.max(1);
        for old in previous.chunks_exact(older.max(1)) {
            let mut column = old.to_vec();
            column.resize(m, 0.0);
            for _ in 0..2 {
                project_out(&kept, &mut column);
            }
            let length = norm(&column);
            if length > 1e-6 {
                column.iter_mut().for_each(|v| *v /= length);
                project_out(&kept, &mut column);
                let length = norm(&column);
                column.iter_mut().for_each(|v| *v /= length);
                kept.extend(column);
            }
        }
        let k = combine(&mut self.basis, &kept, self.n);
        self.basis.truncate(k * self.n);
        if self.keeps_image {
            combine(&mut self.image, &kept, self.n);
            self.image.truncate(k * self.n);
        }
        let half = combination(&self.projected, &kept, m);
        let mut projected = gram(&kept, &half, m);
        for i in 0..k {
            for j in 0..i {
                let mean = 0.5 * (projected[i * k + j] + projected[j * k + i]);
                (projected[i * k + j], projected[j * k + i]) = (mean, mean);
            }
        }
        self.projected = projected;
        (0..count).flat_map(|j| (0..k).map(move |i| f64::from(u8::from(i == j)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::gallery,
        linalg::{axpy, dense},
    };

    #[test]
    fn what_is_known_of_a_pair_holds_while_its_residual_falls() {
        let known = |value, length, moved| Known { value, length, moved };
        let list = [known(1.0, 1e-3, 1e-2), known(1.0005, 1e-5, 1e-6), known(2.0, 1e-7, 1e-7)];
        assert_eq!(recall(&list, 2.0, 1e-7), Some(1e-7));
        assert_eq!(recall(&list, 2.0, 2e-7), None, "it has become longer");
        assert_eq!(recall(&list, 1.5, 0.0), None, "another pair");
        assert_eq!(recall(&list, 1.0004, 1e-6), Some(1e-2), "the worst of two");
        assert_eq!(recall(&list, 1.0004, 1e-4), Some(1e-2));
        // One pair is as good as asked for but not known to be, one is far better, one is not good enough.
        let (lengths, goals) = ([1e-6, 1e-9, 1e-5], [2e-6; 3]);
        assert_eq!(active(&lengths, &goals, &[None; 3], 3, 1e-4), [0, 2]);
        assert_eq!(active(&lengths, &goals, &[Some(1e-5), None, None], 3, 1e-4), [2]);
        assert_eq!(active(&lengths, &goals, &[Some(8e-5), None, None], 3, 1e-4), [0, 2]);
        // The last is only a guard: then nothing is left to do.
        assert_eq!(active(&lengths, &goals, &[Some(8e-5), None, None], 2, 1e-4), []);
    }

    #[test]
    fn a_band_is_what_runs_on_to_the_end() {
        assert_eq!(band(&[]), 0);
        assert_eq!(band(&[0.5]), 0);
        assert_eq!(band(&[0.18, 0.181, 0.182, 0.55, 0.56, 0.57]), 3);
        assert_eq!(band(&[0.18, 0.181, 0.182]), 0, "nothing is known of what comes behind");
        assert_eq!(band(&[1.0, 2.0, 4.0, 5.0]), 3);
    }

    /// With nothing but Jacobi for an inverse, the pairs of a grid are those of the dense solver.
    #[test]
    fn pairs_agree_with_the_dense_solver() {
        let graph = gallery::grid(14, 19);
        let n = graph.n_vertices();
        let scale: Vec<f64> = graph.degrees().iter().map(|d| 1.0 / d.sqrt()).collect();
        let (values, _) = dense::laplacian_eigen(&graph, &scale);
        let mut null: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
        let length = norm(&null);
        null.iter_mut().for_each(|v| *v /= length);
        let operator = graph.laplacian().scaled(&scale);
        let inverse = |_: &mut [f64]| {};
        // Ten pairs make a block of twelve: two panels.
        for (n_pairs, max_basis, keeps_image) in
            [(1, 0, true), (4, 0, false), (4, 0, true), (7, 60, true), (10, 0, false), (10, 90, false)]
        {
            let params = Params {
                n_pairs,
                residual_tol: 1e-9,
                relative_tol: 0.0,
                band_slack: 1.0,
                mapped_tol: 1.0,
                max_steps: 1000,
                max_basis,
                keeps_image,
                seed: 3,
            };
            let found = smallest(&operator, &inverse, &null, Vec::new(), &params);
            assert!(found.converged, "{} after {} steps", found.residual, found.steps);
            for (a, b) in found.values.iter().zip(&values) {
                assert!((a - b).abs() < 1e-10, "{a} {b}");
            }
            let mut image = vec![0.0; n];
            for (x, value) in found.vectors.chunks_exact(n).zip(&found.values) {
                operator.apply(x, &mut image);
                axpy(-value, x, &mut image);
                assert!(norm(&image) < 2e-9, "{}", norm(&image));
            }
            let unit = gram(&found.vectors, &found.vectors, n);
            for (i, g) in unit.iter().enumerate() {
                let expected = f64::from(u8::from(i % (n_pairs + 1) == 0));
                assert!((g - expected).abs() < 1e-12);
            }
        }
    }
}
