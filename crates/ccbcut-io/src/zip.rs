//! The part of the ZIP container that NumPy archives use: stored or deflated members, 64-bit sizes included.
//!
//! Written here over `flate2` rather than taken from a ZIP crate: it is two headers and a table, and it keeps
//! the code that runs on foreign bytes small.

use std::{io::Read, path::Path};

use flate2::{Compression, Crc, read::DeflateDecoder, write::DeflateEncoder};

use crate::{
    bytes::Cursor,
    error::{Error, Result},
};

/// The most bytes all members may unpack to.
const MAX_UNPACKED: u64 = 1 << 35;
/// Deflate cannot shrink data further than this factor; a larger claim is a lie.
const MAX_RATIO: u64 = 1032;

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END_RECORD: u32 = 0x0605_4b50;
const END_RECORD_64: u32 = 0x0606_4b50;
const END_LOCATOR_64: u32 = 0x0706_4b50;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Unpacks every member: name and content, in the order of the table.
pub(crate) fn unpack(name: &Path, bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    let mut table = Cursor::new(name, bytes);
    let n_members = find_table(&mut table, bytes)?;
    let mut members = Vec::new();
    let mut total = 0_u64;
    for _ in 0..n_members {
        let entry = Entry::read(&mut table)?;
        total = total.saturating_add(entry.unpacked);
        if total > MAX_UNPACKED {
            return Err(Error::TooManyBytes { path: name.to_path_buf(), limit: MAX_UNPACKED });
        }
        let content = entry.unpack(name, bytes)?;
        members.push((entry.name, content));
    }
    Ok(members)
}

