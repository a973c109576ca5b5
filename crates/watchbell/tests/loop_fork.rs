//! A loop in a forked child: refused where it would touch what is the parent's.
//!
//! Each test forks in a program of its own kind: the children run on one thread and leave at once.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/fork.rs"]
mod fork;
#[path = "support/looped.rs"]
mod looped;
mod support;

use fork::in_child;
use looped::{Bump, Trigger, counted, rest};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use support::watchdog;
use watchbell::Error;
use watchbell::epoll::Interest;
use watchbell::event_loop::Direction::{Input, Output};
use watchbell::event_loop::EventLoop;
use watchbell::eventfd::Counter;

#[test]
fn c13_a_forked_child_may_not_run_or_add_and_is_told_why() {
    watchdog(|| {
        let mut events = EventLoop::new().unwrap();
        events.stop_handle().stop();
        let code = in_child(|| {
            let is_refused = |error: Error| matches!(error, Error::Forked);
            assert!(is_refused(events.run().unwrap_err()));
            assert!(is_refused(events.turn(Some(Duration::ZERO)).unwrap_err()));
            let counter = Counter::new(0).unwrap();
            let refused = events.add(counter, Interest::READABLE, |_, _| Ok(())).unwrap_err();
            assert!(is_refused(refused.error));
            refused.source.add(1).unwrap(); // it came back whole
            0
        });
        assert_eq!(code, 0);
        events.run().unwrap(); // the stop was not taken by the child
        assert_eq!(events.stats().turns, 1);
    });
}

#[test]
fn c13_dropping_a_loop_in_a_forked_child_leaves_the_parents_registrations() {
    watchdog(|| {
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let read = counted();
        let bytes = Rc::clone(&read);
        let handler = events.add(server, Interest::READABLE, move |stream, _| {
            while let Some(read) = stream.read(&mut [0; 16])? {
                bytes.set(bytes.get() + read as u64);
            }
            Ok(())
        });
        handler.unwrap();
        let mut slot = Some(events);
        let code = in_child(|| {
            drop(slot.take());
            0
        });
        assert_eq!(code, 0);
        let mut events = slot.unwrap();
        client.write_all(b"hello").unwrap();
        events.turn(None).unwrap();
        assert_eq!((read.get(), events.stats().ghosts), (5, 0));
        events.stop_handle().stop();
        events.run().unwrap();
    });
}

/// Whatever the child asks of its copy of the loop, the interest list stays as the parent made it.
#[test]
fn c13_what_a_forked_child_asks_of_its_sources_changes_nothing_of_the_parents() {
    watchdog(|| {
        for trigger in [Trigger::Edge, Trigger::Level] {
            let (mut client, server) = UnixStream::pair().unwrap();
            client.set_nonblocking(true).unwrap();
            let mut events = EventLoop::new().unwrap();
            let runs = counted();
            let seen = Rc::clone(&runs);
            let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
                seen.bump();
                while stream.read(&mut [0; 16])?.is_some() {}
                while stream.write(&[0; 65536])?.is_some() {}
                Ok(())
            });
            client.write_all(b"x").unwrap();
            rest(&mut events); // it waits for room now
            let code = in_child(|| {
                events.pause(token, Input);
                events.wake(token, Output);
                events.resume(token, Input);
                events.pause(token, Output);
                events.remove(token);
                0
            });
            assert_eq!(code, 0);
            let before = runs.get();
            while client.read(&mut [0; 65536]).is_ok() {}
            rest(&mut events);
            assert!(runs.get() > before, "{trigger:?}: the parent is told of room");
            let before = runs.get();
            client.write_all(b"y").unwrap();
            rest(&mut events);
            assert!(runs.get() > before, "{trigger:?}: and of input");
        }
    });
}
