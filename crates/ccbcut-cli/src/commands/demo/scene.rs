//! The drawn scene of the demo: a landscape with things of very different size.
//!
//! Everything large carries texture, and the small things (a balloon, a kite, a boat, a door) differ from what
//! is behind them by a colour distance of about twice the kernel's width: tied weakly, but tied. A cut that insists on
//! balance rather chops the large regions than pay for ties around a small one; a cut that does not, takes the
//! small things out whole.
//!
//! Shapes are signed distances, blended over a width of one pixel; texture is smooth value noise from a seed, so the
//! same seed draws the same bytes everywhere.

use ccbcut::random::Random;

/// Columns of the scene.
pub const WIDTH: usize = 320;
/// Rows of the scene.
pub const HEIGHT: usize = 240;

/// The names of the things in the scene, in the order of [`Scene::things`].
pub const THINGS: [&str; 10] =
    ["sky", "mountain", "meadow", "lake", "wall", "roof", "balloon", "kite", "boat", "door"];

/// A drawn scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// 8-bit RGB, row by row.
    pub rgb: Vec<u8>,
    /// Which of [`THINGS`] each pixel shows.
    pub things: Vec<u32>,
}

/// Draws the scene; the seed fixes its texture.
pub fn draw(seed: u64) -> Scene {
    let mut random = Random::new(seed);
    let fine = Noise::new(&mut random, 3.0);
    let coarse = Noise::new(&mut random, 17.0);
    let grain = Noise::new(&mut random, 1.0);
    let mut scene = Scene { rgb: Vec::with_capacity(3 * WIDTH * HEIGHT), things: Vec::new() };
    for row in 0..HEIGHT {
        for column in 0..WIDTH {
            let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
            let (mut color, mut top) = ([0.0; 3], 0);
            for (index, layer) in LAYERS.iter().enumerate() {
                let coverage = (0.5 - (layer.distance)(x, y)).clamp(0.0, 1.0);
                if coverage == 0.0 {
                    continue;
                }
                // Lakes ripple along the rows: their noise is stretched sideways.
                let stretch = layer.stretch;
                let texture =
                    layer.texture * (0.6 * fine.at(x / stretch, y) + 0.4 * coarse.at(x / stretch, y));
                let light = texture + 1.5 * grain.at(x, y) + layer.slope * (y - 0.5 * HEIGHT as f64);
                for (channel, &base) in color.iter_mut().zip(&layer.color) {
                    *channel += coverage * (base + light - *channel);
                }
                if coverage >= 0.5 {
                    top = index;
                }
            }
            scene.rgb.extend(color.map(|v| v.round().clamp(0.0, 255.0) as u8));
            scene.things.push(top as u32);
        }
    }
    scene
}

/// A thing: where it is, its colour, and how it is textured.
struct Layer {
    /// Signed distance to its outline in pixels, negative inside.
    distance: fn(f64, f64) -> f64,
    color: [f64; 3],
    /// Amplitude of the texture, in gray levels.
    texture: f64,
    /// How many times wider than high the texture is.
    stretch: f64,
    /// Change of light per row.
    slope: f64,
}

/// From back to front, in the order of [`THINGS`].
const LAYERS: [Layer; 10] = [
    Layer { distance: |_, _| -1.0, color: [178.0, 202.0, 220.0], texture: 3.0, stretch: 4.0, slope: 0.10 },
    Layer { distance: mountain, color: [130.0, 146.0, 164.0], texture: 9.0, stretch: 1.0, slope: 0.0 },
    Layer { distance: meadow, color: [142.0, 167.0, 144.0], texture: 10.0, stretch: 1.5, slope: 0.0 },
    Layer { distance: lake, color: [86.0, 116.0, 124.0], texture: 7.0, stretch: 5.0, slope: 0.0 },
    Layer { distance: wall, color: [220.0, 205.0, 184.0], texture: 5.0, stretch: 3.0, slope: 0.0 },
    Layer { distance: roof, color: [177.0, 142.0, 140.0], texture: 6.0, stretch: 6.0, slope: 0.0 },
    Layer { distance: balloon, color: [214.0, 190.0, 196.0], texture: 2.0, stretch: 1.0, slope: 0.0 },
    Layer { distance: kite, color: [201.0, 213.0, 196.0], texture: 1.0, stretch: 1.0, slope: 0.0 },
    Layer { distance: boat, color: [141.0, 152.0, 148.0], texture: 2.0, stretch: 1.0, slope: 0.0 },
    Layer { distance: door, color: [203.0, 168.0, 143.0], texture: 2.0, stretch: 1.0, slope: 0.0 },
];

fn mountain(x: f64, y: f64) -> f64 {
    let ridge =
        96.0 - 26.0 * (-((x - 210.0) / 60.0).powi(2)).exp() - 14.0 * (-((x - 90.0) / 40.0).powi(2)).exp();
    (ridge + 3.0 * (x / 13.0).sin() - y) * 0.9
}

