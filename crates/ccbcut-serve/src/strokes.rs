//! Strokes that were drawn on the picture: what one pen touches comes out in one part, two pens in two.

use std::collections::BTreeMap;

use ccbcut_io::paint;

use crate::{images::Picture, problem::Problem};

/// How many pens there are.
pub const N_PENS: u8 = 5;
/// The longest text.
pub const MAX_LENGTH: usize = 32_768;
/// The colours of the pens: those of the first parts, all told apart by people with any common colour vision.
const COLORS: [[u8; 3]; N_PENS as usize] =
    [[230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66], [0, 114, 178]];
/// The most pixels that all lines may have together.
const MAX_PIXELS: usize = 2_000_000;
/// Pixels to each side of a line that belong to the stroke.
const REACH: isize = 1;

/// One stroke: a pen from 1 on, and the corners of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stroke {
    pen: u8,
    corners: Vec<[usize; 2]>,
}

/// Reads strokes: `1.12-30.40-31_2.7-9` is pen 1 from column 12, row 30 to column 40, row 31, and a dot of pen 2.
///
/// # Errors
/// What cannot be read, or is too much.
pub fn read(text: &str) -> Result<Vec<Stroke>, Problem> {
    if text.len() > MAX_LENGTH {
        let n = text.len();
        return Err(Problem::unusable(format!(
            "the strokes have {n} letters, but {MAX_LENGTH} are the most"
        )));
    }
    let short = |word: &str| word.chars().take(40).collect::<String>();
    let wrong =
        |word: &str| Problem::bad_request(format!("`{}` is no stroke; 1.12-30.40-31 is", short(word)));
    let stroke = |word: &str| {
        let mut pieces = word.split('.');
        let pen = pieces.next().and_then(|pen| pen.parse().ok()).filter(|pen| (1..=N_PENS).contains(pen));
        let corner = |piece: &str| {
            let (x, y) = piece.split_once('-')?;
            let number = |text: &str| text.parse().ok().filter(|&v: &usize| v < 1 << 20);
            Some([number(x)?, number(y)?])
        };
        let corners: Option<Vec<[usize; 2]>> = pieces.map(corner).collect();
        match (pen, corners) {
            (Some(pen), Some(corners)) if !corners.is_empty() => Ok(Stroke { pen, corners }),
            _ => Err(wrong(word)),
        }
    };
    text.split('_').filter(|word| !word.is_empty()).map(stroke).collect()
}

/// Strokes on an image.
#[derive(Debug)]
pub struct Marks {
    /// The pen of each pixel, 0 for none.
    pens: Vec<u8>,
    /// How many pens touched a pixel that is cut, and were not painted over.
    pub n_pens: usize,
}

impl Marks {
    /// Draws strokes, later ones over earlier ones; none when nothing that is cut was touched.
    ///
    /// # Errors
    /// For a stroke that leaves the image.
    pub fn draw(strokes: &[Stroke], picture: &Picture) -> Result<Option<Self>, Problem> {
        let (width, height) = (picture.image.width(), picture.image.height());
        let mut pens = vec![0; width * height];
        let mut n_drawn = 0;
        for Stroke { pen, corners } in strokes {
            if let Some([x, y]) = corners.iter().find(|[x, y]| *x >= width || *y >= height) {
                return Err(Problem::unusable(format!(
                    "a stroke of pen {pen} goes through column {x}, row {y}, but the image has {width} × {height} pixels"
                )));
            }
            let ends = corners.iter().skip(1).chain(corners.last());
            for (&from, &to) in corners.iter().zip(ends) {
                n_drawn += 1 + from[0].abs_diff(to[0]).max(from[1].abs_diff(to[1]));
                if n_drawn > MAX_PIXELS {
                    return Err(Problem::unusable(format!("the strokes have more than {MAX_PIXELS} pixels")));
                }
                line(from, to, |x, y| dot(&mut pens, [width, height], x, y, *pen));
            }
        }
        let is_cut = |p: usize| picture.mask.as_ref().is_none_or(|mask| mask[p]);
        let mut is_used = [false; N_PENS as usize + 1];
        (0..pens.len()).filter(|&p| is_cut(p)).for_each(|p| is_used[pens[p] as usize] = true);
        let n_pens = is_used[1..].iter().filter(|&&used| used).count();
        Ok((n_pens > 0).then_some(Self { pens, n_pens }))
    }

    /// A number per pixel from 1, in the order of first appearance, 0 for none: what the command makes of the picture.
    pub fn names(&self) -> Vec<u32> {
        let mut numbers: BTreeMap<u8, u32> = BTreeMap::new();
        let name = |&pen: &u8| {
            let next = numbers.len() as u32 + 1;
            if pen == 0 { 0 } else { *numbers.entry(pen).or_insert(next) }
        };
        self.pens.iter().map(name).collect()
    }

