//! The command `watchbell`.

fn main() {}
