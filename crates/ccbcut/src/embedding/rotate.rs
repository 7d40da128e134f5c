//! The rotation H that the paper leaves open.
//!
//! Step (a) fixes Y only up to an orthogonal H, and J_τ for τ ≠ 2 depends on it. The paper suggests H = I, which is
//! rarely the best choice; here H is improved by plane rotations, each the best of a scan, accepted only when J_τ
//! falls.

use crate::graph::Graph;

use super::{Embedding, objective::HalfPower};

/// Angles tried in the first scan of a quarter turn.
const SCAN: usize = 16;

/// Y H with an orthogonal H for which J_τ is not larger than for Y.
///
/// # Complexity
/// O(|E| k²) per round of plane rotations, at most 20 rounds.
pub fn lower_j_tau(graph: &Graph, embedding: &Embedding, tau: f64) -> Embedding {
    let k = embedding.n_components();
    let mut y = embedding.clone();
    if tau == 2.0 || k < 2 {
        return y;
    }
    for _ in 0..20 {
        let mut improved = false;
        for p in 0..k {
            for q in p + 1..k {
                improved |= rotate_pair(graph, &mut y, tau, p, q);
            }
        }
        if !improved {
            break;
        }
    }
    y
}

/// Rotates two columns to the best angle found; whether J_τ fell noticeably.
fn rotate_pair(graph: &Graph, y: &mut Embedding, tau: f64, p: usize, q: usize) -> bool {
    let power = HalfPower::new(tau);
    let differences = graph.map_edges(|i, j, w| {
        let (a, b) = (y.row(i), y.row(j));
        (w, a[p] - b[p], a[q] - b[q])
    });
    let cost = |angle: f64| {
        let (s, c) = angle.sin_cos();
        crate::parallel::sum(differences.len(), |range| {
            differences[range]
                .iter()
                .map(|&(w, a, b)| {
                    let (u, v) = (c * a - s * b, s * a + c * b);
                    w * (power.of(u * u) + power.of(v * v))
                })
                .sum()
        })
    };
    let quarter = std::f64::consts::FRAC_PI_2;
    let step = quarter / SCAN as f64;
    let before = cost(0.0);
    let (mut best, mut lowest) = (0.0, before);
    for k in 1..SCAN {
        let value = cost(k as f64 * step);
        if value < lowest {
            (best, lowest) = (k as f64 * step, value);
        }
    }
    // Golden-section search around the best angle of the scan.
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (best - step, best + step);
    for _ in 0..24 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if cost(a) <= cost(b) { high = b } else { low = a }
    }
    let refined = 0.5 * (low + high);
    if cost(refined) < lowest {
        (best, lowest) = (refined, cost(refined));
    }
    if lowest >= before * (1.0 - 1e-9) {
        return false;
    }
    let (s, c) = best.sin_cos();
    for row in y.values.chunks_exact_mut(y.n_components) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    true
}
