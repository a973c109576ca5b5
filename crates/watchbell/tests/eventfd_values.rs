//! Counts, values and readiness of both modes: nothing here blocks.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use support::eventfd::{assert_full, counter_of, full_counter, readiness, semaphore_of, take_all};
use watchbell::epoll::{Epoll, Events, ExclusiveInterest, Interest, OnBlocking, Trigger};
use watchbell::eventfd::{Counter, MAX_COUNT, OVERFLOW, Refusal, Semaphore};
use watchbell::kernel::{Call, Counting, Descriptor, EventFlags, Kernel, Linux};

const IN: EventFlags = EventFlags::IN;
const OUT: EventFlags = EventFlags::OUT;

fn is_invalid(result: io::Result<usize>) -> bool {
    result.unwrap_err().kind() == io::ErrorKind::InvalidInput
}

#[test]
fn c01_one_64_bit_counter_whose_first_value_is_initval() {
    c01_body(Linux);
}

fn c01_body<K: Kernel>(kernel: K) {
    for initval in [0, 1, u32::MAX] {
        let counter = Counter::on(kernel.clone(), initval).unwrap();
        counter.add(u64::from(u32::MAX) * 3).unwrap();
        let sum = u64::from(initval) + u64::from(u32::MAX) * 3;
        assert_eq!(counter.try_take().unwrap(), Some(sum), "it is wider than initval");
        let semaphore = Semaphore::on(kernel.clone(), initval.min(3)).unwrap();
        assert_eq!(take_all(&semaphore), u64::from(initval.min(3)));
    }
}

#[test]
fn c02_a_write_adds_eight_bytes_in_host_byte_order_in_both_modes() {
    c02_body(Linux);
}

fn c02_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel.clone(), 0).unwrap();
    let fd = counter.into_fd();
    let value = 0x0102_0304_0506_0708_u64;
    assert_eq!(kernel.write(fd.borrow(), &value.to_ne_bytes()).unwrap(), 8);
    let counter = Counter::adopt_on(kernel.clone(), fd, Default::default()).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(value), "a kernel's write, our read");
    counter.add(value).unwrap();
    let fd = counter.into_fd();
    let mut bytes = [0; 8];
    assert_eq!(kernel.read(fd.borrow(), &mut bytes).unwrap(), 8);
    assert_eq!(bytes, value.to_ne_bytes(), "our write, a kernel's read");

    let semaphore = Semaphore::on(kernel.clone(), 0).unwrap();
    semaphore.post(2).unwrap();
    semaphore.post(3).unwrap();
    assert_eq!(take_all(&semaphore), 5, "semaphore mode adds what drain mode adds");
}

#[test]
fn c03_u64_max_is_refused_without_a_call_and_by_the_kernel_with_einval() {
    let kernel = Counting::new(Linux);
    let (counter, semaphore) = (counter_of(&kernel, 5), semaphore_of(&kernel, 5));
    kernel.reset();
    for refused in [counter.add(u64::MAX), counter.add_wait(u64::MAX), semaphore.post(u64::MAX)] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.units, u64::MAX);
        assert!(matches!(refused.reason, Refusal::TooMany));
        assert_eq!(io::Error::from(refused).kind(), io::ErrorKind::InvalidInput);
    }
    assert_eq!(kernel.total(), 0);
    assert!(is_invalid(kernel.write(counter.as_fd(), &u64::MAX.to_ne_bytes())));
    assert!(is_invalid(kernel.write(semaphore.as_fd(), &u64::MAX.to_ne_bytes())));
    assert_eq!(counter.try_take().unwrap(), Some(5), "nothing was added");
}

#[test]
fn c03_a_write_of_another_length_is_refused_with_einval() {
    c03_lengths_body(Linux);
}

fn c03_lengths_body<K: Kernel>(kernel: K) {
    let fd = counter_of(&kernel, 5).into_fd();
    for length in (0..8).chain([9, 16]) {
        assert!(is_invalid(kernel.write(fd.borrow(), &vec![1; length])), "{length}");
    }
    let counter = Counter::adopt_on(kernel, fd, Default::default()).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(5), "nothing was added");
}

#[test]
fn c04_what_would_pass_the_largest_value_is_refused_and_adds_nothing() {
    c04_body(Linux);
}

fn c04_body<K: Kernel>(kernel: K) {
    let counter = counter_of(&kernel, MAX_COUNT - 1);
    assert_full(counter.add(2), 2);
    counter.add(1).unwrap();
    assert_full(counter.add(1), 1);
    assert_eq!(counter.try_take().unwrap(), Some(MAX_COUNT));
    counter.add(MAX_COUNT).expect("a drain has freed all");

    let semaphore = semaphore_of(&kernel, MAX_COUNT);
    assert!(semaphore.try_wait().unwrap());
    assert_full(semaphore.post(2), 2);
    semaphore.post(1).expect("a semaphore's read has freed one");
    assert_full(semaphore.post(1), 1);
}

