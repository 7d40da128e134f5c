//! The images that can be cut: those the command was given, and those that were dropped on the page.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ccbcut::Image;
use ccbcut_io::{Decoded, Limits, decode_image, paint, read_image};
use serde::Serialize;

use crate::{Config, cache::Cache, problem::Problem};

/// An image that the command was given; the network names it by its place in the list, never by a path.
#[derive(Debug, Clone)]
pub enum Source {
    /// Its bytes.
    Bytes {
        /// What it is called.
        name: String,
        /// The file.
        bytes: Vec<u8>,
    },
    /// A file, read when it is first asked for.
    File(PathBuf),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Self::Bytes { name, .. } => name.clone(),
            Self::File(path) => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        }
    }
}

/// An image ready to be cut.
#[derive(Debug)]
pub struct Picture {
    /// Its name in addresses.
    pub id: String,
    /// Its name for people and in commands.
    pub name: String,
    /// The pixels.
    pub image: Image,
    /// Which pixels to cut.
    pub mask: Option<Vec<bool>>,
    /// The pixels as 8-bit RGB.
    pub rgb: Vec<u8>,
    /// Columns and rows before it was shrunk.
    pub original: [usize; 2],
}

/// What the page is told about an image.
#[derive(Debug, Serialize)]
pub struct Info<'a> {
    id: &'a str,
    name: &'a str,
    width: usize,
    height: usize,
    is_shrunk: bool,
    original: [usize; 2],
}

impl Picture {
    /// For the page.
    pub fn info(&self) -> Info<'_> {
        let [width, height] = [self.image.width(), self.image.height()];
        let (id, name, original) = (self.id.as_str(), self.name.as_str(), self.original);
        Info { id, name, width, height, is_shrunk: original != [width, height], original }
    }

    /// The name without its ending, for the names of files made from it.
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem().unwrap_or_default().to_string_lossy();
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        stem.chars().map(safe).take(80).collect()
    }

    /// Bytes that it holds.
    pub fn n_bytes(&self) -> usize {
        self.image.data().len() * 4 + self.rgb.len() + self.mask.as_ref().map_or(0, Vec::len)
    }
}

/// All images.
#[derive(Debug)]
pub struct Images {
    sources: Vec<Source>,
    kept: Cache<Picture>,
    /// Held while an image is decoded: large ones take much memory for a moment, so one at a time.
    decoding: Mutex<()>,
    max_pixels: u64,
    work_pixels: usize,
}

impl Images {
    /// The images of the command, and room for others.
    pub fn new(config: &Config) -> Self {
        Self {
            sources: config.sources.clone(),
            kept: Cache::new(config.cache_bytes / 8),
            decoding: Mutex::default(),
            max_pixels: config.max_pixels,
            work_pixels: config.work_pixels,
        }
    }

    /// The images of the command: addresses and names.
    pub fn list(&self) -> Vec<[String; 2]> {
        self.sources.iter().enumerate().map(|(at, source)| [format!("given-{at}"), source.name()]).collect()
    }

    /// How many images are held, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        self.kept.size()
    }

    /// An image by its address.
    ///
    /// # Errors
    /// When there is none, or its file cannot be read.
    pub fn get(&self, id: &str) -> Result<Arc<Picture>, Problem> {
        if let Some(picture) = self.kept.get(id) {
            return Ok(picture);
        }
        let at = id.strip_prefix("given-").and_then(|number| number.parse::<usize>().ok());
        let source = at.and_then(|at| self.sources.get(at)).ok_or_else(|| Problem::not_found("image"))?;
        let limits = Limits { max_pixels: self.max_pixels };
        let _one_at_a_time = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        let decoded = match source {
            Source::Bytes { name, bytes } => decode_image(Path::new(name), bytes, limits),
            Source::File(path) => read_image(path, limits),
        };
        self.keep(id.to_owned(), source.name(), decoded.map_err(refused)?)
    }

    /// An image that was dropped on the page; its address follows from its bytes.
    ///
    /// # Errors
    /// When it is too large, or no image.
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<Arc<Picture>, Problem> {
        let name = clean(name);
        let id = fingerprint(&(bytes, &name));
        if let Some(picture) = self.kept.get(&id) {
            return Ok(picture);
        }
        let limits = Limits { max_pixels: self.max_pixels };
        let _one_at_a_time = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        let decoded = decode_image(Path::new(&name), bytes, limits).map_err(refused)?;
        self.keep(id, name, decoded)
    }

    fn keep(&self, id: String, name: String, decoded: Decoded) -> Result<Arc<Picture>, Problem> {
        let picture = Arc::new(self.ready(id.clone(), name, decoded)?);
        self.kept.put(id, Arc::clone(&picture), picture.n_bytes());
        Ok(picture)
    }

    /// The image as it will be cut: made smaller where it is large, by whole blocks of pixels.
    fn ready(&self, id: String, name: String, decoded: Decoded) -> Result<Picture, Problem> {
        let Decoded { image, mask, .. } = decoded;
        if !matches!(image.channels(), 1 | 3) {
            let n = image.channels();
            return Err(Problem::unusable(format!("`{name}` has {n} bands, but an image has 1 or 3")));
        }
        let original = [image.width(), image.height()];
        let mut block = 1;
        while image.width().div_ceil(block) * image.height().div_ceil(block) > self.work_pixels.max(1) {
            block += 1;
        }
        if block == 1 {
            let rgb = paint::rgb_of(&image);
            return Ok(Picture { id, name, image, mask, rgb, original });
        }
        let (height, width, rgb) = shrunk(&image, block);
        let mask = mask.map(|mask| shrunk_mask(&mask, original, block)).filter(|mask| mask.contains(&false));
        let pixels = rgb.iter().map(|&v| f32::from(v) / 255.0).collect();
        let small = Image::new(height, width, 3, pixels)?;
        let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}-{width}x{height}.png");
        Ok(Picture { id, name, image: small, mask, rgb, original })
    }
}

