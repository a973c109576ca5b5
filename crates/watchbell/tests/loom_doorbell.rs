//! The doorbell's protocol, in every interleaving that loom can think of: the files that ship,
//! compiled against loom's atomics. docs/doorbell.md says what each model is for.
#![allow(clippy::unwrap_used, clippy::type_complexity)]
#![allow(dead_code, unreachable_pub, reason = "the shipped files, of which this uses a part")]

#[path = "../src/doorbell/account.rs"]
mod account;
#[path = "../src/doorbell/channel.rs"]
mod channel;
#[path = "support/doorbell_models.rs"]
mod models;
#[path = "support/doorbell_mutants.rs"]
mod mutants;
#[path = "../src/doorbell/ring.rs"]
mod ring;
#[path = "../src/doorbell/room.rs"]
mod room;
#[path = "support/weakened.rs"]
mod sync;

use models::Recheck;

/// Makes a test of each model.
macro_rules! holds {
    ($($name:ident: $model:expr;)*) => {$(
        #[test]
        fn $name() {
            let (executions, time) = $model.check();
            eprintln!("{}: {executions} executions in {time:.2?}", stringify!($name));
        }
    )*};
}

holds! {
    d05_one_producer_of_two_items: models::pushing(1, 2, 2, Recheck::Believed);
    d05_one_producer_of_three_items_in_one_slot: models::pushing(1, 3, 1, Recheck::Believed);
    d05_two_producers: models::pushing(2, 1, 2, Recheck::Believed);
    d05_a_batch: models::batch();
    d10_close_while_pushing: models::close_while_pushing();
    d10_last_sender_dropped_after_its_ring: models::last_sender_dropped();
    d03_a_ring_that_failed_is_made_by_the_next_push: models::failed_ring();
    d10_waiting_for_room: models::waiting_for_room();
    d10_waiting_for_room_in_turn: models::waiting_for_room_in_turn();
    d10_waiting_for_room_until_the_end: models::waiting_for_the_end();
    d05_room_that_one_producer_has_seen: models::passing_room_on();
    d10_the_end_is_seen_with_what_came_before: models::seeing_the_end();
    d11_a_snapshot_at_any_moment: models::snapshot();
}

#[test]
fn d06_a_flag_cleared_after_the_drain_loses_a_wake() {
    let twin = models::pushing(1, 1, 1, Recheck::Ignored);
    assert_eq!(mutants::failure_of(twin), mutants::Failure::Deadlock);
}

#[test]
fn d06_no_recheck_loses_a_wake() {
    let twin = models::pushing(1, 1, 1, Recheck::None);
    assert_eq!(mutants::failure_of(twin), mutants::Failure::Deadlock);
}

#[test]
fn d06_the_shipped_source_weakened_in_one_place_fails() {
    mutants::each_fails();
}

#[test]
fn d06_every_order_in_the_shipped_source_is_needed() {
    mutants::each_order_has_a_mutant();
}
