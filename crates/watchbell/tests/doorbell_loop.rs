//! A queue in the loop: publication and sleep, budgets, several producers, shutdown, and the calls
//! that all this takes.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/hooked.rs"]
mod hooked;
#[path = "support/items.rs"]
mod items;
#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use hooked::Hooked;
use items::{Items, assert_ledger, assert_same_items};
use looped::{Shared, counted, drive, reporting, rest, shared};
use std::io;
use std::rc::Rc;
use std::thread;
use std::time::Duration;
use support::sockets::strict_loop;
use support::watchdog;
use watchbell::doorbell::{Doorbell, PushError, Queue, doorbell_on};
use watchbell::event_loop::Direction::Input;
use watchbell::event_loop::{Budget, EventLoop, Handler, Registration, Turn};
use watchbell::kernel::{Call, Counting, Kernel, Linux};

on_every_kernel! {
    d04_published_before_the_wait
    d04_published_during_the_drain
    d07_a_spent_budget_is_run_again_without_a_ring
    c17_after_one_item_the_queue_stays_runnable
    d10_finish_what_is_queued_then_end
    d10_hand_back_what_is_queued
    d10_drop_what_is_queued_with_a_count
    d11_a_failed_item_is_processed_and_the_queue_goes_on
    d11_a_panic_of_the_report_leaves_no_item_twice
    d10_a_queue_that_its_own_handler_removes_returns_the_rest
    d07_a_queue_that_its_own_handler_pauses_keeps_the_rest
    d07_a_queue_paused_by_another_source_is_not_run
    d04_a_handler_may_push_to_its_own_queue
    d10_a_queue_can_be_taken_while_it_is_due_and_served_again
    d04_several_queues_on_one_loop
    d04_items_that_were_there_before_the_loop
    e07_a_queue_without_items_is_never_suspended
    d10_the_handler_is_told_of_the_end_once
    d04_a_healed_loop_still_hears_its_queues
    d04_posts_run_in_order_and_fail_alone
    d10_a_post_to_a_loop_that_is_gone_comes_back
}

/// A queue, its bell, and the numbers that its handler was given.
fn collecting<K: Kernel>(
    events: &mut EventLoop<(), K>,
    kernel: &K,
    capacity: usize,
) -> (Doorbell<usize, K>, watchbell::epoll::Token, Shared<Vec<usize>>) {
    let (bell, queue) = doorbell_on(kernel.clone(), capacity).unwrap();
    let came = shared::<Vec<usize>>();
    let list = Rc::clone(&came);
    let token = events.add(queue, Registration::default(), move |item, _| {
        list.borrow_mut().push(item);
        Ok(())
    });
    (bell, token.unwrap(), came)
}

mod bodies {
    use super::*;

