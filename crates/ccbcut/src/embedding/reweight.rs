//! Steps (b) and (c) of Algorithm 1: ε from the (κ + 1)-th largest difference, γ from ε.

use crate::graph::{Graph, distances::Distances};

use super::{Embedding, Variant, objective::HalfPower};

/// Differences below this, relative to the coordinates, are noise.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// r of an edge: what ε is taken from.
fn difference(variant: Variant, w: f64, squared_distance: f64) -> f64 {
    match variant {
        Variant::Published => (w * squared_distance).sqrt(),
        Variant::Released => w * squared_distance.sqrt(),
        Variant::Weighted => squared_distance.sqrt(),
    }
}

/// Sixteen times the largest r that rounding of the coordinates alone can make.
pub(super) fn rounding_of_differences(graph: &Graph, embedding: &Embedding, variant: Variant) -> f64 {
    let size = |v: usize| embedding.row(v).iter().map(|y| y * y).sum::<f64>();
    // Every edge is a neighbour of either end, so the larger end is met in one of the two rows.
    let rows = graph.row_maxima().into_iter().enumerate().filter(|&(_, w)| w > 0.0);
    rows.map(|(v, w)| difference(variant, w, ROUNDING * ROUNDING * size(v))).fold(0.0, f64::max)
}

/// r_(κ+1), the (κ + 1)-th largest difference: over ordered pairs, where every edge counts twice, or over edges.
/// Zero when there are not that many: all other pairs have w = 0.
pub(super) fn nth_largest(distances: &Distances<'_>, kappa: usize, variant: Variant) -> f64 {
    let place = if variant == Variant::Released { kappa } else { kappa / 2 };
    match variant {
        // The root keeps their order, and is wanted of one of them only.
        Variant::Published => distances.nth_largest(place, |w, squared| w * squared).sqrt(),
        _ => distances.nth_largest(place, |w, squared| difference(variant, w, squared)),
    }
}

/// W∘Γ with γ of (14) in the given variant; the memory of an earlier one is used again, and that of the distances comes back.
pub(super) fn reweighted(
    distances: Distances<'_>,
    variant: Variant,
    tau: f64,
    epsilon: f64,
    old: Option<Graph>,
) -> (Graph, Vec<f64>) {
    let power = HalfPower::new(2.0 - tau);
    let epsilon2 = epsilon * epsilon;
    match variant {
        Variant::Published if tau == 1.0 => {
            distances.reweighted(old, |w, squared| w / (w * squared + epsilon2).sqrt())
        }
        Variant::Published => distances.reweighted(old, |w, squared| w / power.of(w * squared + epsilon2)),
        Variant::Weighted => distances.reweighted(old, |w, squared| w / power.of(squared + epsilon2)),
        Variant::Released => {
            let gamma = |w: f64, squared: f64| 1.0 / power.of(w * squared + epsilon2);
            let mean = distances.sum(gamma) / distances.n_edges().max(1) as f64;
            distances.reweighted(old, |w, squared| w * gamma(w, squared) / mean)
        }
    }
}

/// Σ w γ ‖Δy‖² over the edges, each counted once: the energy of an embedding under the weights that it leads to.
pub(super) fn energy(distances: &Distances<'_>, variant: Variant, tau: f64, epsilon: f64) -> f64 {
    let power = HalfPower::new(2.0 - tau);
    let epsilon2 = epsilon * epsilon;
    match variant {
        Variant::Published if tau == 1.0 => {
            distances.sum(|w, squared| w * squared / (w * squared + epsilon2).sqrt())
        }
        Variant::Published => distances.sum(|w, squared| w * squared / power.of(w * squared + epsilon2)),
        Variant::Weighted => distances.sum(|w, squared| w * squared / power.of(squared + epsilon2)),
        Variant::Released => {
            let gamma = |w: f64, squared: f64| 1.0 / power.of(w * squared + epsilon2);
            let mean = distances.sum(gamma) / distances.n_edges().max(1) as f64;
            distances.sum(|w, squared| w * squared * gamma(w, squared)) / mean
        }
    }
}

