//! How pixels are compared, as a formula: `lab`, `mpb`, `pmi`, `lab+mpb`, `0.5lab+2mpb`.

use std::{fmt, str::FromStr};

use clap::ValueEnum;
use serde::{Serialize, Serializer};

/// κ̃ of the paper for colours.
const KAPPA_LAB: f64 = 1e-4;

/// κ̃ of the paper for everything else.
const KAPPA_OTHER: f64 = 0.2;

/// What pixels are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Affinity {
    /// By distance in L*a*b* colour
    Lab,
    /// By the contours between them
    Mpb,
    /// By how often such pixels meet in this image, beyond chance
    Pmi,
}

impl Affinity {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn names() -> String {
        Self::value_variants().iter().map(|affinity| affinity.name()).collect::<Vec<_>>().join(", ")
    }
}

/// A product of affinities, each to a power.
#[derive(Debug, Clone, PartialEq)]
pub struct AffinityMix(Vec<(Affinity, f64)>);

impl Default for AffinityMix {
    fn default() -> Self {
        Self(vec![(Affinity::Lab, 1.0)])
    }
}

impl AffinityMix {
    /// By contours alone.
    pub fn of_contours() -> Self {
        Self(vec![(Affinity::Mpb, 1.0)])
    }

    /// Whether a factor is there.
    pub fn has(&self, affinity: Affinity) -> bool {
        self.0.iter().any(|(factor, _)| *factor == affinity)
    }

    /// The factors and their powers.
    pub fn factors(&self) -> &[(Affinity, f64)] {
        &self.0
    }

    /// κ̃ where none is given: the paper has one for colours and one for the others.
    pub fn default_kappa(&self) -> f64 {
        if self.0.iter().all(|(affinity, _)| *affinity == Affinity::Lab) { KAPPA_LAB } else { KAPPA_OTHER }
    }
}

impl FromStr for AffinityMix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut factors: Vec<(Affinity, f64)> = Vec::new();
        for term in text.split('+') {
            let term = term.trim();
            let at = term.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(term.len());
            let (power, name) = term.split_at(at);
            let power = match power {
                "" => 1.0,
                number => number.parse().map_err(|_| format!("`{number}` is not a number"))?,
            };
            let affinity = Affinity::from_str(name.trim(), true)
                .map_err(|_| format!("`{name}` is not one of {}", Affinity::names()))?;
            if factors.iter().any(|(other, _)| *other == affinity) {
                return Err(format!("`{name}` is there twice; its power goes before it, as in 2{name}"));
            }
            factors.push((affinity, power));
        }
        Ok(Self(factors))
    }
}

impl fmt::Display for AffinityMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (affinity, power)) in self.0.iter().enumerate() {
            let plus = if i > 0 { "+" } else { "" };
            let power = if *power == 1.0 { String::new() } else { power.to_string() };
            write!(f, "{plus}{power}{}", affinity.name())?;
        }
        Ok(())
    }
}

impl Serialize for AffinityMix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The width of the densities of `pmi`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PmiWidth {
    /// This one for all channels.
    Fixed(f64),
    /// One for each channel, learned from the image.
    Learned,
}

impl Default for PmiWidth {
    fn default() -> Self {
        Self::Fixed(0.05)
    }
}

impl FromStr for PmiWidth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(width) => Ok(Self::Fixed(width)),
            Err(_) if text.eq_ignore_ascii_case("learned") => Ok(Self::Learned),
            Err(_) => Err("expected a number or `learned`".to_owned()),
        }
    }
}

impl fmt::Display for PmiWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(width) => write!(f, "{width}"),
            Self::Learned => f.write_str("learned"),
        }
    }
}

impl Serialize for PmiWidth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(width) => serializer.serialize_f64(*width),
            Self::Learned => serializer.serialize_str("learned"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_read_and_written() {
        for text in ["lab", "mpb", "pmi", "lab+mpb", "0.5lab+2mpb"] {
            assert_eq!(text.parse::<AffinityMix>().unwrap().to_string(), text);
        }
        let mix: AffinityMix = "1.5lab + MPB".parse().unwrap();
        assert_eq!(mix.factors(), [(Affinity::Lab, 1.5), (Affinity::Mpb, 1.0)]);
        assert_eq!(serde_json::to_string(&mix).unwrap(), "\"1.5lab+mpb\"");
        for (bad, says) in [
            ("", "one of lab"),
            ("labs", "one of"),
            ("lab+", "one of"),
            ("1.2.3lab", "number"),
            ("lab+2lab", "twice"),
        ] {
            assert!(bad.parse::<AffinityMix>().unwrap_err().contains(says), "{bad}");
        }
    }

    #[test]
    fn colours_have_a_kappa_of_their_own() {
        let kappa = |text: &str| text.parse::<AffinityMix>().unwrap().default_kappa();
        assert_eq!((kappa("lab"), kappa("mpb"), kappa("lab+mpb")), (1e-4, 0.2, 0.2));
    }
}
