//! A forked child is told from its parent, however it was forked.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/fork.rs"]
mod fork;
mod support;

use fork::{in_child, in_raw_child};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::EventLoop;
use watchbell::eventfd::Counter;
use watchbell::kernel::{Counting, Kernel, Linux, Process};

/// What a child returns that has found all as it should be.
const WELL: i32 = 7;

fn well(is_well: bool) -> i32 {
    if is_well { WELL } else { 1 }
}

#[test]
fn c13_a_process_is_the_same_for_each_of_its_threads() {
    let process = Linux.process();
    assert_eq!(thread::spawn(|| Linux.process()).join().unwrap(), process);
}

#[test]
fn c13_a_child_differs_from_its_parent_and_a_grandchild_from_both() {
    let parent = Linux.process();
    let code = in_child(|| {
        let child = Linux.process();
        let code = in_child(|| {
            let grandchild = Linux.process();
            well(grandchild != parent && grandchild != child)
        });
        well(child != parent && Linux.process() == child && code == WELL)
    });
    assert_eq!((code, Linux.process()), (WELL, parent));
}

/// The child between them is never asked.
#[test]
fn c13_a_grandchild_differs_from_its_grandparent() {
    let parent = Linux.process();
    assert_eq!(in_child(|| in_child(|| well(Linux.process() != parent))), WELL);
}

/// A fork that the C library does not know of, and so no handler of pthread_atfork(3) either.
#[test]
fn c13_a_child_of_the_bare_system_call_differs() {
    let parent = Linux.process();
    assert_eq!(in_raw_child(|| well(Linux.process() != parent)), WELL);
    assert_eq!(Linux.process(), parent);
}

/// Other threads of the parent ask all the time; threads of the child ask for the first time.
#[test]
fn c13_threads_see_a_fork_as_one() {
    const FORKS: usize = 50;
    watchdog(|| {
        let parent = Linux.process();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        assert_eq!(Linux.process(), parent);
                    }
                });
            }
            for _ in 0..FORKS {
                assert_eq!(in_child(|| well(threads_agree_on_another_than(parent))), WELL);
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

fn threads_agree_on_another_than(parent: Process) -> bool {
    let start = Barrier::new(3);
    let ask = || {
        start.wait();
        Linux.process()
    };
    thread::scope(|scope| {
        let asked = [scope.spawn(ask), scope.spawn(ask), scope.spawn(ask)];
        let told = asked.map(|thread| thread.join().unwrap());
        told.iter().all(|process| *process == told[0] && *process != parent)
    })
}

#[test]
fn c13_a_loop_made_in_the_child_works_there() {
    let mut inherited = EventLoop::new().unwrap();
    let code = in_child(|| {
        let mut events = EventLoop::with(0).unwrap();
        let counter = Counter::new(3).unwrap();
        let handler = events.add(counter, Interest::READABLE, |counter, turn| {
            *turn.state() += counter.take()?.unwrap_or(0);
            Ok(())
        });
        handler.unwrap();
        events.turn(None).unwrap();
        well(*events.state() == 3 && inherited.turn(None).is_err())
    });
    assert_eq!(code, WELL);
}

#[test]
fn c13_asking_is_no_call() {
    let kernel = Counting::new(Linux);
    assert_eq!(kernel.process(), Linux.process());
    assert_eq!(kernel.total(), 0);
}