/// W∘Γ⁽⁰⁾ with γ⁽⁰⁾ = ‖Δy‖_τ^τ / ‖Δy‖₂² for a given embedding; differences below 10⁻⁸ of the largest count as that.
pub(super) fn ratio_weights(graph: &Graph, embedding: &Embedding, tau: f64) -> Graph {
    let power = HalfPower::new(tau);
    let largest = embedding.distances(graph).nth_largest(0, |_, squared| squared);
    let floor = 1e-16 * largest;
    graph.map_weights(|i, j, w| {
        let squared = embedding.squared_distance(i, j);
        if largest == 0.0 {
            return w;
        }
        if squared <= floor {
            return w * power.of(floor) / floor;
        }
        let (a, b) = (embedding.row(i), embedding.row(j));
        w * a.iter().zip(b).map(|(a, b)| power.of((a - b) * (a - b))).sum::<f64>() / squared
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_largest_counts_ordered_pairs_or_edges() {
        // A path whose edges are 5, 1, 4, 2 and 3 long.
        let edges: Vec<(u32, u32, f64)> = (0..5).map(|i| (i, i + 1, 1.0)).collect();
        let graph = Graph::from_edges(6, &edges).unwrap();
        let y = Embedding::new(6, 1, vec![0.0, 5.0, 6.0, 10.0, 12.0, 15.0]).unwrap();
        let r = y.distances(&graph);
        // Ordered pairs, decreasing: 5 5 4 4 3 3 2 2 1 1.
        let expected = [5.0, 5.0, 4.0, 4.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 0.0];
        for (kappa, &value) in expected.iter().enumerate() {
            assert_eq!(nth_largest(&r, kappa, Variant::Published), value);
        }
        assert_eq!(nth_largest(&r, 1, Variant::Released), 4.0);
        assert_eq!(nth_largest(&r, 5, Variant::Released), 0.0);
    }

    /// W∘Γ of two edges, w = 4 with ‖Δy‖² = 9 and w = 1/4 with ‖Δy‖² = 16, at τ = 1 and ε = 1/2.
    #[test]
    fn gamma_follows_the_table_of_variants() {
        let graph = Graph::from_edges(3, &[(0, 1, 4.0), (1, 2, 0.25)]).unwrap();
        let y = Embedding::new(3, 1, vec![0.0, 3.0, 7.0]).unwrap();
        let distances = y.distances(&graph);
        let weights =
            |variant| reweighted(y.distances(&graph), variant, 1.0, 0.5, None).0.map_edges(|_, _, w| w);
        let close = |found: Vec<f64>, expected: [f64; 2]| {
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() <= 1e-14 * b, "{found:?} {expected:?}");
            }
        };
        let gamma = [36.25_f64.powf(-0.5), 4.25_f64.powf(-0.5)];
        close(weights(Variant::Published), [4.0 * gamma[0], 0.25 * gamma[1]]);
        let mean = 0.5 * (gamma[0] + gamma[1]);
        close(weights(Variant::Released), [4.0 * gamma[0] / mean, 0.25 * gamma[1] / mean]);
        close(weights(Variant::Weighted), [4.0 * 9.25_f64.powf(-0.5), 0.25 * 16.25_f64.powf(-0.5)]);
        let differences = |variant, first, last| {
            [nth_largest(&distances, first, variant), nth_largest(&distances, last, variant)]
        };
        assert_eq!(differences(Variant::Published, 0, 2), [6.0, 2.0]);
        assert_eq!(differences(Variant::Released, 0, 1), [12.0, 1.0]);
        assert_eq!(differences(Variant::Weighted, 0, 2), [4.0, 3.0]);
    }

    #[test]
    fn the_energy_is_that_under_the_new_weights() {
        let graph = crate::graph::gallery::random(60, 0.3, 2);
        let y = Embedding::new(60, 1, (0..60).map(|i| (f64::from(i) * 0.7).sin()).collect()).unwrap();
        for variant in [Variant::Published, Variant::Released, Variant::Weighted] {
            for (tau, epsilon) in [(1.0, 0.5), (1.25, 0.01), (0.5, 0.3)] {
                let (weighted, _) = reweighted(y.distances(&graph), variant, tau, epsilon, None);
                let expected = weighted.sum_edges(|i, j, w| w * y.squared_distance(i, j));
                let found = energy(&y.distances(&graph), variant, tau, epsilon);
                assert!(
                    (found - expected).abs() <= 1e-12 * expected,
                    "{variant:?} {tau}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn ratio_weights_are_the_quotient_of_the_two_norms() {
        let graph = Graph::from_edges(3, &[(0, 1, 2.0), (1, 2, 3.0)]).unwrap();
        let y = Embedding::new(3, 2, vec![0.0, 0.0, 3.0, 4.0, 3.0, 4.0]).unwrap();
        let weights = ratio_weights(&graph, &y, 1.0).map_edges(|_, _, w| w);
        assert!((weights[0] - 2.0 * 7.0 / 25.0).abs() < 1e-14);
        // Equal rows count as 10⁻⁸ of the largest distance apart.
        assert!((weights[1] - 3.0 / 5e-8).abs() <= 1e-6 * weights[1], "{}", weights[1]);
    }
}
