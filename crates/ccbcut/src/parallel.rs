//! Work on several cores with the same bytes as on one.
//!
//! Every parallel loop of the library goes through these functions. They cut the work into blocks whose size
//! does not depend on the number of threads, and combine partial results in block order, so that sums do not
//! change with the thread count. Without the `rayon` feature the same blocks run one after the other.

use std::sync::OnceLock;

/// More threads than this are nobody's wish: the systems below give up at some tens of thousands, and not with an error.
pub const MAX_THREADS: usize = 1024;

/// Length of the blocks that sums over vectors are cut into.
pub const SUM_BLOCK: usize = 4096;

/// Calls `f(block, chunk)` for each consecutive chunk of `data` (the last one may be shorter).
pub fn for_each_chunk<T: Send>(data: &mut [T], chunk: usize, f: impl Fn(usize, &mut [T]) + Sync + Send) {
    let chunk = chunk.max(1);
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        if data.len() > chunk {
            data.par_chunks_mut(chunk).enumerate().for_each(|(block, part)| f(block, part));
            return;
        }
    }
    data.chunks_mut(chunk).enumerate().for_each(|(block, part)| f(block, part));
}

/// The values `f(block, chunk)` for each consecutive chunk of `data` (the last one may be shorter), in order.
pub fn map_chunks<T: Send, R: Send>(
    data: &mut [T],
    chunk: usize,
    f: impl Fn(usize, &mut [T]) -> R + Sync + Send,
) -> Vec<R> {
    let chunk = chunk.max(1);
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        if data.len() > chunk {
            return data.par_chunks_mut(chunk).enumerate().map(|(block, part)| f(block, part)).collect();
        }
    }
    data.chunks_mut(chunk).enumerate().map(|(block, part)| f(block, part)).collect()
}

/// Calls `f(index, part)` for each of some parts, which may differ in size.
pub fn for_each_part<P: Send>(parts: Vec<P>, f: impl Fn(usize, P) + Sync + Send) {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        if parts.len() > 1 {
            parts.into_par_iter().enumerate().for_each(|(index, part)| f(index, part));
            return;
        }
    }
    parts.into_iter().enumerate().for_each(|(index, part)| f(index, part));
}

/// The values `f(0), …, f(n − 1)`, in order.
pub fn map<T: Send>(n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        if n > 1 {
            return (0..n).into_par_iter().map(f).collect();
        }
    }
    (0..n).map(f).collect()
}

/// Calls `f` for each node of a forest, for a parent when all its children are done. Parents have higher numbers.
pub fn up_trees(parents: &[Option<u32>], f: impl Fn(usize) + Sync + Send) {
    #[cfg(feature = "rayon")]
    {
        use std::sync::atomic::{AtomicU32, Ordering::AcqRel};
        let mut children = vec![0_u32; parents.len()];
        parents.iter().flatten().for_each(|&parent| children[parent as usize] += 1);
        let leaves = (0..parents.len()).filter(|&node| children[node] == 0).collect::<Vec<_>>();
        let undone: Vec<AtomicU32> = children.into_iter().map(AtomicU32::new).collect();
        // Whoever is done with the last child goes on with the parent, so that nobody waits for anybody.
        let climb = |leaf: usize| {
            let mut node = leaf;
            loop {
                f(node);
                let Some(parent) = parents[node].map(|parent| parent as usize) else { return };
                if undone[parent].fetch_sub(1, AcqRel) > 1 {
                    return;
                }
                node = parent;
            }
        };
        for_each_part(leaves, |_, leaf| climb(leaf));
    }
    #[cfg(not(feature = "rayon"))]
    (0..parents.len()).for_each(f);
}

/// What a cell holds, found now where it holds nothing yet.
///
/// Nobody waits for whoever is at it already, as with `OnceLock::get_or_init`: a thread that waits for a parallel loop goes on
/// with other work meanwhile, and that could be what asks for the cell again. So two may find the same thing; the first is kept.
pub fn once<T>(cell: &OnceLock<T>, find: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let found = find();
    cell.get_or_init(|| found)
}

/// Runs `f` on a thread of the pool. From outside every parallel loop is handed over and waited for; inside they start
/// at once.
pub fn inside<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    #[cfg(feature = "rayon")]
    return rayon::scope(|_| f());
    #[cfg(not(feature = "rayon"))]
    f()
}

