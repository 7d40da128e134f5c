//! Regions as a table, for spreadsheets and data frames.

use std::{fmt::Write, path::Path};

use crate::{
    atomic::{Overwrite, write_whole},
    error::Result,
};

/// One row of the table: a segment, where it lies, what it looks like and what it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegionRow {
    /// The segment's label.
    pub label: u32,
    /// Its number of pixels.
    pub area: usize,
    /// Its first row.
    pub min_row: usize,
    /// Its first column.
    pub min_col: usize,
    /// Its last row, inclusive.
    pub max_row: usize,
    /// Its last column, inclusive.
    pub max_col: usize,
    /// Mean of the red channel, in [0, 1].
    pub mean_red: f64,
    /// Mean of the green channel, in [0, 1].
    pub mean_green: f64,
    /// Mean of the blue channel, in [0, 1].
    pub mean_blue: f64,
    /// Its term of the cost, as a share of the sum.
    pub cost_share: f64,
}

/// Writes the rows as CSV, with a header; numbers have as many digits as read back equal.
///
/// # Errors
/// The errors of [`write_whole`].
pub fn write_regions_csv(path: &Path, rows: &[RegionRow], overwrite: Overwrite) -> Result<()> {
    write_whole(path, encode_regions_csv(rows).as_bytes(), overwrite)
}

/// The text [`write_regions_csv`] writes; for a group of outputs.
pub fn encode_regions_csv(rows: &[RegionRow]) -> String {
    let mut out =
        String::from("label,area,min_row,min_col,max_row,max_col,mean_red,mean_green,mean_blue,cost_share\n");
    for r in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{}",
            r.label,
            r.area,
            r.min_row,
            r.min_col,
            r.max_row,
            r.max_col,
            r.mean_red,
            r.mean_green,
            r.mean_blue,
            r.cost_share
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_region() {
        let row = RegionRow {
            label: 3,
            area: 10,
            min_row: 0,
            min_col: 1,
            max_row: 4,
            max_col: 2,
            mean_red: 0.5,
            mean_green: 1.0,
            mean_blue: 0.1,
            cost_share: 0.25,
        };
        let text = encode_regions_csv(&[row, row]);
        assert_eq!(text.lines().count(), 3);
        assert_eq!(text.lines().nth(1), Some("3,10,0,1,4,2,0.5,1,0.1,0.25"));
    }
}
