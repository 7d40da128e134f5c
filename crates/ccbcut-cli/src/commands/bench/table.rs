//! The paper's tables, ours beside the published figures.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use ccbcut::metrics::{
    RegionScore,
    family::{FamilyScore, ImageFamily, pool},
    protocol::{DYNAMIC, Protocol},
};
use serde::Serialize;

use super::{
    method::{affinity_of, display_name},
    record::{Record, Store},
};
use crate::{
    args::Split,
    report::{SCHEMA_VERSION, Versions},
};

/// A part below this share of the image counts as tiny.
const TINY: f64 = 1e-3;

/// What a benchmark found.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Version of the layout.
    pub schema_version: u32,
    /// The verb.
    pub command: &'static str,
    /// The data set.
    pub data: &'static str,
    /// Which part of it.
    pub split: &'static str,
    /// How pixels were compared.
    pub affinity: String,
    /// One per method, in the order asked for.
    pub methods: Vec<MethodSummary>,
    /// What ran.
    pub versions: Versions,
}

/// One method.
#[derive(Debug, Serialize)]
pub struct MethodSummary {
    /// Its name, as typed.
    pub method: String,
    /// Images done.
    pub images: usize,
    /// Means over images.
    #[serde(flatten)]
    pub scores: Protocol,
    /// What the paper reports on the test split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// The same images by the τ = 2 method of the same kind: differences of scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Paired>,
    /// The benchmark's own summary over k = 1 … 25 (hierarchical methods, which have every k).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_k: Option<FamilyScore>,
    /// Scores for 5, 10, … parts: means over ground truths and images.
    pub scores_by_k: Vec<RegionScore>,
    /// std/mean of the parts' volumes for 5, 10, … parts: means over images.
    pub volume_spread: Vec<f64>,
    /// Parts below a thousandth of the image for 5, 10, … parts: means over images.
    pub tiny_parts: Vec<f64>,
    /// Seconds per image on one core without the affinity, all numbers of parts: quartiles and the maximum.
    pub seconds: [f64; 4],
    /// The paper's times for the cost and the way, in minutes: quartiles and the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_minutes: Option<[f64; 4]>,
    /// Images with an embedding that stopped at the sweep limit.
    pub not_converged: usize,
}

/// Figures of the paper: covering, PRI, VI.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Published {
    /// `fixed`.
    pub fixed: [f64; 3],
    /// `dynamic`, as the paper calls it.
    pub dynamic: [f64; 3],
}

/// Differences to another method on the same images: means with their standard errors, for covering, PRI and VI.
#[derive(Debug, Serialize)]
pub struct Paired {
    /// The other method.
    pub method: String,
    /// Images that both have done.
    pub images: usize,
    /// `fixed`.
    pub fixed: [(f64, f64); 3],
    /// `dynamic`.
    pub dynamic: [(f64, f64); 3],
}

