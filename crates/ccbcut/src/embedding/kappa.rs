//! κ from κ̃: how many of the largest differences are taken for cut edges.

use crate::{error::Result, graph::Graph, kmeans::KMeans};

use super::{Embedding, Kappa, Variant};

/// θ̂/2: edges between different clusters of a k-means clustering of the rows of an embedding.
pub(super) fn cut_edges_estimate(
    graph: &Graph,
    embedding: &Embedding,
    n_clusters: usize,
    seed: u64,
) -> Result<usize> {
    let n = embedding.n_vertices();
    let labels = KMeans::new(n_clusters.min(n))
        .seed(seed)
        .fit(embedding.as_slice(), n, embedding.n_components(), None)?
        .labels;
    let cut = graph.sum_edges(|i, j, _| f64::from(u8::from(labels[i] != labels[j])));
    Ok(cut as usize)
}

/// κ for a variant, given the number of cut edges: over ordered pairs (published, weighted) or edges (released).
pub(super) fn resolve(kappa: Kappa, variant: Variant, n_edges: usize, cut_edges: usize) -> usize {
    let (edges, cut) = (n_edges as f64, cut_edges as f64);
    match (kappa, variant) {
        (Kappa::Count(count), _) => count,
        (Kappa::Fraction(f), Variant::Released) => (f * (cut + edges)).ceil() as usize,
        (Kappa::Fraction(f), Variant::Published | Variant::Weighted) => {
            let theta = 2.0 * cut;
            (theta + f * (2.0 * edges - theta)).floor() as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kappa_follows_the_table_of_variants() {
        let fraction = Kappa::Fraction(0.05);
        assert_eq!(resolve(fraction, Variant::Released, 291, 127), 21);
        assert_eq!(resolve(fraction, Variant::Published, 291, 20), 40 + 27);
        assert_eq!(resolve(Kappa::Count(57), Variant::Released, 291, 20), 57);
    }
}
