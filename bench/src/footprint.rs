//! P10: what a registration costs.

use crate::{allocator, raw, stepper, verdict};
use std::cell::Cell;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use watchbell::epoll::Interest;
use watchbell::event_loop::{EventLoop, Registration};
use watchbell::eventfd::Counter;

/// Registers so many sources of one kind.
pub fn subject(name: &str, count: usize) {
    raw::raise_limit();
    let fds: Vec<OwnedFd> = (0..count).map(|_| raw::pair()).map(|[fd, _]| fd).collect();
    match name {
        "epoll_ctl" => {
            let epoll = raw::Epoll::new();
            for (index, fd) in fds.iter().enumerate() {
                epoll.add(fd.as_raw_fd(), libc::EPOLLIN | libc::EPOLLET, index as u64);
            }
            std::process::exit(0); // without what closing costs
        }
        _ => {
            let mut events = EventLoop::new().expect("a loop");
            for fd in fds {
                let watched = Registration::edge(Interest::READABLE);
                let watched = if name == "vouched" { watched.nonblocking() } else { watched };
                events.add(fd, watched, |_, _| Ok(())).expect("it can be registered");
            }
            std::process::exit(0);
        }
    }
}

pub fn suite() {
    raw::raise_limit();
    println!("footprint: heap a registration, beside source and handler, in bytes");
    for count in [1_000, 9_900] {
        let bytes = heap(count);
        println!("{count:>6} sources {bytes:>24.1}  {}", verdict(bytes, Some(72.0)));
    }
    let allocations = allocations();
    println!("allocations an event {allocations:>18.3}  {}", verdict(allocations, Some(0.0)));
    println!("system calls a registration");
    let bare = a_registration("epoll_ctl");
    for name in ["epoll_ctl", "vouched", "plain"] {
        let calls = a_registration(name);
        let goal = (name == "vouched").then_some(1.2);
        println!("{name:>14} {:>24.3}  {}", calls / bare, verdict(calls / bare, goal));
    }
}

/// The heap that registrations take, beside the sources and the handlers themselves.
fn heap(count: usize) -> f64 {
    let mut events = EventLoop::new().expect("a loop");
    let sum = Rc::new(Cell::new(0));
    let counters: Vec<Counter> =
        (0..count).map(|_| Counter::new(0).expect("descriptors are left")).collect();
    let before = allocator::live();
    let mut own = 0;
    let mut tokens = Vec::new();
    let held = counters.capacity() * size_of::<Counter>();
    for counter in counters {
        let sum = Rc::clone(&sum);
        own += size_of_val(&counter);
        let handler = move |counter: &mut watchbell::event_loop::Ready<'_, Counter>,
                            _: &mut watchbell::event_loop::Turn<'_>| {
            sum.set(sum.get() + counter.take()?.unwrap_or(0));
            Ok(())
        };
        own += size_of_val(&handler);
        tokens.push(events.add(counter, Interest::READABLE, handler).expect("registered"));
    }
    drop(tokens);
    let after = allocator::live() + held; // the vector of counters is gone by now
    (after - before - own) as f64 / count as f64
}

/// How many allocations an event makes, once the loop has met each source.
fn allocations() -> f64 {
    const EVENTS: usize = 10_000;
    let mut events = EventLoop::with(0).expect("a loop");
    let counter = Counter::new(0).expect("descriptors are left");
    let bell = counter.try_clone().expect("descriptors are left");
    events
        .add(counter, Interest::READABLE, |counter, turn| {
            *turn.state() += counter.take()?.unwrap_or(0);
            Ok(())
        })
        .expect("registered");
    let mut run = |events_to_have: usize| {
        for _ in 0..events_to_have {
            bell.add(1).expect("there is room");
            events.turn(Some(Duration::ZERO)).expect("a turn");
        }
    };
    run(10);
    let before = allocator::calls();
    run(EVENTS);
    (allocator::calls() - before) as f64 / EVENTS as f64
}

fn a_registration(name: &str) -> f64 {
    let run = |count: usize| {
        stepper::calls(&["subject", "register", name, &count.to_string()])
            .expect("the subject runs")
    };
    // Each source is made by one call, and its peer is closed by another.
    (run(600) - run(200)) as f64 / 400.0 - 2.0
}
