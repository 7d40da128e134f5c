//! Memory: what the machine has, what a run may take, and what it took.

use std::{fmt::Write, fs, path::Path, str::FromStr};

use anyhow::Result;
use ccbcut::memory::{Prediction, Term};
use serde::Serialize;

use crate::{
    args::MemoryArgs,
    exit::Hinted,
    output::Output,
    report::{SCHEMA_VERSION, Versions},
};

/// The share of the machine's memory that a run may take unless told otherwise.
const DEFAULT_SHARE: f64 = 0.8;

/// What `--max-memory` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxMemory {
    /// So many bytes.
    Bytes(u64),
    /// A share of what the machine has, 0 to 1.
    Share(f64),
}

impl FromStr for MaxMemory {
    type Err = String;

    /// `4G`, `512M`, `1.5GiB`, `80%`, or a number of bytes; K, M, G and T are powers of 1024.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || "expected a size such as 4G or 512M, or a share such as 80%".to_owned();
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..end].parse().map_err(|_| wrong())?;
        let power = match text[end..].trim().to_ascii_lowercase().as_str() {
            "%" if number > 0.0 => return Ok(Self::Share(number / 100.0)),
            "" | "b" => 0,
            "k" | "kb" | "kib" => 1,
            "m" | "mb" | "mib" => 2,
            "g" | "gb" | "gib" => 3,
            "t" | "tb" | "tib" => 4,
            _ => return Err(wrong()),
        };
        let bytes = number * 1024_f64.powi(power);
        if bytes >= 1.0 { Ok(Self::Bytes(bytes as u64)) } else { Err(wrong()) }
    }
}

/// The most bytes that a run may take; `None` where nothing is known about the machine.
pub fn limit(max: Option<MaxMemory>) -> Option<u64> {
    let share = |share: f64| total().map(|total| (total as f64 * share) as u64);
    match max {
        Some(MaxMemory::Bytes(bytes)) => Some(bytes),
        Some(MaxMemory::Share(part)) => share(part),
        None => share(DEFAULT_SHARE),
    }
}

/// Refuses a run that would take more than it may.
///
/// # Errors
/// When the predicted peak is above the limit.
pub fn check(prediction: &Prediction, args: &MemoryArgs) -> Result<()> {
    let (phase, peak) = prediction.peak();
    let Some(limit) = limit(args.max_memory).filter(|&limit| peak > limit) else { return Ok(()) };
    let message = format!(
        "this would take about {} of memory ({}), more than the {} allowed",
        size(peak),
        phase.name(),
        size(limit)
    );
    Err(Hinted::error(message, "shrink the input, use --levels or fewer parts, or raise --max-memory"))
}

/// What `--dry-run` prints for one input, as JSON.
#[derive(Debug, Serialize)]
struct DryRun<'a> {
    schema_version: u32,
    command: &'static str,
    input: &'a Path,
    terms: &'a [Term],
    predicted_bytes: u64,
    peak_phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_bytes: Option<u64>,
    versions: Versions,
}

/// Prints what a run would take instead of doing it.
///
/// # Errors
/// When stdout cannot be written, or when the run would be refused.
pub fn dry_run(
    command: &'static str,
    input: &Path,
    prediction: &Prediction,
    args: &MemoryArgs,
    json: bool,
    output: &Output,
) -> Result<()> {
    let (phase, peak) = prediction.peak();
    let limit = limit(args.max_memory);
    if json {
        output.json(&DryRun {
            schema_version: SCHEMA_VERSION,
            command,
            input,
            terms: &prediction.terms,
            predicted_bytes: peak,
            peak_phase: phase.name(),
            limit_bytes: limit,
            versions: Versions::current(),
        })?;
    } else {
        output.data(table(input, prediction, limit).as_bytes())?;
    }
    check(prediction, args)
}