    /// Refuses fewer parts than pens.
    ///
    /// # Errors
    /// How many there are, and how many there must be.
    pub fn check(&self, k: usize) -> Result<(), Problem> {
        let n = self.n_pens;
        if k >= n {
            return Ok(());
        }
        Err(Problem::unusable(format!(
            "k is {k}, but strokes of {n} pens need {n} parts: raise k, or clear strokes"
        )))
    }

    /// The picture for `--scribbles`: a colour per pen on black.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn png(&self, picture: &Picture) -> ccbcut_io::Result<Vec<u8>> {
        let color = |&pen: &u8| if pen == 0 { [0; 3] } else { COLORS[pen as usize - 1] };
        let rgb: Vec<u8> = self.pens.iter().flat_map(color).collect();
        paint::encode_png(picture.image.width(), picture.image.height(), &rgb)
    }

    /// Bytes that it holds.
    pub fn n_bytes(&self) -> usize {
        self.pens.len()
    }
}

/// The pixels of a line, both ends included, one per column or row.
fn line([x0, y0]: [usize; 2], [x1, y1]: [usize; 2], mut put: impl FnMut(isize, isize)) {
    let (dx, dy) = (x1 as isize - x0 as isize, y1 as isize - y0 as isize);
    let steps = dx.abs().max(dy.abs());
    // Halves are rounded up, on both sides of zero.
    let at = |d: isize, step: isize| (2 * d * step + steps).div_euclid(2 * steps.max(1));
    for step in 0..=steps {
        put(x0 as isize + at(dx, step), y0 as isize + at(dy, step));
    }
}

fn dot(pens: &mut [u8], [width, height]: [usize; 2], x: isize, y: isize, pen: u8) {
    for row in (y - REACH).max(0)..=(y + REACH).min(height as isize - 1) {
        for column in (x - REACH).max(0)..=(x + REACH).min(width as isize - 1) {
            pens[row as usize * width + column as usize] = pen;
        }
    }
}

#[cfg(test)]
mod tests {
    use ccbcut::Image;

    use super::*;

    fn picture(width: usize, height: usize, mask: Option<Vec<bool>>) -> Picture {
        let image = Image::new(height, width, 1, vec![0.5; width * height]).unwrap();
        let rgb = vec![127; 3 * width * height];
        Picture { id: String::new(), name: "a.png".into(), image, mask, rgb, original: [width, height] }
    }

    fn rows(text: &str, width: usize, height: usize) -> Vec<String> {
        let marks = Marks::draw(&read(text).unwrap(), &picture(width, height, None)).unwrap().unwrap();
        let row = |row: &[u8]| row.iter().map(|&pen| (b'0' + pen) as char).collect();
        marks.pens.chunks(width).map(row).collect()
    }

    #[test]
    fn strokes_are_three_pixels_wide_and_the_last_is_on_top() {
        assert_eq!(rows("1.1-1.5-1", 8, 4), ["11111110", "11111110", "11111110", "00000000"]);
        assert_eq!(rows("2.0-0_3.2-0", 5, 3), ["23330", "23330", "00000"]);
        // A slanted line has no gaps, and is the same from both ends.
        let slanted = rows("1.1-1.9-4", 12, 7);
        assert_eq!(slanted, rows("1.9-4.1-1", 12, 7).as_slice());
        assert!((1..10).all(|x| slanted.iter().any(|row| row.as_bytes()[x] == b'1')));
    }

    #[test]
    fn pens_are_named_by_their_first_pixel_and_count_where_something_is_cut() {
        let text = "4.8-8.8-9_2.1-1";
        let marks = Marks::draw(&read(text).unwrap(), &picture(12, 12, None)).unwrap().unwrap();
        let names = marks.names();
        assert_eq!((names[0], names[8 * 12 + 8], names[5 * 12 + 5], marks.n_pens), (1, 2, 0, 2));
        let mask: Vec<bool> = (0..144).map(|p| p >= 72).collect();
        let half = Marks::draw(&read(text).unwrap(), &picture(12, 12, Some(mask))).unwrap().unwrap();
        assert_eq!(half.n_pens, 1);
        assert!(Marks::draw(&[], &picture(12, 12, None)).unwrap().is_none());
    }

    #[test]
    fn what_is_no_stroke_is_refused() {
        for text in ["x", "1", "1.", "0.1-1", "6.1-1", "1.1-1.2", "1.-1-2", "1.1-1-1", "1.9999999-1"] {
            assert_eq!(read(text).unwrap_err().status.as_u16(), 400, "{text}");
        }
        assert_eq!(read(&"1.1-1_".repeat(9000)).unwrap_err().status.as_u16(), 422);
        assert_eq!(read("").unwrap(), []);
        let outside = Marks::draw(&read("3.4-9").unwrap(), &picture(8, 8, None)).unwrap_err();
        let long = format!("1{}", ".0-0.999-0".repeat(2_000));
        assert!(Marks::draw(&read(&long).unwrap(), &picture(1000, 2, None)).is_err());
        assert!(outside.detail.contains("pen 3") && outside.detail.contains("8 × 8"), "{}", outside.detail);
    }
}
