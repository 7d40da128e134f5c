//! What a browser asks for: checked, and turned into the words of the equivalent command.

use ccbcut::segment::{SIGMA, SMOOTHING, TAU};
use serde::Deserialize;

use crate::{problem::Problem, strokes};

/// The most parts that a cut may have here; the command has no such limit.
pub const MAX_PARTS: usize = 200;

/// How an image is cut, apart from the number of parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The knob.
    pub tau: f64,
    /// `normalized` or `ratio`.
    pub balance: String,
    /// How pixels are compared, as `--affinity` has it.
    pub affinity: String,
    /// `hierarchical` or `multiway`.
    pub method: String,
    /// Width of the colour kernel.
    pub sigma: f64,
    /// Blur before colours are compared.
    pub smooth: f64,
    /// Decimations; without, as many as the command makes of an image of that size.
    pub levels: Option<usize>,
    /// Strokes on the image, as [`strokes::read`] has them.
    pub strokes: String,
}

impl Default for Settings {
    /// The command's own defaults.
    fn default() -> Self {
        Self {
            tau: TAU,
            balance: "normalized".into(),
            affinity: "lab".into(),
            method: "hierarchical".into(),
            sigma: SIGMA,
            smooth: SMOOTHING,
            levels: None,
            strokes: String::new(),
        }
    }
}

impl Settings {
    /// The same, if its words and numbers are possible ones; the library checks the rest.
    ///
    /// # Errors
    /// What is wrong.
    pub fn checked(self) -> Result<Self, Problem> {
        let one_of = |name: &str, value: &str, known: &[&str]| {
            if known.contains(&value) {
                return Ok(());
            }
            Err(Problem::unusable(format!("{name} is `{value}`, but it must be {}", known.join(" or "))))
        };
        one_of("balance", &self.balance, &["normalized", "ratio"])?;
        one_of("method", &self.method, &["hierarchical", "multiway"])?;
        let is_formula = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.".contains(c);
        if self.affinity.len() > 40 || !self.affinity.chars().all(is_formula) || self.affinity.is_empty() {
            return Err(Problem::unusable("the affinity must be lab, mpb, pmi, or several joined by +"));
        }
        let between = |name: &str, value: f64, low: f64, high: f64| {
            if value > low && value <= high {
                return Ok(());
            }
            Err(Problem::unusable(format!(
                "{name} is {value}, but it must be above {low} and at most {high}"
            )))
        };
        between("tau", self.tau, 0.0, 2.0)?;
        between("sigma", self.sigma, 0.0, 1000.0)?;
        between("smooth", self.smooth, -1e-9, 20.0)?;
        if let Some(levels) = self.levels.filter(|&levels| levels > 8) {
            return Err(Problem::unusable(format!("levels is {levels}, but it must be at most 8")));
        }
        if !strokes::read(&self.strokes)?.is_empty() && !self.is_hierarchical() {
            let detail = "strokes are kept by a hierarchical cut, not by a multiway one: choose hierarchical, or clear them";
            return Err(Problem::unusable(detail));
        }
        Ok(self)
    }

    /// Whether there is a tree.
    pub fn is_hierarchical(&self) -> bool {
        self.method == "hierarchical"
    }

    /// Options of `ccbcut segment` that do the same, but for the strokes; what is the default is left out.
    pub fn words(&self, n_segments: usize) -> Vec<String> {
        let default = Self::default();
        let mut words =
            vec!["-k".to_owned(), n_segments.to_string(), "--tau".to_owned(), self.tau.to_string()];
        let mut add = |name: &str, value: String, usual: String| {
            if value != usual {
                words.extend([format!("--{name}"), value]);
            }
        };
        add("balance", self.balance.clone(), default.balance);
        add("affinity", self.affinity.clone(), default.affinity);
        add("method", self.method.clone(), default.method);
        add("sigma", self.sigma.to_string(), default.sigma.to_string());
        add("smooth", self.smooth.to_string(), default.smooth.to_string());
        if let Some(levels) = self.levels {
            add("levels", levels.to_string(), String::new());
        }
        words
    }

    /// What the graph of an image depends on; the number of parts matters for the decimation of tiny images only.
    pub fn graph_key(&self, image: &str, n_segments: Option<usize>) -> String {
        let Self { affinity, sigma, smooth, levels, .. } = self;
        format!("{image}-{affinity}-{sigma}-{smooth}-{levels:?}-{n_segments:?}")
    }

