//! Mappings of their own for large blocks. Some that were given back are kept for the next block of their size: pages that
//! the kernel hands out must be zeroed first, which for a block of 8 MB takes as long as most of what is done with it.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The global allocator of the command.
pub struct LargePages;

/// A large page.
const PAGE: usize = 2 << 20;

/// The smallest block that is given some. All of a large page is in memory when a part of it is used, so that the last one of a
/// block, and the room that a growing vector keeps for later, should not count.
const LEAST: usize = 4 * PAGE;

/// The largest of the small pages that systems have.
const SMALL: usize = 64 << 10;

/// Blocks that are kept for the next one of their size, at most this many …
const MAX_KEPT: usize = 32;

/// … and this many bytes of them.
const MAX_KEPT_BYTES: usize = 48 << 20;

/// Of which so many stay when a block of a new size is asked for: the work has moved on.
const STAYING_BYTES: usize = 8 << 20;

/// Blocks that were given back, the oldest first.
struct Kept {
    addresses: [usize; MAX_KEPT],
    sizes: [usize; MAX_KEPT],
    count: usize,
    bytes: usize,
}

static KEPT: Mutex<Kept> =
    Mutex::new(Kept { addresses: [0; MAX_KEPT], sizes: [0; MAX_KEPT], count: 0, bytes: 0 });

impl Kept {
    /// Takes out the block at a place.
    fn remove(&mut self, at: usize) -> (usize, usize) {
        let taken = (self.addresses[at], self.sizes[at]);
        self.addresses.copy_within(at + 1..self.count, at);
        self.sizes.copy_within(at + 1..self.count, at);
        self.count -= 1;
        self.bytes -= taken.1;
        taken
    }

    fn push(&mut self, address: usize, size: usize) {
        self.addresses[self.count] = address;
        self.sizes[self.count] = size;
        self.count += 1;
        self.bytes += size;
    }

    /// The newest block of a size: its pages are most likely in a cache.
    fn find(&self, size: usize) -> Option<usize> {
        self.sizes[..self.count].iter().rposition(|&s| s == size)
    }
}

/// No code that may panic runs under this lock, and none that allocates.
fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a block takes: whole small pages, and eight sizes from each power of two to the next, so that blocks of nearly
/// one size fit in each other's place. What is not touched takes no memory.
fn rounded(size: usize) -> Option<usize> {
    let step = (1 << size.max(1).ilog2()) / 8;
    size.checked_next_multiple_of(step.max(SMALL))
}

/// Memory that begins at a large page, or null; whether it is zeroed.
fn reserve(size: usize) -> (*mut u8, bool) {
    let nothing = (std::ptr::null_mut(), false);
    let Some(size) = rounded(size) else { return nothing };
    let mut kept = kept();
    if let Some(at) = kept.find(size) {
        return (std::ptr::with_exposed_provenance_mut(kept.remove(at).0), false);
    }
    drop_oldest(kept, STAYING_BYTES);
    let Some(room) = size.checked_add(PAGE) else { return nothing };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new private mapping touches nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), room, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return nothing;
    }
    let before = base.addr().next_multiple_of(PAGE) - base.addr();
    // SAFETY: `before` is below PAGE, so all of it lies within the mapping, of which nobody else knows; what is left of
    // it is [start, start + size). Advice changes no contents, and may be refused.
    unsafe {
        let start = base.byte_add(before);
        if before > 0 {
            libc::munmap(base, before);
        }
        libc::munmap(start.byte_add(size), PAGE - before);
        libc::madvise(start, size, libc::MADV_HUGEPAGE);
        (start.cast(), true)
    }
}

/// Gives back what [`reserve`] returned for this size.
///
/// # Safety
/// The block is in nobody's hands any more.
unsafe fn release(block: *mut u8, size: usize) {
    let Some(size) = rounded(size) else { return };
    let mut kept = kept();
    if kept.count == MAX_KEPT || size > MAX_KEPT_BYTES {
        drop(kept);
        // SAFETY: the mapping is [block, block + size), see `reserve`.
        unsafe { libc::munmap(block.cast(), size) };
        return;
    }
    kept.push(block.expose_provenance(), size);
    drop_oldest(kept, MAX_KEPT_BYTES);
}

/// Gives the oldest blocks back to the system until no more than so many bytes are kept.
fn drop_oldest(mut kept: MutexGuard<'_, Kept>, most: usize) {
    let mut old = [(0, 0); MAX_KEPT];
    let mut n_old = 0;
    while kept.bytes > most {
        old[n_old] = kept.remove(0);
        n_old += 1;
    }
    drop(kept);
    for &(address, size) in &old[..n_old] {
        // SAFETY: the mapping is [address, address + size), see `reserve`, and it is in no list any more.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address), size) };
    }
}

/// Whether a block is one of ours.
fn is_large(layout: Layout) -> bool {
    layout.size() >= LEAST && layout.align() <= SMALL
}

