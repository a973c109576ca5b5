//! Waiting: for units, for room, and until a deadline.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};
use support::altered::Altered;
use support::eventfd::{assert_full, counter_of, full_counter, semaphore_of, take_all};
use support::{observe, watchdog};
use watchbell::eventfd::{Admission, Counter, MAX_COUNT, Semaphore};
use watchbell::kernel::{Call, Counting, Kernel, Linux};

#[test]
fn c04_an_add_that_does_not_fit_blocks_until_reads_have_made_room() {
    watchdog(|| c04_body(Linux));
}

fn c04_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(full_counter(&kernel));
    let adder = observe({
        let counter = Arc::clone(&counter);
        move || counter.add_wait(9)
    });
    adder.wait_until_blocked();
    assert_eq!(counter.take().unwrap(), MAX_COUNT, "a drain frees all");
    adder.join().unwrap();
    assert_eq!(counter.take().unwrap(), 9);

    let semaphore = Arc::new(semaphore_of(&kernel, MAX_COUNT));
    let poster = observe({
        let semaphore = Arc::clone(&semaphore);
        move || semaphore.post_wait(2)
    });
    poster.wait_until_blocked();
    semaphore.wait().unwrap();
    poster.wait_until_blocked(); // a semaphore read frees one
    semaphore.wait().unwrap();
    poster.join().unwrap();
    assert_full(semaphore.post(1), 1);
}

#[test]
fn c07_at_zero_a_read_blocks_until_the_counter_is_non_zero() {
    watchdog(|| c07_body(Linux));
}

fn c07_body<K: Kernel>(kernel: K) {
    let counter = Arc::new(Counter::on(kernel.clone(), 0).unwrap());
    let taker = observe({
        let counter = Arc::clone(&counter);
        move || counter.take().unwrap()
    });
    taker.wait_until_blocked();
    counter.add(3).unwrap();
    assert_eq!(taker.join(), 3);

    let semaphore = Arc::new(Semaphore::on(kernel, 0).unwrap());
    let waiter = observe({
        let semaphore = Arc::clone(&semaphore);
        move || semaphore.wait().unwrap()
    });
    waiter.wait_until_blocked();
    semaphore.post(2).unwrap();
    waiter.join();
    assert_eq!(take_all(&semaphore), 1, "one unit was taken");
}

#[test]
fn c07_a_wait_with_a_deadline_never_ends_before_it() {
    watchdog(|| c07_deadline_body(Linux));
}

fn c07_deadline_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel.clone(), 0).unwrap();
    let semaphore = Semaphore::on(kernel.clone(), 0).unwrap();
    let full = full_counter(&kernel);
    for nanoseconds in [0, 1, 999, 100_000, 3_000_001] {
        let deadline = kernel.now() + Duration::from_nanos(nanoseconds);
        assert_eq!(counter.take_until(deadline).unwrap(), None);
        assert!(kernel.now() >= deadline);
        let deadline = kernel.now() + Duration::from_nanos(nanoseconds);
        assert!(!semaphore.wait_until(deadline).unwrap());
        assert!(kernel.now() >= deadline);
        let deadline = kernel.now() + Duration::from_nanos(nanoseconds);
        assert_full(full.add_until(2, deadline), 2);
        assert!(kernel.now() >= deadline);
    }
}

#[test]
fn c07_a_deadline_that_has_passed_still_tries_once() {
    let kernel = Counting::new(Linux);
    let (counter, semaphore) = (counter_of(&kernel, 4), semaphore_of(&kernel, 0));
    let past = kernel.now();
    kernel.reset();
    assert_eq!(counter.take_until(past).unwrap(), Some(4));
    semaphore.post_until(1, past).unwrap();
    assert!(semaphore.wait_until(past).unwrap());
    assert!(!semaphore.wait_until(past).unwrap());
    assert_eq!((kernel.calls(Call::Read), kernel.calls(Call::Write)), (3, 1));
    assert_eq!(kernel.total(), 4, "and makes no call beyond that");
}

#[test]
fn c07_a_woken_receiver_that_finds_the_unit_taken_waits_on() {
    watchdog(|| c07_stolen_body(Linux));
}

/// Each unit wakes both waiters; one of them finds it gone.
fn c07_stolen_body<K: Kernel>(kernel: K) {
    let semaphore = Arc::new(Semaphore::on(kernel, 0).unwrap());
    let waiters = [(); 2].map(|()| {
        let semaphore = Arc::clone(&semaphore);
        observe(move || (0..200).for_each(|_| semaphore.wait().unwrap()))
    });
    (0..400).for_each(|_| semaphore.post(1).unwrap());
    waiters.into_iter().for_each(support::Observed::join);
    assert!(!semaphore.try_wait().unwrap());
}

#[test]
fn e04_an_interrupted_call_is_made_again() {
    watchdog(|| {
        let kernel = Counting::new(Altered::interrupting());
        let counter = full_counter(&kernel);
        kernel.reset();
        assert_full(counter.add(1), 1);
        assert_eq!(counter.try_take().unwrap(), Some(MAX_COUNT));
        assert_eq!((kernel.calls(Call::Write), kernel.calls(Call::Read)), (2, 2));
    });
}

