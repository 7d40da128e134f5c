//! A column between two vertices that must be kept apart: the potential of a network of resistors.

use crate::{
    error::Result,
    graph::Graph,
    linalg::cholesky::{Factor, Symbolic},
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
    let mut number: Vec<u32> = vec![u32::MAX; n];
    let mut next = 0;
    for (v, number) in number.iter_mut().enumerate() {
        if !sinks.contains(&v) {
            (*number, next) = (next, next + 1);
        }
    }
    let sink = next;
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
        None => conjugate_gradients(&joined, &current, &mut height),
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
fn conjugate_gradients(graph: &Graph, b: &[f64], x: &mut [f64]) {
    let laplacian = |x: &[f64]| {
        let mut out = vec![0.0; x.len()];
        graph.for_each_edge(|i, j, w| {
            let flow = w * (x[i] - x[j]);
            out[i] += flow;
            out[j] -= flow;
        });
        out
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scaled = |r: &[f64]| -> Vec<f64> {
        r.iter().zip(graph.degrees()).map(|(r, d)| if *d > 0.0 { r / d } else { 0.0 }).collect()
    };
    let mut r = b.to_vec();
    let mut z = scaled(&r);
    let mut p = z.clone();
    let mut rz = dot(&r, &z);
    let goal = 1e-16 * rz;
    for _ in 0..MAX_STEPS {
        let flow = laplacian(&p);
        let step = rz / dot(&p, &flow);
        if !step.is_finite() {
            break;
        }
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += step * p);
        r.iter_mut().zip(&flow).for_each(|(r, f)| *r -= step * f);
        z = scaled(&r);
        let next = dot(&r, &z);
        if next <= goal {
            break;
        }
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + next / rz * *p);
        rz = next;
    }
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