#[test]
fn c05_several_writes_collapse_into_one_read_which_leaves_zero() {
    c05_body(Linux);
}

fn c05_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel, 0).unwrap();
    for n in 1..=10 {
        counter.add(n).unwrap();
    }
    assert_eq!(counter.try_take().unwrap(), Some(55));
    assert_eq!(counter.try_take().unwrap(), None);
}

#[test]
fn c06_a_write_of_n_feeds_n_reads_of_one() {
    c06_body(Linux);
}

fn c06_body<K: Kernel>(kernel: K) {
    let semaphore = Semaphore::on(kernel.clone(), 0).unwrap();
    semaphore.post(7).unwrap();
    assert_eq!(take_all(&semaphore), 7);
    semaphore.post(7).unwrap();
    let fd = semaphore.into_fd();
    let mut bytes = [0; 8];
    kernel.read(fd.borrow(), &mut bytes).unwrap();
    assert_eq!(bytes, 1_u64.to_ne_bytes(), "a read returns 1 in host byte order");
}

#[test]
fn c07_at_zero_a_read_finds_nothing() {
    c07_body(Linux);
}

fn c07_body<K: Kernel>(kernel: K) {
    let fd = Counter::on(kernel.clone(), 0).unwrap().into_fd();
    let error = kernel.read(fd.borrow(), &mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    assert_eq!(Counter::on(kernel.clone(), 0).unwrap().try_take().unwrap(), None);
    assert!(!Semaphore::on(kernel, 0).unwrap().try_wait().unwrap());
}

#[test]
fn c08_a_buffer_shorter_than_eight_bytes_is_refused_with_einval() {
    c08_body(Linux);
}

fn c08_body<K: Kernel>(kernel: K) {
    let fd = counter_of(&kernel, 5).into_fd();
    for length in 0..8 {
        assert!(is_invalid(kernel.read(fd.borrow(), &mut vec![0; length])), "{length}");
    }
    let counter = Counter::adopt_on(kernel, fd, Default::default()).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(5), "nothing was taken");
}

#[test]
fn c09_readable_above_zero_and_writable_while_one_fits_by_epoll() {
    c09_body(Linux);
}

fn c09_body<K: Kernel>(kernel: K) {
    let cases = [(0, OUT), (1, IN | OUT), (MAX_COUNT - 1, IN | OUT), (MAX_COUNT, IN)];
    for (count, expected) in cases {
        assert_eq!(readiness(&kernel, &counter_of(&kernel, count)), expected, "{count}");
        assert_eq!(readiness(&kernel, &semaphore_of(&kernel, count)), expected, "{count}");
    }
    let drained = full_counter(&kernel);
    drained.take().unwrap();
    assert_eq!(readiness(&kernel, &drained), OUT);
}

#[test]
fn c09_poll_says_the_same_as_epoll() {
    for count in [0, 1, 5, MAX_COUNT - 1, MAX_COUNT] {
        let counter = counter_of(&Linux, count);
        let by_epoll = readiness(&Linux, &counter);
        let by_poll = polled(&counter);
        assert_eq!(by_poll.contains(PollFlags::IN), by_epoll.contains(IN), "{count}");
        assert_eq!(by_poll.contains(PollFlags::OUT), by_epoll.contains(OUT), "{count}");
        assert_eq!(by_poll - PollFlags::IN - PollFlags::OUT, PollFlags::empty(), "{count}");
        assert_eq!(Linux.poll_readable(counter.as_fd(), Some(Duration::ZERO)).unwrap(), count > 0);
    }
}

fn polled(source: &impl AsFd) -> PollFlags {
    let all = PollFlags::IN | PollFlags::OUT | PollFlags::PRI;
    let mut watched = [PollFd::new(source, all)];
    poll(&mut watched, Some(&Timespec::default())).unwrap();
    watched[0].revents()
}

