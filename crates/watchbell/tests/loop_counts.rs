//! What a loop costs in system calls, to the last one.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::rest;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop};
use watchbell::eventfd::{Counter, Semaphore};
use watchbell::kernel::Call::{
    EpollAdd, EpollCreate, EpollDelete, EpollModify, EpollWait, Eventfd, Read, SetNonblocking,
    Write as WriteCall,
};
use watchbell::kernel::{Call, Counting, Linux};

type Loop = EventLoop<(), Counting<Linux>>;

/// These calls were made since the last look, and no others.
#[track_caller]
fn assert_calls(kernel: &Counting<Linux>, expected: &[(Call, u64)]) {
    for (call, times) in expected {
        assert_eq!(kernel.calls(*call), *times, "{call:?}");
    }
    let sum = expected.iter().map(|(_, times)| times).sum::<u64>();
    assert_eq!(kernel.total(), sum, "and no other call");
    kernel.reset();
}

fn counting() -> (Counting<Linux>, Loop) {
    let (kernel, events) = looped::counting();
    kernel.reset();
    (kernel, events)
}

#[test]
fn e01_a_loop_costs_its_instance_its_bell_and_one_registration() {
    let kernel = Counting::new(Linux);
    let events: Loop = EventLoop::on(kernel.clone(), ()).unwrap();
    assert_calls(&kernel, &[(EpollCreate, 1), (Eventfd, 1), (EpollAdd, 1)]);
    drop(events);
    assert_calls(&kernel, &[(EpollDelete, 1)]);
}

#[test]
fn e06_a_source_costs_one_registration_and_is_made_nonblocking_unless_it_is_ours() {
    let (kernel, mut events) = counting();
    let counter = Counter::on(kernel.clone(), 0).unwrap();
    kernel.reset();
    let token = events.add(counter, Interest::READABLE, |_, _| Ok(())).unwrap();
    assert_calls(&kernel, &[(EpollAdd, 1)]);
    let (stream, _peer) = UnixStream::pair().unwrap();
    events.add(stream, Interest::READABLE, |_, _| Ok(())).unwrap();
    assert_calls(&kernel, &[(SetNonblocking, 1), (EpollAdd, 1)]);
    assert!(events.remove(token));
    assert_calls(&kernel, &[(EpollDelete, 1)]);
}

#[test]
fn e05_a_retained_source_costs_one_wait_a_turn() {
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let budget = Budget::default().operations(10);
        let mut events: Loop =
            EventLoop::builder_on(kernel.clone(), ()).budget(budget).build().unwrap();
        let semaphore = Semaphore::on(kernel.clone(), u32::MAX).unwrap();
        let handler = events.add(semaphore, Interest::READABLE, |semaphore, _| {
            while semaphore.wait()?.is_some() {}
            Ok(())
        });
        handler.unwrap();
        kernel.reset();
        for _ in 0..100 {
            events.turn(None).unwrap();
        }
        assert_calls(&kernel, &[(EpollWait, 100), (Read, 1000)]);
        assert_eq!(events.stats().events, 1);
    });
}

#[test]
fn c05_a_counter_costs_one_wait_and_one_read() {
    watchdog(|| {
        let (kernel, mut events) = counting();
        let counter = Counter::on(kernel.clone(), 0).unwrap();
        let adder = counter.try_clone().unwrap();
        let handler =
            events.add(counter, Interest::READABLE, |counter, _| counter.take().map(drop));
        handler.unwrap();
        kernel.reset();
        adder.add(1).unwrap();
        adder.add(1).unwrap();
        events.turn(None).unwrap();
        assert_calls(&kernel, &[(WriteCall, 2), (EpollWait, 1), (Read, 1)]);
    });
}

#[test]
fn fault_stop_costs_one_write_and_one_wait() {
    watchdog(|| {
        let (kernel, mut events) = counting();
        events.stop_handle().stop();
        assert_calls(&kernel, &[(WriteCall, 1)]);
        events.run().unwrap();
        assert_calls(&kernel, &[(EpollWait, 1)]);
    });
}

#[test]
fn e14_timers_cost_no_call_of_their_own() {
    watchdog(|| {
        let (kernel, mut events) = counting();
        for _ in 0..100 {
            let timer = events.after(Duration::from_secs(3600), |_| Ok(()));
            events.cancel(timer);
            events.after(Duration::ZERO, |_| Ok(()));
        }
        events.turn(None).unwrap();
        assert_eq!(events.stats().timers, 100);
        assert_calls(&kernel, &[(EpollWait, 1)]);
    });
}

#[test]
fn e08_blocked_output_costs_two_changes() {
    watchdog(|| {
        let (kernel, mut events) = counting();
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut full = false;
        let handler = events.add(server, Interest::READABLE, move |stream, _| {
            while !full && stream.write(&[0; 65536])?.is_some() {}
            full |= stream.is_blocked();
            if full && !stream.is_blocked() {
                assert_eq!(stream.write(b"the end")?, Some(7));
            }
            while stream.read(&mut [0; 16])?.is_some() {}
            Ok(())
        });
        handler.unwrap();
        client.write_all(b"go").unwrap();
        kernel.reset();
        rest(&mut events);
        assert_eq!(kernel.calls(EpollModify), 1);
        client.set_nonblocking(true).unwrap();
        while std::io::Read::read(&mut client, &mut [0; 65536]).is_ok() {}
        rest(&mut events);
        assert_eq!(kernel.calls(EpollModify), 2);
    });
}

/// Pausing an edge-triggered source costs nothing: what is told meanwhile is kept.
#[test]
fn e09_a_pause_costs_an_edge_triggered_source_no_call() {
    watchdog(|| {
        let (kernel, mut events) = counting();
        let counter = Counter::on(kernel.clone(), 0).unwrap();
        let token = events.add(counter, Interest::READABLE, |_, _| Ok(())).unwrap();
        kernel.reset();
        events.pause(token, Direction::Input);
        events.resume(token, Direction::Input);
        assert_calls(&kernel, &[]);
    });
}

#[test]
fn e13_a_healing_costs_one_instance_and_one_registration_a_source() {
    watchdog(|| {
        let (kernel, mut events) = counting();
        for _ in 0..3 {
            let counter = Counter::on(kernel.clone(), 0).unwrap();
            events.add(counter, Interest::READABLE, |_, _| Ok(())).unwrap();
        }
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let new = kernel.clone();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            *counter.get_mut() = Counter::on(new.clone(), 0)?;
            Ok(())
        });
        handler.unwrap();
        kernel.reset();
        events.turn(None).unwrap();
        assert_eq!(events.stats().healed, 1);
        assert_eq!(kernel.calls(EpollCreate), 1);
        assert_eq!(kernel.calls(EpollAdd), 3 + 1, "and the stop");
        assert_eq!(kernel.calls(EpollDelete), 0, "the ghost goes with the old instance");
    });
}
