//! Model graphs that tests, benches and docs share.

use crate::random::Random;

use super::Graph;

fn build(n: usize, edges: &[(u32, u32, f64)]) -> Graph {
    Graph::from_edges(n, edges).expect("gallery graphs are valid by construction")
}

/// The toy of Fig. 1: unit triangles {0, 1, 2} and {3, 4, 5}, a unit bridge 2–3, and vertex 6 tied to 0 and to 5
/// by α/2 each. (For α = 0 vertex 6 is isolated.)
pub fn toy(alpha: f64) -> Graph {
    let unit = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)];
    let mut edges: Vec<(u32, u32, f64)> = unit.iter().map(|&(i, j)| (i, j, 1.0)).collect();
    edges.extend([(0, 6, alpha / 2.0), (5, 6, alpha / 2.0)]);
    build(7, &edges)
}

/// A path of `n` vertices with unit weights.
pub fn path(n: usize) -> Graph {
    let edges: Vec<_> = (1..n as u32).map(|i| (i - 1, i, 1.0)).collect();
    build(n, &edges)
}

/// A cycle of `n ≥ 3` vertices with unit weights: every nontrivial eigenvalue but one is double.
pub fn cycle(n: usize) -> Graph {
    let edges: Vec<_> = (0..n as u32).map(|i| (i, (i + 1) % n as u32, 1.0)).collect();
    build(n, &edges)
}

/// A star: vertex 0 tied to all others.
pub fn star(n: usize) -> Graph {
    let edges: Vec<_> = (1..n as u32).map(|i| (0, i, 1.0)).collect();
    build(n, &edges)
}

/// All pairs, unit weights: one nontrivial eigenvalue, n − 1 times.
pub fn complete(n: usize) -> Graph {
    let edges: Vec<_> = (0..n as u32).flat_map(|i| (i + 1..n as u32).map(move |j| (i, j, 1.0))).collect();
    build(n, &edges)
}

/// A grid of `height × width` vertices, four neighbours each, unit weights, numbered row by row.
pub fn grid(height: usize, width: usize) -> Graph {
    let mut edges = Vec::new();
    for r in 0..height {
        for c in 0..width {
            let v = (r * width + c) as u32;
            if c + 1 < width {
                edges.push((v, v + 1, 1.0));
            }
            if r + 1 < height {
                edges.push((v, v + width as u32, 1.0));
            }
        }
    }
    build(height * width, &edges)
}

/// Planted blocks: pairs inside a block of `sizes` are tied with probability `inside`, others with `outside`.
/// Weights are uniform in [0.5, 1.5).
pub fn planted(sizes: &[usize], inside: f64, outside: f64, seed: u64) -> Graph {
    let block: Vec<usize> =
        sizes.iter().enumerate().flat_map(|(b, &size)| std::iter::repeat_n(b, size)).collect();
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for i in 0..block.len() {
        for j in i + 1..block.len() {
            let chance = if block[i] == block[j] { inside } else { outside };
            if random.uniform() < chance {
                edges.push((i as u32, j as u32, 0.5 + random.uniform()));
            }
        }
    }
    build(block.len(), &edges)
}

/// A random graph: each pair tied with probability `density`, weights uniform in (0, 1].
pub fn random(n: usize, density: f64, seed: u64) -> Graph {
    random_weights(n, density, seed, |u| 1.0 - u)
}

/// A connected random graph whose weights spread over decades: 10^(uniform in [−decades, decades]).
pub fn wide(n: usize, density: f64, decades: f64, seed: u64) -> Graph {
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for j in 1..n {
        let spread = |random: &mut Random| 10_f64.powf(decades * (2.0 * random.uniform() - 1.0));
        let parent = random.below(j);
        edges.push((parent as u32, j as u32, spread(&mut random)));
        for i in 0..j {
            if random.uniform() < density {
                edges.push((i as u32, j as u32, spread(&mut random)));
            }
        }
    }
    build(n, &edges)
}

fn random_weights(n: usize, density: f64, seed: u64, weight: impl Fn(f64) -> f64) -> Graph {
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for i in 0..n as u32 {
        for j in i + 1..n as u32 {
            if random.uniform() < density {
                edges.push((i, j, weight(random.uniform())));
            }
        }
    }
    build(n, &edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gallery_graphs_have_the_expected_shape() {
        assert_eq!(toy(0.5).n_edges(), 9);
        assert_eq!(toy(0.5).degrees()[6], 0.5);
        assert_eq!(path(5).n_edges(), 4);
        assert_eq!(cycle(5).n_edges(), 5);
        assert_eq!(star(5).degrees()[0], 4.0);
        assert_eq!(complete(5).n_edges(), 10);
        assert_eq!(grid(3, 4).n_edges(), 17);
        assert_eq!(wide(30, 0.1, 12.0, 1).components().n_segments(), 1);
        assert_eq!(planted(&[5, 5], 1.0, 0.0, 0).components().n_segments(), 2);
    }
}
