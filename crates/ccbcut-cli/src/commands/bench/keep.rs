//! What is kept of every cut beside its record: label maps to draw, and all of them for other tools.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ccbcut::LabelMap;
use ccbcut_io::{Overwrite, write_label_map, write_segs};

use super::method::Method;

/// The label map that is drawn, and the folder it lies in.
const LABELS: &str = "labels";

/// All label maps of an image in one file, as the benchmark's own tools read them.
const SEGS: &str = "segs";

/// Which label maps are kept, and where.
#[derive(Debug, Clone, Copy)]
pub struct Keep<'a> {
    /// The output folder.
    pub out: &'a Path,
    /// Whether there will be pictures.
    pub pictures: bool,
    /// Whether every number of parts is kept.
    pub segs: bool,
}

impl Keep<'_> {
    /// Makes the folders.
    ///
    /// # Errors
    /// When one cannot be made, or two methods would share one.
    pub fn prepare(&self, methods: &[Method]) -> Result<()> {
        let kinds = [(self.pictures, LABELS), (self.segs, SEGS)];
        for (i, method) in methods.iter().enumerate() {
            let folder = folder_name(&method.name);
            if let Some(other) = methods[..i].iter().find(|other| folder_name(&other.name) == folder) {
                bail!("the methods `{}` and `{}` would share the folder `{folder}`", other.name, method.name);
            }
            for (_, kind) in kinds.into_iter().filter(|(is_wanted, _)| *is_wanted) {
                let dir = self.out.join(kind).join(&folder);
                std::fs::create_dir_all(&dir)
                    .with_context(|| format!("making folder `{}`", dir.display()))?;
            }
        }
        Ok(())
    }

    /// Where the label map that is drawn lies.
    pub fn labels(&self, method: &str, image: &str) -> PathBuf {
        self.out.join(LABELS).join(folder_name(method)).join(format!("{image}.png"))
    }

    /// Where all label maps of an image lie.
    pub fn segs(&self, method: &str, image: &str) -> PathBuf {
        self.out.join(SEGS).join(folder_name(method)).join(format!("{image}.mat"))
    }

    /// Keeps what is wanted of the label maps of one image, one for each of `ks`; each file whole or not at all.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save(
        &self,
        method: &str,
        image: &str,
        truth_counts: &[usize],
        ks: &[usize],
        maps: &[LabelMap],
    ) -> Result<()> {
        let shown = shown_parts(truth_counts);
        if let Some((_, map)) = ks.iter().zip(maps).find(|(k, _)| **k == shown).filter(|_| self.pictures) {
            write_label_map(&self.labels(method, image), map, Overwrite::Allow)?;
        }
        if self.segs {
            write_segs(&self.segs(method, image), maps, Overwrite::Allow)?;
        }
        Ok(())
    }
}

/// The number of parts that pictures show: the median of the ground truths' counts, the lower of two.
pub fn shown_parts(truth_counts: &[usize]) -> usize {
    let mut counts = truth_counts.to_vec();
    counts.sort_unstable();
    counts.get(counts.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// A method's name as that of a folder: letters, digits, dots and hyphens, everything else as `_`.
fn folder_name(method: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    method.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_one_of_the_counts() {
        assert_eq!(shown_parts(&[9, 2, 5]), 5);
        assert_eq!(shown_parts(&[9, 2, 5, 30]), 5);
        assert_eq!(shown_parts(&[7]), 7);
    }

    #[test]
    fn folders_have_safe_names() {
        assert_eq!(folder_name("ccn1.25-h"), "ccn1.25-h");
        assert_eq!(folder_name("ccn1-h:sigma=7:../x"), "ccn1-h_sigma_7_.._x");
    }
}