impl Summary {
    /// Sums up the records of some methods on some images.
    pub fn new(store: &Store, methods: &[&str], images: &[String], split: Split) -> Result<Self> {
        let all: Vec<(&str, Vec<&Record>)> =
            methods.iter().map(|&m| (m, store.of_method(m, images))).collect();
        ensure!(all.iter().any(|(_, records)| !records.is_empty()), "no image could be cut by any method");
        let mut summaries = Vec::new();
        for (method, records) in all.iter().filter(|(_, records)| !records.is_empty()) {
            let reference = all.iter().find(|(other, _)| is_reference(other, method));
            let against = reference.map(|(other, rival)| paired(other, records, rival)).transpose()?;
            summaries.push(MethodSummary::new(method, records, against)?);
        }
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            command: "bench bsds",
            data: "BSDS500",
            split: split.name(),
            affinity: affinities(methods),
            methods: summaries,
            versions: Versions::current(),
        })
    }

    /// The tables as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let Self { data, split, affinity, .. } = self;
        let _ = writeln!(out, "# {data} {split}, {affinity}\n");
        let _ = writeln!(
            out,
            "Means over images. `fixed`: k of each ground truth; `dynamic`: best k of 5 … 25 per image; `best-gt`: and the \
             best ground truth. In brackets the paper's figures, which are for the test split.\n"
        );
        let _ = writeln!(
            out,
            "| method | images | covering fixed | dynamic | best-gt | PRI fixed | dynamic | best-gt | VI fixed | dynamic | best-gt |"
        );
        let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|");
        for m in &self.methods {
            let _ = write!(out, "| {} | {} |", display_name(&m.method), m.images);
            let Protocol { fixed, dynamic, dynamic_best_gt } = m.scores;
            for (i, digits) in [(0, 3), (1, 3), (2, 2)] {
                let published = |of: fn(&Published) -> [f64; 3]| {
                    m.published.map_or(String::new(), |p| format!(" ({:.2})", of(&p)[i]))
                };
                let _ = write!(
                    out,
                    " {:.digits$}{} | {:.digits$} | {:.digits$}{} |",
                    numbers(fixed)[i],
                    published(|p| p.fixed),
                    numbers(dynamic)[i],
                    numbers(dynamic_best_gt)[i],
                    published(|p| p.dynamic),
                );
            }
            out.push('\n');
        }
        self.paired_table(&mut out);
        self.family_table(&mut out);
        self.time_table(&mut out);
        out
    }

    fn paired_table(&self, out: &mut String) {
        if self.methods.iter().all(|m| m.against.is_none()) {
            return;
        }
        let _ = writeln!(
            out,
            "\nThe same images, method minus its rival at tau = 2: mean ± standard error (VI: lower is better).\n"
        );
        let _ = writeln!(
            out,
            "| method | rival | covering fixed | dynamic | PRI fixed | dynamic | VI fixed | dynamic |"
        );
        let _ = writeln!(out, "|---|---|---|---|---|---|---|---|");
        for m in &self.methods {
            let Some(p) = &m.against else { continue };
            let _ = write!(out, "| {} | {} |", display_name(&m.method), display_name(&p.method));
            for i in 0..3 {
                for (mean, error) in [p.fixed[i], p.dynamic[i]] {
                    let _ = write!(out, " {mean:+.3} ± {error:.3} |");
                }
            }
            out.push('\n');
        }
    }

    fn family_table(&self, out: &mut String) {
        if self.methods.iter().all(|m| m.over_k.is_none()) {
            return;
        }
        let _ = writeln!(
            out,
            "\nThe benchmark's own summary over k = 1 … 25: one k for all images (ODS, at which k), the best k for each (OIS).\n"
        );
        let _ = writeln!(out, "| method | covering ODS | OIS | PRI ODS | OIS | VI ODS | OIS |");
        let _ = writeln!(out, "|---|---|---|---|---|---|---|");
        for m in &self.methods {
            let Some(f) = &m.over_k else { continue };
            let _ = write!(out, "| {} |", display_name(&m.method));
            let pairs = [(f.covering_ods, f.covering_ois), (f.pri_ods, f.pri_ois), (f.vi_ods, f.vi_ois)];
            for (i, (ods, ois)) in pairs.into_iter().enumerate() {
                let _ = write!(out, " {ods:.3} (k = {}) | {ois:.3} |", f.at[i] + 1);
            }
            out.push('\n');
        }
    }

    fn time_table(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "\nSpread of the parts' volumes (std/mean) and tiny parts (below 1/1000 of the image) by number of parts; seconds per image on one core for all numbers of parts, affinity excluded.\n"
        );
        let ks = DYNAMIC.map(|k| format!("k = {k}")).join(" | ");
        let _ = writeln!(
            out,
            "| method | spread {ks} | tiny at k = 25 | quartile I s | median s | quartile III s | max s | not converged |"
        );
        let _ = writeln!(out, "|---|{}---|---|---|---|---|---|", "---|".repeat(DYNAMIC.len()));
        for m in &self.methods {
            let _ = write!(out, "| {} |", display_name(&m.method));
            for spread in &m.volume_spread {
                let _ = write!(out, " {spread:.2} |");
            }
            let _ = write!(out, " {:.1} |", m.tiny_parts.last().copied().unwrap_or(0.0));
            for seconds in &m.seconds {
                let _ = write!(out, " {seconds:.1} |");
            }
            let _ = writeln!(out, " {} |", m.not_converged);
        }
    }
}

