//! Names of methods: a cost with its τ, and a way to cut.

use anyhow::{Result, bail};
use clap::{FromArgMatches, Parser};
use serde_json::{Map, Value};

use crate::{
    args::{AffinityMix, BalanceName, Method as Way, SegmentArgs, Solver, Variant},
    exit::Hinted,
    report,
};

const NAMES: &str =
    "names are ncut-m, ncut-h, rcut-h, ccn1-m, ccn1.25-h, ccr1.5-m, …, ncheeger-h, rcheeger-h, and default";

/// The name of what `ccbcut segment` does when nothing is asked of it.
const DEFAULT: &str = "default";

/// How the paper's methods compare pixels, unless something else is set; whatever the defaults of `segment` are.
const PAPER: [&str; 6] = ["sigma=5", "smooth=0", "min-share=0", "levels=2", "rejoin=0", "rounding=kmeans"];

/// A method of a benchmark.
#[derive(Debug)]
pub struct Method {
    /// As it was typed, options included.
    pub name: String,
    /// How it cuts.
    pub args: SegmentArgs,
}

/// The options of `ccbcut segment`, parsed by themselves.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    segment: SegmentArgs,
}

impl Method {
    /// Reads `ccn1.25-h:sigma=7`; `set` are options for all methods, in the form `sigma=7`.
    pub fn parse(text: &str, set: &[String]) -> Result<Self> {
        let mut pieces = text.split(':');
        let name = pieces.next().unwrap_or("");
        let named = cost_and_way(name);
        if named.is_none() && name != DEFAULT {
            return Err(Hinted::error(format!("`{text}` is not the name of a method"), NAMES));
        }
        let baseline: &[&str] = if named.is_some() { &PAPER } else { &[] };
        let options = pieces.chain(set.iter().map(String::as_str)).chain(baseline.iter().copied());
        let mut seen: Vec<&str> = Vec::new();
        let mut words = vec!["segment".to_owned(), "-".to_owned()];
        for option in options {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            if ["tau", "balance", "method", "segments", "contours", "mask", "scribbles"].contains(&key) {
                bail!(
                    "`{option}` of `{text}`: `{key}` is part of the method's name, or cannot be the same for all images"
                );
            }
            if ["features", "superpixels"].contains(&key) {
                bail!("`{option}` of `{text}`: a benchmark cuts the pixels of its images");
            }
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            words.push(if option.contains('=') { format!("--{key}={value}") } else { format!("--{key}") });
        }
        let command = <Line as clap::CommandFactory>::command().no_binary_name(false);
        let matches = command.try_get_matches_from(words);
        let matches = matches.map_err(|error| {
            let message = format!("options of the method `{text}`: {}", reason(&error));
            Hinted::error(message, "they are those of `ccbcut segment --help`, as option=value")
        })?;
        let mut args = Line::from_arg_matches(&matches)?.segment;
        if let Some((tau, balance, way)) = named {
            args.embedding.tau = tau;
            args.embedding.balance = balance;
            args.partition.method = way;
            if name.contains("cheeger") {
                args.partition.solver = Solver::Ipm;
            }
        }
        // So that the columns are those of each number of parts, not of one.
        let columns = args.partition.columns;
        let mut args = args.resolved();
        args.partition.columns = columns;
        let method = Self { name: text.to_owned(), args };
        let parameters = report::parameters(&method.args)?;
        // What is no parameter of the cut, such as where pictures go, would be passed over without a word.
        if let Some(key) = seen.iter().find(|key| !is_parameter(&parameters, key)) {
            bail!("`{key}` of `{text}` does not change the cut, so it is no option of a method");
        }
        Ok(method)
    }

    /// What decides the graph and its decimations: methods with the same may share them.
    pub fn graph_key(&self) -> Result<String> {
        let (cut, embedding) = (&self.args.partition, &self.args.embedding);
        let drops = embedding.variant == Variant::Released && cut.method == Way::Hierarchical;
        let levels = embedding.variant == Variant::Released;
        Ok(serde_json::to_string(&(&self.args.graph, embedding.seed, drops, levels))?)
    }

    /// Everything that decides the result.
    pub fn parameters(&self) -> Result<Map<String, Value>> {
        let Value::Object(mut all) = report::parameters(&self.args)? else { bail!("no parameters") };
        for irrelevant in ["segments", "threads", "time_limit"] {
            all.remove(irrelevant);
        }
        Ok(all)
    }
}

/// Whether an option is among the parameters of a cut; those with no value of their own are left out of reports.
fn is_parameter(parameters: &Value, key: &str) -> bool {
    let optional = ["eigen-tol", "solver", "refine", "criterion", "starts"];
    optional.contains(&key) || parameters.get(key.replace('-', "_")).is_some()
}