    pub fn d04_published_before_the_wait<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, _, came) = collecting(&mut events, &kernel, 4);
        rest(&mut events);
        bell.push(1).unwrap();
        assert_ledger(bell.ledger(), [1, 0, 0, 1]);
        events.turn(None).unwrap();
        assert_eq!(*came.borrow(), [1]);
        assert_ledger(bell.ledger(), [1, 1, 0, 0]);
    }

    pub fn d04_published_during_the_drain<K: Kernel>(kernel: K) {
        let mut events = strict_loop::<(), K>(kernel.clone(), Budget::default());
        let (bell, queue) = doorbell_on(kernel, 4).unwrap();
        let came = shared::<Vec<usize>>();
        let (list, pushing) = (Rc::clone(&came), bell.clone());
        events
            .add(queue, Registration::default(), move |item, _| {
                list.borrow_mut().push(item);
                let ledger = pushing.ledger();
                assert!(ledger.balances() && ledger.owned >= 1, "{ledger}: one is in hand");
                if item < 3 {
                    let bell = pushing.clone();
                    let pushed = thread::spawn(move || bell.push(item + 1).unwrap());
                    pushed.join().unwrap();
                }
                Ok(())
            })
            .unwrap();
        bell.push(1).unwrap();
        drive(&mut events, || came.borrow().len() == 3);
        assert_eq!(*came.borrow(), [1, 2, 3]);
        assert_ledger(bell.ledger(), [3, 3, 0, 0]);
    }

    pub fn d07_a_spent_budget_is_run_again_without_a_ring<K: Kernel>(kernel: K) {
        let budget = Budget::default().messages(10);
        let mut events = EventLoop::builder_on(kernel.clone(), ()).budget(budget).build().unwrap();
        let (bell, _, came) = collecting(&mut events, &kernel, 64);
        assert_eq!(bell.push_all(&mut (0..35)).unwrap(), 35);
        for processed in [10, 20, 30, 35] {
            events.turn(None).unwrap();
            assert_ledger(bell.ledger(), [35, processed, 0, 35 - processed]);
        }
        assert_eq!(*came.borrow(), (0..35).collect::<Vec<_>>());
        assert_eq!(events.stats().spent, 3);
    }

    pub fn c17_after_one_item_the_queue_stays_runnable<K: Kernel>(kernel: K) {
        let one = Budget::default().messages(1);
        let mut events = EventLoop::builder_on(kernel.clone(), ()).budget(one).build().unwrap();
        let (bell, _, came) = collecting(&mut events, &kernel, 4);
        bell.push_all(&mut (0..3)).unwrap();
        for taken in 1..=3 {
            events.turn(None).unwrap();
            assert_eq!(came.borrow().len(), taken);
        }
    }

    pub fn d10_finish_what_is_queued_then_end<K: Kernel>(kernel: K) {
        struct Last(Shared<Vec<usize>>);
        impl<K: Kernel> Handler<Queue<usize, K>, (), K> for Last {
            fn ready(&mut self, item: usize, _: &mut Turn<'_, (), K>) -> io::Result<()> {
                self.0.borrow_mut().push(item);
                Ok(())
            }
            fn closed(&mut self, turn: &mut Turn<'_, (), K>) -> io::Result<()> {
                turn.stop();
                turn.close()
            }
        }
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, queue) = doorbell_on(kernel, 8).unwrap();
        let came = shared::<Vec<usize>>();
        events.add_handler(queue, Registration::default(), Last(Rc::clone(&came))).unwrap();
        bell.push_all(&mut (0..5)).unwrap();
        bell.close();
        assert_eq!(bell.push(9), Err(PushError::Closed(9)));
        events.run().unwrap();
        assert_eq!((came.borrow().len(), events.len()), (5, 0));
        assert_ledger(bell.ledger(), [5, 5, 0, 0]);
    }

    pub fn d10_hand_back_what_is_queued<K: Kernel>(kernel: K) {
        let mut events = EventLoop::builder_on(kernel.clone(), ());
        events = events.budget(Budget::default().messages(2));
        let mut events = events.build().unwrap();
        let (bell, token, came) = collecting(&mut events, &kernel, 8);
        bell.push_all(&mut (0..5)).unwrap();
        events.turn(None).unwrap();
        let queue: Queue<usize, K> = events.take(token).unwrap();
        let back = queue.reclaim();
        assert_eq!(bell.push(9), Err(PushError::Closed(9)));
        assert_eq!((came.borrow().as_slice(), back.as_slice()), (&[0, 1][..], &[2, 3, 4][..]));
        assert_ledger(bell.ledger(), [5, 2, 3, 0]);
    }

    pub fn d10_drop_what_is_queued_with_a_count<K: Kernel>(kernel: K) {
        let items = Items::new(5);
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, queue) = doorbell_on(kernel, 8).unwrap();
        let token = events.add(queue, Registration::default(), |_, _| Ok(())).unwrap();
        bell.push_all(&mut items.make_all()).unwrap();
        let queue: Queue<items::Item, K> = events.take(token).unwrap();
        assert_eq!(queue.discard(), 5);
        items.assert_all_ended_once();
        assert_ledger(bell.ledger(), [5, 0, 5, 0]);
    }

    pub fn d11_a_failed_item_is_processed_and_the_queue_goes_on<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let items = Items::new(1000);
        let (bell, queue) = doorbell_on(kernel, 1000).unwrap();
        let came = shared::<Vec<usize>>();
        let list = Rc::clone(&came);
        events
            .add(queue, Registration::default(), move |item: items::Item, _| {
                list.borrow_mut().push(item.id);
                assert!(item.id % 100 != 99, "item {} is bad", item.id);
                if item.id % 100 == 50 {
                    return Err(io::Error::other("worse"));
                }
                Ok(())
            })
            .unwrap();
        bell.push_all(&mut items.make_all()).unwrap();
        rest(&mut events);
        assert_same_items(&came.borrow(), 0..1000);
        items.assert_all_ended_once();
        assert_eq!((failures.borrow().len(), events.len()), (20, 1));
        assert_eq!((events.stats().panics, events.stats().errors), (10, 10));
        assert_ledger(bell.ledger(), [1000, 1000, 0, 0]);
        drop(bell);
    }

    /// The report is the user's too: its panic is counted, and the queue goes on.
    pub fn d11_a_panic_of_the_report_leaves_no_item_twice<K: Kernel>(kernel: K) {
        let items = Items::new(3);
        let builder = EventLoop::builder_on(kernel.clone(), ());
        let mut events: EventLoop<(), K> =
            builder.on_failure(|failure, _| panic!("reported: {failure}")).build().unwrap();
        let (bell, queue) = doorbell_on(kernel, 4).unwrap();
        events
            .add(queue, Registration::default(), |item: items::Item, _| match item.id {
                1 => Err(io::Error::other("bad")),
                _ => Ok(()),
            })
            .unwrap();
        bell.push_all(&mut items.make_all()).unwrap();
        rest(&mut events);
        assert_eq!((events.len(), events.stats().panics), (1, 1));
        assert_ledger(bell.ledger(), [3, 3, 0, 0]);
        drop((bell, events));
        items.assert_all_ended_once();
    }

    pub fn d10_a_queue_that_its_own_handler_removes_returns_the_rest<K: Kernel>(kernel: K) {
        let items = Items::new(5);
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, queue) = doorbell_on(kernel, 8).unwrap();
        events
            .add(queue, Registration::default(), |item: items::Item, turn| match item.id {
                1 => turn.close(),
                _ => Ok(()),
            })
            .unwrap();
        bell.push_all(&mut items.make_all()).unwrap();
        rest(&mut events);
        assert!(events.is_empty());
        assert_ledger(bell.ledger(), [5, 2, 3, 0]);
        items.assert_all_ended_once();
    }

    pub fn d07_a_queue_that_its_own_handler_pauses_keeps_the_rest<K: Kernel>(kernel: K) {
        let mut events = strict_loop::<(), K>(kernel.clone(), Budget::default());
        let (bell, queue) = doorbell_on(kernel, 8).unwrap();
        let came = shared::<Vec<usize>>();
        let list = Rc::clone(&came);
        let token =
            events.add(queue, Registration::default(), move |item, turn: &mut Turn<'_, (), K>| {
                list.borrow_mut().push(item);
                let this = turn.token().unwrap();
                assert!(item != 1 || turn.pause(this, Input));
                Ok(())
            });
        let token = token.unwrap();
        bell.push_all(&mut (0..4)).unwrap();
        rest(&mut events);
        assert_eq!(*came.borrow(), [0, 1]);
        bell.push(4).unwrap();
        rest(&mut events);
        assert_ledger(bell.ledger(), [5, 2, 0, 3]);
        assert!(events.resume(token, Input));
        events.turn(None).unwrap();
        rest(&mut events);
        assert_eq!(*came.borrow(), [0, 1, 2, 3, 4]);
    }

    pub fn d07_a_queue_paused_by_another_source_is_not_run<K: Kernel>(kernel: K) {
        let mut events = strict_loop::<(), K>(kernel.clone(), Budget::default());
        let (first, pausing) = doorbell_on(kernel.clone(), 1).unwrap();
        let pausing = events
            .add(pausing, Registration::default(), |token, turn: &mut Turn<'_, (), K>| {
                assert!(turn.pause(token, Input));
                Ok(())
            })
            .unwrap();
        let (bell, token, came) = collecting(&mut events, &kernel, 4);
        first.push(token).unwrap();
        bell.push(7).unwrap();
        for _ in 0..200 {
            events.turn(Some(Duration::ZERO)).unwrap();
        }
        assert_eq!((came.borrow().len(), events.stats().suspended), (0, 0));
        assert!(events.resume(token, Input) && events.remove(pausing));
        events.turn(None).unwrap();
        assert_eq!(*came.borrow(), [7]);
    }

    /// Slots are given back at the end of a run, so a handler finds its own item's still taken.
    pub fn d04_a_handler_may_push_to_its_own_queue<K: Kernel>(kernel: K) {
        let mut events = strict_loop::<(), K>(kernel.clone(), Budget::default());
        let (bell, queue) = doorbell_on(kernel, 2).unwrap();
        let came = shared::<Vec<usize>>();
        let (list, own) = (Rc::clone(&came), bell.clone());
        events
            .add(queue, Registration::default(), move |item, _| {
                list.borrow_mut().push(item);
                match own.push(item + 1) {
                    Err(PushError::Full(_)) => assert_eq!(item, 1, "the second of a run"),
                    pushed => pushed.unwrap(),
                }
                Ok(())
            })
            .unwrap();
        bell.push(0).unwrap();
        rest(&mut events);
        assert_eq!(*came.borrow(), [0, 1]);
        assert_ledger(bell.ledger(), [2, 2, 0, 0]);
    }

    pub fn d10_a_queue_can_be_taken_while_it_is_due_and_served_again<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, token, came) = collecting(&mut events, &kernel, 4);
        bell.push(1).unwrap();
        assert!(events.take::<Queue<u8, K>>(token).is_none(), "it is of another type");
        let queue: Queue<usize, K> = events.take(token).unwrap();
        rest(&mut events);
        assert!(came.borrow().is_empty());
        let list = Rc::clone(&came);
        let again = events.add(queue, Registration::default(), move |item, _| {
            list.borrow_mut().push(10 * item);
            Ok(())
        });
        again.unwrap();
        events.turn(None).unwrap();
        assert_eq!(*came.borrow(), [10]);
    }

    pub fn d04_several_queues_on_one_loop<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let queues: Vec<_> = (0..5).map(|_| collecting(&mut events, &kernel, 4)).collect();
        for (number, (bell, _, came)) in queues.iter().enumerate() {
            let bell = bell.clone();
            let pushing = thread::spawn(move || bell.push(number).unwrap());
            drive(&mut events, || !came.borrow().is_empty());
            pushing.join().unwrap();
            assert_eq!(*came.borrow(), [number]);
        }
        assert!(queues.iter().all(|(bell, _, _)| bell.ledger().processed == 1));
    }

    pub fn d04_items_that_were_there_before_the_loop<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, queue) = doorbell_on(kernel, 4).unwrap();
        bell.push(1).unwrap();
        let count = counted();
        let counting = Rc::clone(&count);
        events
            .add(queue, Registration::default(), move |item: u64, _| {
                counting.set(counting.get() + item);
                Ok(())
            })
            .unwrap();
        events.turn(None).unwrap();
        assert_eq!(count.get(), 1);
    }

    pub fn e07_a_queue_without_items_is_never_suspended<K: Kernel>(kernel: K) {
        let builder = EventLoop::builder_on(kernel.clone(), ()).idle_runs(2);
        let (mut events, failures) = reporting(builder);
        let (bell, token, came) = collecting(&mut events, &kernel, 4);
        for _ in 0..10 {
            assert!(events.wake(token, Input));
            events.turn(Some(Duration::ZERO)).unwrap();
        }
        assert!(failures.borrow().is_empty());
        bell.push(1).unwrap();
        events.turn(None).unwrap();
        assert_eq!(*came.borrow(), [1]);
    }

    pub fn d10_the_handler_is_told_of_the_end_once<K: Kernel>(kernel: K) {
        struct Ends(Rc<std::cell::Cell<u64>>);
        impl<K: Kernel> Handler<Queue<u8, K>, (), K> for Ends {
            fn ready(&mut self, _: u8, _: &mut Turn<'_, (), K>) -> io::Result<()> {
                Ok(())
            }
            fn closed(&mut self, _: &mut Turn<'_, (), K>) -> io::Result<()> {
                looped::Bump::bump(&*self.0);
                Ok(())
            }
        }
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, queue) = doorbell_on(kernel, 4).unwrap();
        let ends = counted();
        let token =
            events.add_handler(queue, Registration::default(), Ends(Rc::clone(&ends))).unwrap();
        bell.push(1).unwrap();
        drop(bell);
        drive(&mut events, || ends.get() > 0);
        rest(&mut events);
        assert_eq!((ends.get(), events.len()), (1, 1), "it stays until it is taken");
        let queue: Queue<u8, K> = events.take(token).unwrap();
        assert!(queue.has_ended());
    }

    pub fn d04_a_healed_loop_still_hears_its_queues<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, _, came) = collecting(&mut events, &kernel, 4);
        rest(&mut events);
        // A source whose descriptor was replaced behind the loop's back leaves a ghost.
        let counter = watchbell::eventfd::Counter::on(kernel.clone(), 1).unwrap();
        let other = watchbell::eventfd::Counter::on(kernel, 0).unwrap();
        let mut kept = None;
        let (keep, kept_by) = (shared::<Option<watchbell::eventfd::Counter<K>>>(), &mut kept);
        let keeping = Rc::clone(&keep);
        let mut other = Some(other);
        events
            .add(counter, watchbell::epoll::Interest::READABLE, move |counter, _| {
                if let Some(other) = other.take() {
                    *keeping.borrow_mut() = Some(std::mem::replace(counter.get_mut(), other));
                }
                Ok(())
            })
            .unwrap();
        rest(&mut events);
        *kept_by = keep.borrow_mut().take();
        assert!(kept.is_some());
        assert_eq!((events.stats().healed, events.len()), (1, 1));
        let pushing = thread::spawn(move || bell.push(1).unwrap());
        events.turn(None).unwrap();
        drive(&mut events, || !came.borrow().is_empty());
        pushing.join().unwrap();
    }

    pub fn d04_posts_run_in_order_and_fail_alone<K: Kernel>(kernel: K) {
        let failures = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = failures.clone();
        let mut events: EventLoop<Vec<u32>, K> = EventLoop::builder_on(kernel, Vec::new())
            .on_failure(move |failure, _| told.lock().unwrap().push(failure.to_string()))
            .build()
            .unwrap();
        let remote = events.remote(8).unwrap();
        let posting = thread::spawn(move || {
            for n in 0..3 {
                let posted = remote.clone().post(move |turn| {
                    turn.state().push(n);
                    assert!(n != 1, "the second is bad");
                    Ok(())
                });
                posted.unwrap();
            }
            remote.post(|_| Err(io::Error::other("the third is worse"))).unwrap();
            let stop = |turn: &mut Turn<'_, Vec<u32>, K>| {
                turn.stop();
                Ok(())
            };
            remote.post(stop).unwrap();
            remote
        });
        events.run().unwrap();
        let remote = posting.join().unwrap();
        assert_eq!(*events.state(), [0, 1, 2]);
        assert_eq!(failures.lock().unwrap().len(), 2);
        assert_ledger(remote.doorbell().ledger(), [5, 5, 0, 0]);
    }

    pub fn d10_a_post_to_a_loop_that_is_gone_comes_back<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel, ()).unwrap();
        let remote = events.remote(8).unwrap();
        drop(events);
        assert!(matches!(remote.post(|_| Ok(())), Err(PushError::Closed(_))));
    }
}