impl MethodSummary {
    fn new(method: &str, records: &[&Record], against: Option<Paired>) -> Result<Self> {
        let protocols = records.iter().map(|r| r.protocol()).collect::<Result<Vec<_>>>()?;
        let mean_at = |k: usize, of: fn(&super::record::CutRun) -> f64| {
            let found: Vec<f64> =
                records.iter().flat_map(|r| r.runs.iter().filter(|run| run.k == k)).map(of).collect();
            found.iter().sum::<f64>() / found.len() as f64
        };
        let tiny = |run: &super::record::CutRun| {
            let least = TINY * run.sizes.iter().sum::<usize>() as f64;
            run.sizes.iter().filter(|&&size| (size as f64) < least).count() as f64
        };
        Ok(Self {
            method: method.to_owned(),
            images: records.len(),
            scores: Protocol::mean(&protocols),
            published: published(method),
            against,
            over_k: over_k(records)?,
            scores_by_k: DYNAMIC.iter().map(|&k| mean_scores(records, k)).collect(),
            volume_spread: DYNAMIC.iter().map(|&k| mean_at(k, |run| run.volume_spread)).collect(),
            tiny_parts: DYNAMIC.iter().map(|&k| mean_at(k, tiny)).collect(),
            seconds: quartiles(records.iter().map(|r| r.cutting_s).collect()),
            published_minutes: published_minutes(method),
            not_converged: records.iter().filter(|r| !r.converged).count(),
        })
    }
}

/// The mean over images of the scores at one number of parts, each the mean over its ground truths.
fn mean_scores(records: &[&Record], k: usize) -> RegionScore {
    RegionScore::mean(&records.iter().filter_map(|record| record.scores_at(k)).collect::<Vec<_>>())
}

