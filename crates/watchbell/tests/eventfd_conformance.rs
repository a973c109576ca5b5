//! Facts about the running kernel's eventfd that need no second thread: values and limits.
#![allow(clippy::unwrap_used)]

mod support;

use std::io;
use std::os::fd::AsFd;
use support::eventfd::{assert_full, counter_of, full_counter, readiness, semaphore_of, take_all};
use watchbell::eventfd::{Counter, MAX_COUNT, Semaphore};
use watchbell::kernel::{EventFlags, Kernel, Linux};

const IN: EventFlags = EventFlags::IN;

fn is_invalid(result: io::Result<usize>) -> bool {
    result.unwrap_err().kind() == io::ErrorKind::InvalidInput
}

#[test]
fn case_e007_initval_reaches_32_bits() {
    for initval in [u32::MAX, 10] {
        let counter = Counter::new(initval).unwrap();
        assert_eq!(counter.try_take().unwrap(), Some(u64::from(initval)));
    }
}

#[test]
fn case_e030_two_writes_one_read() {
    case_e030_body(Linux);
}

fn case_e030_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel, 0).unwrap();
    [2, 3].into_iter().for_each(|n| counter.add(n).unwrap());
    assert_eq!(counter.try_take().unwrap(), Some(5));
    assert_eq!(counter.try_take().unwrap(), None);
    [2, 4, 1].into_iter().for_each(|n| counter.add(n).unwrap());
    assert_eq!(counter.try_take().unwrap(), Some(7));
}

#[test]
fn case_e031_a_semaphore_of_three_is_taken_three_times() {
    case_e031_body(Linux);
}

fn case_e031_body<K: Kernel>(kernel: K) {
    let semaphore = Semaphore::on(kernel, 3).unwrap();
    assert_eq!([(); 4].map(|()| semaphore.try_wait().unwrap()), [true, true, true, false]);
}

#[test]
fn case_e032_posts_of_two_and_three_feed_five() {
    case_e032_body(Linux);
}

fn case_e032_body<K: Kernel>(kernel: K) {
    let semaphore = Semaphore::on(kernel, 2).unwrap();
    assert_eq!(take_all(&semaphore), 2);
    semaphore.post(2).unwrap();
    semaphore.post(3).unwrap();
    assert_eq!(take_all(&semaphore), 5);
}

#[test]
fn case_e036_a_write_longer_than_eight_bytes_is_einval() {
    let counter = Counter::new(0).unwrap();
    for length in [9, 16, 24, 128] {
        assert!(is_invalid(Linux.write(counter.as_fd(), &vec![0; length])), "{length}");
    }
    assert_eq!(counter.try_take().unwrap(), None);
}

#[test]
fn case_e037_u64_max_is_einval_in_both_modes() {
    let (counter, semaphore) = (Counter::new(5).unwrap(), Semaphore::new(0).unwrap());
    assert!(is_invalid(Linux.write(counter.as_fd(), &u64::MAX.to_ne_bytes())));
    assert!(is_invalid(Linux.write(semaphore.as_fd(), &u64::MAX.to_ne_bytes())));
    assert_eq!(counter.try_take().unwrap(), Some(5));
}

#[test]
fn case_e038_the_largest_value_comes_back() {
    case_e038_body(Linux);
}

fn case_e038_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel, 0).unwrap();
    counter.add(u64::MAX - 1).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(18_446_744_073_709_551_614));
    assert_eq!(counter.try_take().unwrap(), None);
}

#[test]
fn case_e039_a_full_counter_refuses_until_it_is_read() {
    case_e039_body(Linux);
}

fn case_e039_body<K: Kernel>(kernel: K) {
    let counter = full_counter(&kernel);
    for n in [1, 1, MAX_COUNT] {
        assert_full(counter.add(n), n);
    }
    assert_eq!(counter.try_take().unwrap(), Some(MAX_COUNT));
    counter.add(1).unwrap();
}

#[test]
fn case_e040_adding_zero_is_not_readiness() {
    case_e040_body(Linux);
}

fn case_e040_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel.clone(), 0).unwrap();
    counter.add(0).unwrap();
    assert!(!readiness(&kernel, &counter).contains(IN));
    assert_eq!(counter.try_take().unwrap(), None);
    counter.add(1).unwrap();
    counter.add(0).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(1));
}

#[test]
fn case_e041_adding_zero_always_fits() {
    case_e041_body(Linux);
}

fn case_e041_body<K: Kernel>(kernel: K) {
    let counter = full_counter(&kernel);
    counter.add(0).unwrap();
    counter.add(0).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(MAX_COUNT));
}

#[test]
fn case_e042_the_boundary_is_exact() {
    case_e042_body(Linux);
}

fn case_e042_body<K: Kernel>(kernel: K) {
    let counter = counter_of(&kernel, 1);
    assert_full(counter.add(u64::MAX - 1), u64::MAX - 1);
    counter.add(u64::MAX - 2).unwrap();
    assert_eq!(readiness(&kernel, &counter), IN);
    assert_eq!(counter.try_take().unwrap(), Some(MAX_COUNT));
}

#[test]
fn case_e054_a_semaphore_read_frees_exactly_one_unit() {
    case_e054_body(Linux);
}

fn case_e054_body<K: Kernel>(kernel: K) {
    let semaphore = semaphore_of(&kernel, MAX_COUNT);
    assert_full(semaphore.post(1), 1);
    assert!(semaphore.try_wait().unwrap());
    assert_full(semaphore.post(2), 2);
    semaphore.post(1).unwrap();
    assert_full(semaphore.post(1), 1);
}