    /// What a cut depends on, apart from the graph and the number of leaves.
    pub fn cut_key(&self) -> String {
        let Self { tau, balance, method, strokes, .. } = self;
        format!("{tau}-{balance}-{method}-{strokes}")
    }
}

/// A change to the parts that are shown; labels are those of the step before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Split a part in two.
    Split(usize),
    /// Join parts.
    Merge(Vec<usize>),
}

/// Reads edits: `s3` splits part 3, `m1-4` joins parts 1 and 4, and dots stand between.
///
/// # Errors
/// What cannot be read, or is too much.
pub fn edits(text: &str) -> Result<Vec<Edit>, Problem> {
    let words: Vec<&str> = text.split('.').filter(|word| !word.is_empty()).collect();
    if words.len() > 64 {
        return Err(Problem::unusable(format!("there are {} edits, but 64 are the most", words.len())));
    }
    let wrong = |word: &str| Problem::bad_request(format!("`{word}` is no edit; s3 and m1-4 are"));
    let number = |word: &str, text: &str| text.parse::<usize>().map_err(|_| wrong(word));
    let read = |word: &&str| {
        if let Some(label) = word.strip_prefix('s') {
            return Ok(Edit::Split(number(word, label)?));
        }
        let list = word.strip_prefix('m').ok_or_else(|| wrong(word))?;
        let mut labels = list.split('-').map(|l| number(word, l)).collect::<Result<Vec<_>, _>>()?;
        labels.sort_unstable();
        labels.dedup();
        if labels.len() < 2 || labels.len() > MAX_PARTS {
            return Err(wrong(word));
        }
        Ok(Edit::Merge(labels))
    };
    words.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_the_shortest_command() {
        let words = |s: &Settings| s.words(8).join(" ");
        let plain = Settings::default();
        assert_eq!(words(&plain), "-k 8 --tau 1.25");
        let other = Settings {
            tau: 0.35,
            balance: "ratio".into(),
            affinity: "lab+mpb".into(),
            method: "multiway".into(),
            sigma: 2.5,
            smooth: 2.0,
            levels: Some(2),
            strokes: String::new(),
        };
        let expected = "-k 8 --tau 0.35 --balance ratio --affinity lab+mpb --method multiway --sigma 2.5 --smooth 2 --levels 2";
        assert_eq!(words(&other), expected);
        assert_ne!(plain.graph_key("a", None), other.graph_key("a", None));
        assert_ne!(plain.cut_key(), other.cut_key());
        let marked = Settings { strokes: "1.2-3".into(), ..Settings::default() };
        assert_eq!(
            (words(&marked), marked.graph_key("a", None)),
            (words(&plain), plain.graph_key("a", None))
        );
        assert_ne!(marked.cut_key(), plain.cut_key());
    }

    #[test]
    fn what_is_impossible_is_refused() {
        let refused = |json: &str| match serde_json::from_str::<Settings>(json) {
            Ok(settings) => settings.checked().is_err(),
            Err(_) => true,
        };
        assert!(!refused("{}") && !refused(r#"{"tau":2,"affinity":"0.5lab+mpb"}"#));
        for json in [
            r#"{"tau":0}"#,
            r#"{"tau":2.1}"#,
            r#"{"tau":"much"}"#,
            r#"{"balance":"equal"}"#,
            r#"{"method":"best"}"#,
            r#"{"affinity":"--output=x"}"#,
            r#"{"affinity":""}"#,
            r#"{"sigma":-1}"#,
            r#"{"smooth":99}"#,
            r#"{"levels":9}"#,
            r#"{"output":"x.png"}"#,
            r#"{"strokes":"7.1-1"}"#,
            r#"{"strokes":"1.1-1","method":"multiway"}"#,
        ] {
            assert!(refused(json), "{json}");
        }
    }

    #[test]
    fn edits_are_read_in_order() {
        let found = edits("s3.m4-1.m2-2-0").unwrap();
        assert_eq!(found, [Edit::Split(3), Edit::Merge(vec![1, 4]), Edit::Merge(vec![0, 2])]);
        assert_eq!(edits("").unwrap(), []);
        for text in ["x", "s", "m3", "m3-3", "m1-x", "s-1", "split"] {
            assert!(edits(text).is_err(), "{text}");
        }
        assert!(edits(&"s1.".repeat(65)).is_err());
    }
}
