//! Every dependency comes from crates.io under a licence that `deny.toml` allows.
//!
//! `cargo deny` says more, but has to be installed first; this runs wherever the tests do.

use std::{path::PathBuf, process::Command};

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The strings of `allow = [ … ]` in the section `[licenses]`.
fn allowed(deny: &str) -> Vec<String> {
    let section = deny.split("\n[licenses]").nth(1).unwrap().split("\n[").next().unwrap();
    let list = section.split("\nallow").nth(1).unwrap().split_once('[').unwrap().1;
    let mut names = Vec::new();
    for line in list.lines() {
        let code = line.split('#').next().unwrap();
        // What stands between quotes; a `]` outside of them ends the list.
        for (position, piece) in code.split('"').enumerate() {
            if position % 2 == 1 {
                names.push(piece.to_owned());
            } else if piece.contains(']') {
                return names;
            }
        }
    }
    names
}

/// Whether an SPDX expression can be satisfied by the allowed licences; `/` is the old way to write `OR`.
fn is_satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let answer = either(&words, &mut at, allowed);
    answer && at == words.len()
}

/// both { `OR` both }
fn either(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut answer = both(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        answer |= both(words, at, allowed);
    }
    answer
}

/// one { `AND` one }
fn both(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut answer = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        answer &= one(words, at, allowed);
    }
    answer
}

/// `(` either `)`, or a licence, or a licence `WITH` an exception, which must be allowed as a whole.
fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let word = words.get(*at).copied().unwrap_or_default();
    // Beyond the end this makes the count of words wrong, and with it the expression.
    *at += 1;
    if word == "(" {
        let answer = either(words, at, allowed);
        let is_closed = words.get(*at) == Some(&")");
        *at += 1;
        return answer && is_closed;
    }
    let mut name = word.to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    allowed.contains(&name)
}

/// What `cargo metadata` says about every package: those of all platforms, or of this one alone when the others were
/// never fetched and there is no network.
fn packages() -> Value {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let ways: [&[&str]; 3] =
        [&["--offline"], &["--locked"], &["--locked", "--offline", "--filter-platform", host]];
    let mut failures = String::new();
    for (number, options) in ways.iter().enumerate() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--format-version", "1"]).args(*options).current_dir(root());
        let output = cargo.output().unwrap();
        if output.status.success() {
            if number == 2 {
                println!("skipped: packages of other platforms (not fetched, and no network)");
            }
            return serde_json::from_slice(&output.stdout).unwrap();
        }
        failures += &String::from_utf8_lossy(&output.stderr);
    }
    panic!("cargo metadata failed:\n{failures}");
}

#[test]
fn every_dependency_has_an_allowed_licence_and_source() {
    let allowed = allowed(&std::fs::read_to_string(root().join("deny.toml")).unwrap());
    assert!(allowed.iter().any(|name| name == "MIT"), "the list in deny.toml was read as {allowed:?}");
    let metadata = packages();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages were seen", packages.len());
    let own = metadata["workspace_members"].as_array().unwrap();
    let mut faults = Vec::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or("");
        let name = format!("{} {}", text("name"), text("version"));
        if text("source") != CRATES_IO && !own.contains(&package["id"]) {
            faults.push(format!("{name} comes from `{}`, not from crates.io", text("source")));
        }
        if !is_satisfied(text("license"), &allowed) {
            faults.push(format!("{name} is licensed under `{}`", text("license")));
        }
    }
    assert!(faults.is_empty(), "not allowed by deny.toml:\n{}", faults.join("\n"));
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let allowed: Vec<String> =
        ["MIT", "Zlib", "Apache-2.0", "GPL-2.0 WITH GCC-exception-2.0"].map(str::to_owned).into();
    let accepted = [
        "MIT",
        "MIT/Apache-2.0",
        "Unlicense OR MIT",
        "(MIT OR GPL-3.0) AND Zlib",
        "GPL-3.0 OR (MIT AND (Zlib OR ISC))",
        "Apache-2.0 WITH LLVM-exception OR MIT",
        "GPL-2.0 WITH GCC-exception-2.0",
    ];
    let refused = [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Zlib) AND ISC",
        // AND binds more tightly than OR.
        "GPL-3.0 OR MIT AND ISC",
        "Apache-2.0 WITH LLVM-exception",
        "GPL-2.0",
        "(MIT",
        "MIT)",
        "MIT OR",
        "MIT Zlib",
    ];
    for expression in accepted {
        assert!(is_satisfied(expression, &allowed), "{expression}");
    }
    for expression in refused {
        assert!(!is_satisfied(expression, &allowed), "{expression}");
    }
}

#[test]
fn the_list_is_read_with_comments_and_on_one_line() {
    let deny = "# c\n[graph]\nallow = [\"No\"]\n\n[licenses]\nallow = [ # first\n  \"MIT\", # \"No\"\n  \"Zlib\",\n]\n\n[bans]\n";
    assert_eq!(self::allowed(deny), ["MIT", "Zlib"]);
    assert_eq!(
        self::allowed("\n[licenses]\nallow = [\"A\", \"B WITH C\"]\nignore = [\"No\"]\n"),
        ["A", "B WITH C"]
    );
}
