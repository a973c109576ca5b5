//! The two ends of a doorbell alone: what is accepted, what comes back, and where it all has gone.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/items.rs"]
mod items;
#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use items::{Items, assert_ledger};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use support::{observe, watchdog};
use watchbell::Ledger;
use watchbell::doorbell::{
    Armed, Doorbell, PushAllError, PushAllReason, PushError, Queue, doorbell, doorbell_on,
};
use watchbell::kernel::{Counting, Kernel, Linux};

on_every_kernel! {
    d04_items_come_in_order_and_refused_ones_come_back
    d04_a_capacity_is_exact_whether_or_not_a_power_of_two
    d04_one_slot_is_enough
    d04_items_without_size_and_large_ones
    d04_a_batch_says_what_was_accepted_and_hands_back_the_rest
    d04_a_producer_that_panics_in_a_batch_has_pushed_what_it_claimed
    d05_arm_looks_once_more
    d06_a_look_ends_the_armed_state
    d10_what_comes_after_the_end_comes_back
    d10_reclaim_hands_back_in_order
    d10_each_item_ends_once_whoever_has_it
    d10_a_destructor_that_panics_takes_no_other_item_along
    d11_an_item_in_hand_is_owned_and_then_processed_also_after_a_panic
    d11_a_snapshot_on_either_end_is_the_same
    d10_a_deadline_that_has_passed_is_full_at_once
}

mod bodies {
    use super::*;

    type Look<K> = fn(&mut Queue<u8, K>);
    type End<K> = fn(&Doorbell<u8, K>, Queue<u8, K>);

    fn pair<T, K: Kernel>(kernel: K, capacity: usize) -> (Doorbell<T, K>, Queue<T, K>) {
        doorbell_on(kernel, capacity).unwrap()
    }