// SAFETY: blocks come from the system's allocator or from mappings of their own, depending on nothing but the layout, which
// the caller gives back unchanged; `realloc` is the trait's, where either side is ours.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        if is_large(layout) { reserve(layout.size()).0 } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let (block, is_zeroed) = reserve(layout.size());
        if !block.is_null() && !is_zeroed {
            // SAFETY: the block is at least as large as asked for.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: a block of this layout came from `reserve`.
            unsafe { release(block, layout.size()) };
        } else {
            // SAFETY: and any other from the system.
            unsafe { System.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return std::ptr::null_mut() };
        if !is_large(layout) && !is_large(wanted) {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(block, layout, size) };
        }
        if is_large(layout) && is_large(wanted) && rounded(layout.size()) == rounded(size) {
            return block;
        }
        // SAFETY: the new block is as large as asked for, the old one at least as large as what is copied, and they are
        // different ones.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the kernel was asked for large pages at an address.
    fn has_advice(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        for line in maps.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let ends = range.map(|(a, b)| (usize::from_str_radix(a, 16), usize::from_str_radix(b, 16)));
            if let Some((Ok(a), Ok(b))) = ends {
                is_here = (a..b).contains(&address);
            } else if is_here && line.starts_with("VmFlags:") {
                return line.split_whitespace().any(|flag| flag == "hg");
            }
        }
        false
    }

    #[test]
    fn blocks_of_all_sizes_keep_what_is_written() {
        let sizes = [1, 4096, LEAST - 1, LEAST, LEAST + 1, 3 * LEAST + 12_345];
        for size in sizes {
            for align in [1, 64, 4096, 1 << 20] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: every block is written within its size, and given back with its layout.
                unsafe {
                    let block = LargePages.alloc_zeroed(layout);
                    assert!(!block.is_null() && block.addr().is_multiple_of(align));
                    assert!((0..size).step_by(997).all(|i| *block.add(i) == 0));
                    block.write(9);
                    block.add(size - 1).write(7);
                    assert!(*block == 9 || size == 1);
                    LargePages.dealloc(block, layout);
                }
            }
        }
    }

    #[test]
    fn growing_and_shrinking_keep_the_beginning() {
        let sizes = [10, LEAST, 5 * LEAST, 2 * LEAST, 100, LEAST - 1, LEAST + 1, LEAST + 2, 4 * LEAST];
        let mut layout = Layout::from_size_align(sizes[0], 8).unwrap();
        // SAFETY: every block is written within its size, and given back with its layout.
        unsafe {
            let mut block = LargePages.alloc(layout);
            (0..10).for_each(|i| block.add(i).write(i as u8));
            for size in sizes {
                block = LargePages.realloc(block, layout, size);
                layout = Layout::from_size_align(size, 8).unwrap();
                assert!((0..10).all(|i| block.add(i).read() == i as u8), "{size}");
                block.add(size - 1).write(3);
                (0..10).for_each(|i| block.add(i).write(i as u8));
            }
            LargePages.dealloc(block, layout);
        }
    }

    #[test]
    fn large_blocks_are_asked_for_in_large_pages() {
        let layout = Layout::from_size_align(3 * LEAST, 8).unwrap();
        // SAFETY: given back with its layout.
        unsafe {
            let block = LargePages.alloc(layout);
            assert!(block.addr().is_multiple_of(PAGE));
            // A kernel without large pages refuses the advice.
            if std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
                assert!(has_advice(block.addr()));
            }
            LargePages.dealloc(block, layout);
        }
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        let layout = Layout::from_size_align(isize::MAX as usize - 4096, 1).unwrap();
        // SAFETY: nothing is written.
        assert!(unsafe { LargePages.alloc(layout) }.is_null());
        assert!(reserve(usize::MAX).0.is_null());
    }

    #[test]
    fn what_is_kept_is_used_again_and_comes_zeroed_where_asked_for() {
        let layout = Layout::from_size_align(7 * PAGE + 4321, 8).unwrap();
        // SAFETY: every block is written within its size, and given back with its layout.
        unsafe {
            let first = LargePages.alloc(layout);
            first.write_bytes(5, layout.size());
            LargePages.dealloc(first, layout);
            let again = LargePages.alloc_zeroed(layout);
            assert!((0..layout.size()).all(|i| again.add(i).read() == 0));
            LargePages.dealloc(again, layout);
        }
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        for size in (1..80).map(|i| i * PAGE) {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: given back with its layout.
            unsafe { LargePages.dealloc(LargePages.alloc(layout), layout) };
            let kept = kept();
            let sum: usize = kept.sizes[..kept.count].iter().sum();
            assert!(kept.bytes <= MAX_KEPT_BYTES && sum == kept.bytes && kept.count <= MAX_KEPT);
        }
    }

    #[test]
    fn sizes_are_rounded_by_an_eighth_at_most() {
        for size in [LEAST, LEAST + 1, 3 * LEAST - 1, 100 * LEAST + 77, 1 << 40] {
            let rounded = rounded(size).unwrap();
            assert!(
                rounded >= size && rounded.is_multiple_of(SMALL) && rounded <= size + size / 8 + SMALL,
                "{size}"
            );
        }
    }
}
