//! Where BSDS500 keeps its images and ground truths.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use ccbcut::LabelMap;
use ccbcut_io::{Limits, read_label_maps};

use crate::exit::Hinted;

const LAYOUT: &str =
    "expected images/SPLIT/*.jpg and groundTruth/SPLIT/*.mat below --data, as in the BSDS500 archive";

/// One image of the data set and its ground truths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name without its ending.
    pub name: String,
    /// The picture.
    pub image: PathBuf,
    /// The human segmentations.
    pub truth: PathBuf,
}

impl Entry {
    /// The human segmentations; at least one.
    pub fn truths(&self) -> Result<Vec<LabelMap>> {
        let context = || format!("reading ground truth `{}`", self.truth.display());
        let maps = read_label_maps(&self.truth, Limits::default()).with_context(context)?;
        ensure!(!maps.is_empty(), "`{}` holds no segmentation", self.truth.display());
        Ok(maps)
    }
}

/// The folder that has all of some folders: the one given, or `data` below it.
pub fn root(data: &Path, folders: &[&str]) -> Result<PathBuf> {
    let has_all = |dir: &PathBuf| folders.iter().all(|folder| dir.join(folder).is_dir());
    let places = [data.to_path_buf(), data.join("data"), data.join("BSDS500/data")];
    places.into_iter().find(has_all).ok_or_else(|| {
        let plural = if folders.len() == 1 { "folder" } else { "folders" };
        let message = format!("`{}` has no {plural} `{}`", data.display(), folders.join("` and `"));
        Hinted::error(message, LAYOUT)
    })
}

/// The ground truths of a split by name: every `.mat` file of the folder, sorted.
pub fn truths(root: &Path, split: &str) -> Result<Vec<(String, PathBuf)>> {
    let dir = root.join("groundTruth").join(split);
    let found = files(&dir, &["mat"])?;
    if found.is_empty() {
        return Err(Hinted::error(format!("`{}` holds no ground truth (.mat)", dir.display()), LAYOUT));
    }
    Ok(found)
}

/// The images of a split that have a ground truth, in the order of their names, and how many have none.
pub fn entries(data: &Path, split: &str) -> Result<(Vec<Entry>, usize)> {
    let root = root(data, &["images", "groundTruth"])?;
    let dir = root.join("images").join(split);
    let images = files(&dir, &["jpg", "jpeg", "png"])?;
    if images.is_empty() {
        return Err(Hinted::error(format!("`{}` holds no image", dir.display()), LAYOUT));
    }
    let truths = truths(&root, split)?;
    let mut entries = Vec::new();
    for (name, image) in &images {
        if let Ok(at) = truths.binary_search_by(|(other, _)| other.cmp(name)) {
            entries.push(Entry { name: name.clone(), image: image.clone(), truth: truths[at].1.clone() });
        }
    }
    if entries.is_empty() {
        let message = format!("no image of `{}` has a ground truth of the same name", dir.display());
        return Err(Hinted::error(message, LAYOUT));
    }
    let n_without = images.len() - entries.len();
    Ok((entries, n_without))
}

/// `limit` of the entries, evenly spread.
pub fn spread_over(entries: Vec<Entry>, limit: Option<usize>) -> Vec<Entry> {
    let n = entries.len();
    let keep = limit.unwrap_or(n).min(n);
    let chosen: Vec<usize> = (0..keep).map(|i| i * n / keep).collect();
    entries.into_iter().enumerate().filter(|(i, _)| chosen.binary_search(i).is_ok()).map(|(_, e)| e).collect()
}

/// Files with one of the endings, by name without it, sorted.
pub fn files(dir: &Path, endings: &[&str]) -> Result<Vec<(String, PathBuf)>> {
    let listed = std::fs::read_dir(dir).with_context(|| format!("listing `{}`", dir.display()))?;
    let mut found = Vec::new();
    for entry in listed {
        let path = entry.with_context(|| format!("listing `{}`", dir.display()))?.path();
        let fits = |e: &str| endings.iter().any(|ending| e.eq_ignore_ascii_case(ending));
        let is_wanted = path.extension().and_then(|e| e.to_str()).is_some_and(fits);
        if let Some(name) = path.file_stem().and_then(|s| s.to_str()).filter(|_| is_wanted && path.is_file())
        {
            found.push((name.to_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_spreads_over_the_split() {
        let entry = |i: usize| Entry { name: i.to_string(), image: PathBuf::new(), truth: PathBuf::new() };
        let names = |n: usize, limit: Option<usize>| {
            let kept = spread_over((0..n).map(entry).collect(), limit);
            kept.into_iter().map(|e| e.name).collect::<Vec<_>>()
        };
        assert_eq!(names(10, Some(3)), ["0", "3", "6"]);
        assert_eq!(names(3, Some(9)), ["0", "1", "2"]);
        assert_eq!(names(2, None), ["0", "1"]);
        assert!(names(2, Some(0)).is_empty());
    }

    #[test]
    fn the_folder_that_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = |dir: &Path| entries(dir, "val").unwrap_err().to_string();
        assert!(message(folder.path()).contains("no folders `images` and `groundTruth`"));
        for dir in ["data/images/val", "data/groundTruth/val"] {
            std::fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        assert!(message(folder.path()).contains("holds no image"));
        std::fs::write(folder.path().join("data/images/val/7.jpg"), b"").unwrap();
        assert!(message(folder.path()).contains("holds no ground truth"));
        std::fs::write(folder.path().join("data/groundTruth/val/8.mat"), b"").unwrap();
        assert!(message(folder.path()).contains("no image of"));
        std::fs::write(folder.path().join("data/images/val/8.jpg"), b"").unwrap();
        let (found, n_without) = entries(folder.path(), "val").unwrap();
        assert_eq!((found.len(), found[0].name.as_str(), n_without), (1, "8", 1));
    }
}