fn meadow(x: f64, y: f64) -> f64 {
    128.0 + 6.0 * (x / 45.0).sin() - y
}

fn lake(x: f64, y: f64) -> f64 {
    let (u, v) = ((x - 226.0) / 84.0, (y - 186.0) / 36.0);
    let radius = (u * u + v * v).sqrt();
    // The distance to an ellipse, good to first order, which is all that a blend over one pixel needs.
    let slope = ((u / 84.0).powi(2) + (v / 36.0).powi(2)).sqrt() / radius.max(1e-9);
    (radius - 1.0) / slope.max(1e-9)
}

fn wall(x: f64, y: f64) -> f64 {
    rectangle(x, y, (30.0, 130.0), (108.0, 196.0))
}

fn roof(x: f64, y: f64) -> f64 {
    polygon(x, y, &[(24.0, 130.0), (38.0, 106.0), (100.0, 106.0), (114.0, 130.0)])
}

fn balloon(x: f64, y: f64) -> f64 {
    ((x - 268.0).powi(2) + (y - 34.0).powi(2)).sqrt() - 7.0
}

fn kite(x: f64, y: f64) -> f64 {
    polygon(x, y, &[(150.0, 26.0), (156.0, 34.0), (150.0, 46.0), (144.0, 34.0)])
}

fn boat(x: f64, y: f64) -> f64 {
    let hull = polygon(x, y, &[(226.0, 189.0), (250.0, 189.0), (245.0, 196.0), (231.0, 196.0)]);
    let sail = polygon(x, y, &[(236.0, 171.0), (247.0, 189.0), (236.0, 189.0)]);
    hull.min(sail)
}

fn door(x: f64, y: f64) -> f64 {
    rectangle(x, y, (62.0, 172.0), (74.0, 196.0))
}

fn rectangle(x: f64, y: f64, (left, top): (f64, f64), (right, bottom): (f64, f64)) -> f64 {
    (left - x).max(x - right).max(top - y).max(y - bottom)
}

/// Signed distance to the edges of a convex polygon, its corners clockwise on the screen.
fn polygon(x: f64, y: f64, corners: &[(f64, f64)]) -> f64 {
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let distance = |(&(ax, ay), &(bx, by)): (&(f64, f64), &(f64, f64))| {
        let (dx, dy) = (bx - ax, by - ay);
        ((x - ax) * dy - (y - ay) * dx) / (dx * dx + dy * dy).sqrt()
    };
    edges.map(distance).fold(f64::NEG_INFINITY, f64::max)
}

/// Smooth noise: random values on a lattice, blended between its points.
struct Noise {
    spacing: f64,
    values: Vec<f64>,
}

impl Noise {
    /// Lattice points along each side; the lattice repeats beyond.
    const SIDE: usize = 512;

    fn new(random: &mut Random, spacing: f64) -> Self {
        Self { spacing, values: (0..Self::SIDE * Self::SIDE).map(|_| 2.0 * random.uniform() - 1.0).collect() }
    }

    /// The noise at a point, between −1 and 1.
    fn at(&self, x: f64, y: f64) -> f64 {
        let (u, v) = (x / self.spacing, y / self.spacing);
        let (column, row) = (u.floor(), v.floor());
        let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
        let (a, b) = (smooth(u - column), smooth(v - row));
        let value = |dr: usize, dc: usize| {
            let (r, c) = ((row as usize + dr) % Self::SIDE, (column as usize + dc) % Self::SIDE);
            self.values[r * Self::SIDE + c]
        };
        let above = value(0, 0) * (1.0 - a) + value(0, 1) * a;
        let below = value(1, 0) * (1.0 - a) + value(1, 1) * a;
        above * (1.0 - b) + below * b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(name: &str) -> u32 {
        THINGS.iter().position(|&t| t == name).unwrap() as u32
    }

    #[test]
    fn a_seed_draws_one_scene_with_everything_in_it() {
        let scene = draw(0);
        assert_eq!(scene, draw(0));
        assert_ne!(scene.rgb, draw(1).rgb);
        assert_eq!(scene.things, draw(1).things, "the seed changes the texture, not the things");
        assert_eq!(scene.rgb.len(), 3 * WIDTH * HEIGHT);
        let size = |name: &str| scene.things.iter().filter(|&&t| t == thing(name)).count();
        for name in ["balloon", "kite", "boat", "door"] {
            assert!((80..400).contains(&size(name)), "{name}: {}", size(name));
        }
        for name in ["sky", "mountain", "meadow", "lake", "wall", "roof"] {
            assert!(size(name) > 1500, "{name}: {}", size(name));
        }
    }
}
