//! How unequal parts are.

/// The standard deviation of the parts' sizes over their mean: 0 for equal parts, √(k − 1) when one of k holds all.
///
/// The paper's "degree spread" is this of the parts' volumes. Without parts, or without size, it is 0.
pub fn spread(sizes: &[f64]) -> f64 {
    let n = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / n;
    if sizes.is_empty() || mean == 0.0 {
        return 0.0;
    }
    let variance = sizes.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n;
    variance.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_scale() {
        assert_eq!(spread(&[3.0; 5]), 0.0);
        assert!((spread(&[0.0, 0.0, 0.0, 8.0, 0.0]) - 2.0).abs() < 1e-15);
        assert_eq!((spread(&[]), spread(&[0.0, 0.0])), (0.0, 0.0));
        assert!((spread(&[1.0, 3.0]) - 0.5).abs() < 1e-15);
    }
}
