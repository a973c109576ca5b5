//! Rules broken on purpose: the comparison with Linux finds each.
//!
//! For every rule the model is run with that one rule broken, on the same random sequences that
//! `tests/differential.rs` and `tests/waiters.rs` run. A rule that could be broken without a
//! mismatch within their number of sequences would be a rule that nothing tests.

mod compare;

use compare::linux::Linux;
use compare::sequence::{self, Tally};
use compare::waiters;
use watchbell_model::Rule;

/// Sequences of one thread, and of several, within which each must be found.
const BUDGET: (u64, u64) = (30_000, 2_000);

#[test]
fn every_broken_rule_is_found() {
    waiters::one_cpu();
    let mut linux = Linux::new();
    let mut unnoticed = Vec::new();
    eprintln!("| rule broken | sequences to find it | by |\n| --- | --- | --- |");
    for rule in Rule::ALL {
        match find(&mut linux, *rule) {
            Some((sequences, by)) => eprintln!("| {rule:?} | {sequences} | {by} |"),
            None => unnoticed.push(rule),
        }
    }
    assert!(unnoticed.is_empty(), "broken, and nobody noticed: {unnoticed:?}");
}

fn find(linux: &mut Linux, rule: Rule) -> Option<(u64, &'static str)> {
    let mut tally = Tally::default();
    if sequence::compare(linux, BUDGET.0, 1, Some(rule), &mut tally).is_err() {
        return Some((tally.sequences, "one thread"));
    }
    let mut tally = Tally::default();
    let found = waiters::compare(linux, BUDGET.1, 1, Some(rule), &mut tally).is_err();
    found.then_some((tally.sequences, "threads that wait"))
}
