//! The model against the running kernel: random sequences with threads that wait.

mod compare;

use compare::linux::Linux;
use compare::sequence::Tally;
use compare::waiters::{compare, one_cpu};

const SEQUENCES: u64 = 2_000;

#[test]
fn every_order_of_waking_is_linuxs() {
    one_cpu();
    let mut tally = Tally::default();
    if let Err(mismatch) = compare(&mut Linux::new(), SEQUENCES, 1, None, &mut tally) {
        panic!("no order of running agrees with Linux:\n{}", mismatch.listing);
    }
    eprintln!("sequences={} operations={}", tally.sequences, tally.operations);
}