/// The writes, the waits and the other calls of `kernel` since its last reset.
fn calls(kernel: &Counting<impl Kernel>) -> [u64; 3] {
    let [writes, waits] = [Call::Write, Call::EpollWait].map(|call| kernel.calls(call));
    [writes, waits, kernel.total() - writes - waits]
}

#[test]
fn d06_no_call_an_item_while_the_loop_is_awake() {
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let mut events = strict_loop::<(), _>(kernel.clone(), Budget::default());
        let (bell, queue) = doorbell_on(kernel.clone(), 100).unwrap();
        let (pushing, count) = (bell.clone(), counted());
        let came = Rc::clone(&count);
        events
            .add(queue, Registration::default(), move |is_first, _| {
                came.set(came.get() + 1);
                if is_first {
                    let bell = pushing.clone();
                    let push = move || (0..99).for_each(|_| bell.push(false).unwrap());
                    kernel.reset();
                    thread::spawn(push).join().unwrap();
                    assert_eq!(kernel.total(), 0, "pushed to a loop that is awake");
                }
                Ok(())
            })
            .unwrap();
        bell.push(true).unwrap();
        drive(&mut events, || count.get() == 100);
    });
}

#[test]
fn d05_a_burst_to_a_sleeping_loop_is_one_write_and_one_wait() {
    watchdog(|| {
        for producers in 1..=8 {
            for burst in [1, 64, 1024] {
                let hooked = Hooked::default();
                let kernel = Counting::new(hooked.clone());
                let budget = Budget::default().messages(u32::MAX).operations(u32::MAX);
                let mut events =
                    EventLoop::builder_on(kernel.clone(), ()).budget(budget).build().unwrap();
                let (bell, _, came) = collecting(&mut events, &kernel, producers * burst);
                rest(&mut events);
                kernel.reset();
                let pushing = bell.clone();
                hooked.before_next_wait(move || {
                    let push = |producer: usize| {
                        let bell = pushing.clone();
                        thread::spawn(move || {
                            (0..burst).for_each(|n| bell.push(producer * burst + n).unwrap());
                        })
                    };
                    let threads: Vec<_> = (0..producers).map(push).collect();
                    threads.into_iter().for_each(|thread| thread.join().unwrap());
                });
                events.turn(None).unwrap();
                assert_eq!(calls(&kernel), [1, 1, 0], "{producers} producers of {burst}");
                assert_same_items(&came.borrow(), 0..producers * burst);
                let all = (producers * burst) as u64;
                assert_ledger(bell.ledger(), [all, all, 0, 0]);
            }
        }
    });
}