/// Moves to the table of members and returns how many there are.
fn find_table(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<u64> {
    // The end record is 22 bytes and a comment of up to 65,535.
    let earliest = bytes.len().saturating_sub(22 + 0xffff);
    let signature = END_RECORD.to_le_bytes();
    let end = bytes[earliest..].windows(4).rposition(|w| w == signature).map(|p| p + earliest);
    let end =
        end.ok_or_else(|| cursor.fault("expected a ZIP archive, but its table of contents is missing"))?;
    cursor.seek(end + 10)?;
    let mut n_members = u64::from(cursor.u16()?);
    cursor.u32()?;
    let mut offset = u64::from(cursor.u32()?);
    let comment = cursor.u16()?;
    cursor.take(usize::from(comment))?;
    if (n_members == 0xffff || offset == 0xffff_ffff) && end >= 20 {
        cursor.seek(end - 20)?;
        if cursor.u32()? == END_LOCATOR_64 {
            cursor.u32()?;
            let at = cursor.u64()?;
            cursor.seek(usize::try_from(at).unwrap_or(usize::MAX))?;
            if cursor.u32()? != END_RECORD_64 {
                return Err(cursor.fault("expected the 64-bit table of contents of a ZIP archive"));
            }
            cursor.take(28)?;
            n_members = cursor.u64()?;
            cursor.u64()?;
            offset = cursor.u64()?;
        }
    }
    cursor.seek(usize::try_from(offset).unwrap_or(usize::MAX))?;
    Ok(n_members)
}

/// One row of the table of members.
struct Entry {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
    offset: u64,
}

impl Entry {
    fn read(table: &mut Cursor<'_>) -> Result<Self> {
        if table.u32()? != CENTRAL_HEADER {
            return Err(table.fault("expected an entry of the ZIP archive's table of contents"));
        }
        table.take(4)?;
        if table.u16()? & 1 != 0 {
            return Err(table.fault("expected a plain ZIP archive, got an encrypted one"));
        }
        let method = table.u16()?;
        table.u32()?;
        let crc = table.u32()?;
        let (packed, unpacked) = (table.u32()?, table.u32()?);
        let lengths = [table.u16()?, table.u16()?, table.u16()?];
        table.take(8)?;
        let offset = table.u32()?;
        let name = String::from_utf8_lossy(table.take(usize::from(lengths[0]))?).into_owned();
        let mut extra = table.part(usize::from(lengths[1]))?;
        table.take(usize::from(lengths[2]))?;
        let mut entry = Self {
            name,
            method,
            crc,
            packed: u64::from(packed),
            unpacked: u64::from(unpacked),
            offset: u64::from(offset),
        };
        entry.widen(&mut extra)?;
        Ok(entry)
    }

    /// Takes the sizes that did not fit in 32 bits from the extra field.
    fn widen(&mut self, extra: &mut Cursor<'_>) -> Result<()> {
        while extra.remaining() >= 4 {
            let (id, length) = (extra.u16()?, extra.u16()?);
            let mut field = extra.part(usize::from(length))?;
            if id == 1 {
                for value in [&mut self.unpacked, &mut self.packed, &mut self.offset] {
                    if *value == 0xffff_ffff {
                        *value = field.u64()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn unpack(&self, path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut cursor = Cursor::new(path, bytes);
        cursor.seek(usize::try_from(self.offset).unwrap_or(usize::MAX))?;
        if cursor.u32()? != LOCAL_HEADER {
            return Err(cursor.fault(format!("expected the member `{}` of the ZIP archive", self.name)));
        }
        cursor.take(22)?;
        let (name_length, extra_length) = (cursor.u16()?, cursor.u16()?);
        cursor.take(usize::from(name_length) + usize::from(extra_length))?;
        let wrong = cursor.fault(format!("the member `{}` of the ZIP archive is damaged", self.name));
        let packed = cursor.take(usize::try_from(self.packed).unwrap_or(usize::MAX))?;
        let content = match self.method {
            STORED => packed.to_vec(),
            DEFLATED if self.unpacked > self.packed.saturating_mul(MAX_RATIO).saturating_add(64) => {
                return Err(wrong);
            }
            DEFLATED => {
                let mut content = Vec::new();
                let inflated = DeflateDecoder::new(packed).take(self.unpacked + 1).read_to_end(&mut content);
                if inflated.is_err() {
                    return Err(wrong);
                }
                content
            }
            other => {
                let found = format!("a ZIP archive packed by method {other}");
                return Err(Error::unsupported(path, "a NumPy archive", found, "stored or deflated"));
            }
        };
        let mut crc = Crc::new();
        crc.update(&content);
        if content.len() as u64 != self.unpacked || crc.sum() != self.crc {
            return Err(wrong);
        }
        Ok(content)
    }
}

/// Packs members into an archive; the same bytes for the same members (no dates).
///
/// `None` when a size or the number of members does not fit in the 32-bit tables.
pub(crate) fn pack(members: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    let (mut out, mut table) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let offset = u32::try_from(out.len()).ok()?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut encoder, content).ok()?;
        let packed = encoder.finish().ok()?;
        let mut crc = Crc::new();
        crc.update(content);
        // Version 2.0, no flags, deflated, 1 January 1980, midnight.
        let mut shared = vec![20, 0, 0, 0, DEFLATED as u8, 0, 0, 0, 0x21, 0];
        shared.extend_from_slice(&crc.sum().to_le_bytes());
        shared.extend_from_slice(&u32::try_from(packed.len()).ok()?.to_le_bytes());
        shared.extend_from_slice(&u32::try_from(content.len()).ok()?.to_le_bytes());
        shared.extend_from_slice(&u16::try_from(name.len()).ok()?.to_le_bytes());
        shared.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&LOCAL_HEADER.to_le_bytes());
        out.extend_from_slice(&shared);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&packed);
        table.extend_from_slice(&CENTRAL_HEADER.to_le_bytes());
        table.extend_from_slice(&[20, 0]);
        table.extend_from_slice(&shared);
        table.extend_from_slice(&[0; 10]);
        table.extend_from_slice(&offset.to_le_bytes());
        table.extend_from_slice(name.as_bytes());
    }
    let count = u16::try_from(members.len()).ok()?.to_le_bytes();
    let table_offset = u32::try_from(out.len()).ok()?;
    let table_length = u32::try_from(table.len()).ok()?;
    out.extend_from_slice(&table);
    out.extend_from_slice(&END_RECORD.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&count);
    out.extend_from_slice(&count);
    out.extend_from_slice(&table_length.to_le_bytes());
    out.extend_from_slice(&table_offset.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_survive_a_round_trip_and_damage_is_noticed() {
        let members = [("a.npy", vec![7; 1000]), ("b", Vec::new()), ("c", (0..=255).collect())];
        let archive = pack(&members).unwrap();
        let path = Path::new("x.npz");
        let back = unpack(path, &archive).unwrap();
        let back: Vec<(&str, Vec<u8>)> = back.iter().map(|(n, c)| (n.as_str(), c.clone())).collect();
        assert_eq!(back, members);
        let mut damaged = archive.clone();
        damaged[40] ^= 1;
        assert!(unpack(path, &damaged).is_err());
        assert!(unpack(path, &archive[..archive.len() - 1]).is_err());
    }

    #[test]
    fn a_member_that_claims_the_impossible_is_refused_before_unpacking() {
        let mut archive = pack(&[("a", vec![0; 100])]).unwrap();
        let table = archive.windows(4).position(|w| w == CENTRAL_HEADER.to_le_bytes()).unwrap();
        archive[table + 24..table + 28].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
        assert!(unpack(Path::new("x"), &archive).unwrap_err().to_string().contains("damaged"));
    }
}