/// Means of blocks of pixels, as 8-bit RGB: rows, columns, values.
fn shrunk(image: &Image, block: usize) -> (usize, usize, Vec<u8>) {
    let (height, width) = (image.height().div_ceil(block), image.width().div_ceil(block));
    let mut rgb = Vec::with_capacity(3 * height * width);
    for row in 0..height {
        for column in 0..width {
            let (mut sum, mut n) = ([0.0_f64; 3], 0.0);
            for r in row * block..((row + 1) * block).min(image.height()) {
                for c in column * block..((column + 1) * block).min(image.width()) {
                    let color = paint::color_of(image.pixel(r * image.width() + c));
                    sum.iter_mut().zip(color).for_each(|(s, v)| *s += f64::from(v.clamp(0.0, 1.0)));
                    n += 1.0;
                }
            }
            rgb.extend(sum.map(|s| (255.0 * s / n).round() as u8));
        }
    }
    (height, width, rgb)
}

/// A block is used when any of its pixels is.
fn shrunk_mask(mask: &[bool], [width, height]: [usize; 2], block: usize) -> Vec<bool> {
    let (rows, columns) = (height.div_ceil(block), width.div_ceil(block));
    let mut small = vec![false; rows * columns];
    for (p, _) in mask.iter().enumerate().filter(|&(_, &on)| on) {
        small[p / width / block * columns + p % width / block] = true;
    }
    small
}

fn refused(error: ccbcut_io::Error) -> Problem {
    match error {
        error @ ccbcut_io::Error::TooLarge { .. } => Problem::too_large(error.to_string()),
        // What the system says about a file of the command is nobody's business on the network.
        ccbcut_io::Error::Io { .. } | ccbcut_io::Error::NotFound { .. } => Problem::not_found("image"),
        error => Problem::unusable(error.to_string()),
    }
}

/// The last part of a name, without what has a meaning for shells, files or headers.
fn clean(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().filter(|c| !c.is_control()).take(120).collect();
    let kept = kept.trim().trim_start_matches(['.', '-']);
    if kept.is_empty() { "image".to_owned() } else { kept.to_owned() }
}

/// A name for a thing from what it is made of: 128 bits.
pub fn fingerprint(thing: &impl Hash) -> String {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        thing.hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(1), half(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(work_pixels: usize, sources: Vec<Source>) -> Images {
        Images::new(&Config { work_pixels, max_pixels: 10_000, sources, ..Config::default() })
    }

    fn png(width: usize, height: usize) -> Vec<u8> {
        let rgb: Vec<u8> = (0..3 * width * height).map(|v| (v % 251) as u8).collect();
        paint::encode_png(width, height, &rgb).unwrap()
    }

    #[test]
    fn an_image_keeps_its_pixels_and_its_address_follows_from_them() {
        let images = images(10_000, Vec::new());
        let first = images.add("a/b\\photo.png", &png(8, 6)).unwrap();
        assert_eq!((first.name.as_str(), first.original), ("photo.png", [8, 6]));
        assert_eq!(first.rgb[..4], [0, 1, 2, 3]);
        assert_eq!(images.add("photo.png", &png(8, 6)).unwrap().id, first.id);
        assert_ne!(images.add("photo.png", &png(6, 8)).unwrap().id, first.id);
        assert_eq!(images.get(&first.id).unwrap().rgb, first.rgb);
        assert_eq!(images.size().0, 2);
    }

    #[test]
    fn large_images_are_shrunk_by_whole_blocks() {
        let images = images(100, Vec::new());
        let picture = images.add("photo.jpg", &png(30, 20)).unwrap();
        assert_eq!((picture.image.width(), picture.image.height()), (10, 7));
        assert_eq!((picture.name.as_str(), picture.original), ("photo-10x7.png", [30, 20]));
        let full = Image::new(2, 2, 1, vec![0.0, 1.0, 0.5, 0.5]).unwrap();
        assert_eq!(shrunk(&full, 2), (1, 1, vec![128; 3]));
        assert_eq!(shrunk_mask(&[true, false, false, false, false, false], [3, 2], 2), [true, false]);
    }

    #[test]
    fn only_images_within_the_limits_and_known_addresses_are_answered() {
        let path = PathBuf::from("/no/such/file.png");
        let images =
            images(100, vec![Source::Bytes { name: "a.png".into(), bytes: png(4, 4) }, Source::File(path)]);
        assert_eq!(images.list()[1], ["given-1", "file.png"]);
        assert_eq!(images.get("given-0").unwrap().name, "a.png");
        let status = |id: &str| images.get(id).unwrap_err().status.as_u16();
        for id in ["given-1", "given-2", "given--1", "given-x", "../../etc/passwd", "/etc/passwd", ""] {
            assert_eq!(status(id), 404, "{id}");
        }
        assert!(!images.get("given-1").unwrap_err().detail.contains("/no/such"));
        assert_eq!(images.add("x", b"no image").unwrap_err().status.as_u16(), 422);
        assert_eq!(images.add("x", &png(200, 100)).unwrap_err().status.as_u16(), 413);
        assert_eq!(images.add("x", &png(4, 4)[..40]).unwrap_err().status.as_u16(), 422);
    }

    #[test]
    fn names_are_made_harmless() {
        let cases = [("../../x.png", "x.png"), ("-rf", "rf"), ("\n\t", "image"), ("c:\\d\\e.jpg", "e.jpg")];
        for (name, expected) in cases {
            assert_eq!(clean(name), expected);
        }
    }
}