    pub fn d04_items_come_in_order_and_refused_ones_come_back<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel, 3);
        for round in 0..1000 {
            let item = |n| (round, n);
            (0..3).for_each(|n| bell.push(item(n)).unwrap());
            assert_eq!(bell.push(item(3)), Err(PushError::Full(item(3))));
            assert_eq!(queue.pop(), Some(item(0)));
            bell.push(item(3)).unwrap();
            let mut came = Vec::new();
            assert_eq!(queue.drain(2, |item| came.push(item)), 2);
            assert_eq!(queue.drain(9, |item| came.push(item)), 1);
            assert_eq!(came, [item(1), item(2), item(3)]);
            assert_eq!(queue.pop(), None);
        }
        assert_ledger(bell.ledger(), [4000, 4000, 0, 0]);
    }

    pub fn d04_a_capacity_is_exact_whether_or_not_a_power_of_two<K: Kernel>(kernel: K) {
        for capacity in [1, 2, 3, 5, 7, 8, 9, 100, 1000] {
            let (bell, mut queue) = pair(kernel.clone(), capacity);
            assert_eq!(bell.capacity(), capacity);
            for _ in 0..3 {
                let accepted = (0..).take_while(|n| bell.push(*n).is_ok()).count();
                assert_eq!(accepted, capacity);
                assert_eq!(queue.drain(usize::MAX, |_| {}), capacity);
            }
        }
    }

    pub fn d04_one_slot_is_enough<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel, 1);
        for n in 0..1000 {
            bell.push(n).unwrap();
            assert_eq!(bell.push(n), Err(PushError::Full(n)));
            assert_eq!(queue.pop(), Some(n));
        }
    }

    pub fn d04_items_without_size_and_large_ones<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel.clone(), 5);
        (0..5).for_each(|_| bell.push(()).unwrap());
        assert_eq!(bell.push(()), Err(PushError::Full(())));
        assert_eq!((queue.pop(), queue.discard()), (Some(()), 4));
        assert_ledger(bell.ledger(), [5, 1, 4, 0]);

        let large = |n: u8| [n; 10_000];
        let (bell, mut queue) = pair(kernel, 3);
        for n in 0..30 {
            bell.push(large(n)).unwrap();
            assert!(queue.pop() == Some(large(n)));
        }
    }

    pub fn d04_a_batch_says_what_was_accepted_and_hands_back_the_rest<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel, 100);
        let mut items = 0..150;
        let PushAllError { accepted, rest, reason } = bell.push_all(&mut items).unwrap_err();
        assert_eq!((accepted, reason), (100, PushAllReason::Full));
        let left: Vec<i32> = rest.into_iter().chain(items).collect();
        assert_eq!(left, (100..150).collect::<Vec<_>>(), "nothing is lost on the way");
        let mut came = Vec::new();
        queue.drain(usize::MAX, |item| came.push(item));
        assert_eq!(came, (0..100).collect::<Vec<_>>());
        assert_eq!(bell.push_all(&mut std::iter::empty()), Ok(0));
        bell.close();
        let refused = bell.push_all(&mut (0..3)).unwrap_err();
        assert_eq!((refused.accepted, refused.rest.as_slice()), (0, &[0, 1, 2][..]));
        assert_eq!(refused.reason, PushAllReason::Closed);
        assert_ledger(bell.ledger(), [100, 100, 0, 0]);
    }

    pub fn d04_a_producer_that_panics_in_a_batch_has_pushed_what_it_claimed<K: Kernel>(kernel: K) {
        let items = Items::new(200);
        let (bell, mut queue) = pair(kernel, 1000);
        let mut giving = items.make_all().inspect(|item| assert!(item.id != 150, "out of items"));
        let pushing = AssertUnwindSafe(|| bell.push_all(&mut giving));
        assert!(catch_unwind(pushing).is_err());
        let accepted = bell.ledger().accepted;
        assert_eq!(accepted, 128, "two claims of 64; the third was not made");
        let mut came = Vec::new();
        queue.drain(usize::MAX, |item| came.push(item.id));
        assert_eq!(came, (0..128).collect::<Vec<_>>());
        assert_eq!(items.ended(), 151, "those that it had given since are dropped with the panic");
        assert_eq!(bell.push_all(&mut giving).unwrap(), 49, "and the queue goes on");
        drop((bell, queue));
        items.assert_all_ended_once();
    }

    pub fn d05_arm_looks_once_more<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel, 4);
        assert_eq!(queue.arm(), Armed::Sleep);
        bell.push(1).unwrap();
        assert_eq!(queue.arm(), Armed::Item);
        assert_eq!((queue.pop(), queue.pop()), (Some(1), None));
        assert_eq!(queue.arm(), Armed::Sleep);
        bell.push(2).unwrap();
        bell.close();
        assert_eq!(queue.arm(), Armed::Item);
        assert!(queue.is_closed() && queue.has_item() && !queue.has_ended());
        assert_eq!(queue.pop(), Some(2));
        assert_eq!(queue.arm(), Armed::Closed);
        assert!(queue.has_ended());
    }

    pub fn d06_a_look_ends_the_armed_state<K: Kernel>(kernel: K) {
        let kernel = Counting::new(kernel);
        let (bell, mut queue) = pair(kernel.clone(), 10);
        let mut writes = 0;
        let looks: [Look<Counting<K>>; 3] = [
            |queue| queue.disarm(),
            |queue| assert_eq!(queue.pop(), None),
            |queue| assert_eq!(queue.drain(9, |_| {}), 0),
        ];
        for look in looks {
            kernel.reset();
            bell.push(0).unwrap();
            assert_eq!(kernel.total(), 0, "awake");
            queue.drain(9, |_| {});
            assert_eq!(queue.arm(), Armed::Sleep);
            look(&mut queue);
            bell.push(0).unwrap();
            assert_eq!(kernel.total(), 0, "awake again");
            queue.drain(9, |_| {});
            assert_eq!(queue.arm(), Armed::Sleep);
            (0..5).for_each(|n| bell.push(n).unwrap());
            writes += kernel.total();
            queue.drain(9, |_| {});
        }
        assert_eq!(writes, 3, "one write an arm");
    }

    pub fn d10_what_comes_after_the_end_comes_back<K: Kernel>(kernel: K) {
        let ends: [End<K>; 4] = [
            |bell, queue| {
                bell.close();
                bell.close();
                drop(queue);
            },
            |_, queue| queue.close(),
            |_, queue| drop(queue),
            |_, queue| drop(queue.reclaim()),
        ];
        for end in ends {
            let (bell, queue) = pair(kernel.clone(), 1);
            bell.push(1).unwrap();
            end(&bell, queue);
            assert!(bell.is_closed());
            assert_eq!(bell.push(2), Err(PushError::Closed(2)));
            assert_eq!(bell.clone().push_wait(3), Err(PushError::Closed(3)));
            let late = Instant::now() + Duration::from_secs(3600);
            assert_eq!(bell.push_until(4, late), Err(PushError::Closed(4)));
            assert_ledger(bell.ledger(), [1, 0, 1, 0]);
        }
    }

    pub fn d10_reclaim_hands_back_in_order<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel, 6);
        bell.push_all(&mut (0..6)).unwrap();
        assert_eq!((queue.pop(), queue.pop()), (Some(0), Some(1)));
        bell.push_all(&mut (6..8)).unwrap();
        assert_eq!(queue.reclaim(), [2, 3, 4, 5, 6, 7]);
        assert_ledger(bell.ledger(), [8, 2, 6, 0]);
    }

    pub fn d10_each_item_ends_once_whoever_has_it<K: Kernel>(kernel: K) {
        for bell_first in [true, false] {
            let items = Items::new(9);
            let (bell, mut queue) = pair(kernel.clone(), 8);
            let refused = bell.push_all(&mut items.make_all()).unwrap_err();
            assert_eq!(refused.rest.len(), 1);
            drop(queue.pop());
            drop(refused);
            assert_eq!(items.ended(), 2);
            if bell_first {
                drop(bell);
                drop(queue);
            } else {
                drop(queue);
                assert_ledger(bell.ledger(), [8, 1, 7, 0]);
                drop(bell);
            }
            items.assert_all_ended_once();
        }
    }

    pub fn d10_a_destructor_that_panics_takes_no_other_item_along<K: Kernel>(kernel: K) {
        struct Bomb(items::Item);
        impl Drop for Bomb {
            fn drop(&mut self) {
                assert!(self.0.id != 1 || std::thread::panicking(), "item 1 goes off");
            }
        }
        let items = Items::new(4);
        let (bell, queue) = pair(kernel, 4);
        (0..4).for_each(|id| bell.push(Bomb(items.make(id))).unwrap());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(queue))).is_err());
        let ledger = bell.ledger();
        assert!(ledger.balances(), "{ledger}");
        drop(bell);
        items.assert_all_ended_once();
    }

    pub fn d11_an_item_in_hand_is_owned_and_then_processed_also_after_a_panic<K: Kernel>(
        kernel: K,
    ) {
        let items = Items::new(3);
        let (bell, mut queue) = pair(kernel, 3);
        bell.push_all(&mut items.make_all()).unwrap();
        let draining = AssertUnwindSafe(|| {
            queue.drain(3, |item| {
                let at = item.id as u64;
                assert_ledger(bell.ledger(), [3, at, 0, 3 - at]);
                assert!(item.id != 1, "the second is bad");
            })
        });
        assert!(catch_unwind(draining).is_err());
        assert_ledger(bell.ledger(), [3, 2, 0, 1]);
        assert_eq!(queue.drain(9, |item| assert_eq!(item.id, 2)), 1);
        assert_ledger(queue.ledger(), [3, 3, 0, 0]);
        bell.push_all(&mut (0..3).map(|_| Items::new(1).make(0))).unwrap();
        drop(queue);
        items.assert_all_ended_once();
    }

    pub fn d11_a_snapshot_on_either_end_is_the_same<K: Kernel>(kernel: K) {
        let (bell, mut queue) = pair(kernel, 5);
        bell.push_all(&mut (0..5)).unwrap();
        queue.pop();
        assert_eq!(bell.ledger(), queue.ledger());
        assert_ledger(queue.ledger(), [5, 1, 0, 4]);
        assert!(!Ledger { owned: 3, ..queue.ledger() }.balances());
    }

    pub fn d10_a_deadline_that_has_passed_is_full_at_once<K: Kernel>(kernel: K) {
        let (bell, queue) = pair(kernel, 1);
        bell.push_until(1, Instant::now()).unwrap();
        assert_eq!(bell.push_until(2, Instant::now()), Err(PushError::Full(2)));
        drop(queue);
    }
}

