//! What is kept of one image and one method: a line of JSON, appended whole.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use ccbcut::metrics::{RegionScore, protocol::Protocol};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::exit::Hinted;

/// One image cut by one method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the image.
    pub image: String,
    /// Name of the method.
    pub method: String,
    /// Regions of each ground truth.
    pub truth_counts: Vec<usize>,
    /// One for each number of parts.
    pub runs: Vec<CutRun>,
    /// Wall time of all of them on one core: the graph, and what came after it.
    pub affinity_s: f64,
    /// See `affinity_s`.
    pub cutting_s: f64,
    /// Whether every embedding converged.
    pub converged: bool,
    /// Every parameter that decides the result.
    pub parameters: Map<String, Value>,
}

/// One number of parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutRun {
    /// Parts asked for.
    pub k: usize,
    /// Pixels of each part, largest first.
    pub sizes: Vec<usize>,
    /// std/mean of the parts' volumes.
    pub volume_spread: f64,
    /// Covering, Rand index and variation of information against each ground truth.
    pub scores: Vec<[f64; 3]>,
}

impl CutRun {
    fn region_scores(&self) -> Vec<RegionScore> {
        let score =
            |&[covering, rand_index, variation]: &[f64; 3]| RegionScore { covering, rand_index, variation };
        self.scores.iter().map(score).collect()
    }
}

impl Record {
    /// Pixels of the image.
    pub fn n_pixels(&self) -> u64 {
        self.runs.first().map_or(0, |run| run.sizes.iter().sum::<usize>() as u64)
    }

    /// The scores with so many parts, one per ground truth.
    pub fn truth_scores_at(&self, k: usize) -> Option<Vec<RegionScore>> {
        self.runs.iter().find(|run| run.k == k).map(CutRun::region_scores)
    }

    /// The scores at one number of parts: means over the ground truths.
    pub fn scores_at(&self, k: usize) -> Option<RegionScore> {
        self.runs.iter().find(|run| run.k == k).map(|run| RegionScore::mean(&run.region_scores()))
    }

    /// The image's scores under the paper's protocols.
    pub fn protocol(&self) -> Result<Protocol> {
        let runs: Vec<_> = self.runs.iter().map(|run| (run.k, run.region_scores())).collect();
        let context = || format!("the record of `{}` by `{}`", self.image, self.method);
        Protocol::new(&runs, &self.truth_counts).with_context(context)
    }
}

/// The records of an output folder, and the file that new ones go to.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// By image and method.
    records: BTreeMap<(String, String), Record>,
}

impl Store {
    /// Opens or makes `results.jsonl`. What a killed run left of a line is cut off.
    pub fn open(path: &Path) -> Result<Self> {
        let context = || format!("opening `{}`", path.display());
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(path).with_context(context)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(context)?;
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        if whole < text.len() {
            file.set_len(whole as u64).with_context(context)?;
        }
        let mut records = BTreeMap::new();
        for (number, line) in text[..whole].lines().enumerate() {
            let record: Record = serde_json::from_str(line)
                .with_context(|| format!("`{}`, line {}: not a record", path.display(), number + 1))?;
            records.insert((record.image.clone(), record.method.clone()), record);
        }
        Ok(Self { path: path.to_path_buf(), file, records })
    }

    /// Whether an image was done by a method; an error when that was with other parameters.
    pub fn has(&self, image: &str, method: &str, parameters: &Map<String, Value>) -> Result<bool> {
        let Some(record) = self.records.get(&(image.to_owned(), method.to_owned())) else { return Ok(false) };
        if record.parameters == *parameters {
            return Ok(true);
        }
        let changed = |(key, value): &(&String, &Value)| record.parameters.get(*key) != Some(*value);
        let Some((key, value)) = parameters.iter().find(changed) else {
            bail!("`{}` holds results of `{method}` from another version", self.path.display());
        };
        let before = record.parameters.get(key).unwrap_or(&Value::Null);
        let message = format!(
            "`{}` holds results of `{method}` with {key} = {before}, but {value} was asked for",
            self.path.display()
        );
        Err(Hinted::error(
            message,
            "choose another --out, or put the option into the method's name: ncut-h:sigma=7",
        ))
    }

    /// Appends a record: one write of one whole line.
    pub fn add(&mut self, record: Record) -> Result<()> {
        let mut line = serde_json::to_string(&record)?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).with_context(|| format!("writing `{}`", self.path.display()))?;
        self.records.insert((record.image.clone(), record.method.clone()), record);
        Ok(())
    }

    /// The record of one image by one method.
    pub fn get(&self, image: &str, method: &str) -> Option<&Record> {
        self.records.get(&(image.to_owned(), method.to_owned()))
    }

    /// The records of some images by one method, in the order of the images' names.
    pub fn of_method<'a>(&'a self, method: &'a str, images: &'a [String]) -> Vec<&'a Record> {
        images.iter().filter_map(|image| self.get(image, method)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(image: &str, sigma: f64) -> Record {
        let parameters = [("sigma".to_owned(), Value::from(sigma))].into_iter().collect();
        let run = CutRun { k: 5, sizes: vec![3, 1], volume_spread: 0.5, scores: vec![[0.1, 0.2, 0.3]] };
        Record {
            image: image.to_owned(),
            method: "ncut-h".to_owned(),
            truth_counts: vec![5],
            runs: vec![run],
            affinity_s: 0.1,
            cutting_s: 0.2,
            converged: true,
            parameters,
        }
    }

    #[test]
    fn a_torn_line_is_cut_off_and_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut store = Store::open(&path).unwrap();
        store.add(record("1", 5.0)).unwrap();
        store.add(record("2", 5.0)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let mut store = Store::open(&path).unwrap();
        let parameters = record("1", 5.0).parameters;
        assert!(store.has("1", "ncut-h", &parameters).unwrap());
        assert!(!store.has("2", "ncut-h", &parameters).unwrap());
        store.add(record("2", 5.0)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        let images = ["2".to_owned(), "3".to_owned(), "1".to_owned()];
        let found: Vec<&str> = store.of_method("ncut-h", &images).iter().map(|r| r.image.as_str()).collect();
        assert_eq!(found, ["2", "1"]);
    }

    #[test]
    fn results_of_other_settings_are_not_mixed_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut store = Store::open(&path).unwrap();
        store.add(record("1", 5.0)).unwrap();
        let error = store.has("1", "ncut-h", &record("1", 7.0).parameters).unwrap_err().to_string();
        assert!(error.contains("with sigma = 5.0, but 7.0"), "{error}");
        std::fs::write(&path, "{}\n").unwrap();
        assert!(format!("{:#}", Store::open(&path).unwrap_err()).contains("line 1"));
    }
}
