//! Producers and a consumer that race each other: nothing is lost, and nothing comes twice.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/items.rs"]
mod items;
mod support;

use items::{Items, assert_ledger, assert_same_items};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use support::watchdog;
use watchbell::doorbell::{
    Armed, Doorbell, PushAllReason, PushError, Queue, doorbell, doorbell_on,
};
use watchbell::epoll::{AnyFd, Epoll, Events, Interest, OnBlocking};
use watchbell::event_loop::{EventLoop, Registration};
use watchbell::kernel::{Call, Counting, Linux};

/// Takes from `queue` until it has ended, sleeping as it should, and says what came.
fn consume<T, R>(queue: Queue<T>, mut process: impl FnMut(T) -> R) -> (Vec<R>, Queue<T>) {
    let epoll = Epoll::new().unwrap();
    let mut queue = epoll.edge(AnyFd(queue), Interest::READABLE, OnBlocking::Refuse).unwrap();
    let (mut events, mut came) = (Events::with_capacity(1), Vec::new());
    loop {
        queue.get_mut().0.drain(usize::MAX, |item| came.push(process(item)));
        match queue.get_mut().0.arm() {
            Armed::Item => {}
            Armed::Sleep => epoll.wait(&mut events, None).unwrap(),
            Armed::SleepBriefly => epoll.wait(&mut events, Some(Armed::BRIEFLY)).unwrap(),
            Armed::Closed => return (came, queue.into_inner().0),
        }
    }
}

/// Small queues, so that all the states are passed through; the end comes by the last doorbell.
#[test]
fn d10_each_item_of_many_producers_ends_once() {
    const PRODUCERS: usize = 8;
    const EACH: usize = 2_000;
    for capacity in [1, 3, 64] {
        watchdog(move || {
            let items = Items::new(PRODUCERS * EACH);
            let (bell, queue) = doorbell(capacity).unwrap();
            let produce = |producer: usize| {
                let (items, bell) = (items.clone(), bell.clone());
                thread::spawn(move || {
                    let own = (0..EACH).map(|n| items.make(producer * EACH + n));
                    push_all_wait(&bell, &mut own.into_iter(), producer.is_multiple_of(2));
                })
            };
            let producers: Vec<_> = (0..PRODUCERS).map(produce).collect();
            drop(bell);
            let (came, queue) = consume(queue, |item| item.id);
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            for producer in 0..PRODUCERS {
                let own = |id: &&usize| **id / EACH == producer;
                assert!(came.iter().filter(own).is_sorted(), "a producer's items in order");
            }
            assert_same_items(&came, 0..PRODUCERS * EACH);
            items.assert_all_ended_once();
            let all = (PRODUCERS * EACH) as u64;
            assert_ledger(queue.ledger(), [all, all, 0, 0]);
        });
    }
}

/// Pushes all items one by one, or in batches as far as there is room.
fn push_all_wait<T>(bell: &Doorbell<T>, items: &mut impl Iterator<Item = T>, batches: bool) {
    if !batches {
        return items.for_each(|item| assert!(bell.push_wait(item).is_ok()));
    }
    while let Err(refused) = bell.push_all(items) {
        assert_eq!(refused.reason, PushAllReason::Full);
        refused.rest.into_iter().for_each(|item| assert!(bell.push_wait(item).is_ok()));
    }
}

/// An item of one round, alive until it is dropped.
struct Racing {
    id: usize,
    alive: Arc<AtomicIsize>,
}

impl Racing {
    fn new(id: usize, alive: &Arc<AtomicIsize>) -> Racing {
        alive.fetch_add(1, Ordering::Relaxed);
        Racing { id, alive: Arc::clone(alive) }
    }
}

