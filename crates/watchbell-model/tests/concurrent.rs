//! The model's permissive level against the running kernel: programs of two and three threads.

mod compare;

use compare::concurrent::{allowed, listing, observed, program};
use compare::linux::Linux;
use compare::random::Random;

/// Programs, runs of each on Linux, and the states that the model may try for one.
const PROGRAMS: usize = 500;
const RUNS: usize = 40;
const MOST: usize = 60_000;

#[test]
fn every_outcome_of_linux_is_allowed_by_the_model() {
    let mut linux = Linux::new();
    let mut random = Random(1);
    let (mut compared, mut skipped, mut outcomes, mut possible) = (0, 0, 0, 0);
    let mut outside = Vec::new();
    while compared < PROGRAMS {
        let (threads, length) = [(2, 3), (2, 3), (3, 2), (2, 4)][random.below(4)];
        let program = program(&mut random, threads, length);
        let Some(allowed) = allowed(&program, MOST) else {
            skipped += 1;
            continue;
        };
        let observed = observed(&mut linux, &program, RUNS, &mut random);
        let strange = observed.keys().filter(|outcomes| !allowed.contains(*outcomes));
        outside.extend(strange.map(|outcomes| listing(&program, outcomes)));
        compared += 1;
        outcomes += observed.len();
        possible += allowed.len();
    }
    eprintln!(
        "programs={compared} skipped={skipped} seen={outcomes} of {possible} outside={}",
        outside.len()
    );
    assert!(outside.is_empty(), "seen on Linux, not in the model:\n{}", outside.join("\n"));
}
