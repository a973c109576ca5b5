//! The model against the running kernel: random sequences of calls by one thread.

mod compare;

use compare::linux::Linux;
use compare::sequence::{Tally, compare};
use watchbell_model::Rule;

/// About ten seconds of an idle machine.
const SEQUENCES: u64 = 30_000;

/// Rules that need a blocked thread to show; `tests/waiters.rs` tries them.
const NEED_WAITERS: &[Rule] = &[
    Rule::StopsAtExclusiveWithWaiter,
    Rule::WaitersNewestFirst,
    Rule::OneWaiterAWakeup,
    Rule::DeliveryWakesNext,
    Rule::CloseWakesNoWaiter,
    Rule::NonblockReadAtEntry,
    Rule::NonblockMeansNothingToEpoll,
];

#[test]
fn every_result_of_random_sequences_is_linuxs() {
    let mut tally = Tally::default();
    if let Err(mismatch) = compare(&mut Linux::new(), SEQUENCES, 1, None, &mut tally) {
        panic!("the model differs from Linux:\n{}", mismatch.listing());
    }
    for (rule, kept) in Rule::ALL.iter().zip(&tally.kept) {
        eprintln!("{rule:?}: {kept}");
        if !NEED_WAITERS.contains(rule) {
            assert!(*kept >= 100, "{rule:?} decided only {kept} times: the sequences avoid it");
        }
    }
}