/// The names of methods with each of some affinities; those that name one themselves stay as they are.
pub fn with_affinities(methods: &[String], affinities: &[AffinityMix]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (i, affinity) in affinities.iter().enumerate() {
        for method in methods {
            match affinity_of(method) {
                Some(_) if i > 0 => {}
                None if *affinity != AffinityMix::default() => {
                    names.push(format!("{method}:affinity={affinity}"));
                }
                _ => names.push(method.clone()),
            }
        }
    }
    names
}

/// The affinity that the name of a method gives.
pub fn affinity_of(name: &str) -> Option<&str> {
    name.split(':').find_map(|option| option.strip_prefix("affinity="))
}

/// What is wrong, without advice on the use of a command that nobody typed.
fn reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let tip = lines.clone().find_map(|line| line.strip_prefix("tip: "));
    let first = lines.map(|line| line.trim_start_matches("error: ")).find(|line| !line.is_empty());
    let tip = tip.map_or_else(String::new, |tip| format!(" ({tip})"));
    first.unwrap_or("").to_owned() + &tip
}

/// τ, the balance and the way of a name such as `ncut-m` or `ccr0.5-h`.
fn cost_and_way(name: &str) -> Option<(f64, BalanceName, Way)> {
    let (cost, way) = name.rsplit_once('-')?;
    let way = match way {
        "m" => Way::Multiway,
        "h" => Way::Hierarchical,
        _ => return None,
    };
    let (balance, tau) = match (cost, cost.get(..3)) {
        ("ncut", _) => (BalanceName::Normalized, 2.0),
        ("rcut", _) => (BalanceName::Ratio, 2.0),
        // τ plays no part in a Cheeger cut, which knows two parts only.
        ("ncheeger", _) if way == Way::Hierarchical => (BalanceName::Normalized, 1.0),
        ("rcheeger", _) if way == Way::Hierarchical => (BalanceName::Ratio, 1.0),
        (_, Some("ccn")) => (BalanceName::Normalized, cost[3..].parse().ok()?),
        (_, Some("ccr")) => (BalanceName::Ratio, cost[3..].parse().ok()?),
        _ => return None,
    };
    (tau > 0.0 && tau <= 2.0).then_some((tau, balance, way))
}

/// The name as the paper writes it: CCN₁.₂₅−H, with what was set after it.
pub fn display_name(name: &str) -> String {
    let (head, options) = name.split_once(':').unwrap_or((name, ""));
    let Some((cost, way)) = head.rsplit_once('-') else { return name.replace(':', " ") };
    let cost = match cost.get(..3) {
        Some("ccn" | "ccr") => format!("{}{}", cost[..3].to_uppercase(), subscript(&cost[3..])),
        _ if cost.ends_with("cheeger") => format!("{}Cheeger", cost[..1].to_uppercase()),
        _ => format!("{}Cut", cost[..1].to_uppercase()),
    };
    let options =
        if options.is_empty() { String::new() } else { format!(" ({})", options.replace(':', ", ")) };
    format!("{cost}−{}{options}", way.to_uppercase())
}