/// ODS and OIS over k = 1 … 25, where every image has them all.
fn over_k(records: &[&Record]) -> Result<Option<FamilyScore>> {
    const LAST: usize = 25;
    let mut images = Vec::new();
    for record in records {
        let Some(scores) = (1..=LAST).map(|k| record.truth_scores_at(k)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        images.push(ImageFamily::from_scores(&scores, record.n_pixels())?);
    }
    Ok(Some(pool(&images)?))
}

/// Whether `other` is what `method` is compared with: the τ = 2 cost of the same balance, cut the same way.
fn is_reference(other: &str, method: &str) -> bool {
    if affinity_of(other) != affinity_of(method) {
        return false;
    }
    let head = |name: &str| name.split(':').next().unwrap_or("").to_owned();
    let (other, method) = (head(other), head(method));
    let way = |name: &str| name.rsplit('-').next().unwrap_or("").to_owned();
    let family = if method.starts_with("ccr") { "rcut" } else { "ncut" };
    method.starts_with("cc") && way(&other) == way(&method) && other.starts_with(family)
}

/// Differences on the images that both methods have done.
fn paired(name: &str, records: &[&Record], rival: &[&Record]) -> Result<Paired> {
    let (mut fixed, mut dynamic) = (vec![], vec![]);
    for record in records {
        if let Some(other) = rival.iter().find(|other| other.image == record.image) {
            let (a, b) = (record.protocol()?, other.protocol()?);
            let minus = |a: RegionScore, b: RegionScore| {
                let (a, b) = (numbers(a), numbers(b));
                [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
            };
            fixed.push(minus(a.fixed, b.fixed));
            dynamic.push(minus(a.dynamic, b.dynamic));
        }
    }
    let of =
        |all: &[[f64; 3]]| [0, 1, 2].map(|i| mean_and_error(&all.iter().map(|d| d[i]).collect::<Vec<_>>()));
    Ok(Paired { method: name.to_owned(), images: fixed.len(), fixed: of(&fixed), dynamic: of(&dynamic) })
}

/// Covering, PRI and VI, in the order of the tables.
pub fn numbers(score: RegionScore) -> [f64; 3] {
    [score.covering, score.rand_index, score.variation]
}

/// The mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n).sqrt())
}

/// The three quartiles and the maximum, interpolated between values.
fn quartiles(mut values: Vec<f64>) -> [f64; 4] {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (values.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        values[low] + (values[high] - values[low]) * (place - low as f64)
    };
    [at(0.25), at(0.5), at(0.75), at(1.0)]
}

/// Table 1 of the paper for Lab affinities: covering, PRI and VI on the test split.
fn published(method: &str) -> Option<Published> {
    let head = method.split(':').next()?;
    let (fixed, dynamic) = match (affinity_of(method).unwrap_or("lab"), head) {
        ("lab", "ncut-m") => ([0.48, 0.70, 2.17], [0.65, 0.83, 1.50]),
        ("lab", "ccn1-m") => ([0.49, 0.69, 2.13], [0.66, 0.83, 1.47]),
        ("lab", "ncut-h") => ([0.51, 0.78, 1.98], [0.67, 0.87, 1.43]),
        ("lab", "ccn1-h") => ([0.57, 0.69, 1.81], [0.69, 0.78, 1.38]),
        ("lab", "ncheeger-h") => ([0.46, 0.78, 2.21], [0.62, 0.87, 1.66]),
        ("mpb", "ncut-m") => ([0.29, 0.75, 2.86], [0.48, 0.84, 2.10]),
        ("mpb", "ccn1-m") => ([0.32, 0.75, 2.75], [0.51, 0.83, 1.96]),
        ("mpb", "ncut-h") => ([0.30, 0.83, 2.61], [0.48, 0.89, 2.00]),
        ("mpb", "ccn1-h") => ([0.38, 0.73, 2.35], [0.52, 0.78, 1.83]),
        ("mpb", "ncheeger-h") => ([0.27, 0.83, 2.90], [0.48, 0.88, 2.31]),
        ("pmi", "ncut-m") => ([0.34, 0.76, 2.62], [0.53, 0.85, 1.86]),
        ("pmi", "ccn1-m") => ([0.40, 0.77, 2.34], [0.58, 0.86, 1.65]),
        ("pmi", "ncut-h") => ([0.37, 0.87, 2.37], [0.54, 0.90, 1.75]),
        ("pmi", "ccn1-h") => ([0.47, 0.78, 1.99], [0.60, 0.81, 1.55]),
        ("pmi", "ncheeger-h") => ([0.33, 0.84, 2.65], [0.51, 0.89, 2.04]),
        _ => return None,
    };
    Some(Published { fixed, dynamic })
}

/// The affinities of some methods, each once, in their order.
fn affinities(methods: &[&str]) -> String {
    let mut found: Vec<&str> = Vec::new();
    for affinity in methods.iter().map(|method| affinity_of(method).unwrap_or("lab")) {
        if !found.contains(&affinity) {
            found.push(affinity);
        }
    }
    found.join(", ")
}

/// Table 2 of the paper: minutes of one cut, over all τ, numbers of parts, images and affinities.
fn published_minutes(method: &str) -> Option<[f64; 4]> {
    let (cost, way) = method.split(':').next()?.rsplit_once('-')?;
    let is_ratio = cost.starts_with("rcut") || cost.starts_with("ccr");
    Some(match (is_ratio, way) {
        (false, "m") => [2.0, 2.9, 4.2, 14.9],
        (false, "h") => [13.0, 23.4, 41.6, 258.2],
        (true, "m") => [1.0, 1.4, 1.9, 8.0],
        (true, "h") => [10.0, 18.6, 31.6, 180.7],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_the_textbook_ones() {
        assert_eq!(mean_and_error(&[1.0, 3.0]), (2.0, 1.0));
        assert_eq!(mean_and_error(&[4.0]), (4.0, 0.0));
        assert_eq!(quartiles(vec![5.0, 1.0, 2.0, 3.0, 4.0]), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(quartiles(vec![1.0, 2.0]), [1.25, 1.5, 1.75, 2.0]);
    }

    #[test]
    fn methods_are_compared_with_tau_two_of_their_kind() {
        assert!(is_reference("ncut-h:sigma=5", "ccn1.25-h:sigma=7"));
        assert!(is_reference("rcut-m", "ccr1-m"));
        assert!(!is_reference("ncut-m", "ccn1-h") && !is_reference("ncut-h", "ccr1-h"));
        assert!(!is_reference("ncut-h", "ncut-h") && !is_reference("ncut-h", "ccn1-h:affinity=mpb"));
        assert!(is_reference("ncut-h:affinity=mpb", "ccn1-h:sigma=2:affinity=mpb"));
    }
}
