//! Files appear whole or not at all.
//!
//! Each output is written to a hidden file beside its target, flushed to the disk, and renamed. When anything
//! fails before that, the hidden file is removed and the target is untouched. [`Outputs`] does this for several
//! files together: all are staged first, so that a full disk leaves none of them behind.
//!
//! Pipes and devices (`/dev/stdout`) cannot be replaced by renaming; they are written to directly, last.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use crate::error::{Error, Result};

/// What to do when an output is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// Report [`Error::Exists`].
    #[default]
    Refuse,
    /// Replace it.
    Allow,
}

/// Writes one file, whole or not at all.
///
/// # Errors
/// [`Error::Exists`] when the file is there and may not be replaced, [`Error::Io`] when it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8], overwrite: Overwrite) -> Result<()> {
    let mut outputs = Outputs::new(overwrite);
    outputs.stage(path, bytes)?;
    outputs.commit()
}

/// A group of output files that appear together: [`stage`](Self::stage) each, then [`commit`](Self::commit).
///
/// Dropping the group without a commit leaves no trace.
#[derive(Debug)]
pub struct Outputs {
    overwrite: Overwrite,
    staged: Vec<Staged>,
}

#[derive(Debug)]
struct Staged {
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// A finished hidden file, to be renamed.
    Hidden(PathBuf),
    /// Bytes for a pipe or a device.
    Direct(Vec<u8>),
}

impl Outputs {
    /// An empty group.
    pub fn new(overwrite: Overwrite) -> Self {
        Self { overwrite, staged: Vec::new() }
    }

    /// Writes the content of one file beside its target, under a hidden name.
    ///
    /// # Errors
    /// [`Error::Exists`] when the target is there and may not be replaced, [`Error::SameOutput`] when it was
    /// staged before, [`Error::Io`] when it cannot be written.
    pub fn stage(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.staged.iter().any(|s| s.target == path) {
            return Err(Error::SameOutput { path: path.to_path_buf() });
        }
        let content = if is_stream(path) {
            Content::Direct(bytes.to_vec())
        } else {
            self.check_target(path)?;
            let hidden = write_hidden(path, bytes).map_err(|e| Error::io(path, "write", e))?;
            Content::Hidden(hidden)
        };
        self.staged.push(Staged { target: path.to_path_buf(), content });
        Ok(())
    }

    /// Gives every staged file its name.
    ///
    /// # Errors
    /// [`Error::Exists`] when a target appeared meanwhile (then no file of the group is named), [`Error::Io`]
    /// when a rename is refused or a pipe is closed.
    pub fn commit(mut self) -> Result<()> {
        for staged in &self.staged {
            if let Content::Hidden(_) = staged.content {
                self.check_target(&staged.target)?;
            }
        }
        let (hidden, direct): (Vec<_>, Vec<_>) =
            self.staged.drain(..).partition(|s| matches!(s.content, Content::Hidden(_)));
        // Kept in the group until renamed, so that dropping it removes what is left.
        self.staged = hidden;
        while let Some(Staged { target, content: Content::Hidden(name) }) = self.staged.first() {
            fs::rename(name, target).map_err(|e| Error::io(target, "rename a finished file to", e))?;
            self.staged.remove(0);
        }
        for Staged { target, content } in direct {
            if let Content::Direct(bytes) = content {
                let written = OpenOptions::new().write(true).open(&target).and_then(|mut file| {
                    file.write_all(&bytes)?;
                    file.flush()
                });
                written.map_err(|e| Error::io(&target, "write to", e))?;
            }
        }
        Ok(())
    }

    fn check_target(&self, path: &Path) -> Result<()> {
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_dir() => {
                Err(Error::io(path, "write", io::Error::from(io::ErrorKind::IsADirectory)))
            }
            Ok(_) if self.overwrite == Overwrite::Refuse => Err(Error::Exists { path: path.to_path_buf() }),
            _ => Ok(()),
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        for staged in &self.staged {
            if let Content::Hidden(name) = &staged.content {
                // Nothing sensible can be done when even removing fails.
                let _ = fs::remove_file(name);
            }
        }
    }
}

/// Whether the path is there and neither a file nor a folder.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Writes a finished, hidden file in the folder of `target`; leaves nothing on failure.
fn write_hidden(target: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, "the path does not name a file"));
    }
    let (name, mut file) = create_hidden(target)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    if let Err(error) = written {
        let _ = fs::remove_file(&name);
        return Err(error);
    }
    Ok(name)
}

fn create_hidden(target: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = target.with_file_name(format!(".ccbcut-{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|file| (name, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_and_is_not_overwritten_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, b"one", Overwrite::Refuse).unwrap();
        let error = write_whole(&path, b"two", Overwrite::Refuse).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_whole(&path, b"two", Overwrite::Allow).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn a_group_appears_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("missing/b"));
        let mut outputs = Outputs::new(Overwrite::Refuse);
        outputs.stage(&a, b"1").unwrap();
        assert!(matches!(outputs.stage(&a, b"1"), Err(Error::SameOutput { .. })));
        assert!(matches!(outputs.stage(&b, b"2"), Err(Error::Io { .. })));
        drop(outputs);
        assert!(names(folder.path()).is_empty());

        let b = folder.path().join("b");
        let mut outputs = Outputs::new(Overwrite::Refuse);
        outputs.stage(&a, b"1").unwrap();
        outputs.stage(&b, b"2").unwrap();
        fs::write(&b, "meanwhile").unwrap();
        assert!(matches!(outputs.commit(), Err(Error::Exists { .. })));
        assert_eq!(names(folder.path()), ["b"]);

        let mut outputs = Outputs::new(Overwrite::Allow);
        outputs.stage(&a, b"1").unwrap();
        outputs.stage(&b, b"2").unwrap();
        outputs.commit().unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn folders_and_nameless_paths_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_whole(folder.path(), b"", Overwrite::Allow).is_err());
        assert!(write_whole(Path::new("/"), b"", Overwrite::Allow).is_err());
        assert!(write_whole(Path::new(""), b"", Overwrite::Allow).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_full_disk_and_a_device_are_handled() {
        // The device that is always full, when the system has one: written to directly, and the error is kept.
        let full = Path::new("/dev/full");
        if full.exists() {
            assert!(matches!(write_whole(full, b"x", Overwrite::Refuse), Err(Error::Io { .. })));
            assert!(full.exists());
        }
        write_whole(Path::new("/dev/null"), b"x", Overwrite::Refuse).unwrap();
    }
}
