//! Agreement of two partitions of the vertices of a graph, corrected for chance.

use std::collections::HashMap;

use crate::{error::Result, labels::Labels};

/// The adjusted Rand index: 1 for equal partitions, 0 on average for independent ones of the same sizes.
///
/// With n_ij vertices in part i of one and part j of the other, C the number of pairs, and Σ over pairs inside:
/// (Σ_ij C(n_ij) − E) / (½ (Σ_i C(a_i) + Σ_j C(b_j)) − E), E = Σ_i C(a_i) Σ_j C(b_j) / C(n). Two partitions that leave
/// nothing to chance, such as two of one part each, agree fully.
///
/// # Errors
/// [`crate::Error::ShapeMismatch`] unless both have one label per vertex.
///
/// # References
/// Hubert and Arabie, *Comparing partitions*, Journal of Classification 2, 1985, <https://doi.org/10.1007/BF01908075>.
pub fn adjusted_rand_index(first: &Labels, second: &Labels) -> Result<f64> {
    second.check_len(first.len())?;
    let mut shared: HashMap<(u32, u32), u64> = HashMap::new();
    for (&a, &b) in first.as_slice().iter().zip(second.as_slice()) {
        *shared.entry((a, b)).or_default() += 1;
    }
    let pairs = |n: u64| (n * n.saturating_sub(1) / 2) as f64;
    // Sums of whole numbers: their order does not matter as long as they stay below 2⁵³.
    let both: f64 = shared.values().map(|&n| pairs(n)).sum();
    let inside = |labels: &Labels| labels.sizes().iter().map(|&n| pairs(n as u64)).sum::<f64>();
    let (a, b, all) = (inside(first), inside(second), pairs(first.len() as u64));
    let expected = if all > 0.0 { a * b / all } else { 0.0 };
    let most = 0.5 * (a + b);
    Ok(if most == expected { 1.0 } else { (both - expected) / (most - expected) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let index =
            |a: &[u32], b: &[u32]| adjusted_rand_index(&Labels::from_raw(a), &Labels::from_raw(b)).unwrap();
        assert_eq!(index(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
        // From scikit-learn's documentation and by hand.
        assert!((index(&[0, 0, 1, 2], &[0, 0, 1, 1]) - 4.0 / 7.0).abs() < 1e-15);
        assert!((index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-15);
        assert_eq!(index(&[0, 0, 0], &[0, 0, 0]), 1.0);
        assert_eq!(index(&[0, 1, 2], &[0, 0, 0]), 0.0);
        assert_eq!(index(&[], &[]), 1.0);
        assert!(adjusted_rand_index(&Labels::single(2), &Labels::single(3)).is_err());
    }
}
