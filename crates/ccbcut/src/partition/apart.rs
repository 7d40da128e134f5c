//! A column between two vertices that must be kept apart: the potential of a network of resistors.

use crate::{
    error::Result,
    graph::Graph,
    linalg::{
        LinearOperator,
        cholesky::{Factor, Symbolic},
        conjugate,
    },
};

/// Steps of conjugate gradients where no factor is to be had.
const MAX_STEPS: usize = 500;

/// One value in [0, 1] per vertex of a connected graph: 1 at `source`, 0 at every one of `sinks`, and elsewhere the weighted
/// mean of the neighbours. Every threshold below 1 keeps the source apart from the sinks, and the best of them cuts where
/// ties are weak.
///
/// # Errors
/// None for vertices of the graph.
pub(crate) fn potential(
    graph: &Graph,
    source: usize,
    sinks: &[usize],
    max_flops: f64,
    max_entries: f64,
) -> Result<Vec<f64>> {
    let n = graph.n_vertices();
    // The sinks are one vertex, the last.
    let mut number: Vec<u32> = vec![0; n];
    sinks.iter().for_each(|&sink| number[sink] = u32::MAX);
    let mut sink = 0;
    for number in number.iter_mut().filter(|number| **number == 0) {
        (*number, sink) = (sink, sink + 1);
    }
    number.iter_mut().filter(|number| **number == u32::MAX).for_each(|number| *number = sink);
    let mut edges = Vec::with_capacity(graph.n_edges());
    graph.for_each_edge(|i, j, w| {
        if number[i] != number[j] {
            edges.push((number[i], number[j], w));
        }
    });
    let joined = Graph::from_edges(sink as usize + 1, &edges)?;
    let mut current = vec![0.0; joined.n_vertices()];
    (current[number[source] as usize], current[sink as usize]) = (1.0, -1.0);
    let mut height = vec![0.0; joined.n_vertices()];
    match Symbolic::analyze(&joined, max_flops, max_entries) {
        Some(symbolic) => Factor::<f64>::new(&symbolic, &joined).solve(&current, &mut height),
        None => without_factor(&joined, &current, &mut height),
    }
    let (low, high) = (height[sink as usize], height[number[source] as usize]);
    let span = high - low;
    let share = |v: usize| {
        let share = (height[number[v] as usize] - low) / span;
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    };
    let mut values: Vec<f64> = (0..n).map(share).collect();
    // Whatever rounding did: the source alone may be at the top with what is as good as tied to it for ever.
    values[source] = 1.0;
    sinks.iter().for_each(|&sink| values[sink] = 0.0);
    Ok(values)
}

/// L x = b, with the degrees as preconditioner.
fn without_factor(graph: &Graph, b: &[f64], x: &mut [f64]) {
    let laplacian = graph.laplacian();
    let scaled = |r: &[f64], z: &mut [f64]| {
        for ((z, r), d) in z.iter_mut().zip(r).zip(graph.degrees()) {
            *z = if *d > 0.0 { r / d } else { 0.0 };
        }
    };
    let params = conjugate::Params { tol: 1e-8, max_steps: MAX_STEPS };
    conjugate::solve(|p, out| laplacian.apply(p, out), scaled, b, x, params);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::gallery;

    #[test]
    fn a_path_falls_evenly_and_the_mean_of_neighbors_holds() {
        let path = potential(&gallery::path(5), 4, &[0], 1e12, 1e9).unwrap();
        assert!(path.iter().zip([0.0, 0.25, 0.5, 0.75, 1.0]).all(|(a, b)| (a - b).abs() < 1e-14), "{path:?}");
        let graph = gallery::wide(30, 0.3, 6.0, 4);
        let exact = potential(&graph, 3, &[7, 20], 1e12, 1e9).unwrap();
        for v in (0..30).filter(|v| ![3, 7, 20].contains(v)) {
            let (mut sum, mut degree) = (0.0, 0.0);
            graph.for_each_neighbor(v, |u, w| (sum, degree) = (sum + w * exact[u], degree + w));
            assert!((sum / degree - exact[v]).abs() < 1e-9, "{v}");
        }
        assert_eq!((exact[3], exact[7], exact[20]), (1.0, 0.0, 0.0));
        // Without a factor the same comes out, as far as the steps reach.
        let small = gallery::planted(&[15, 15], 0.5, 0.1, 3);
        let factored = potential(&small, 0, &[29], 1e12, 1e9).unwrap();
        let stepped = potential(&small, 0, &[29], 0.0, 0.0).unwrap();
        assert!(factored.iter().zip(&stepped).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
