//! Waiting: time-outs, interruptions, and what changes while a thread is blocked.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/door.rs"]
mod door;
#[path = "support/fork.rs"]
mod fork;
mod support;

use door::{Bell, Door, refusal};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use support::{Observed, observe, watchdog};
use watchbell::epoll::{Epoll, Event, Events, Interest, OnBlocking};
use watchbell::kernel::{EventBuffer, EventFlags, Kernel, Linux};

/// A thread that waits for ever on `epoll` and returns what it is told.
fn waiter<K: Kernel>(epoll: &Arc<Epoll<K>>) -> Observed<Vec<Event>> {
    let epoll = Arc::clone(epoll);
    let waiter = observe(move || {
        let mut events = Events::with_capacity(8);
        epoll.wait(&mut events, None).unwrap();
        events.iter().collect()
    });
    waiter.wait_until_blocked();
    waiter
}

mod bodies {
    use super::*;

    pub fn case_c101_a_wait_never_ends_early<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let mut events = Events::with_capacity(1);
        for nanoseconds in [1, 1_000, 50_000, 500_000] {
            let asked = Duration::from_nanos(nanoseconds);
            for _ in 0..50 {
                let start = kernel.now();
                epoll.wait(&mut events, Some(asked)).unwrap();
                assert!(events.is_empty());
                assert!(kernel.now() - start >= asked, "{asked:?}");
            }
        }
    }

    pub fn case_c100_any_timeout_can_be_asked_for<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let level = epoll.level(Bell::new(&kernel, 1), Interest::READABLE).unwrap();
        let mut events = Events::with_capacity(1);
        let longest = [Duration::ZERO, Duration::from_nanos(999_999_999), Duration::MAX];
        for timeout in longest.map(Some).into_iter().chain([None]) {
            epoll.wait(&mut events, timeout).unwrap();
            assert_eq!(events.iter().next().unwrap().token, level.token(), "{timeout:?}");
        }
    }

    pub fn case_s223_a_blocked_wait_sees_what_is_added_or_modified<K: Kernel>(kernel: K) {
        watchdog(move || {
            let epoll = Arc::new(Epoll::on(kernel.clone()).unwrap());
            let blocked = waiter(&epoll);
            let level = epoll.level(Bell::new(&kernel, 1), Interest::READABLE).unwrap();
            assert_eq!(blocked.join()[0].token, level.token());

            level.modify(Interest::NONE).unwrap();
            let blocked = waiter(&epoll);
            level.modify(Interest::READABLE).unwrap();
            assert_eq!(blocked.join()[0].token, level.token());
            level.into_inner();

            let bell = Bell::new(&kernel, 1);
            let edge = epoll.edge(bell, Interest::READABLE, OnBlocking::Refuse).unwrap();
            assert_eq!(waiter_that_returns(&epoll)[0].token, edge.token());
            let blocked = waiter(&epoll);
            edge.modify(Interest::READABLE).unwrap();
            assert_eq!(blocked.join()[0].token, edge.token(), "an edge that was told already");
        });
    }

    fn waiter_that_returns<K: Kernel>(epoll: &Epoll<K>) -> Vec<Event> {
        let mut events = Events::with_capacity(8);
        epoll.wait(&mut events, None).unwrap();
        events.iter().collect()
    }
}

on_every_kernel! {
    case_c101_a_wait_never_ends_early
    case_c100_any_timeout_can_be_asked_for
    case_s223_a_blocked_wait_sees_what_is_added_or_modified
}

/// To close the very number that a thread waits on cannot be written: the wait borrows it. A waiter
/// on another number of the same instance is as near as our types let it come.
#[test]
fn case_s222_closing_a_number_of_the_instance_or_the_target_wakes_nobody() {
    watchdog(|| {
        let (door, bell) = (Door::new(Linux), Bell::new(&Linux, 0));
        door.add(bell.fd(), EventFlags::IN, 3).unwrap();
        let (instance, duplicate) = (Linux.duplicate(door.fd()).unwrap(), bell.duplicate());
        let blocked = observe(move || {
            let mut events = EventBuffer::with_capacity(1);
            Linux.epoll_wait(instance.as_fd(), &mut events, None).unwrap();
            events.get(0).map(|(data, _)| data)
        });
        blocked.wait_until_blocked();
        drop(door);
        blocked.wait_until_blocked();
        drop(bell);
        blocked.wait_until_blocked();
        assert!(!blocked.is_finished());
        duplicate.write(1);
        assert_eq!(blocked.join(), Some(3));
    });
}

/// Makes SIGUSR1 interrupt without ending the process; `true` once a thread has handled one.
fn handled_signal() -> Arc<AtomicBool> {
    let handled = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(libc::SIGUSR1, Arc::clone(&handled)).unwrap();
    handled
}

/// Runs `wait` on a thread, interrupts it when it is blocked, and returns what it returns.
fn interrupted<T: Send + 'static>(
    wait: impl FnOnce() -> T + Send + 'static,
    and_then: impl FnOnce(),
) -> T {
    let handled = handled_signal();
    let (send, receive) = mpsc::channel();
    let blocked = observe(move || {
        send.send(fork::thread_id()).unwrap();
        wait()
    });
    let tid = receive.recv().unwrap();
    blocked.wait_until_blocked();
    fork::interrupt(tid, libc::SIGUSR1);
    while !handled.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    and_then();
    blocked.join()
}

#[test]
fn case_c102_the_kernel_never_restarts_a_wait() {
    watchdog(|| {
        let door = Door::new(Linux);
        let outcome = interrupted(move || door.wait(None), || {});
        assert_eq!(refusal(outcome), Errno::INTR);
    });
}

#[test]
fn case_c102_an_interrupted_wait_goes_on_and_does_not_end_early() {
    watchdog(|| {
        let asked = Duration::from_secs(1);
        let epoll = Epoll::new().unwrap();
        let (waited, events) = interrupted(
            move || {
                let (start, mut events) = (Instant::now(), Events::with_capacity(1));
                epoll.wait(&mut events, Some(asked)).unwrap();
                (start.elapsed(), events.len())
            },
            || {},
        );
        assert_eq!(events, 0);
        assert!(waited >= asked, "{waited:?}");
    });
}

#[test]
fn case_c102_an_interrupted_wait_goes_on_to_its_event() {
    watchdog(|| {
        let epoll = Epoll::new().unwrap();
        let bell = Bell::new(&Linux, 0);
        let level = epoll.level(bell.clone(), Interest::READABLE).unwrap();
        let token = level.token();
        let told = interrupted(
            move || {
                let mut events = Events::with_capacity(1);
                epoll.wait(&mut events, None).unwrap();
                drop(level);
                events.iter().map(|event| event.token).collect::<Vec<_>>()
            },
            || bell.write(1),
        );
        assert_eq!(told, [token]);
    });
}
