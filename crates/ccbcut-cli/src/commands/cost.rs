//! `ccbcut cost`: what a partition costs.

use anyhow::{Context, Result};
use ccbcut::{
    Labels,
    cost::{Costs, buhler_hein_normalized, buhler_hein_ratio},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::CostArgs,
    exit::ExitStatus,
    library,
    output::Output,
    read::{self, GraphInput},
    report::{self, SCHEMA_VERSION, Versions},
    summary,
};

/// Reads a graph and its labels, and prints the costs.
pub fn run(args: &CostArgs, output: &Output) -> Result<ExitStatus> {
    let input = read::graph(&args.graph, &args.input)?;
    let labels = read::labels_of(&args.labels, input.names.as_deref())?;
    let report = CostReport::new(args, &input, &labels)
        .with_context(|| format!("computing the costs of `{}`", args.labels.display()))?;
    if args.json {
        output.json(&report)?;
    } else {
        output.data(summary::of_costs(&report.rows(args), output).as_bytes())?;
    }
    Ok(ExitStatus::Success)
}

/// The JSON object of this verb.
#[derive(Debug, Serialize)]
struct CostReport {
    schema_version: u32,
    command: &'static str,
    parameters: Value,
    n: usize,
    edges: usize,
    n_segments: usize,
    sizes: Vec<usize>,
    costs: Costs,
    /// With `--vertex-weights`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ccb: Option<f64>,
    /// Bühler–Hein costs, with `--p`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bhn: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bhr: Option<f64>,
    versions: Versions,
}

impl CostReport {
    fn new(args: &CostArgs, input: &GraphInput, labels: &Labels) -> Result<Self> {
        let graph = &input.graph;
        let costs = Costs::of(graph, labels, args.tau)?;
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            command: "cost",
            parameters: report::parameters(args)?,
            n: graph.n_vertices(),
            edges: graph.n_edges(),
            n_segments: labels.n_segments(),
            sizes: labels.sizes(),
            costs,
            ccb: library::custom_ccb(graph, labels, input.balance.as_ref(), args.tau)?,
            bhn: args.p.map(|p| buhler_hein_normalized(graph, labels, p)).transpose()?,
            bhr: args.p.map(|p| buhler_hein_ratio(graph, labels, p)).transpose()?,
            versions: Versions::current(),
        })
    }

    fn rows(&self, args: &CostArgs) -> Vec<(String, f64)> {
        let costs = &self.costs;
        let mut rows = vec![
            ("cut".to_owned(), costs.cut),
            ("NCut".to_owned(), costs.ncut),
            ("RCut".to_owned(), costs.rcut),
            ("NCheeger".to_owned(), costs.ncheeger),
            ("RCheeger".to_owned(), costs.rcheeger),
            (format!("CCN (tau {})", args.tau), costs.ccn),
            (format!("CCR (tau {})", args.tau), costs.ccr),
        ];
        rows.extend(self.ccb.map(|cost| (format!("CCB (tau {}, your weights)", args.tau), cost)));
        if let (Some(p), Some(bhn), Some(bhr)) = (args.p, self.bhn, self.bhr) {
            rows.extend([(format!("BHN (p {p})"), bhn), (format!("BHR (p {p})"), bhr)]);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use ccbcut::graph::gallery;

    use super::*;
    use crate::args::GraphInputArgs;

    fn args(tau: f64, p: Option<f64>) -> CostArgs {
        let (graph, labels) = ("g.npz".into(), "l.csv".into());
        CostArgs { graph, labels, input: GraphInputArgs::default(), tau, p, json: true }
    }

    #[test]
    fn the_report_holds_every_cost() {
        let labels = Labels::from_raw(&[0, 0, 0, 1, 1, 1, 1]);
        let report = CostReport::new(&args(1.0, Some(2.0)), &gallery::toy(0.5).into(), &labels).unwrap();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["parameters"]["tau"], &json["parameters"]["p"]), (&1.0.into(), &2.0.into()));
        assert_eq!(json["costs"]["cut"], 1.25);
        assert!(json["bhn"].is_number());
        assert_eq!(report.rows(&args(1.0, Some(2.0))).len(), 9);
        let plain = CostReport::new(&args(1.0, None), &gallery::toy(0.5).into(), &labels).unwrap();
        assert!(serde_json::to_value(&plain).unwrap().get("bhn").is_none());
        assert_eq!(plain.rows(&args(1.0, None)).len(), 7);
    }

    #[test]
    fn knobs_out_of_range_are_refused() {
        let (input, labels) = (gallery::toy(0.5).into(), Labels::from_raw(&[0, 0, 0, 1, 1, 1, 1]));
        assert!(CostReport::new(&args(-1.0, None), &input, &labels).is_err());
        assert!(CostReport::new(&args(1.0, Some(1.0)), &input, &labels).is_err());
    }
}