fn subscript(digits: &str) -> String {
    let low = |c: char| c.to_digit(10).and_then(|d| char::from_u32(0x2080 + d)).unwrap_or('.');
    digits.chars().map(low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Rounding;

    fn parse(text: &str, set: &[&str]) -> Result<Method> {
        let set: Vec<String> = set.iter().map(|&s| s.to_owned()).collect();
        Method::parse(text, &set)
    }

    #[test]
    fn names_say_the_cost_and_the_way() {
        let read = |text: &str| {
            let a = parse(text, &[]).unwrap().args;
            (a.embedding.tau, a.embedding.balance, a.partition.method)
        };
        assert_eq!(read("ncut-m"), (2.0, BalanceName::Normalized, Way::Multiway));
        assert_eq!(read("rcut-h"), (2.0, BalanceName::Ratio, Way::Hierarchical));
        assert_eq!(read("ccn1.25-h"), (1.25, BalanceName::Normalized, Way::Hierarchical));
        assert_eq!(read("ccr0.5-m"), (0.5, BalanceName::Ratio, Way::Multiway));
        assert_eq!(read("rcheeger-h"), (1.0, BalanceName::Ratio, Way::Hierarchical));
        let solver = |text: &str| parse(text, &[]).unwrap().args.partition.solver;
        assert_eq!([solver("ncheeger-h"), solver("ccn1-h")], [Solver::Ipm, Solver::Irrq]);
        assert_eq!(solver("ccn1-h:solver=ratiodca:refine"), Solver::Ratiodca);
        for bad in ["ncheeger-m", "", "ncut", "ccn-h", "ccn3-h", "ccn0-h", "ccn1-x", "cut1-h", "ccnnan-h"] {
            assert!(parse(bad, &[]).is_err(), "{bad}");
        }
    }

    #[test]
    fn own_options_come_before_those_for_all() {
        let method = parse("ccn1-h:sigma=7:early-stop", &["sigma=3", "min-share=0.02"]).unwrap();
        assert_eq!((method.args.graph.sigma, method.args.partition.min_share), (7.0, Some(0.02)));
        assert!(method.args.embedding.early_stop);
        assert_eq!(method.name, "ccn1-h:sigma=7:early-stop");
        let parameters = method.parameters().unwrap();
        assert!(parameters.contains_key("sigma") && !parameters.contains_key("segments"));
        let paper = parse("ncut-h", &[]).unwrap().args;
        assert_eq!(
            (paper.graph.sigma, paper.graph.smooth, paper.partition.min_share, paper.partition.rejoin),
            (5.0, Some(0.0), Some(0.0), Some(0))
        );
        assert_eq!(paper.partition.rounding, Some(Rounding::Kmeans));
        assert_eq!(parse("default", &[]).unwrap().args.partition.rejoin, Some(120));
        assert!(parse("ccn1-h:sigmoid=7", &[]).is_err());
        for bad in ["tau=7", "superpixels=90", "scribbles=a.png", "mask=a.png", "json", "ucm=a.mat"] {
            assert!(parse(&format!("ccn1-h:{bad}"), &[]).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_parameter_of_a_cut_is_an_option_of_a_method() {
        let command = <Line as clap::CommandFactory>::command();
        let given = parse("default:eigen-tol=1e-5:solver=ipm:refine:criterion=cut:starts=3", &[]).unwrap();
        for key in given.parameters().unwrap().keys().map(|key| key.replace('_', "-")) {
            assert!(command.get_arguments().any(|arg| arg.get_long() == Some(&key)), "{key}");
        }
    }

    #[test]
    fn methods_share_a_graph_unless_it_differs() {
        let key = |text: &str| parse(text, &[]).unwrap().graph_key().unwrap();
        for same in ["ncut-m", "ccr1.5-h:min-share=0.02", "ncheeger-h", "ccn1-m:n-init=3"] {
            assert_eq!(key(same), key("ncut-h"), "{same}");
        }
        for other in [
            "ncut-h:sigma=7",
            "ncut-h:affinity=mpb",
            "ncut-h:levels=1",
            "ncut-h:variant=released",
            "ncut-h:seed=1",
        ] {
            assert_ne!(key(other), key("ncut-h"), "{other}");
        }
    }

    #[test]
    fn methods_are_multiplied_by_affinities() {
        let methods = ["ncut-h", "ccn1-h:sigma=3", "ccn1-h:affinity=mpb"].map(str::to_owned);
        let affinities = ["lab", "lab+mpb"].map(|text| text.parse().unwrap());
        let names = with_affinities(&methods, &affinities);
        let want = [
            "ncut-h",
            "ccn1-h:sigma=3",
            "ccn1-h:affinity=mpb",
            "ncut-h:affinity=lab+mpb",
            "ccn1-h:sigma=3:affinity=lab+mpb",
        ];
        assert_eq!(names, want);
        let method = parse("ncut-h:affinity=mpb", &[]).unwrap();
        assert_eq!(
            (method.args.graph.mix().to_string().as_str(), method.args.embedding.kappa),
            ("mpb", Some(0.2))
        );
        assert!(parse("ncut-h:affinity=mpc", &[]).is_err());
    }

    #[test]
    fn the_default_is_what_segment_does() {
        let words = ["x", "a.png"];
        let matches = <Line as clap::CommandFactory>::command().try_get_matches_from(words).unwrap();
        let plain = Line::from_arg_matches(&matches).unwrap().segment.resolved();
        let method = parse("default", &[]).unwrap();
        let mut parameters = report::parameters(&plain).unwrap().as_object().unwrap().clone();
        for irrelevant in ["segments", "threads", "time_limit"] {
            parameters.remove(irrelevant);
        }
        assert_eq!(method.parameters().unwrap(), parameters);
        assert_eq!(display_name("default:sigma=3"), "default sigma=3");
    }

    #[test]
    fn names_for_people() {
        assert_eq!(display_name("ccn1.25-h"), "CCN₁.₂₅−H");
        assert_eq!(display_name("ncheeger-h:starts=0"), "NCheeger−H (starts=0)");
        assert_eq!(display_name("ncut-m:sigma=7:n-init=3"), "NCut−M (sigma=7, n-init=3)");
    }
}
