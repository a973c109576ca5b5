//! Facts about the running kernel's eventfd with threads that are blocked.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::{Arc, mpsc};
use support::eventfd::full_counter;
use support::{observe, watchdog};
use watchbell::eventfd::{Counter, MAX_COUNT, Semaphore};
use watchbell::kernel::{Kernel, Linux};

#[test]
fn case_e060_a_blocked_take_returns_what_is_added() {
    watchdog(|| case_e060_body(Linux));
}

fn case_e060_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(Counter::on(kernel, 0).unwrap());
    let taker = observe({
        let counter = Arc::clone(&counter);
        move || counter.take().unwrap()
    });
    taker.wait_until_blocked();
    counter.add(0xDEAD_BEEF).unwrap();
    assert_eq!(taker.join(), 0xDEAD_BEEF);
    assert_eq!(counter.try_take().unwrap(), None);
}

#[test]
fn case_e061_adding_zero_leaves_a_blocked_take_blocked() {
    watchdog(|| case_e061_body(Linux));
}

fn case_e061_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(Counter::on(kernel, 0).unwrap());
    let taker = observe({
        let counter = Arc::clone(&counter);
        move || counter.take().unwrap()
    });
    taker.wait_until_blocked();
    counter.add(0).unwrap();
    taker.wait_until_blocked();
    counter.add(3).unwrap();
    assert_eq!(taker.join(), 3);
}

#[test]
fn case_e062_a_blocked_add_goes_on_after_a_drain() {
    watchdog(|| case_e062_body(Linux));
}

fn case_e062_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(full_counter(&kernel));
    let adder = observe({
        let counter = Arc::clone(&counter);
        move || counter.add_wait(7)
    });
    adder.wait_until_blocked();
    assert_eq!(counter.take().unwrap(), MAX_COUNT);
    adder.join().unwrap();
    assert_eq!(counter.take().unwrap(), 7);
}

#[test]
fn case_e064_one_of_four_blocked_takers_gets_everything() {
    watchdog(|| case_e064_body(Linux));
}

fn case_e064_body<K: Kernel>(kernel: K) {
    const STOP: u64 = 1_000;
    let counter = Arc::new(Counter::on(kernel, 0).unwrap());
    let (send, taken) = mpsc::channel();
    let takers = [(); 4].map(|()| {
        let (counter, send) = (Arc::clone(&counter), send.clone());
        observe(move || {
            loop {
                let n = counter.take().unwrap();
                send.send(n).unwrap();
                if n == STOP {
                    return;
                }
            }
        })
    });
    takers.iter().for_each(support::Observed::wait_until_blocked);
    counter.add(5).unwrap();
    assert_eq!(taken.recv().unwrap(), 5);
    takers.iter().for_each(support::Observed::wait_until_blocked);
    assert!(taken.try_recv().is_err(), "the others stay blocked");
    for _ in &takers {
        counter.add(STOP).unwrap();
        assert_eq!(taken.recv().unwrap(), STOP);
    }
    takers.into_iter().for_each(support::Observed::join);
}

/// Four threads that each wait once and then say so.
fn four_waiters<K: Kernel>(
    semaphore: &Arc<Semaphore<K>>,
) -> (Vec<support::Observed<()>>, mpsc::Receiver<usize>) {
    let (send, returned) = mpsc::channel();
    let waiters = (0..4).map(|index| {
        let (semaphore, send) = (Arc::clone(semaphore), send.clone());
        observe(move || {
            semaphore.wait().unwrap();
            send.send(index).unwrap();
        })
    });
    let waiters: Vec<_> = waiters.collect();
    waiters.iter().for_each(support::Observed::wait_until_blocked);
    (waiters, returned)
}

#[test]
fn case_e065_one_post_of_four_frees_four_waiters() {
    watchdog(|| case_e065_body(Linux));
}

fn case_e065_body<K: Kernel>(kernel: K) {
    let semaphore = Arc::new(Semaphore::on(kernel, 0).unwrap());
    let (waiters, _returned) = four_waiters(&semaphore);
    semaphore.post(4).unwrap();
    waiters.into_iter().for_each(support::Observed::join);
    assert!(!semaphore.try_wait().unwrap());
}

#[test]
fn case_e066_as_many_waiters_return_as_units_are_posted() {
    watchdog(|| case_e066_body(Linux));
}

fn case_e066_body<K: Kernel>(kernel: K) {
    let semaphore = Arc::new(Semaphore::on(kernel, 0).unwrap());
    let (waiters, returned) = four_waiters(&semaphore);
    let mut blocked = vec![true; 4];
    for units in [2, 1] {
        semaphore.post(units).unwrap();
        (0..units).for_each(|_| blocked[returned.recv().unwrap()] = false);
        let still = waiters.iter().zip(&blocked).filter(|(_, blocked)| **blocked);
        still.for_each(|(waiter, _)| waiter.wait_until_blocked());
        assert!(returned.try_recv().is_err(), "exactly {units} returned");
    }
    semaphore.post(1).unwrap();
    waiters.into_iter().for_each(support::Observed::join);
}

/// Which of the two gets the unit is not ordered; that one of them does, and only one, is.
#[test]
fn case_y001_a_late_try_may_overtake_a_blocked_waiter_and_no_unit_is_lost_or_doubled() {
    watchdog(|| case_y001_body(Linux));
}

fn case_y001_body<K: Kernel>(kernel: K) {
    let semaphore = Arc::new(Semaphore::on(kernel, 0).unwrap());
    let (send, waited) = mpsc::channel();
    let waiter = observe({
        let semaphore = Arc::clone(&semaphore);
        move || {
            for _ in 0..300 {
                semaphore.wait().unwrap();
                send.send(()).unwrap();
            }
        }
    });
    let mut overtaken = 0;
    for _ in 0..300 {
        semaphore.post(1).unwrap();
        if semaphore.try_wait().unwrap() {
            overtaken += 1;
            assert!(waited.try_recv().is_err(), "doubled");
        } else {
            waited.recv().expect("lost");
        }
    }
    semaphore.post(overtaken).unwrap();
    waiter.join();
    assert!(!semaphore.try_wait().unwrap());
}

#[test]
fn case_y004_adding_zero_passes_a_blocked_add() {
    watchdog(|| case_y004_body(Linux));
}

fn case_y004_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(full_counter(&kernel));
    let adder = observe({
        let counter = Arc::clone(&counter);
        move || counter.add_wait(1)
    });
    adder.wait_until_blocked();
    counter.add(0).unwrap();
    adder.wait_until_blocked();
    assert_eq!(counter.take().unwrap(), MAX_COUNT);
    adder.join().unwrap();
    assert_eq!(counter.take().unwrap(), 1);
}

#[test]
fn case_y005_one_of_two_blocked_adds_goes_on_a_drain() {
    watchdog(|| case_y005_body(Linux));
}

fn case_y005_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(full_counter(&kernel));
    let adders = [MAX_COUNT, 7].map(|n| {
        let counter = Arc::clone(&counter);
        let adder = observe(move || counter.add_wait(n));
        adder.wait_until_blocked();
        adder
    });
    assert_eq!(counter.take().unwrap(), MAX_COUNT);
    let first = counter.take().unwrap();
    let second = counter.take().unwrap();
    assert!([(MAX_COUNT, 7), (7, MAX_COUNT)].contains(&(first, second)), "{first}, {second}");
    adders.into_iter().for_each(|adder| adder.join().unwrap());
    assert_eq!(counter.try_take().unwrap(), None);
}
