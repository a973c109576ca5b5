//! What becomes of the doorbell's protocol when one word of the shipped source is weakened.

use crate::models::{self, Model, Recheck};
use crate::sync::{Mutant, Weakening, on_mutant};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a model fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Somebody sleeps, and nobody will wake them.
    Deadlock,
    /// Two threads are at one place in memory, unordered.
    Race,
    /// What came is not what was accepted.
    Lost,
    /// The account does not balance.
    Unbalanced,
    /// A thread goes round and round, with nobody else to wait for.
    Endless,
    /// An arm was answered by more than one write.
    TooManyRings,
}

use Failure::{Deadlock, Endless, Lost, Race, TooManyRings, Unbalanced};
use Weakening::{NoAcquire, NoRelease, Skip, Split};

impl Failure {
    /// The failure that a panic's message tells of.
    fn told_by(message: &str) -> Option<Failure> {
        let tellings = [
            ("deadlock", Deadlock),
            ("Causality violation", Race),
            ("lost or doubled", Lost),
            ("exceeded maximum number of branches", Endless),
            ("unbalanced", Unbalanced),
            ("more than one write an arm", TooManyRings),
        ];
        tellings.into_iter().find(|(telling, _)| message.contains(telling)).map(|(_, is)| is)
    }
}

/// Checks `model`, which has to fail, and says how.
pub fn failure_of(model: Model) -> Failure {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| model.check())) else {
        panic!("the model holds")
    };
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Failure::told_by(message).unwrap_or_else(|| panic!("it fails otherwise: {message}"))
}

/// A file of the protocol, and its text.
struct Source(&'static str, &'static str);

const RING: Source = Source("ring.rs", include_str!("../../src/doorbell/ring.rs"));
const CHANNEL: Source = Source("channel.rs", include_str!("../../src/doorbell/channel.rs"));
const ROOM: Source = Source("room.rs", include_str!("../../src/doorbell/room.rs"));
const ACCOUNT: Source = Source("account.rs", include_str!("../../src/doorbell/account.rs"));

impl Source {
    /// The mutant that is weakened in the one line which contains `operation`.
    fn weakened(&self, operation: &str, weakening: Weakening) -> Mutant {
        let lines = (1..).zip(self.1.lines());
        let found: Vec<u32> =
            lines.filter(|(_, line)| line.contains(operation)).map(|(number, _)| number).collect();
        let [line] = found[..] else { panic!("{operation:?} is in the lines {found:?}") };
        Mutant { file: self.0, line, weakening }
    }
}

type Row = (Source, &'static str, Weakening, fn() -> Model, Failure);

fn one_producer() -> Model {
    models::pushing(1, 2, 2, Recheck::Believed)
}

fn one_slot() -> Model {
    models::pushing(1, 3, 1, Recheck::Believed)
}

fn two_producers() -> Model {
    models::pushing(2, 1, 2, Recheck::Believed)
}

/// Every operation that has an order to lose, and those that may not be left out.
const ROWS: [Row; 33] = [
    (RING, "tail.compare_exchange_weak", NoAcquire, one_producer, Deadlock),
    (RING, "tail.compare_exchange_weak", NoRelease, models::passing_room_on, Endless),
    (RING, "tail.fetch_add(0", NoAcquire, models::passing_room_on, Endless),
    (RING, "tail.compare_exchange_weak", Split, two_producers, Race),
    (RING, "head_seen.load(Ordering::Acquire)", NoAcquire, models::passing_room_on, Race),
    (RING, "head_seen.store(head.0, Ordering::Release)", NoRelease, models::passing_room_on, Race),
    (RING, "self.head.0.load(Ordering::Acquire)", NoAcquire, one_slot, Race),
    (RING, "slot.sequence.store", NoRelease, one_producer, Race),
    (RING, "sequence.load(Ordering::Acquire)", NoAcquire, one_producer, Race),
    (RING, "self.head.0.swap", NoRelease, one_slot, Race),
    (RING, "self.head.0.swap", NoAcquire, models::waiting_for_room, Deadlock),
    (RING, "self.head.0.swap", Split, models::waiting_for_room, Deadlock),
    (RING, "self.head.0.fetch_add(0", NoRelease, models::waiting_for_room, Deadlock),
    (RING, "self.head.0.fetch_add(0", NoAcquire, models::waiting_for_room_in_turn, Deadlock),
    (RING, "self.head.0.fetch_add(0", Split, models::waiting_for_room, Deadlock),
    (RING, "position.load(Ordering::Acquire)", NoAcquire, models::seeing_the_end, Race),
    (RING, "position.fetch_add(0", NoAcquire, models::seeing_the_end, Race),
    (RING, "position.fetch_add(0", NoRelease, one_producer, Deadlock),
    (RING, "position.fetch_add(0", Split, one_producer, Deadlock),
    (RING, "fetch_or(CLOSED", NoAcquire, models::last_sender_dropped, Deadlock),
    (RING, "fetch_or(CLOSED", NoRelease, models::seeing_the_end, Race),
    (RING, "fetch_or(CLOSED", Split, models::close_while_pushing, Deadlock),
    (CHANNEL, ".compare_exchange(SLEEPING, RUNG", Split, two_producers, TooManyRings),
    (CHANNEL, "compare_exchange(rung, sleeping", Skip, models::failed_ring, Deadlock),
    (CHANNEL, "state.store(SLEEPING", Skip, one_producer, Deadlock),
    (ROOM, "waiting.fetch_add(1", Skip, models::waiting_for_room, Deadlock),
    (ROOM, "drop(lock(&self.lock))", Skip, models::waiting_for_room, Deadlock),
    (ACCOUNT, "version.wrapping_add(1)", Skip, models::snapshot, Unbalanced),
    (ACCOUNT, "fence(Ordering::Release)", Skip, models::snapshot, Unbalanced),
    (ACCOUNT, "version.wrapping_add(2)", NoRelease, models::snapshot, Unbalanced),
    (ACCOUNT, "version.load(Ordering::Acquire)", NoAcquire, models::snapshot, Unbalanced),
    (ACCOUNT, "fence(Ordering::Acquire)", Skip, models::snapshot, Unbalanced),
    (ACCOUNT, "version.wrapping_add(2)", Skip, models::snapshot, Unbalanced),
];

pub fn each_fails() {
    let survives = |(source, operation, weakening, model, failure): &Row| {
        let mutant = source.weakened(operation, *weakening);
        let is = on_mutant(mutant, || failure_of(model()));
        eprintln!("{}: {operation} with {weakening:?}: {is:?}", source.0);
        is != *failure
    };
    let wrong: Vec<_> = ROWS.iter().filter(|row| survives(row)).map(|row| (row.1, row.2)).collect();
    assert!(wrong.is_empty(), "they fail in another way: {wrong:?}");
}

/// No order is stronger than the models ask for.
pub fn each_order_has_a_mutant() {
    for source in [RING, CHANNEL, ROOM, ACCOUNT] {
        for line in source.1.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let asked: &[Weakening] = match line {
                line if line.contains("fence(Ordering::") => &[Skip],
                line if line.contains("Ordering::AcqRel") => &[NoAcquire, NoRelease],
                line if line.contains("Ordering::Acquire") => &[NoAcquire],
                line if line.contains("Ordering::Release") => &[NoRelease],
                _ => &[],
            };
            for weakening in asked {
                let is_there =
                    |row: &Row| row.0.0 == source.0 && line.contains(row.1) && row.2 == *weakening;
                assert!(ROWS.iter().any(is_there), "{}: {line} with {weakening:?}", source.0);
            }
        }
    }
}
