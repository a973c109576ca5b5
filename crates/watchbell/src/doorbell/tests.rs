//! What no user of a doorbell can do: stop in the middle of a push, and lose an item.
#![allow(clippy::unwrap_used)]

use super::{Armed, doorbell};
use crate::Ledger;
use crate::event_loop::{EventLoop, Registration};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

#[test]
fn d06_a_producer_stopped_between_claim_and_publication_loses_nothing() {
    let (bell, mut queue) = doorbell(4).unwrap();
    let ring = &bell.shared().channel.ring;
    let publish = ring.push_in_halves(1);
    bell.push(2).unwrap();
    assert_eq!((queue.pop(), queue.has_item()), (None, false), "nothing overtakes a claim");
    assert_eq!(queue.arm(), Armed::SleepBriefly);
    assert_eq!(bell.ledger(), Ledger { accepted: 1, owned: 1, ..Ledger::default() });
    bell.close();
    assert_eq!(queue.arm(), Armed::SleepBriefly, "it was claimed before the end");
    publish();
    assert_eq!(queue.arm(), Armed::Item);
    assert_eq!((queue.pop(), queue.pop(), queue.arm()), (Some(1), Some(2), Armed::Closed));
}

/// Its publication rings nobody here: its producer has looked too early.
#[test]
fn d06_a_loop_beside_a_stopped_producer_sleeps_and_looks_again() {
    let (bell, queue) = doorbell(4).unwrap();
    let mut events = EventLoop::new().unwrap();
    let came = Rc::new(RefCell::new(Vec::new()));
    let list = Rc::clone(&came);
    events
        .add(queue, Registration::default(), move |item, _| {
            list.borrow_mut().push(item);
            Ok(())
        })
        .unwrap();
    events.turn(Some(Duration::ZERO)).unwrap();
    let ring = &bell.shared().channel.ring;
    let publish = ring.push_in_halves(1);
    let begin = Instant::now();
    (0..20).for_each(|_| events.turn(None).unwrap());
    let slept = Duration::from_micros((0..20).map(|turn| (10 << turn).min(1000)).sum());
    assert!(begin.elapsed() >= slept, "each sleep in a row is twice as long, to a millisecond");
    assert!(came.borrow().is_empty());
    publish();
    events.turn(None).unwrap();
    events.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!(*came.borrow(), [1]);
}

#[test]
fn d10_an_item_published_after_its_queue_is_owned_until_it_is_dropped_with_the_ring() {
    let (bell, queue) = doorbell(4).unwrap();
    let item = Rc::new(());
    bell.push(Rc::clone(&item)).unwrap();
    let ring = &bell.shared().channel.ring;
    let publish = ring.push_in_halves(Rc::clone(&item));
    drop(queue);
    publish();
    let expected = Ledger { accepted: 2, processed: 0, returned: 1, owned: 1 };
    assert_eq!((bell.ledger(), Rc::strong_count(&item)), (expected, 2));
    drop(bell);
    assert_eq!(Rc::strong_count(&item), 1);
}

#[test]
fn d11_a_lost_item_unbalances_the_ledger() {
    let (bell, mut queue) = doorbell(4).unwrap();
    (0..3).for_each(|item| bell.push(item).unwrap());
    assert_eq!(queue.pop(), Some(0));
    assert!(bell.ledger().balances());
    assert_eq!(queue.lose(), Some(1));
    let unbalanced = Ledger { accepted: 3, processed: 1, returned: 0, owned: 1 };
    assert_eq!(bell.ledger(), unbalanced);
    assert!(!unbalanced.balances());
    assert_eq!(queue.reclaim(), [2]);
    assert!(!bell.ledger().balances(), "and so it stays");
}
