//! Folders, pictures and runs that the tests share.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ccbcut::LabelMap;
use ccbcut_io::{Limits, Overwrite, read_label_map, write_png};
use serde_json::Value;
use tempfile::TempDir;

/// Sides of [`scene`].
pub const HEIGHT: usize = 36;
pub const WIDTH: usize = 48;

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

impl Ended {
    /// Fails the test unless the run succeeded.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self
    }

    /// The JSON objects on stdout, one a line.
    pub fn reports(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The one JSON object on stdout.
    pub fn report(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.stdout);
        self.reports().remove(0)
    }
}

/// The binary, with nothing on stdin and no wish about colours.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccbcut"));
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs a prepared command to its end.
pub fn end(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// Runs the binary where the tests are run.
pub fn ccbcut(words: &[&str]) -> Ended {
    end(command().args(words))
}

/// An empty folder of this test's own, which stays for a look at it.
pub fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

/// A folder to run the binary in; it goes with everything in it.
pub struct Desk(TempDir);

impl Desk {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A desk with [`scene`] as `a.png`.
    pub fn with_scene() -> Self {
        let desk = Self::new();
        desk.paint("a.png", HEIGHT, WIDTH, scene);
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// An 8-bit colour PNG.
    pub fn paint(&self, name: &str, height: usize, width: usize, color: impl Fn(usize, usize) -> [u8; 3]) {
        let rgb: Vec<u8> = (0..height * width).flat_map(|p| color(p / width, p % width)).collect();
        write_png(&self.path(name), height, width, &rgb, Overwrite::Allow).unwrap();
    }

    /// A label map that a run has written.
    pub fn labels(&self, name: &str) -> LabelMap {
        read_label_map(&self.path(name), Limits::default()).unwrap()
    }

    /// Every file with its content, and every folder.
    pub fn content(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn walk(path: &Path, into: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, into);
                    into.insert(path, None);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    into.insert(path, Some(bytes));
                }
            }
        }
        let mut all = BTreeMap::new();
        walk(self.0.path(), &mut all);
        all
    }

    /// The names of the files in a folder of the desk, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The binary, to be run in this folder.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = command();
        command.current_dir(self.0.path()).args(words);
        command
    }

    /// Runs the binary in this folder; `line` is split at blanks.
    pub fn run(&self, line: &str) -> Ended {
        end(&mut self.command(line.split_whitespace()))
    }

    /// The same with a file on stdin.
    pub fn run_with_stdin(&self, line: &str, name: &str) -> Ended {
        end(self.command(line.split_whitespace()).stdin(File::open(self.path(name)).unwrap()))
    }
}

/// Runs a line that must fail, and checks that it says all of `words` and changes nothing.
#[track_caller]
pub fn refused(desk: &Desk, line: &str, words: &[&str]) {
    let before = desk.content();
    let ended = desk.run(line);
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{line}\n{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "{line}\n{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "{line}: no `{word}` in\n{}", ended.stderr);
    }
    assert!(before == desk.content(), "{line} left something behind");
}

/// A red bar on the left, blue above green on the right, with a little texture.
pub fn scene(row: usize, column: usize) -> [u8; 3] {
    let base = match (row < 18, column < 18) {
        (_, true) => [200, 70, 50],
        (true, false) => [50, 120, 190],
        (false, false) => [90, 200, 80],
    };
    let texture = ((row * 7 + column * 13) % 9) as u8;
    base.map(|v: u8| v + texture)
}

/// Whether every part of a label map is one region of four-neighbours.
pub fn is_connected(map: &LabelMap) -> bool {
    let (height, width, labels) = (map.height(), map.width(), map.as_slice());
    let mut seen = vec![false; labels.len()];
    let mut regions = 0;
    for start in 0..labels.len() {
        if seen[start] || labels[start] == LabelMap::VOID {
            continue;
        }
        regions += 1;
        seen[start] = true;
        let mut stack = vec![start];
        while let Some(p) = stack.pop() {
            let (r, c) = (p / width, p % width);
            let steps = [
                (r > 0).then(|| p - width),
                (c > 0).then(|| p - 1),
                (c + 1 < width).then(|| p + 1),
                (r + 1 < height).then(|| p + width),
            ];
            for q in steps.into_iter().flatten().filter(|&q| labels[q] == labels[p]) {
                if !std::mem::replace(&mut seen[q], true) {
                    stack.push(q);
                }
            }
        }
    }
    regions == map.n_segments()
}
