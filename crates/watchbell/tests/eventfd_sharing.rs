//! One object behind several descriptors, threads and processes.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::eventfd::object_id;
use support::{observe, watchdog};
use watchbell::eventfd::{Adopt, Counter, Semaphore};
use watchbell::kernel::{EventfdMode, Kernel, Linux};

/// This test program as a child that runs one of its own tests, told by the environment that it is
/// the child. `stdin` is its descriptor 0.
fn child_of(test: &str, stdin: OwnedFd) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env("EVENTFD_TEST_CHILD", test);
    child.stdin(stdin).stdout(Stdio::null());
    child
}

/// In such a child, the descriptor that it was started with.
fn inherited(test: &str) -> Option<OwnedFd> {
    let child = std::env::var_os("EVENTFD_TEST_CHILD")?;
    (child == test).then(|| std::io::stdin().as_fd().try_clone_to_owned().unwrap())
}

#[test]
fn c11_duplicates_share_one_counter() {
    c11_body(Linux);
}

fn c11_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel.clone(), 1).unwrap();
    let other = counter.try_clone().unwrap();
    counter.add(2).unwrap();
    other.add(4).unwrap();
    assert_eq!(other.try_take().unwrap(), Some(7));
    assert_eq!(counter.try_take().unwrap(), None);

    let semaphore = Semaphore::on(kernel, 2).unwrap();
    let other = semaphore.try_clone().unwrap();
    assert!(semaphore.try_wait().unwrap() && other.try_wait().unwrap());
    assert!(!semaphore.try_wait().unwrap() && !other.try_wait().unwrap());
}

#[test]
fn c11_an_inherited_descriptor_shares_the_counter_with_the_parent() {
    const NAME: &str = "c11_an_inherited_descriptor_shares_the_counter_with_the_parent";
    if let Some(fd) = inherited(NAME) {
        let counter = Counter::adopt(fd, Adopt::default()).unwrap();
        assert_eq!(counter.take().unwrap(), 4);
        counter.add(7).unwrap();
        return;
    }
    watchdog(|| {
        let counter = Counter::new(0).unwrap();
        let mut child = child_of(NAME, counter.try_clone().unwrap().into_fd()).spawn().unwrap();
        counter.add(4).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(counter.take().unwrap(), 7);
    });
}

#[test]
fn c11_units_posted_to_another_process_are_each_taken_once() {
    const NAME: &str = "c11_units_posted_to_another_process_are_each_taken_once";
    if let Some(fd) = inherited(NAME) {
        let semaphore = Semaphore::adopt(fd, Adopt::default()).unwrap();
        (0..100).for_each(|_| semaphore.wait().unwrap());
        return;
    }
    watchdog(|| {
        let semaphore = Semaphore::new(0).unwrap();
        let mut child = child_of(NAME, semaphore.try_clone().unwrap().into_fd()).spawn().unwrap();
        (0..50).for_each(|_| semaphore.post(3).unwrap());
        (0..50).for_each(|_| semaphore.wait().unwrap());
        assert!(child.wait().unwrap().success());
        assert!(!semaphore.try_wait().unwrap(), "150 posted, 100 and 50 taken");
    });
}

#[test]
fn c12_closing_duplicates_loses_no_count() {
    c12_body(Linux);
}

fn c12_body<K: Kernel>(kernel: K) {
    let mut counter = Counter::on(kernel, 0).unwrap();
    for n in 1..=5 {
        counter.add(n).unwrap();
        counter = counter.try_clone().unwrap(); // and the former descriptor is closed
    }
    assert_eq!(counter.try_take().unwrap(), Some(15));
}

#[test]
fn c12_the_object_outlives_the_process_that_made_it() {
    const NAME: &str = "c12_the_object_outlives_the_process_that_made_it";
    if let Some(socket) = inherited(NAME) {
        let counter = Counter::new(0).unwrap();
        send_descriptor(&UnixStream::from(socket), counter.as_fd());
        counter.add(9).unwrap();
        return;
    }
    watchdog(|| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert!(child_of(NAME, theirs.into()).status().unwrap().success());
        let counter = Counter::adopt(receive_descriptor(&ours), Adopt::default()).unwrap();
        assert_eq!(counter.try_take().unwrap(), Some(9));
    });
}