#[test]
fn c09_a_watch_of_any_mode_sees_the_same_state() {
    let kernel = Counting::new(Linux);
    let epoll = Epoll::on(kernel.clone()).unwrap();
    let semaphore = Semaphore::new(0).unwrap();
    let readable = (ExclusiveInterest::Readable, Interest::READABLE);
    let level = epoll.level(semaphore.try_clone().unwrap(), readable.1).unwrap();
    let edge = semaphore.try_clone().unwrap();
    let edge = epoll.edge(edge, readable.1, OnBlocking::Refuse).unwrap();
    let exclusive = semaphore.try_clone().unwrap();
    let exclusive = epoll.exclusive(exclusive, readable.0, Trigger::Level).unwrap();
    let mut events = Events::with_capacity(4);
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.is_empty());
    semaphore.post(1).unwrap();
    epoll.wait(&mut events, None).unwrap();
    for token in [level.token(), edge.token(), exclusive.token()] {
        let event = events.iter().find(|event| event.token == token);
        assert!(event.expect("each is told").readiness.is_readable());
    }
}

#[test]
fn c10_one_read_of_a_semaphore_can_leave_it_readable() {
    c10_body(Linux);
}

fn c10_body<K: Kernel>(kernel: K) {
    let semaphore = semaphore_of(&kernel, 2);
    assert!(semaphore.try_wait().unwrap());
    assert!(readiness(&kernel, &semaphore).contains(IN));
    assert!(semaphore.try_wait().unwrap());
    assert!(!readiness(&kernel, &semaphore).contains(IN));
}

#[test]
fn c15_a_count_keeps_no_portions_and_no_order() {
    c15_body(Linux);
}

fn c15_body<K: Kernel>(kernel: K) {
    let (one, other) = (counter_of(&kernel, 0), counter_of(&kernel, 0));
    for n in [1, 2, 4] {
        one.add(n).unwrap();
    }
    for n in [4, 0, 3] {
        other.try_clone().unwrap().add(n).unwrap();
    }
    assert_eq!(one.try_take().unwrap(), other.try_take().unwrap(), "nobody can tell them apart");
}

/// An overflow by the kernel itself needs completions of asynchronous I/O, which this crate does
/// not submit; what is shown is the other half, that being full is never told as one.
#[test]
fn c16_a_saturated_write_is_never_reported_as_an_overflow() {
    c16_body(Linux);
}

fn c16_body<K: Kernel>(kernel: K) {
    let counter = full_counter(&kernel);
    for n in [1, 2, MAX_COUNT] {
        assert_full(counter.add(n), n);
        assert_eq!(readiness(&kernel, &counter), IN, "no EPOLLERR");
    }
    let taken = counter.try_take().unwrap();
    assert_eq!(taken, Some(MAX_COUNT));
    assert_ne!(taken, Some(OVERFLOW));
}

#[test]
fn c17_after_claiming_one_on_an_edge_the_rest_is_claimed_without_another() {
    let epoll = Epoll::new().unwrap();
    let semaphore = Semaphore::new(0).unwrap();
    let semaphore = epoll.edge(semaphore, Interest::READABLE, OnBlocking::Refuse).unwrap();
    let mut events = Events::with_capacity(4);
    semaphore.get_ref().post(3).unwrap();
    epoll.wait(&mut events, None).unwrap();
    assert_eq!(events.len(), 1);
    assert!(semaphore.get_ref().try_wait().unwrap(), "claim one");
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.is_empty(), "the edge was told, and two units are left");
    assert_eq!(take_all(semaphore.get_ref()), 2);
}

#[test]
fn c17_claiming_all_is_one_read() {
    let kernel = Counting::new(Linux);
    let counter = counter_of(&kernel, 1000);
    kernel.reset();
    assert_eq!(counter.try_take().unwrap(), Some(1000));
    assert_eq!((kernel.calls(Call::Read), kernel.total()), (1, 1));
}

#[test]
fn d01_counting_all_and_counting_one_are_two_types() {
    fn once_each(units: &Semaphore) -> u64 {
        take_all(units)
    }
    fn all_at_once(units: &Counter) -> Option<u64> {
        units.try_take().unwrap()
    }
    assert_eq!(once_each(&semaphore_of(&Linux, 3)), 3);
    assert_eq!(all_at_once(&counter_of(&Linux, 3)), Some(3));
    assert_ne!(
        std::any::TypeId::of::<Semaphore>(),
        std::any::TypeId::of::<Counter>(),
        "a doc test of Semaphore shows that one is not accepted for the other"
    );
}

#[test]
fn d08_a_sum_past_the_maximum_is_an_error_and_never_wraps() {
    d08_body(Linux);
}

fn d08_body<K: Kernel>(kernel: K) {
    let counter = full_counter(&kernel);
    for n in [1, 2, 3, u64::MAX / 2, MAX_COUNT] {
        assert_full(counter.add(n), n);
    }
    assert!(matches!(counter.add(u64::MAX).unwrap_err().reason, Refusal::TooMany));
    assert_eq!(counter.try_take().unwrap(), Some(MAX_COUNT), "unchanged");
}