#[test]
fn e04_an_interrupted_wait_goes_on_towards_its_deadline() {
    watchdog(|| {
        let kernel = Counting::new(Altered::interrupting());
        let (counter, full) = (counter_of(&kernel, 0), full_counter(&kernel));
        let deadline = kernel.now() + Duration::from_millis(3);
        assert_eq!(counter.take_until(deadline).unwrap(), None);
        assert!(kernel.now() >= deadline);
        let deadline = kernel.now() + Duration::from_millis(3);
        assert_full(full.add_until(1, deadline), 1);
        assert!(kernel.now() >= deadline);
    });
}

/// Room for 1 and not for n: the descriptor is writable all the time that the post is blocked.
#[test]
fn c18_a_blocked_post_of_several_turns_once_a_read_and_does_not_spin() {
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let semaphore = Arc::new(semaphore_of(&kernel, MAX_COUNT - 1));
        kernel.reset();
        let poster = observe({
            let semaphore = Arc::clone(&semaphore);
            move || semaphore.post_wait(3)
        });
        poster.wait_until_blocked();
        // A try before the watch and one after it; the watch tells at once that there is room for
        // 1.
        assert_eq!(kernel.calls(Call::Write), 3);
        assert_eq!(kernel.calls(Call::EpollWait), 2);
        assert_eq!(kernel.calls(Call::EpollAdd), 1);
        poster.wait_until_blocked();
        assert_eq!(kernel.total(), 3 + 2 + 2, "while it is blocked it makes no call");

        semaphore.wait().unwrap();
        poster.wait_until_blocked();
        assert_eq!(kernel.calls(Call::Write), 4, "room for 2: one turn");
        assert_eq!(kernel.calls(Call::EpollWait), 3);

        semaphore.wait().unwrap();
        poster.join().unwrap();
        assert_eq!(kernel.calls(Call::Write), 5, "room for 3: the units are posted");
        assert_eq!(kernel.calls(Call::EpollWait), 3);
        assert_full(semaphore.post(1), 1);
    });
}

#[test]
fn c18_an_add_that_fits_at_once_watches_nothing() {
    let kernel = Counting::new(Linux);
    let counter = Counter::on(kernel.clone(), 0).unwrap();
    kernel.reset();
    counter.add_wait(MAX_COUNT).unwrap();
    assert_eq!((kernel.calls(Call::Write), kernel.total()), (1, 1));
}

#[test]
fn d02_a_refused_admission_has_delivered_nothing_and_hands_the_units_back() {
    watchdog(|| d02_body(Linux));
}

fn d02_body<K: Kernel>(kernel: K) {
    let semaphore = semaphore_of(&kernel, MAX_COUNT - 3);
    let until = Admission::Until(kernel.now() + Duration::from_millis(2));
    let retry = Admission::Retry { retries: 2, pause: Duration::from_micros(10) };
    for policy in [Admission::Fail, retry, until] {
        assert_full(semaphore.admit(5, policy), 5);
        semaphore.admit(0, policy).unwrap();
    }
    semaphore.admit(3, Admission::Fail).expect("not one of the refused units was delivered");
    assert_full(semaphore.admit(1, Admission::Fail), 1);
}

#[test]
fn d02_a_retry_is_bounded() {
    let kernel = Counting::new(Linux);
    let counter = full_counter(&kernel);
    kernel.reset();
    let pause = Duration::from_micros(10);
    assert_full(counter.admit(1, Admission::Fail), 1);
    assert_eq!(kernel.calls(Call::Write), 1);
    assert_full(counter.admit(1, Admission::Retry { retries: 0, pause }), 1);
    assert_eq!(kernel.calls(Call::Write), 1 + 1);
    let before = Instant::now();
    assert_full(counter.admit(1, Admission::Retry { retries: 4, pause }), 1);
    assert_eq!(kernel.calls(Call::Write), 1 + 1 + 5, "the first try and four retries");
    assert!(before.elapsed() >= pause * 4);
}

/// The units that a producer counts as delivered are those that a consumer receives, though many
/// posts are refused on the way.
#[test]
fn d02_delivered_units_are_those_that_were_admitted() {
    watchdog(|| {
        let semaphore = Arc::new(semaphore_of(&Linux, MAX_COUNT - 8));
        let producer = observe({
            let semaphore = Arc::clone(&semaphore);
            move || {
                let (mut admitted, mut refused) = (0_u64, 0_u64);
                while admitted < 600 {
                    match semaphore.admit(3, Admission::Fail) {
                        Ok(()) => admitted = admitted.checked_add(3).expect("few"),
                        Err(back) => refused = refused.checked_add(back.units).expect("few"),
                    }
                    std::thread::yield_now();
                }
                (admitted, refused)
            }
        });
        let mut taken = 0_u64;
        while !producer.is_finished() {
            taken += u64::from(semaphore.try_wait().unwrap());
        }
        let (admitted, _refused) = producer.join();
        // Room for 8 at the start, less what was admitted, and one more for each unit taken.
        let room =
            (8 + taken).checked_sub(admitted).expect("no more is admitted than there is room");
        if room > 0 {
            semaphore.post(room).expect("exactly this much room is left");
        }
        assert_full(semaphore.post(1), 1);
    });
}
