//! The model against the running kernel: random sequences with threads that are blocked.

mod compare;

use compare::linux::Linux;
use compare::sequence::Tally;
use compare::waiters::{compare, one_cpu};
use watchbell_model::Rule;

/// A few seconds of an idle machine.
const SEQUENCES: u64 = 2_000;

/// Rules that only show where a thread is blocked.
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
fn every_order_of_waking_is_linuxs() {
    one_cpu();
    let mut tally = Tally::default();
    if let Err(mismatch) = compare(&mut Linux::new(), SEQUENCES, 1, None, &mut tally) {
        panic!("no order of running agrees with Linux:\n{}", mismatch.listing);
    }
    for (rule, kept) in Rule::ALL.iter().zip(&tally.kept) {
        if NEED_WAITERS.contains(rule) {
            eprintln!("{rule:?}: {kept}");
            assert!(*kept >= 20, "{rule:?} decided only {kept} times: the sequences avoid it");
        }
    }
}