#[test]
fn d08_an_absurd_capacity_is_an_error() {
    let kind = |capacity| doorbell::<u64>(capacity).map(drop).unwrap_err().kind();
    assert_eq!(kind(0), ErrorKind::InvalidInput);
    assert_eq!(kind(usize::MAX), ErrorKind::InvalidInput);
    assert_eq!(kind(usize::MAX / 2), ErrorKind::InvalidInput);
    assert_eq!(kind(1 << 61), ErrorKind::OutOfMemory);
    assert_eq!(kind(1 << 60), ErrorKind::OutOfMemory);
    assert_eq!(kind((1 << 59) + 1), ErrorKind::OutOfMemory);
}

#[test]
fn d10_push_until_is_never_early() {
    let (bell, queue) = doorbell(1).unwrap();
    bell.push(1).unwrap();
    let deadline = Instant::now() + Duration::from_millis(30);
    assert_eq!(bell.push_until(2, deadline), Err(PushError::Full(2)));
    assert!(Instant::now() >= deadline);
    drop(queue);
}

#[test]
fn d10_a_producer_that_waits_is_woken_by_room_and_by_the_end() {
    watchdog(|| {
        let (bell, mut queue) = doorbell(1).unwrap();
        bell.push(1).unwrap();
        let pushing = bell.clone();
        let waiting = observe(move || pushing.push_wait(2));
        waiting.wait_until_blocked();
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(waiting.join(), Ok(()));

        let pushing = bell.clone();
        let late = Instant::now() + Duration::from_secs(3600);
        let waiting = observe(move || pushing.push_until(3, late));
        waiting.wait_until_blocked();
        bell.close();
        assert_eq!(waiting.join(), Err(PushError::Closed(3)));
        assert_eq!((queue.pop(), queue.arm()), (Some(2), Armed::Closed));
    });
}

