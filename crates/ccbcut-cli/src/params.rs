//! Parsing the command line, with `--params`: options taken from the JSON report of an earlier run.
//!
//! The keys of a report's `parameters` are names of options. They are put on the command line right after the verb,
//! except those that the user gave, or that conflict with one the user gave; then the line is parsed again.

use std::{ffi::OsString, path::Path};

use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, parser::ValueSource};
use serde_json::{Map, Value};

use crate::{
    args::{Cli, Verb},
    exit::Hinted,
};

/// The verb that takes `--params`.
const VERB: &str = "segment";

/// Parses the command line. Usage errors and help come back as [`clap::Error`] inside the error.
pub fn parse(argv: &[OsString]) -> Result<Cli> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(argv)?;
    let cli = Cli::from_arg_matches(&matches)?;
    let Verb::Segment(segment) = &cli.verb else { return Ok(cli) };
    let Some(path) = &segment.output.params else { return Ok(cli) };

    let context = || format!("reading parameters from `{}`", path.display());
    let stored = read_parameters(path).with_context(context)?;
    let (Some(verb), Some(given)) = (command.find_subcommand(VERB), matches.subcommand_matches(VERB)) else {
        return Ok(cli);
    };
    let options = options_of(verb, given, &stored).with_context(context)?;
    let Some(position) = argv.iter().position(|word| word == VERB) else { return Ok(cli) };
    let (before, after) = argv.split_at(position + 1);
    let line = before.iter().cloned().chain(options).chain(after.iter().cloned());
    let matches = Cli::command().try_get_matches_from(line)?;
    Ok(Cli::from_arg_matches(&matches)?)
}

/// The `parameters` of a report, or a file that holds just them.
fn read_parameters(path: &Path) -> Result<Map<String, Value>> {
    let text = std::fs::read_to_string(path)?;
    // A report of a batch has one object per line; all of them hold the same parameters.
    let mut objects = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let first = objects.next().context("the file is empty")?.context("the file is not JSON")?;
    let parameters = first.get("parameters").unwrap_or(&first);
    parameters.as_object().cloned().context("expected an object with parameters")
}

/// Stored parameters as words of a command line, without those that the user overrides.
fn options_of(verb: &Command, given: &ArgMatches, stored: &Map<String, Value>) -> Result<Vec<OsString>> {
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let mut words = Vec::new();
    for (key, value) in stored {
        let long = key.replace('_', "-");
        let Some(option) = verb.get_arguments().find(|arg| arg.get_long() == Some(&long)) else {
            let message = format!("`{key}` is not a parameter of `{VERB}`");
            return Err(Hinted::error(message, "the names are those of the options, with _ for -"));
        };
        // These follow from others unless they are given: a new number of parts brings its own columns.
        let follows_from: &[&str] = match key.as_str() {
            "columns" => &["segments", "variant", "method"],
            "rounding" => &["segments", "variant", "method", "columns", "solver", "tau"],
            "upsampling" => &["variant"],
            "smooth" => &["kernel"],
            "min_share" => &["method", "variant"],
            "rejoin" => &["method", "variant", "solver", "superpixels", "features"],
            _ => &[],
        };
        if follows_from.iter().any(|id| is_given(id)) {
            continue;
        }
        let rivals = verb.get_arg_conflicts_with(option);
        if is_given(option.get_id().as_str()) || rivals.iter().any(|rival| is_given(rival.get_id().as_str()))
        {
            continue;
        }
        match value {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => words.push(format!("--{long}").into()),
            Value::Number(number) => words.push(format!("--{long}={number}").into()),
            Value::String(text) => words.push(format!("--{long}={text}").into()),
            Value::Array(_) | Value::Object(_) => bail!("`{key}` must be a single value"),
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Rounding, SegmentArgs};

    fn segment(words: &[&str]) -> Result<SegmentArgs> {
        let line = ["ccbcut", "segment", "a.png"].iter().chain(words);
        match parse(&line.map(OsString::from).collect::<Vec<_>>())?.verb {
            Verb::Segment(args) => Ok(*args),
            other => bail!("{other:?}"),
        }
    }

    fn file(name: &str, text: &str) -> String {
        let path = std::env::temp_dir().join(format!("ccbcut-params-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn parameters_survive_a_round_trip_through_a_report() {
        let words = [
            "-k",
            "5",
            "--tau=0.5",
            "--balance=ratio",
            "--kappa-count=7",
            "--connected",
            "--method=multiway",
        ];
        let first = segment(&words).unwrap().resolved();
        let stored = serde_json::to_value(&first).unwrap();
        assert_eq!(stored["kappa"], Value::Null);
        let path =
            file("round", &serde_json::json!({ "schema_version": 1, "parameters": stored }).to_string());
        let again = segment(&["--params", &path]).unwrap().resolved();
        assert_eq!(serde_json::to_value(&again).unwrap(), stored);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn options_on_the_command_line_win() {
        let path = file("win", r#"{"tau": 0.5, "kappa": 0.2, "segments": 3}"#);
        let args = segment(&["--params", &path, "--tau", "2", "--kappa-count", "9"]).unwrap();
        assert_eq!((args.embedding.tau, args.partition.segments.count()), (2.0, 3));
        assert_eq!((args.embedding.kappa, args.embedding.kappa_count), (None, Some(9)));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_follows_from_a_changed_option_is_found_anew() {
        let path =
            file("follow", r#"{"segments": 3, "method": "multiway", "columns": 3, "variant": "published"}"#);
        assert_eq!(segment(&["--params", &path]).unwrap().resolved().partition.columns, Some(3));
        assert_eq!(segment(&["--params", &path, "-k", "12"]).unwrap().resolved().partition.columns, Some(12));
        let rounding = |words: &[&str]| segment(words).unwrap().resolved().partition.rounding;
        assert_eq!(rounding(&["--params", &path]), Some(Rounding::Discretize));
        assert_eq!(rounding(&["--params", &path, "--columns", "1"]), Some(Rounding::Kmeans));
        assert_eq!(rounding(&["--params", &path, "--tau", "2"]), Some(Rounding::Kmeans));
        assert_eq!(rounding(&["--params", &path, "--variant", "released"]), Some(Rounding::Kmeans));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn unknown_and_malformed_parameters_are_errors() {
        for (name, text) in [
            ("unknown", r#"{"tua": 1}"#),
            ("list", r#"{"tau": [1]}"#),
            ("empty", ""),
            ("text", "tau = 1"),
            ("array", "[]"),
        ] {
            let path = file(name, text);
            let error = segment(&["--params", &path]).unwrap_err();
            assert!(error.downcast_ref::<clap::Error>().is_none(), "{name}: {error:?}");
            std::fs::remove_file(path).unwrap();
        }
        let path = file("value", r#"{"balance": "loud"}"#);
        assert!(segment(&["--params", &path]).unwrap_err().downcast_ref::<clap::Error>().is_some());
        std::fs::remove_file(path).unwrap();
        assert!(segment(&["--params", "no-such-file.json"]).is_err());
    }
}
