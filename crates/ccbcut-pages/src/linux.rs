//! Mappings of their own for large blocks.

use std::alloc::{GlobalAlloc, Layout, System};

/// The global allocator of the command.
pub struct LargePages;

/// A large page, and the smallest block that is given one.
const PAGE: usize = 2 << 20;

/// The largest of the small pages that systems have.
const SMALL: usize = 64 << 10;

/// What a block takes: whole small pages.
fn rounded(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(SMALL)
}

/// Zeroed memory that begins at a large page, or null.
fn reserve(size: usize) -> *mut u8 {
    let Some(size) = rounded(size) else { return std::ptr::null_mut() };
    let Some(room) = size.checked_add(PAGE) else { return std::ptr::null_mut() };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new private mapping touches nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), room, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return std::ptr::null_mut();
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
        start.cast()
    }
}

/// Gives back what [`reserve`] returned for this size.
///
/// # Safety
/// The block is in nobody's hands any more.
unsafe fn release(block: *mut u8, size: usize) {
    if let Some(size) = rounded(size) {
        // SAFETY: the mapping is [block, block + size), see `reserve`.
        unsafe { libc::munmap(block.cast(), size) };
    }
}

/// Whether a block is one of ours.
fn is_large(layout: Layout) -> bool {
    layout.size() >= PAGE && layout.align() <= SMALL
}

// SAFETY: blocks come from the system's allocator or from mappings of their own, depending on nothing but the layout, which
// the caller gives back unchanged; `realloc` is the trait's, where either side is ours.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        if is_large(layout) { reserve(layout.size()) } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        if is_large(layout) { reserve(layout.size()) } else { unsafe { System.alloc_zeroed(layout) } }
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
        let sizes = [1, 4096, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 12_345];
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
        let sizes = [10, PAGE, 5 * PAGE, 2 * PAGE, 100, PAGE - 1, 2 * PAGE, 4 * PAGE];
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
        let layout = Layout::from_size_align(3 * PAGE, 8).unwrap();
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
        assert!(reserve(usize::MAX).is_null());
    }
}
