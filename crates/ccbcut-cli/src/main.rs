//! The command `ccbcut`.
fn main() {}
