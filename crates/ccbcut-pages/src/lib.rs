//! Tool: large blocks of memory in large pages.
//!
//! An image of 481 × 321 pixels has a graph of twelve million weights, and memory that is used for the first time is handed
//! over by the kernel 4 kB at a time. On a virtual machine each such page costs 2 to 3 µs, which for 300 MB is a fifth
//! of a second: half of the time of a whole cut. Linux hands over 2 MB at a time where it is asked to. The standard
//! library does not ask; [`LargePages`] does, for blocks of 8 MB and more, and leaves everything else to the system.
//!
//! This is the one crate of the command with `unsafe`: there is no other way to be an allocator.

#[cfg(target_os = "linux")]
pub use linux::LargePages;

/// Elsewhere the system's allocator, unchanged.
#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as LargePages;

#[cfg(target_os = "linux")]
mod linux;