fn send_descriptor(socket: &UnixStream, fd: BorrowedFd<'_>) {
    let descriptors = [fd];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let sent = sendmsg(socket, &[IoSlice::new(b"e")], &mut control, SendFlags::NOSIGNAL).unwrap();
    assert_eq!(sent, 1);
}

fn receive_descriptor(socket: &UnixStream) -> OwnedFd {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(socket, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptor.expect("a descriptor was passed")
}

/// What a child made by exec sees of the object, by its number in `/proc`.
fn is_open_in_a_child(id: &str, stdin: OwnedFd) -> bool {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat /proc/self/fdinfo/* 2>/dev/null"]).stdin(stdin);
    let seen = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    assert!(seen.contains("flags:"), "the child saw descriptors: {seen}");
    seen.lines().any(|line| line == id)
}

#[test]
fn c13_the_object_is_kept_out_of_an_execd_program() {
    let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    let counter = Counter::new(0).unwrap();
    let semaphore = Semaphore::new(0).unwrap();
    let duplicate = counter.try_clone().unwrap();
    assert!(!is_open_in_a_child(&object_id(counter.as_fd()), null()));
    assert!(!is_open_in_a_child(&object_id(semaphore.as_fd()), null()));
    let id = object_id(counter.as_fd());
    assert!(is_open_in_a_child(&id, duplicate.into_fd()), "passed on purpose, it is there");
}

#[test]
fn c13_an_adopted_descriptor_is_closed_on_exec_from_then_on() {
    let counter = Counter::new(0).unwrap();
    let id = object_id(counter.as_fd());
    let fd = counter.into_fd();
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::empty()).unwrap();
    let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    assert!(is_open_in_a_child(&id, null()), "as inherited ones are");
    let counter = Counter::adopt(fd, Adopt::default()).unwrap();
    assert_eq!(object_id(counter.as_fd()), id);
    assert!(!is_open_in_a_child(&id, null()));
}

#[test]
fn c14_both_types_are_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>(value: T) -> Arc<T> {
        Arc::new(value)
    }
    let counter = shared(Counter::new(1).unwrap());
    let semaphore = shared(Semaphore::new(1).unwrap());
    let other = (Arc::clone(&counter), Arc::clone(&semaphore));
    observe(move || (other.0.add(1).unwrap(), other.1.wait().unwrap())).join();
    assert_eq!(counter.try_take().unwrap(), Some(2));
    assert!(!semaphore.try_wait().unwrap());
}

#[test]
fn c14_concurrent_waits_take_each_unit_exactly_once() {
    watchdog(|| c14_waits_body(Linux));
}

fn c14_waits_body<K: Kernel>(kernel: K) {
    let semaphore = Arc::new(Semaphore::on(kernel, 0).unwrap());
    let receivers = [(); 4].map(|()| {
        let semaphore = Arc::clone(&semaphore);
        observe(move || (0..1500).for_each(|_| semaphore.wait().unwrap()))
    });
    for producer in producers(&semaphore) {
        assert_eq!(producer.join(), 2000);
    }
    receivers.into_iter().for_each(support::Observed::join);
    assert!(!semaphore.try_wait().unwrap(), "3 times 2000 posted, 4 times 1500 taken");
}

#[test]
fn c14_concurrent_tries_lose_no_unit_and_take_none_twice() {
    watchdog(|| c14_tries_body(Linux));
}

fn c14_tries_body<K: Kernel>(kernel: K) {
    let semaphore = Arc::new(Semaphore::on(kernel.clone(), 0).unwrap());
    let posted = Arc::new(AtomicBool::new(false));
    let receivers = [true, false, true, false].map(|waits| {
        let (semaphore, posted) = (Arc::clone(&semaphore), Arc::clone(&posted));
        let kernel = kernel.clone();
        observe(move || {
            let mut taken = 0_u64;
            loop {
                // Looked at before the try: nothing is posted after it, so that finding none is
                // final.
                let last = posted.load(Ordering::SeqCst);
                let soon = kernel.now() + Duration::from_micros(if waits { 100 } else { 0 });
                match semaphore.wait_until(soon).unwrap() {
                    true => taken += 1,
                    false if last => return taken,
                    false => {}
                }
            }
        })
    });
    let sent: u64 = producers(&semaphore).into_iter().map(support::Observed::join).sum();
    posted.store(true, Ordering::SeqCst);
    let taken: u64 = receivers.into_iter().map(support::Observed::join).sum();
    assert_eq!(taken, sent);
}

/// Three threads that post 2000 units each, in portions of one to three.
fn producers<K: Kernel>(semaphore: &Arc<Semaphore<K>>) -> [support::Observed<u64>; 3] {
    [1, 2, 3].map(|portion| {
        let semaphore = Arc::clone(semaphore);
        observe(move || {
            let mut sent = 0;
            while sent < 2000 {
                let units = portion.min(2000 - sent);
                semaphore.post(units).unwrap();
                sent += units;
            }
            sent
        })
    })
}

#[test]
fn case_e002_both_types_are_closed_on_exec() {
    let (counter, semaphore) = (Counter::new(0).unwrap(), Semaphore::new(0).unwrap());
    for fd in [counter.as_fd(), semaphore.as_fd()] {
        assert_eq!(rustix::io::fcntl_getfd(fd).unwrap(), rustix::io::FdFlags::CLOEXEC);
    }
}

#[test]
fn case_e003_both_types_are_nonblocking_and_the_mode_is_no_file_flag() {
    let (counter, semaphore) = (Counter::new(0).unwrap(), Semaphore::new(0).unwrap());
    for fd in [counter.as_fd(), semaphore.as_fd()] {
        let expected = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NONBLOCK;
        assert_eq!(rustix::fs::fcntl_getfl(fd).unwrap(), expected);
    }
}

#[test]
fn case_e004_proc_tells_the_mode() {
    let (counter, semaphore) = (Counter::new(0).unwrap(), Semaphore::new(0).unwrap());
    assert_eq!(Linux.eventfd_mode(counter.as_fd()).unwrap(), EventfdMode::Drain);
    assert_eq!(Linux.eventfd_mode(semaphore.as_fd()).unwrap(), EventfdMode::Semaphore);
}

/// Closing the very descriptor that a thread waits on cannot be written: the wait borrows it.
#[test]
fn case_e071_closing_a_duplicate_leaves_a_blocked_take_blocked() {
    watchdog(|| case_e071_body(Linux));
}

fn case_e071_body<K: Kernel>(kernel: K) {
    let counter = Counter::on(kernel, 0).unwrap();
    let (closed, other) = (counter.try_clone().unwrap(), counter.try_clone().unwrap());
    let taker = observe(move || counter.take().unwrap());
    taker.wait_until_blocked();
    drop(closed);
    taker.wait_until_blocked();
    other.add(6).unwrap();
    assert_eq!(taker.join(), 6);
}

#[test]
fn case_e078_a_passed_descriptor_outlives_its_sender() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let counter = Counter::new(0).unwrap();
    send_descriptor(&ours, counter.as_fd());
    counter.add(5).unwrap();
    drop(counter);
    let received = Counter::adopt(receive_descriptor(&theirs), Adopt::default()).unwrap();
    assert_eq!(received.try_take().unwrap(), Some(5));
}

#[test]
fn case_e080_the_sum_of_sixteen_thousand_writes_is_exact() {
    watchdog(|| case_e080_body(Linux));
}

fn case_e080_body<K: Kernel>(kernel: K) {
    const WRITES: u64 = 1000;
    let counter = Arc::new(Counter::on(kernel, 0).unwrap());
    let threads: Vec<_> = (0..16)
        .map(|thread| {
            let counter = Arc::clone(&counter);
            observe(move || (1..=WRITES).for_each(|n| counter.add(thread * WRITES + n).unwrap()))
        })
        .collect();
    let writes = 16 * WRITES;
    let total = writes * (writes + 1) / 2;
    let mut sum = 0;
    while sum < total {
        sum += counter.take().unwrap();
    }
    assert_eq!(sum, total);
    threads.into_iter().for_each(support::Observed::join);
    assert_eq!(counter.try_take().unwrap(), None);
}