/// The terms, one a line, a mark on those that make up the peak.
fn table(input: &Path, prediction: &Prediction, limit: Option<u64>) -> String {
    let (phase, peak) = prediction.peak();
    let mut text = format!("{}  about {} of memory at most\n", input.display(), size(peak));
    for term in &prediction.terms {
        let mark = if term.from <= phase && phase <= term.to { "*" } else { " " };
        let held = if term.from == term.to {
            term.from.name().to_owned()
        } else {
            format!("{} to {}", term.from.name(), term.to.name())
        };
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  {mark} {:<18} {:>10}  {held}", term.name, size(term.bytes));
    }
    let _ = writeln!(
        text,
        "  The lines marked * are held at the same time ({}). Sizes follow from the shape of the input;\n  \
         nothing was cut, and time is not predicted.",
        phase.name()
    );
    if let Some(limit) = limit {
        let _ = writeln!(text, "  Allowed: {} (--max-memory).", size(limit));
    }
    text
}

/// Bytes for people: three digits and a unit.
fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    let places = usize::from(unit != "B" && value < 100.0);
    format!("{value:.places$} {unit}")
}

/// The memory of the machine, or of the control group that the process runs in, whichever is less.
fn total() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kib_of(&text, "MemTotal:"));
    let group = fs::read_to_string("/proc/self/cgroup").map(|text| group_limits(&text)).unwrap_or_default();
    machine.into_iter().chain(group).min()
}

/// The most memory that this process has held so far; only Linux tells.
pub fn peak() -> Option<u64> {
    fs::read_to_string("/proc/self/status").ok().and_then(|text| kib_of(&text, "VmHWM:"))
}

/// The number of a line such as `VmHWM:  1234 kB`, in bytes.
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The limits of the groups named in `/proc/self/cgroup`, of both kinds, and of those above them.
fn group_limits(groups: &str) -> Vec<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (root, name) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        let own = Path::new(root).join(path.trim_start_matches('/'));
        for folder in own.ancestors().take_while(|folder| folder.starts_with(root)) {
            // "max" and absent files are no limits.
            let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
            limits.extend(text.trim().parse::<u64>());
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccbcut::memory::Phase;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let bytes = |text: &str| text.parse::<MaxMemory>();
        assert_eq!(bytes("512M"), Ok(MaxMemory::Bytes(512 << 20)));
        assert_eq!(bytes("4G"), Ok(MaxMemory::Bytes(4 << 30)));
        assert_eq!(bytes("1.5 GiB"), Ok(MaxMemory::Bytes(3 << 29)));
        assert_eq!(bytes("1000"), Ok(MaxMemory::Bytes(1000)));
        assert_eq!(bytes("50%"), Ok(MaxMemory::Share(0.5)));
        for text in ["", "G", "-1G", "0", "0%", "4X", "4 G G", "1.2.3M", "nan"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_as_people_read_them() {
        let texts = [0, 999, 1024, 1536, 200 << 20, 5 << 30].map(size);
        assert_eq!(texts, ["0 B", "999 B", "1.0 KiB", "1.5 KiB", "200 MiB", "5.0 GiB"]);
    }

    #[test]
    fn the_lines_of_the_system_are_understood() {
        assert_eq!(kib_of("Name:\tx\nVmHWM:\t  2048 kB\n", "VmHWM:"), Some(2 << 20));
        assert_eq!(kib_of("Name:\tx\n", "VmHWM:"), None);
        assert!(group_limits("0::/no/such/group\n7:cpu:/x\nnonsense").iter().all(|&limit| limit > 0));
    }

    #[test]
    fn a_run_above_the_limit_is_refused() {
        let terms = vec![Term { name: "graph", bytes: 3 << 30, from: Phase::Affinity, to: Phase::Costs }];
        let prediction = Prediction { terms };
        let args = |max| MemoryArgs { max_memory: Some(max), dry_run: false };
        assert!(check(&prediction, &args(MaxMemory::Bytes(4 << 30))).is_ok());
        let error = check(&prediction, &args(MaxMemory::Bytes(2 << 30))).unwrap_err().to_string();
        assert_eq!(
            error,
            "this would take about 3.0 GiB of memory (affinity), more than the 2.0 GiB allowed"
        );
    }
}