#[test]
fn d05_published_after_the_last_look_is_rung_for() {
    watchdog(|| {
        let hooked = Hooked::default();
        let mut events = EventLoop::on(hooked.clone(), ()).unwrap();
        let (bell, _, came) = collecting(&mut events, &hooked, 4);
        rest(&mut events);
        for n in 0..100 {
            let bell = bell.clone();
            hooked.before_next_wait(move || bell.push(n).unwrap());
            events.turn(None).unwrap();
            assert_eq!(came.borrow().len(), n + 1);
        }
    });
}

#[test]
fn d04_several_producers_and_a_balanced_ledger_at_any_moment() {
    const PRODUCERS: usize = 4;
    const EACH: usize = 5_000;
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let (bell, _, came) = collecting(&mut events, &kernel, 100);
        let push = |producer: usize| {
            let bell = bell.clone();
            thread::spawn(move || {
                (0..EACH).for_each(|n| bell.push_wait(producer * EACH + n).unwrap());
            })
        };
        let producers: Vec<_> = (0..PRODUCERS).map(push).collect();
        let asking = bell.clone();
        let auditor = thread::spawn(move || {
            let (mut last, mut audits) = (asking.ledger(), 0_u64);
            while last.processed < (PRODUCERS * EACH) as u64 {
                let ledger = asking.ledger();
                assert!(ledger.balances(), "{ledger}");
                assert!(ledger.accepted >= last.accepted && ledger.processed >= last.processed);
                assert!(ledger.owned <= 100 + 1, "{ledger}: the queue and one in hand");
                (last, audits) = (ledger, audits + 1);
            }
            audits
        });
        drive_all(&mut events, &came, PRODUCERS * EACH);
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert!(auditor.join().unwrap() > 0);
        for producer in 0..PRODUCERS {
            let own = |item: &&usize| **item / EACH == producer;
            assert!(came.borrow().iter().filter(own).is_sorted(), "a producer's items in order");
        }
        assert_same_items(&came.borrow(), 0..PRODUCERS * EACH);
        let all = (PRODUCERS * EACH) as u64;
        assert_ledger(bell.ledger(), [all, all, 0, 0]);
        let waits = kernel.calls(Call::EpollWait);
        assert!(kernel.calls(Call::Write) <= waits, "never more than one write an arm");
    });
}

fn drive_all<K: Kernel>(events: &mut EventLoop<(), K>, came: &Shared<Vec<usize>>, count: usize) {
    drive(events, || came.borrow().len() == count);
    rest(events);
}
