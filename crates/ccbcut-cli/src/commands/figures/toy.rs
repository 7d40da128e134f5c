//! Which partition of the toy graph is cheapest, by trying all of them.

use anyhow::{Context, Result, bail};
use ccbcut::{
    Graph, Labels,
    cost::{buhler_hein_normalized, buhler_hein_ratio, ccn, ccr},
    graph::gallery,
};
use rayon::prelude::*;

/// The vertex that hangs on the others by two edges of weight α/2.
pub const WEAK: usize = 6;

/// The α that is as good as 0, and the one that is as good as 1.
const ENDS: [f64; 2] = [1e-60, 1.0 - 1e-9];

/// A cost of a partition of a graph.
pub type Cost<'a> = &'a (dyn Fn(&Graph, &Labels) -> ccbcut::Result<f64> + Sync);

/// The families of costs with a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Bühler–Hein, by volume.
    Bhn,
    /// Bühler–Hein, by number of vertices.
    Bhr,
    /// Compassionately conservative, by volume.
    Ccn,
    /// Compassionately conservative, by number of vertices.
    Ccr,
}

impl Family {
    /// The cost of a partition at a setting of the knob, p or τ.
    ///
    /// # Errors
    /// A knob out of its range.
    pub fn cost(self, graph: &Graph, labels: &Labels, knob: f64) -> ccbcut::Result<f64> {
        match self {
            Self::Bhn => buhler_hein_normalized(graph, labels, knob),
            Self::Bhr => buhler_hein_ratio(graph, labels, knob),
            Self::Ccn => ccn(graph, labels, knob),
            Self::Ccr => ccr(graph, labels, knob),
        }
    }
}

/// What the cheapest partition does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Winner {
    /// It splits off the weak vertex.
    Alone,
    /// It cuts between the triangles; the weak vertex goes with either.
    Apart,
    /// Neither.
    Other,
}

impl Winner {
    fn of(labels: &Labels) -> Self {
        let label = labels.as_slice();
        let all = |range: std::ops::Range<usize>, of: usize| label[range].iter().all(|&l| l == label[of]);
        if all(0..WEAK, 0) && label[WEAK] != label[0] {
            Self::Alone
        } else if all(0..3, 0) && all(3..6, 3) && label[0] != label[3] {
            Self::Apart
        } else {
            Self::Other
        }
    }
}

/// All ways to cut the toy graph in two.
#[derive(Debug, Clone)]
pub struct Toy {
    partitions: Vec<Labels>,
}

impl Toy {
    /// Lists them; vertex 0 is always in the first part.
    pub fn new() -> Self {
        let n = gallery::toy(0.5).n_vertices();
        let of_bits = |bits: u32| {
            let raw: Vec<u32> = (0..n).map(|vertex| (bits << 1 >> vertex) & 1).collect();
            Labels::from_raw(&raw)
        };
        Self { partitions: (1..1 << (n - 1)).map(of_bits).collect() }
    }

    /// The cheapest partition of the graph with this α; the first of equals.
    ///
    /// # Errors
    /// Those of the cost.
    pub fn cheapest(&self, alpha: f64, cost: Cost<'_>) -> Result<&Labels> {
        let graph = gallery::toy(alpha);
        let mut best: Option<(f64, &Labels)> = None;
        for labels in &self.partitions {
            let value = cost(&graph, labels)?;
            if best.is_none_or(|(least, _)| value < least) {
                best = Some((value, labels));
            }
        }
        Ok(best.context("the toy graph has partitions")?.1)
    }

    fn winner(&self, alpha: f64, cost: Cost<'_>) -> Result<Winner> {
        Ok(Winner::of(self.cheapest(alpha, cost)?))
    }

    /// α below which splitting off the weak vertex is cheapest: 0 for never, 1 for every α < 1.
    ///
    /// # Errors
    /// Those of the cost.
    pub fn switch_over(&self, cost: Cost<'_>) -> Result<f64> {
        if self.winner(ENDS[1], cost)? == Winner::Alone {
            return Ok(1.0);
        }
        if self.winner(ENDS[0], cost)? != Winner::Alone {
            return Ok(0.0);
        }
        // In ln α: the switch may lie at any size of α.
        let (low, high) = self.narrowed(ENDS.map(f64::ln), f64::exp, 60, cost)?;
        Ok((0.5 * (low + high)).exp())
    }

