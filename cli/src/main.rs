//! Tidegate.
fn main() {}
