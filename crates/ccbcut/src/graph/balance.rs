//! π: what the size of a part is measured in.

use crate::error::{Error, Result};

use super::Graph;

/// The vertex weights π of the paper: what the size of a part is measured in.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Balance {
    /// π = d, the degrees: part sizes are volumes. NCut, CCN, normalized Cheeger.
    #[default]
    Normalized,
    /// π = 1: part sizes are numbers of vertices. RCut, CCR, ratio Cheeger.
    Ratio,
    /// Any positive weights, one per vertex.
    Custom(Vec<f64>),
}

impl Balance {
    /// π for a graph, one positive number per vertex.
    ///
    /// A vertex of degree zero has no volume. Under [`Balance::Normalized`] it gets the smallest positive degree
    /// of the graph (1 where there is none): its cut is zero, so no cost depends on that choice, but π stays
    /// positive as the paper demands.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] or [`Error::InvalidBalance`] for custom weights that do not fit.
    pub fn weights(&self, graph: &Graph) -> Result<Vec<f64>> {
        match self {
            Self::Normalized => {
                let smallest =
                    graph.degrees().iter().copied().filter(|&d| d > 0.0).fold(f64::INFINITY, f64::min);
                let stand_in = if smallest.is_finite() { smallest } else { 1.0 };
                Ok(graph.degrees().iter().map(|&d| if d > 0.0 { d } else { stand_in }).collect())
            }
            Self::Ratio => Ok(vec![1.0; graph.n_vertices()]),
            Self::Custom(pi) => {
                if pi.len() != graph.n_vertices() {
                    let (expected, got) = (graph.n_vertices(), pi.len());
                    return Err(Error::ShapeMismatch { what: "the balance weights", expected, got });
                }
                match pi.iter().position(|&p| !(p.is_finite() && p > 0.0)) {
                    Some(vertex) => Err(Error::InvalidBalance { vertex, weight: pi[vertex] }),
                    None => Ok(pi.clone()),
                }
            }
        }
    }

    /// The name used by the command and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Normalized => "normalized",
            Self::Ratio => "ratio",
            Self::Custom(_) => "custom",
        }
    }

    /// The same choice for the subgraph on some vertices: custom weights are picked, the others recomputed.
    #[must_use]
    pub fn restrict(&self, vertices: &[u32]) -> Self {
        match self {
            Self::Custom(pi) => Self::Custom(vertices.iter().map(|&v| pi[v as usize]).collect()),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isolated_vertex_gets_the_smallest_positive_degree() {
        let graph = Graph::from_edges(4, &[(0, 1, 0.5), (1, 2, 2.0)]).unwrap();
        assert_eq!(Balance::Normalized.weights(&graph).unwrap(), vec![0.5, 2.5, 2.0, 0.5]);
        assert_eq!(Balance::Ratio.weights(&graph).unwrap(), vec![1.0; 4]);
    }

    #[test]
    fn custom_weights_must_fit_and_be_positive() {
        let graph = Graph::from_edges(2, &[(0, 1, 1.0)]).unwrap();
        let short = Balance::Custom(vec![1.0]).weights(&graph);
        assert!(matches!(short, Err(Error::ShapeMismatch { expected: 2, got: 1, .. })));
        let zero = Balance::Custom(vec![1.0, 0.0]).weights(&graph);
        assert_eq!(zero, Err(Error::InvalidBalance { vertex: 1, weight: 0.0 }));
    }
}