    /// The same for a plot, together with a look at the winners all along α.
    ///
    /// # Errors
    /// Those of the cost, and a winner that the figure does not show.
    pub fn column(&self, cost: Cost<'_>) -> Result<f64> {
        const LOOKS: usize = 16;
        let alpha = |k: usize| (k as f64 / LOOKS as f64).clamp(1e-6, ENDS[1]);
        let mut n_alone = 0;
        for k in 0..=LOOKS {
            match self.winner(alpha(k), cost)? {
                Winner::Alone if n_alone == k => n_alone += 1,
                Winner::Apart => {}
                winner => bail!(
                    "the figure shows two partitions, but at alpha = {} another wins ({winner:?})",
                    alpha(k)
                ),
            }
        }
        if n_alone == 0 || n_alone > LOOKS {
            return Ok(if n_alone == 0 { 0.0 } else { 1.0 });
        }
        let (low, high) = self.narrowed([alpha(n_alone - 1), alpha(n_alone)], |alpha| alpha, 12, cost)?;
        Ok(0.5 * (low + high))
    }

    /// Halves a bracket with the weak vertex alone at its lower end and not at its upper one.
    fn narrowed(
        &self,
        [mut low, mut high]: [f64; 2],
        alpha: impl Fn(f64) -> f64,
        steps: usize,
        cost: Cost<'_>,
    ) -> Result<(f64, f64)> {
        for _ in 0..steps {
            let middle = 0.5 * (low + high);
            match self.winner(alpha(middle), cost)? {
                Winner::Alone => low = middle,
                Winner::Apart | Winner::Other => high = middle,
            }
        }
        Ok((low, high))
    }

    /// [`column`](Self::column) at many settings of the knob.
    ///
    /// # Errors
    /// As there.
    pub fn curve(&self, family: Family, knobs: &[f64]) -> Result<Vec<f64>> {
        let at = |&knob: &f64| self.column(&move |graph, labels| family.cost(graph, labels, knob));
        knobs.par_iter().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use ccbcut::cost::{cut, ncut, rcut};
    use serde_json::Value;

    use super::*;

    const TABLE: &str = include_str!("../../../../ccbcut/tests/suite/oracle/toy_curves.json");

    /// Every point of the table: a family, its knob, and α as an independent program found it.
    fn table() -> Vec<(Family, f64, f64)> {
        let json: Value = serde_json::from_str(TABLE).unwrap();
        let families =
            [(Family::Bhn, "BHN"), (Family::Bhr, "BHR"), (Family::Ccn, "CCN"), (Family::Ccr, "CCR")];
        let mut points = Vec::new();
        for (family, name) in families {
            for point in json["curves"][name].as_array().unwrap() {
                let knob = point[0].as_f64().unwrap_or(f64::INFINITY);
                points.push((family, knob, point[1].as_f64().unwrap()));
            }
        }
        assert!(points.len() > 30);
        points
    }

    #[test]
    fn figures_2_and_3_switch_where_the_table_says() {
        let toy = Toy::new();
        for (family, knob, expected) in table() {
            let found = toy.switch_over(&move |g, l| family.cost(g, l, knob)).unwrap();
            let error = (found - expected).abs() / expected.max(1e-300);
            assert!(found == expected || error < 1e-9, "{family:?} at {knob}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_plotted_curves_of_figures_2_and_3_follow_the_table() {
        let toy = Toy::new();
        for (family, knob, expected) in table() {
            let found = toy.curve(family, &[knob]).unwrap()[0];
            assert!((found - expected).abs() < 2e-5, "{family:?} at {knob}: {found}, not {expected}");
        }
    }

    #[test]
    fn winners_are_recognised_whatever_the_labels() {
        let of = |raw: &[u32]| Winner::of(&Labels::from_raw(raw));
        assert_eq!(of(&[3, 3, 3, 3, 3, 3, 1]), Winner::Alone);
        assert_eq!(of(&[0, 0, 0, 1, 1, 1, 1]), Winner::Apart);
        assert_eq!(of(&[0, 0, 0, 1, 1, 1, 0]), Winner::Apart);
        assert_eq!(of(&[0, 1, 1, 1, 1, 1, 1]), Winner::Other);
        assert_eq!(of(&[0, 0, 0, 0, 0, 0, 0]), Winner::Other);
        assert_eq!(of(&[0, 0, 0, 1, 1, 0, 0]), Winner::Other);
    }

    #[test]
    fn cut_isolates_and_ncut_balances_and_rcut_does_both() {
        let toy = Toy::new();
        assert_eq!(toy.partitions.len(), 63);
        assert_eq!(toy.switch_over(&|g, l| cut(g, l)).unwrap(), 1.0);
        assert_eq!(toy.switch_over(&|g, l| ncut(g, l)).unwrap(), 0.0);
        assert!((toy.switch_over(&|g, l| rcut(g, l)).unwrap() - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_third_winner_is_an_error_not_a_wrong_figure() {
        let odd = |_: &Graph, labels: &Labels| Ok(f64::from(labels.as_slice()[1] == labels.as_slice()[0]));
        let error = Toy::new().column(&odd).unwrap_err().to_string();
        assert!(error.contains("another wins"), "{error}");
    }
}
