//! Tool: k-means. (stand-in until the partition room lands)
use crate::error::Result;
/// stand-in
pub struct KMeans { k: usize }
/// stand-in
pub struct Fit { /// l
 pub labels: Vec<u32> }
impl KMeans {
    /// n
    pub fn new(k: usize) -> Self { Self { k } }
    /// n
    pub fn seed(self, _: u64) -> Self { self }
    /// n
    pub fn fit(&self, d: &[f64], n: usize, m: usize, _: Option<&[f64]>) -> Result<Fit> {
        let mut o: Vec<usize> = (0..n).collect();
        o.sort_by(|&a, &b| d[a * m].total_cmp(&d[b * m]));
        let mut l = vec![0; n];
        for (r, &i) in o.iter().enumerate() { l[i] = (r * self.k / n) as u32; }
        Ok(Fit { labels: l })
    }
}
