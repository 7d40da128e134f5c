use super::*;
use crate::{
    cluster::Partitioner,
    cost,
    graph::{Balance, gallery},
};

/// A tree of twelve leaves over planted blocks, and the graph.
fn planted() -> (crate::Graph, Tree, Dendrogram) {
    let graph = gallery::planted(&[40, 25, 10, 5], 0.5, 0.03, 2);
    let tree = Partitioner::new(12, 1.0).partition(&graph).unwrap().tree.unwrap();
    let saved = Dendrogram::of(&tree).unwrap();
    (graph, tree, saved)
}

fn ask(n_segments: usize) -> Recut {
    Recut { n_segments: Some(n_segments), ..Recut::default() }
}

#[test]
fn every_number_of_parts_is_that_of_the_tree() {
    let (graph, tree, saved) = planted();
    for k in 1..=12 {
        let selection = saved.select(&ask(k)).unwrap();
        let labels = Labels::from_raw(&saved.paint(&selection));
        assert_eq!(labels, tree.cut(k).unwrap());
        assert_eq!(saved.paint(&selection), labels.as_slice(), "numbered by first appearance already");
        assert_eq!((selection.sizes.clone(), selection.cost), (labels.sizes(), tree.costs()[k - 1]));
        let own = cost::ccb_cut(&graph, &labels, &Balance::Normalized, 1.0).unwrap();
        assert!((selection.cost - own).abs() <= 1e-12 * own.max(1.0));
    }
    assert_eq!(saved.select(&ask(13)), Err(Error::TooFewParts { asked: 13, possible: 12 }));
    assert!(saved.select(&ask(0)).is_err());
}

#[test]
fn sizes_and_costs_are_kept_and_costs_are_true() {
    let (graph, _, saved) = planted();
    for min_size in [1, 2, 5, 10, 30, 80] {
        for max_size in [None, Some(45), Some(20)] {
            for n_segments in [None, Some(2), Some(4), Some(7)] {
                let recut = Recut { n_segments, min_size, max_size, max_cost: None };
                let Ok(selection) = saved.select(&recut) else { continue };
                let labels = Labels::from_raw(&saved.paint(&selection));
                assert_eq!(labels.sizes(), selection.sizes, "{recut:?}");
                assert!(selection.sizes.iter().all(|&s| s >= min_size && max_size.is_none_or(|m| s <= m)));
                assert!(n_segments.is_none_or(|k| k == selection.sizes.len()), "{recut:?}");
                let own = cost::ccb_cut(&graph, &labels, &Balance::Normalized, 1.0).unwrap();
                assert!((selection.cost - own).abs() <= 1e-12 * own.max(1.0), "{recut:?}");
            }
        }
    }
    let finest = saved.select(&Recut { min_size: 5, ..Recut::default() }).unwrap();
    assert!(finest.sizes.len() >= 2, "{:?}", finest.sizes);
    // The cost alone: as many parts as it pays for, each cut of the tree by its own cost.
    for k in 1..=12 {
        let cost = saved.tree().costs()[k - 1];
        let selection = saved.select(&Recut { max_cost: Some(cost), ..Recut::default() }).unwrap();
        assert!(selection.sizes.len() >= k && selection.cost <= cost);
    }
    let selection = saved.select(&Recut { max_cost: Some(0.0), ..ask(5) }).unwrap();
    assert_eq!(selection.sizes.len(), 1, "a cost is a limit, not a number of parts");
    assert!(saved.select(&Recut { max_cost: Some(f64::NAN), ..Recut::default() }).is_err());
}

#[test]
fn what_the_tree_does_not_have_is_an_error() {
    let (_, _, saved) = planted();
    let large = saved.select(&Recut { max_size: Some(1), ..Recut::default() });
    assert!(matches!(large, Err(Error::PartTooLarge { limit: 1, .. })), "{large:?}");
    let least = saved.select(&Recut { max_size: Some(45), ..Recut::default() }).unwrap().sizes.len();
    let few = saved.select(&Recut { max_size: Some(45), ..ask(1) });
    assert_eq!(few, Err(Error::TooManyParts { least, asked: 1 }));
    let many = saved.select(&Recut { min_size: 30, ..ask(9) });
    assert!(matches!(many, Err(Error::TooFewParts { asked: 9, .. })));
}

#[test]
fn the_linkage_is_read_back_and_its_mistakes_are_found() {
    let (_, _, saved) = planted();
    let rows = saved.linkage();
    assert_eq!(rows.len(), 11);
    assert_eq!((rows[0][2], rows[10][2], rows[10][3]), (1.0, 11.0, 12.0));
    let costs = saved.tree().costs();
    let again = Dendrogram::from_linkage(&rows, costs, saved.leaf().to_vec()).unwrap();
    assert_eq!(again, saved);
    let single = Dendrogram::from_linkage(&[], &[0.0], vec![0, 0, LabelMap::VOID]).unwrap();
    assert_eq!(single.paint(&single.select(&ask(1)).unwrap()), [0, 0, LabelMap::VOID]);
    let broken = |change: fn(&mut Vec<[f64; 4]>)| {
        let mut rows = rows.clone();
        change(&mut rows);
        Dendrogram::from_linkage(&rows, costs, saved.leaf().to_vec())
    };
    assert!(matches!(broken(|r| r[0][0] = r[0][1]), Err(Error::InvalidParameter { .. })));
    assert!(matches!(broken(|r| r[0][0] = 12.0), Err(Error::InvalidParameter { .. })));
    assert!(matches!(broken(|r| r[0][0] = -1.0), Err(Error::InvalidParameter { .. })));
    assert!(matches!(broken(|r| r[0][0] = 0.5), Err(Error::InvalidParameter { .. })));
    assert!(matches!(broken(|r| r[0][0] = f64::NAN), Err(Error::InvalidParameter { .. })));
    assert!(matches!(broken(|r| r[3][2] = 0.0), Err(Error::InvalidParameter { .. })));
    assert!(matches!(broken(|r| r.truncate(10)), Err(Error::ShapeMismatch { .. })));
    assert!(matches!(Dendrogram::from_linkage(&[], &[f64::NAN], vec![]), Err(Error::NotFinite { .. })));
    assert!(matches!(Dendrogram::from_linkage(&[], &[0.0], vec![1]), Err(Error::IndexOutOfRange { .. })));
}
