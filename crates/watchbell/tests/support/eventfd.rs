//! What the tests of eventfd share.

use std::os::fd::{AsFd, AsRawFd};
use watchbell::epoll::Source;
use watchbell::eventfd::{Counter, MAX_COUNT, NotAdmitted, Refusal, Semaphore};
use watchbell::kernel::{Descriptor, EventBuffer, EventFlags, Kernel};

/// What epoll says of `source`, level-triggered, watched for everything.
pub fn readiness<K: Kernel>(kernel: &K, source: &impl Source<Fd = K::Fd>) -> EventFlags {
    let epoll = kernel.epoll_create().expect("an epoll instance");
    let all = EventFlags::IN | EventFlags::OUT | EventFlags::PRI | EventFlags::RDHUP;
    let borrowed = epoll.borrow();
    kernel.epoll_add(borrowed, source.descriptor(), all, 0).expect("an eventfd can be watched");
    let mut events = EventBuffer::with_capacity(1);
    kernel.epoll_wait(borrowed, &mut events, Some(std::time::Duration::ZERO)).expect("a wait");
    events.get(0).map_or(EventFlags::empty(), |(_, flags)| flags)
}

/// A counter that holds `count`.
pub fn counter_of<K: Kernel>(kernel: &K, count: u64) -> Counter<K> {
    let counter = Counter::on(kernel.clone(), 0).expect("a counter");
    counter.add(count).expect("it fits");
    counter
}

/// A semaphore that holds `count`.
pub fn semaphore_of<K: Kernel>(kernel: &K, count: u64) -> Semaphore<K> {
    let semaphore = Semaphore::on(kernel.clone(), 0).expect("a semaphore");
    semaphore.post(count).expect("it fits");
    semaphore
}

/// A counter that holds as much as it can.
pub fn full_counter<K: Kernel>(kernel: &K) -> Counter<K> {
    counter_of(kernel, MAX_COUNT)
}

/// Asserts that exactly these units came back because there was no room.
#[track_caller]
pub fn assert_full(outcome: Result<(), NotAdmitted>, given: u64) {
    let NotAdmitted { units, reason } = outcome.expect_err("there is no room");
    assert_eq!(units, given, "the units stay with the caller");
    assert!(matches!(reason, Refusal::Full), "{reason:?}");
}

/// Takes single units until there is none, and says how many there were.
pub fn take_all<K: Kernel>(semaphore: &Semaphore<K>) -> u64 {
    let mut taken = 0;
    while semaphore.try_wait().expect("a read") {
        taken += 1;
    }
    taken
}

/// The number that names the object in `/proc`, the same for every descriptor of it.
pub fn object_id(fd: impl AsFd) -> String {
    let path = format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd());
    let info = std::fs::read_to_string(path).expect("the descriptor is open");
    let line = info.lines().find(|line| line.starts_with("eventfd-id:"));
    line.expect("the kernel names eventfds").to_owned()
}
