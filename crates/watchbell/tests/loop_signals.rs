//! Signals: sources like others, and interruptions that eat nothing.
#![cfg(feature = "signals")]
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "support/fork.rs"]
mod fork;
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, counted, drive, rest, shared};
use signal_hook::consts::{SIGHUP, SIGKILL, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::low_level::raise;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;
use support::{observe, watchdog};
use watchbell::epoll::Interest;
use watchbell::event_loop::{EventLoop, Signals};
use watchbell::eventfd::Counter;

#[test]
fn e04_a_signal_is_a_source_and_several_of_a_number_are_one() {
    watchdog(|| {
        let mut events = EventLoop::new().unwrap();
        let caught = shared::<Vec<i32>>();
        let seen = Rc::clone(&caught);
        let signals = Signals::new(&[SIGUSR1, SIGHUP]).unwrap();
        let handler = events.add(signals, Interest::READABLE, move |signals, _| {
            while let Some(signal) = signals.next_signal()? {
                seen.borrow_mut().push(signal);
            }
            Ok(())
        });
        handler.unwrap();
        for _ in 0..3 {
            raise(SIGHUP).unwrap();
            raise(SIGUSR1).unwrap();
            raise(SIGHUP).unwrap();
            rest(&mut events);
            caught.borrow_mut().sort_unstable();
            let mut expected = [SIGHUP, SIGUSR1];
            expected.sort_unstable();
            assert_eq!(caught.borrow_mut().split_off(0), expected);
        }
    });
}

/// A handler that takes one signal a run is run again for the next.
#[test]
fn e03_a_signal_that_was_fetched_and_not_handed_out_keeps_its_source_runnable() {
    watchdog(|| {
        let mut events = EventLoop::new().unwrap();
        let caught = counted();
        let seen = Rc::clone(&caught);
        let signals = Signals::new(&[SIGUSR2, SIGWINCH]).unwrap();
        let handler = events.add(signals, Interest::READABLE, move |signals, _| {
            if signals.next_signal()?.is_some() {
                seen.bump();
            }
            Ok(())
        });
        handler.unwrap();
        raise(SIGUSR2).unwrap();
        raise(SIGWINCH).unwrap();
        rest(&mut events);
        assert_eq!(caught.get(), 2);
    });
}

#[test]
fn e04_a_signal_that_cannot_be_caught_is_refused() {
    let error = Signals::new(&[SIGUSR1, SIGKILL]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains('9'), "{error}");
}

/// The wait is interrupted again and again by a signal that nobody watches in the loop.
#[test]
fn e04_an_interrupted_wait_goes_on_and_loses_no_event() {
    watchdog(|| {
        // A handler makes the signal interrupt calls; SA_RESTART does not concern epoll_wait(2).
        let flag = std::sync::Arc::default();
        signal_hook::flag::register(signal_hook::consts::SIGALRM, flag).unwrap();
        let (send, receive) = mpsc::channel();
        let thread = observe(move || {
            let counter = Counter::new(0).unwrap();
            let adder = counter.try_clone().unwrap();
            let mut events = EventLoop::new().unwrap();
            let sum = counted();
            let total = Rc::clone(&sum);
            let handler = events.add(counter, Interest::READABLE, move |counter, _| {
                total.set(total.get() + counter.take()?.unwrap_or(0));
                Ok(())
            });
            handler.unwrap();
            send.send((fork::thread_id(), adder)).unwrap();
            drive(&mut events, || sum.get() == 3);
            events.stats()
        });
        let (tid, adder) = receive.recv().unwrap();
        for _ in 0..3 {
            for _ in 0..5 {
                thread.wait_until_blocked();
                fork::interrupt(tid, signal_hook::consts::SIGALRM);
            }
            adder.add(1).unwrap();
        }
        let stats = thread.join();
        assert!(stats.events <= 3, "{stats:?}");
        assert!(stats.turns >= 15, "an interruption ends a turn: {stats:?}");
    });
}

#[test]
fn e14_an_interrupted_wait_makes_no_timer_early() {
    watchdog(|| {
        let flag = std::sync::Arc::default();
        signal_hook::flag::register(signal_hook::consts::SIGPROF, flag).unwrap();
        let (send, receive) = mpsc::channel();
        let thread = observe(move || {
            let mut events = EventLoop::new().unwrap();
            let due = events.now() + Duration::from_millis(100);
            events.at(due, move |turn| {
                assert!(turn.now() >= due);
                turn.stop();
                Ok(())
            });
            send.send(fork::thread_id()).unwrap();
            events.run().unwrap();
            events.stats()
        });
        let tid = receive.recv().unwrap();
        fork::interrupt(tid, signal_hook::consts::SIGPROF);
        let stats = thread.join();
        assert_eq!((stats.timers, stats.panics), (1, 0));
    });
}

/// signal-hook keeps a slot for each number and trusts its caller: one beyond ended the process.
#[test]
fn e04_numbers_that_are_no_signals_are_refused() {
    for number in [i32::MIN, -1, 0, 65, 128, i32::MAX] {
        let refused = Signals::new(&[SIGUSR1, number]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{number}");
    }
}
