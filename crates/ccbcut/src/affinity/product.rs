//! Several affinities at once: the product of their weights, each to a power of its own.

use std::sync::Arc;

use super::Affinity;
use crate::{
    error::{Error, Result},
    graph::Graph,
    image::Image,
};

/// w = Π wᵢ^aᵢ: pixels are tied as far as all agree.
///
/// ```
/// use ccbcut::{Image, affinity::{Affinity, LabAffinity, ProductAffinity}};
/// let image = Image::new(1, 2, 1, vec![0.50, 0.52])?;
/// let squared = ProductAffinity::new().and(LabAffinity::default(), 2.0).graph(&image)?;
/// let plain = LabAffinity::default().graph(&image)?;
/// assert!((squared.degrees()[0] - plain.degrees()[0].powi(2)).abs() < 1e-7);
/// # Ok::<(), ccbcut::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ProductAffinity {
    factors: Vec<(Arc<dyn Affinity + Send + Sync>, f64)>,
}

impl ProductAffinity {
    /// No factor yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more factor, to a power of 0 or more. All must tie the same pixels.
    #[must_use]
    pub fn and(mut self, affinity: impl Affinity + Send + Sync + 'static, power: f64) -> Self {
        self.factors.push((Arc::new(affinity), power));
        self
    }
}

impl Affinity for ProductAffinity {
    fn name(&self) -> &'static str {
        match &self.factors[..] {
            [(only, _)] => only.name(),
            _ => "product",
        }
    }

    fn graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        if let Some((_, power)) = self.factors.iter().find(|(_, power)| !(power.is_finite() && *power >= 0.0))
        {
            let (name, value) = ("the power of an affinity", *power);
            return Err(Error::InvalidParameter { name, value, expected: "0 or more, and finite" });
        }
        let mut product: Option<Graph> = None;
        for (affinity, power) in &self.factors {
            product = Some(match product {
                None if *power == 1.0 => affinity.graph_masked(image, mask)?,
                None => {
                    let factor = affinity.graph_masked(image, mask)?;
                    factor.map_pixel_weights(None, |w, _| raised(w, *power))?
                }
                Some(product) => {
                    let factor = affinity.passing_graph_masked(image, mask)?;
                    product.map_pixel_weights(Some(&factor), |w, f| w * raised(f, *power))?
                }
            });
        }
        let (name, value) = ("the number of affinities", 0.0);
        product.ok_or(Error::InvalidParameter { name, value, expected: "at least 1" })
    }

    fn passing_graph_masked(&self, image: &Image, mask: Option<&[bool]>) -> Result<Graph> {
        match &self.factors[..] {
            [(only, power)] if *power == 1.0 => only.passing_graph_masked(image, mask),
            _ => self.graph_masked(image, mask),
        }
    }
}

/// w^a, where no edge stays no edge.
fn raised(w: f32, power: f64) -> f32 {
    if w == 0.0 || power == 1.0 { w } else { f64::from(w).powf(power) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        affinity::{ContourAffinity, LabAffinity, LabKernel, Neighborhood},
        image::contours::Contours,
    };

    #[test]
    fn weights_are_multiplied() {
        let data = (0..5 * 6 * 3).map(|i| (i * 7 % 11) as f32 / 40.0).collect();
        let image = Image::new(5, 6, 3, data).unwrap();
        let near = Neighborhood::new(2.0);
        let lab = LabAffinity::new(LabKernel::Gaussian { sigma: 20.0 }).neighborhood(near);
        let strengths = (0..30).map(|i| (i % 4) as f32 / 10.0).collect();
        let lines = ContourAffinity::given(Contours::new(5, 6, strengths).unwrap()).neighborhood(near);
        // The weights of a colour graph that is only passed over are found row by row: in either order the product is the same.
        let other = ProductAffinity::new().and(lines.clone(), 1.0).and(lab, 0.5).graph(&image).unwrap();
        let product = ProductAffinity::new().and(lab, 0.5).and(lines.clone(), 1.0);
        let product = product.graph(&image).unwrap();
        assert_eq!(other.map_edges(|_, _, w| w), product.map_edges(|_, _, w| w));
        let (lab, lines) = (lab.graph(&image).unwrap(), lines.graph(&image).unwrap());
        assert_eq!(product.n_edges(), lab.n_edges());
        product.for_each_edge(|i, j, w| {
            let want = lab.weight(i, j).sqrt() * lines.weight(i, j);
            assert!((w - want).abs() <= 1e-6 * want, "{w}, not {want}");
        });
    }

    #[test]
    fn factors_must_fit_together() {
        let image = Image::new(5, 6, 1, vec![0.5; 30]).unwrap();
        assert!(ProductAffinity::new().graph(&image).is_err());
        let bad = ProductAffinity::new().and(LabAffinity::default(), -1.0).graph(&image);
        assert!(matches!(bad, Err(Error::InvalidParameter { value: -1.0, .. })));
        let near = LabAffinity::default().neighborhood(Neighborhood::new(1.0));
        let apart = ProductAffinity::new().and(LabAffinity::default(), 1.0).and(near, 1.0).graph(&image);
        assert!(matches!(apart, Err(Error::ShapeMismatch { .. })));
        let none = ProductAffinity::new().and(LabAffinity::default(), 0.0).graph(&image).unwrap();
        none.for_each_edge(|_, _, w| assert_eq!(w, 1.0));
    }
}