/// What is done to a doorbell, by one thread.
#[derive(Clone, Debug)]
enum Step {
    Push,
    PushAll(usize),
    Pop,
    Drain(usize),
    Arm,
    Disarm,
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Push),
        2 => (0_usize..200).prop_map(Step::PushAll),
        5 => Just(Step::Pop),
        2 => (0_usize..20).prop_map(Step::Drain),
        3 => Just(Step::Arm),
        1 => Just(Step::Disarm),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 0..60)
}

/// The slow queue that a doorbell is measured by.
struct Reference {
    queue: Mutex<VecDeque<u64>>,
    capacity: usize,
    closed: bool,
    armed: bool,
    writes: u64,
    accepted: u64,
    processed: u64,
}

impl Reference {
    fn push(&mut self, item: u64) -> Result<(), PushError<u64>> {
        let mut queue = self.queue.lock().unwrap();
        match () {
            () if self.closed => return Err(PushError::Closed(item)),
            () if queue.len() == self.capacity => return Err(PushError::Full(item)),
            () => queue.push_back(item),
        }
        self.accepted += 1;
        drop(queue);
        self.ring();
        Ok(())
    }

    fn ring(&mut self) {
        self.writes += u64::from(std::mem::take(&mut self.armed));
    }

    fn pop(&mut self) -> Option<u64> {
        self.armed = false;
        let item = self.queue.lock().unwrap().pop_front();
        self.processed += u64::from(item.is_some());
        item
    }

    fn arm(&mut self) -> Armed {
        let armed = match self.queue.lock().unwrap().is_empty() {
            false => Armed::Item,
            true if self.closed => Armed::Closed,
            true => Armed::Sleep,
        };
        self.armed = armed == Armed::Sleep;
        armed
    }
}

proptest! {
    #[test]
    fn d04_a_doorbell_does_what_a_locked_queue_does(capacity in 1_usize..20, steps in steps()) {
        let kernel = Counting::new(Linux);
        let (bell, mut queue) = doorbell_on(kernel.clone(), capacity).unwrap();
        kernel.reset();
        let mut reference = Reference {
            queue: Mutex::default(),
            capacity,
            closed: false,
            armed: false,
            writes: 0,
            accepted: 0,
            processed: 0,
        };
        let mut next = 0..;
        for step in steps {
            match step {
                Step::Push => {
                    let item = next.next().unwrap();
                    prop_assert_eq!(bell.push(item), reference.push(item));
                }
                Step::PushAll(count) => {
                    let items: Vec<u64> = next.by_ref().take(count).collect();
                    let mut giving = items.iter().copied();
                    let (accepted, rest) = match bell.push_all(&mut giving) {
                        Ok(accepted) => (accepted, Vec::new()),
                        Err(error) => (error.accepted, error.rest),
                    };
                    let expected = items.iter().take_while(|item| reference.push(**item).is_ok());
                    prop_assert_eq!(accepted, expected.count());
                    let left: Vec<u64> = rest.into_iter().chain(giving).collect();
                    prop_assert_eq!(&left[..], &items[accepted..]);
                }
                Step::Pop => prop_assert_eq!(queue.pop(), reference.pop()),
                Step::Drain(most) => {
                    let mut came = Vec::new();
                    queue.drain(most, |item| came.push(item));
                    let expected = (0..most).map_while(|_| reference.pop());
                    prop_assert_eq!(came, expected.collect::<Vec<_>>());
                }
                Step::Arm => prop_assert_eq!(queue.arm(), reference.arm()),
                Step::Disarm => {
                    queue.disarm();
                    reference.armed = false;
                }
                Step::Close => {
                    bell.close();
                    reference.closed = true;
                    reference.ring();
                }
            }
            let owned = reference.queue.lock().unwrap().len() as u64;
            let (accepted, processed) = (reference.accepted, reference.processed);
            let expected = Ledger { accepted, processed, returned: 0, owned };
            prop_assert_eq!(bell.ledger(), expected);
            prop_assert_eq!(queue.has_item(), owned > 0);
            prop_assert_eq!(kernel.total(), reference.writes);
        }
        let left: Vec<u64> = reference.queue.into_inner().unwrap().into();
        prop_assert_eq!(queue.reclaim(), left);
        prop_assert!(bell.ledger().balances());
    }
}