/// Both results, perhaps at the same time.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "rayon")]
    return rayon::join(a, b);
    #[cfg(not(feature = "rayon"))]
    (a(), b())
}

/// Sum over `0..n` cut into blocks of [`SUM_BLOCK`]; `f(range)` is the partial sum of one block.
///
/// Short sums stay on one thread: handing a block over costs more than adding it up.
pub fn sum(n: usize, f: impl Fn(std::ops::Range<usize>) -> f64 + Sync + Send) -> f64 {
    if n <= 16 * SUM_BLOCK {
        let blocks = (0..n).step_by(SUM_BLOCK);
        return blocks.map(|first| f(first..(first + SUM_BLOCK).min(n))).sum();
    }
    sum_blocks(n, SUM_BLOCK, f)
}

/// Sum over `0..n` cut into blocks of `block`; partial sums are added in block order.
pub fn sum_blocks(n: usize, block: usize, f: impl Fn(std::ops::Range<usize>) -> f64 + Sync + Send) -> f64 {
    let block = block.max(1);
    if n <= block {
        return f(0..n);
    }
    map(n.div_ceil(block), |b| f(b * block..((b + 1) * block).min(n))).into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_the_number_of_threads() {
        let values: Vec<f64> = (0..50_000).map(|i| 1.0 / (1.0 + f64::from(i))).collect();
        let total = sum(values.len(), |r| values[r].iter().sum());
        let plain: f64 = values.chunks(SUM_BLOCK).map(|c| c.iter().sum::<f64>()).sum();
        assert_eq!(total.to_bits(), plain.to_bits());
    }

    /// One thread finds the value and waits for a second one meanwhile; a third has more work that asks for it, which the first
    /// one takes up.
    #[cfg(feature = "rayon")]
    #[test]
    fn who_finds_a_value_may_ask_for_it_meanwhile() {
        use std::{
            sync::{
                atomic::{AtomicBool, Ordering::SeqCst},
                mpsc,
            },
            thread,
            time::Duration,
        };
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let (cell, is_helped) = (OnceLock::new(), AtomicBool::new(false));
            let wait_for_help = || {
                while !is_helped.load(SeqCst) {
                    thread::yield_now();
                }
            };
            let help = || {
                is_helped.store(true, SeqCst);
                thread::sleep(Duration::from_millis(100));
            };
            let find = || {
                join(wait_for_help, help);
                7
            };
            let ask = || *once(&cell, find);
            let ask_more = || {
                wait_for_help();
                join(ask, ask)
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            done.send(pool.install(|| join(ask, ask_more))).unwrap();
        });
        // Whoever waits for itself is never done.
        assert_eq!(is_done.recv_timeout(Duration::from_secs(30)), Ok((7, (7, 7))));
    }

    #[test]
    fn children_come_before_their_parents() {
        use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
        // A chain, a star, a forest of random trees.
        let mut random = crate::random::Random::new(5);
        let chain: Vec<Option<u32>> = (1..40).map(Some).chain([None]).collect();
        let star: Vec<Option<u32>> = std::iter::repeat_n(Some(30), 30).chain([None]).collect();
        let forest = (0..300_usize)
            .map(|i| (i % 50 != 49).then(|| (i + 1 + random.below((49 - i % 50).min(9))) as u32))
            .collect();
        for parents in [chain, star, forest, vec![None], Vec::new()] {
            let (clock, done) = (AtomicU32::new(1), AtomicU32::new(0));
            let times: Vec<AtomicU32> = parents.iter().map(|_| AtomicU32::new(0)).collect();
            up_trees(&parents, |node| {
                done.fetch_add(1, SeqCst);
                times[node].store(clock.fetch_add(1, SeqCst), SeqCst);
            });
            assert_eq!(done.load(SeqCst) as usize, parents.len());
            for (node, parent) in parents.iter().enumerate() {
                let time = |node: usize| times[node].load(SeqCst);
                assert!(time(node) > 0 && parent.is_none_or(|parent| time(node) < time(parent as usize)));
            }
        }
    }

    #[test]
    fn chunks_cover_everything_once() {
        let mut data = vec![0_u32; 1000];
        for_each_chunk(&mut data, 64, |block, part| {
            for (k, x) in part.iter_mut().enumerate() {
                *x += (block * 64 + k) as u32;
            }
        });
        assert!(data.iter().enumerate().all(|(i, &x)| x == i as u32));
    }
}