impl Drop for Racing {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many of `items` were accepted.
fn push_until_closed(bell: &Doorbell<Racing>, items: impl Iterator<Item = Racing>) -> usize {
    let mut accepted = 0;
    for mut item in items {
        loop {
            match bell.push(item) {
                Ok(()) => break,
                Err(PushError::Full(refused)) => item = refused,
                Err(PushError::Closed(_)) => return accepted,
                Err(error) => panic!("{error}"),
            }
            thread::yield_now();
        }
        accepted += 1;
    }
    accepted
}

/// Ends the queue of one round while eight threads push, and says what came, if it knows.
type End = fn(usize, &Doorbell<Racing>, Queue<Racing>) -> Option<Vec<Racing>>;

fn race(rounds: usize, end: End) {
    const PRODUCERS: usize = 8;
    const MOST: usize = 100;
    watchdog(move || {
        let round = Arc::new(Mutex::new(None::<Doorbell<Racing>>));
        let accepted: Arc<[AtomicUsize; PRODUCERS]> = Arc::default();
        let alive = Arc::new(AtomicIsize::new(0));
        let (begin, finish) = (Barrier::new(PRODUCERS + 1), Barrier::new(PRODUCERS + 1));
        let gates = Arc::new((begin, finish));
        for producer in 0..PRODUCERS {
            let (round, accepted, alive, gates) =
                (round.clone(), accepted.clone(), alive.clone(), gates.clone());
            thread::spawn(move || {
                loop {
                    gates.0.wait();
                    let Some(bell) = round.lock().unwrap().clone() else { return };
                    let items = (0..MOST).map(|n| Racing::new(producer * MOST + n, &alive));
                    accepted[producer].store(push_until_closed(&bell, items), Ordering::Relaxed);
                    drop(bell);
                    gates.1.wait();
                }
            });
        }
        for number in 0..rounds {
            let (bell, queue) = doorbell(3).unwrap();
            *round.lock().unwrap() = Some(bell.clone());
            gates.0.wait();
            let came = end(number, &bell, queue);
            gates.1.wait();
            let counts = accepted.iter().map(|count| count.load(Ordering::Relaxed));
            let all: Vec<usize> = counts
                .enumerate()
                .flat_map(|(p, count)| (0..count).map(move |n| p * MOST + n))
                .collect();
            let ledger = bell.ledger();
            assert!(ledger.balances(), "{ledger}");
            assert_eq!(ledger.accepted, all.len() as u64);
            if let Some(came) = came {
                let came: Vec<usize> = came.iter().map(|item| item.id).collect();
                assert_same_items(&came, all);
                assert_eq!(ledger.owned, 0, "{ledger}");
            }
            *round.lock().unwrap() = None;
            drop(bell);
            assert_eq!(alive.load(Ordering::Relaxed), 0, "round {number}");
        }
        gates.0.wait();
    });
}

#[test]
fn d10_close_racing_eight_producers_ten_thousand_times() {
    race(10_000, |number, bell, mut queue| {
        let mut came = Vec::new();
        while came.len() < number % 5 {
            queue.drain(1, |item| came.push(item));
        }
        bell.close();
        came.extend(queue.reclaim());
        Some(came)
    });
}

/// What is published after the queue's end is dropped with the last doorbell.
#[test]
fn d10_drop_racing_eight_producers() {
    race(2_000, |number, _, mut queue| {
        (0..number % 5).for_each(|_| drop(queue.pop()));
        drop(queue);
        None
    });
}

#[test]
fn d11_snapshots_of_many_readers_balance_while_items_fly() {
    const ITEMS: u64 = 20_000;
    watchdog(|| {
        let (bell, queue) = doorbell(1000).unwrap();
        let read = |_| {
            let bell = bell.clone();
            thread::spawn(move || {
                let mut last = bell.ledger();
                while last.processed < ITEMS {
                    let ledger = bell.ledger();
                    assert!(ledger.balances(), "{ledger}");
                    assert!(ledger.accepted >= last.accepted && ledger.processed >= last.processed);
                    last = ledger;
                    thread::yield_now();
                }
            })
        };
        let readers: Vec<_> = (0..2).map(read).collect();
        let producing = bell.clone();
        let producer = thread::spawn(move || {
            (0..ITEMS).for_each(|item| producing.push_wait(item).unwrap());
            producing.close();
        });
        let (came, queue) = consume(queue, |item| item);
        assert!(came.into_iter().eq(0..ITEMS));
        producer.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_ledger(queue.ledger(), [ITEMS, ITEMS, 0, 0]);
    });
}

/// Sleeping and waking thousands of times: by writes and waits, and nothing else.
#[test]
fn d05_two_loops_in_turn_never_sleep_on_a_push() {
    const ROUNDS: u32 = 5_000;
    watchdog(|| {
        let kernel = Counting::new(Linux);
        // A run that never finds its queue empty gives no slot back.
        let capacity = ROUNDS as usize + 1;
        let (ping, pinged) = doorbell_on(kernel.clone(), capacity).unwrap();
        let (pong, ponged) = doorbell_on(kernel.clone(), capacity).unwrap();
        let answering = kernel.clone();
        let answer = thread::spawn(move || {
            serve(answering, pinged, move |n| pong.push(n).is_ok() && n < ROUNDS);
        });
        ping.push(0).unwrap();
        serve(kernel.clone(), ponged, move |n| n < ROUNDS && ping.push(n + 1).is_ok());
        answer.join().unwrap();
        let others = [Call::Read, Call::EpollModify, Call::Poll];
        assert_eq!(others.map(|call| kernel.calls(call)), [0, 0, 0]);
        assert!(kernel.calls(Call::Write) <= kernel.calls(Call::EpollWait));
    });
}

/// Handles items in a loop until `go_on` says no.
fn serve(
    kernel: Counting<Linux>,
    queue: Queue<u32, Counting<Linux>>,
    mut go_on: impl FnMut(u32) -> bool + 'static,
) {
    let mut events: EventLoop<(), Counting<Linux>> = EventLoop::on(kernel, ()).unwrap();
    events
        .add(queue, Registration::default(), move |item, turn| {
            if !go_on(item) {
                turn.stop();
            }
            Ok(())
        })
        .unwrap();
    events.run().unwrap();
}
