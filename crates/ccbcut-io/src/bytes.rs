//! A cursor over a file in memory that never reads past the end and knows where it is.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::error::{Error, Place, Result};

/// The most bytes read from one file. Devices such as `/dev/zero` never end; data that large would not fit anyway.
const MAX_FILE_BYTES: u64 = 1 << 36;

/// Reads a whole file, or reports which one could not be read.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let open = File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path: path.to_path_buf() },
        _ => Error::io(path, "open", source),
    })?;
    let mut bytes = Vec::new();
    open.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| Error::io(path, "read", e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::TooManyBytes { path: path.to_path_buf(), limit: MAX_FILE_BYTES });
    }
    Ok(bytes)
}

/// The bytes of a file as text.
pub(crate) fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].split(|&b| b == b'\n').count();
        Error::malformed(path, Place::Line(line), "expected text, got bytes that are not UTF-8")
    })
}

/// The ending of a file name, in lower case, empty when there is none.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// A position in a file held in memory.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    name: &'a Path,
    data: &'a [u8],
    at: usize,
    big_endian: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(name: &'a Path, data: &'a [u8]) -> Self {
        Self { name, data, at: 0, big_endian: false }
    }

    pub(crate) fn set_big_endian(&mut self, big_endian: bool) {
        self.big_endian = big_endian;
    }

    pub(crate) fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    pub(crate) fn name(&self) -> &'a Path {
        self.name
    }

    pub(crate) fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    /// Continues at another byte of the file.
    pub(crate) fn seek(&mut self, at: usize) -> Result<()> {
        if at > self.data.len() {
            return Err(self.fault(format!("expected data at byte {at}, but the file ends before it")));
        }
        self.at = at;
        Ok(())
    }

    /// The next `n` bytes.
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.remaining() {
            let rest = self.remaining();
            return Err(self.fault(format!("expected {n} more bytes, but the file ends after {rest}")));
        }
        let part = &self.data[self.at..self.at + n];
        self.at += n;
        Ok(part)
    }

    /// The next `n` bytes as a cursor of their own.
    pub(crate) fn part(&mut self, n: usize) -> Result<Self> {
        Ok(Self { data: self.take(n)?, at: 0, ..*self })
    }

    /// Skips up to `n` bytes; padding at the very end may be missing.
    pub(crate) fn skip_padding(&mut self, n: usize) {
        self.at += n.min(self.remaining());
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        let bytes = self.array()?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let bytes = self.array()?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        let bytes = self.array()?;
        Ok(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// An error at the present position.
    pub(crate) fn fault(&self, detail: impl Into<String>) -> Error {
        Error::malformed(self.name, Place::Byte(self.at), detail)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_is_an_error_that_says_where() {
        let mut cursor = Cursor::new(Path::new("x"), &[1, 0, 2]);
        assert_eq!(cursor.u16().unwrap(), 1);
        assert!(cursor.u16().unwrap_err().to_string().contains("byte 2"));
        assert!(cursor.seek(4).is_err());
        cursor.seek(0).unwrap();
        cursor.set_big_endian(true);
        assert_eq!(cursor.u16().unwrap(), 256);
        assert!(cursor.take(usize::MAX).is_err());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_file(Path::new("no/such/file.png")).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }));
        assert_eq!(error.to_string(), "`no/such/file.png` does not exist");
    }

    #[test]
    fn bytes_that_are_not_text_are_located() {
        let error = text(Path::new("x"), b"a\nb\xff").unwrap_err();
        assert!(error.to_string().contains("line 2"));
        assert_eq!(text(Path::new("x"), b"\xef\xbb\xbfa").unwrap(), "a");
    }
}
