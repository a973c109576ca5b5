//! Failures that stay where they happen, and identities that do not mix.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, Trigger, counted, reporting, rest, shared};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::panic_any;
use std::rc::Rc;
use std::time::Duration;
use support::watchdog;
use watchbell::epoll::{Interest, OnBlocking, Source, Token};
use watchbell::event_loop::Direction::{Input, Output};
use watchbell::event_loop::{EventLoop, Ready, Registration, Shared, Turn};
use watchbell::eventfd::Counter;
use watchbell::kernel::{Borrowed, Kernel};
use watchbell::{Error, Rejected};

on_every_kernel! {
    e04_an_error_of_a_handler_closes_its_source_alone
    e04_a_panic_of_a_handler_closes_its_source_alone
    e04_a_source_that_removes_itself_and_panics_is_closed_once
    e04_an_error_and_a_panic_of_a_timer_stay_there
    e04_a_destructors_panic_stays_there
    e04_a_panic_that_carries_a_panic_stays_there
    e04_a_panic_of_the_report_leaves_the_loop_whole
    e13_a_removed_sources_fetched_event_is_discarded_and_counted
    e13_no_event_of_a_removed_source_reaches_the_next_in_its_slot
    e13_a_removed_source_is_silent_though_a_duplicate_lives
    e13_a_replaced_source_is_reported_and_its_ghost_is_healed
    e13_a_source_replaced_by_a_living_one_leaves_that_registered
    e13_every_kind_of_source_lives_through_a_healing
    e13_handlers_may_remove_and_add_as_they_like
    e13_a_source_that_cannot_name_its_descriptor_fails_alone
    e13_a_source_that_cannot_name_its_descriptor_at_its_end_leaves_a_healed_ghost
    e13_a_source_that_cannot_name_its_descriptor_at_a_healing_is_reported
}

in_both_modes! {
    e07_an_ignored_source_is_suspended_and_named
    e07_an_ignored_hang_up_never_spins
    e07_an_ignored_error_never_spins
    e06_a_blocking_source_is_refused_or_made_nonblocking
}

/// A counter whose destructor, or whose descriptor, can be made to panic.
struct Bomb<K: Kernel> {
    counter: Counter<K>,
    at_drop: bool,
    no_descriptor: Rc<Cell<bool>>,
}

impl<K: Kernel> Bomb<K> {
    fn new(kernel: K, initval: u32) -> Bomb<K> {
        let counter = Counter::on(kernel, initval).unwrap();
        Bomb { counter, at_drop: false, no_descriptor: Rc::default() }
    }
}

impl<K: Kernel> Source for Bomb<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        assert!(!self.no_descriptor.get(), "no descriptor");
        self.counter.descriptor()
    }
}

impl<K: Kernel> Drop for Bomb<K> {
    fn drop(&mut self) {
        assert!(!self.at_drop || std::thread::panicking(), "a destructor's panic");
    }
}

/// A source that counts its takes, and what adds to it.
fn bystander<K: Kernel>(kernel: &K, events: &mut EventLoop<(), K>) -> (Counter<K>, Rc<Cell<u64>>) {
    let (takes, counter) = (counted(), Counter::on(kernel.clone(), 0).unwrap());
    let adder = counter.try_clone().unwrap();
    let seen = Rc::clone(&takes);
    let handler = events.add(counter, Interest::READABLE, move |counter, _| {
        if counter.take()?.is_some() {
            seen.bump();
        }
        Ok(())
    });
    handler.unwrap();
    (adder, takes)
}

/// The loop goes on: a source that is told is run, and a stop stops.
fn assert_goes_on<K: Kernel>(events: &mut EventLoop<(), K>, adder: &Counter<K>, takes: &Cell<u64>) {
    let before = takes.get();
    adder.add(1).unwrap();
    events.turn(None).unwrap();
    assert_eq!(takes.get(), before + 1);
    events.stop_handle().stop();
    events.run().unwrap();
}

mod bodies {
    use super::*;
    use watchbell::sync::Arc;

    pub fn e04_an_error_of_a_handler_closes_its_source_alone<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let handler = events.add(counter, Interest::READABLE, |_, _| Err(io::Error::other("no")));
        let token = handler.unwrap();
        let (adder, takes) = bystander(&kernel, &mut events);
        adder.add(1).unwrap();
        events.turn(None).unwrap();
        assert_eq!((takes.get(), events.len()), (1, 1), "the rest of the batch goes on");
        assert_eq!(*failures.borrow(), [format!("source {token}: a handler failed: no")]);
        assert_eq!(events.stats().errors, 1);
        assert!(!events.remove(token), "it is closed");
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e04_a_panic_of_a_handler_closes_its_source_alone<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let handler = events.add(counter, Interest::READABLE, |_, _| panic!("oh {}", "no"));
        let token = handler.unwrap();
        let (adder, takes) = bystander(&kernel, &mut events);
        adder.add(1).unwrap();
        events.turn(None).unwrap();
        assert_eq!((takes.get(), events.len()), (1, 1));
        assert_eq!(*failures.borrow(), [format!("source {token}: a handler panicked: oh no")]);
        assert_eq!(events.stats().panics, 1);
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e04_a_source_that_removes_itself_and_panics_is_closed_once<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let handler = events.add(counter, Interest::READABLE, |counter, turn| {
            counter.pause(Input);
            let own = turn.token().unwrap();
            assert!(turn.remove(own) && turn.remove(own));
            turn.wake(own, Output);
            turn.close()?;
            panic!("after all that")
        });
        handler.unwrap();
        let (adder, takes) = bystander(&kernel, &mut events);
        events.turn(None).unwrap();
        assert_eq!((failures.borrow().len(), events.len(), events.stats().ghosts), (1, 1, 0));
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e04_an_error_and_a_panic_of_a_timer_stay_there<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let fired = counted();
        let third = Rc::clone(&fired);
        events.after(Duration::ZERO, |_| Err(io::Error::other("late")));
        events.after(Duration::ZERO, |_| panic!("later"));
        events.after(Duration::ZERO, move |turn| {
            third.bump();
            let closed = turn.close().expect_err("there is no source to close");
            assert_eq!(closed.kind(), io::ErrorKind::NotFound);
            Ok(())
        });
        events.turn(None).unwrap();
        assert_eq!(*failures.borrow(), ["a handler failed: late", "a handler panicked: later"]);
        assert_eq!((fired.get(), events.stats().timers), (1, 3));
    }

    pub fn e04_a_destructors_panic_stays_there<K: Kernel>(kernel: K) {
        let (mut events, _) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let (adder, takes) = bystander(&kernel, &mut events);
        let bomb = || {
            let mut bomb = Bomb::new(kernel.clone(), 1);
            bomb.at_drop = true;
            bomb
        };
        let closer = events.add(bomb(), Interest::READABLE, |_, turn| turn.close());
        closer.unwrap();
        let failing = events.add(bomb(), Interest::READABLE, |_, _| Err(io::Error::other("no")));
        failing.unwrap();
        let removed = events.add(bomb(), Interest::READABLE, |_, _| Ok(())).unwrap();
        assert!(events.remove(removed));
        adder.add(1).unwrap();
        events.turn(None).unwrap();
        assert_eq!((takes.get(), events.stats().panics, events.len()), (1, 3, 1));
        assert_eq!(events.stats().ghosts, 0, "they had left the interest list");
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e04_a_panic_that_carries_a_panic_stays_there<K: Kernel>(kernel: K) {
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                assert!(std::thread::panicking(), "a payload's panic");
            }
        }
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let (adder, takes) = bystander(&kernel, &mut events);
        let counter = Counter::on(kernel, 1).unwrap();
        let handler = events.add(counter, Interest::READABLE, |_, _| panic_any(Payload));
        let token = handler.unwrap();
        events.after(Duration::ZERO, |_| panic_any(Payload));
        events.turn(None).unwrap();
        let panicked = "a handler panicked: (no message)";
        assert_eq!(*failures.borrow(), [format!("source {token}: {panicked}"), panicked.into()]);
        assert_goes_on(&mut events, &adder, &takes);
    }

    /// A report's panic is counted, and goes no further: the rest of the turn goes on.
    pub fn e04_a_panic_of_the_report_leaves_the_loop_whole<K: Kernel>(kernel: K) {
        let builder =
            EventLoop::builder_on(kernel.clone(), ()).on_failure(|_, _| panic!("reported"));
        let mut events = builder.build().unwrap();
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        events.add(counter, Interest::READABLE, |_, _| Err(io::Error::other("no"))).unwrap();
        let (adder, takes) = bystander(&kernel, &mut events);
        adder.add(1).unwrap();
        events.turn(None).unwrap();
        let stats = events.stats();
        assert_eq!((takes.get(), events.len(), stats.errors, stats.panics), (1, 1, 1, 1));
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e13_a_removed_sources_fetched_event_is_discarded_and_counted<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let victim = shared::<Option<Token>>();
        let removed = Rc::clone(&victim);
        let first = Counter::on(kernel.clone(), 1).unwrap();
        let remover = events.add(first, Interest::READABLE, move |counter, turn| {
            assert!(turn.remove(removed.borrow().unwrap()));
            counter.take().map(drop)
        });
        remover.unwrap();
        let second = Counter::on(kernel, 1).unwrap();
        let handler = events.add(second, Interest::READABLE, |_, _| panic!("it is removed"));
        *victim.borrow_mut() = Some(handler.unwrap());
        rest(&mut events);
        let stats = events.stats();
        assert_eq!((stats.events, stats.runs, stats.stale, stats.panics), (2, 1, 1, 0));
    }

    pub fn e13_no_event_of_a_removed_source_reaches_the_next_in_its_slot<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let victim = shared::<Option<Token>>();
        let (runs, removed) = (counted(), Rc::clone(&victim));
        let (kernel2, seen) = (kernel.clone(), Rc::clone(&runs));
        let first = Counter::on(kernel.clone(), 1).unwrap();
        let remover = events.add(first, Interest::READABLE, move |counter, turn| {
            // The successor has the slot, and most likely the descriptor's number.
            assert!(turn.remove(removed.borrow().unwrap()));
            let seen = Rc::clone(&seen);
            let successor = Counter::on(kernel2.clone(), 0)?;
            turn.add(successor, Interest::READABLE, move |_, _| {
                seen.bump();
                Ok(())
            })?;
            counter.take().map(drop)
        });
        remover.unwrap();
        let second = Counter::on(kernel, 1).unwrap();
        let handler = events.add(second, Interest::READABLE, |_, _| panic!("it is removed"));
        *victim.borrow_mut() = Some(handler.unwrap());
        rest(&mut events);
        assert_eq!((runs.get(), events.len()), (0, 2));
        assert!(!events.remove(victim.borrow().unwrap()), "the old token finds nobody");
    }

    pub fn e13_a_removed_source_is_silent_though_a_duplicate_lives<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let counter = Counter::on(kernel, 0).unwrap();
        let duplicate = counter.try_clone().unwrap();
        let token = events.add(counter, Interest::READABLE, |_, _| Ok(())).unwrap();
        assert!(events.remove(token));
        duplicate.add(1).unwrap();
        rest(&mut events);
        let stats = events.stats();
        assert_eq!((stats.events, stats.stale, stats.ghosts), (0, 0, 0));
    }

    pub fn e13_a_replaced_source_is_reported_and_its_ghost_is_healed<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let (adder, takes) = bystander(&kernel, &mut events);
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let duplicate = counter.try_clone().unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            *counter.get_mut() = Counter::on(kernel.clone(), 0)?;
            Ok(())
        });
        let token = handler.unwrap();
        events.turn(None).unwrap();
        let replaced = format!("source {token}: a handler replaced its source's descriptor");
        assert_eq!(*failures.borrow(), [replaced]);
        let stats = events.stats();
        assert_eq!((stats.ghosts, stats.healed, events.len()), (1, 1, 1));
        duplicate.add(1).unwrap();
        rest(&mut events);
        assert_eq!((events.stats().events, events.stats().stale), (stats.events, 0));
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e13_a_source_replaced_by_a_living_one_leaves_that_registered<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let runs = counted();
        let seen = Rc::clone(&runs);
        let living = Arc::new(Counter::on(kernel.clone(), 0).unwrap());
        let handler = events.add(Arc::clone(&living), Interest::READABLE, move |counter, _| {
            counter.input(|counter| Ok(counter.try_take()))?;
            seen.bump();
            Ok(())
        });
        let token = handler.unwrap();
        let other = Arc::new(Counter::on(kernel, 1).unwrap());
        let replacement = Arc::clone(&living);
        let handler = events.add(other, Interest::READABLE, move |counter, _| {
            *counter.get_mut() = Arc::clone(&replacement);
            Ok(())
        });
        handler.unwrap();
        events.turn(None).unwrap();
        assert_eq!(failures.borrow().len(), 1);
        events.pause(token, Input);
        living.add(1).unwrap();
        rest(&mut events);
        events.resume(token, Input);
        events.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!(runs.get(), 1, "its registration was not ended in the other's name");
    }

    /// Ready, drained, paused and told, and retained sources.
    pub fn e13_every_kind_of_source_lives_through_a_healing<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let (adder, takes) = bystander(&kernel, &mut events);
        let (paused_adder, paused_takes) = bystander(&kernel, &mut events);
        let semaphore = watchbell::eventfd::Semaphore::on(kernel.clone(), 5).unwrap();
        let units = counted();
        let seen = Rc::clone(&units);
        let retained = events.add(semaphore, Interest::READABLE, move |semaphore, _| {
            if semaphore.wait()?.is_some() {
                seen.bump();
            }
            Ok(())
        });
        retained.unwrap();
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let _duplicate = counter.try_clone().unwrap();
        let replaced = events.add(counter, Interest::READABLE, move |counter, turn| {
            for token in turn.tokens_of::<Counter<K>>() {
                turn.pause(token, Input);
            }
            *counter.get_mut() = Counter::on(kernel.clone(), 0)?;
            Ok(())
        });
        replaced.unwrap();
        paused_adder.add(1).unwrap();
        rest(&mut events);
        assert_eq!((units.get(), events.stats().healed, failures.borrow().len()), (5, 1, 1));
        for token in events.tokens_of::<Counter<K>>() {
            events.resume(token, Input);
        }
        rest(&mut events);
        assert_eq!((takes.get(), paused_takes.get()), (0, 1));
        assert_goes_on(&mut events, &adder, &takes);
        assert_goes_on(&mut events, &paused_adder, &paused_takes);
    }

    pub fn e13_handlers_may_remove_and_add_as_they_like<K: Kernel>(kernel: K) {
        type Handler<K> =
            Box<dyn FnMut(&mut Ready<'_, Counter<K>>, &mut Turn<'_, (), K>) -> io::Result<()>>;
        fn link<K: Kernel>(kernel: K, left: u32) -> Handler<K> {
            Box::new(move |_, turn| {
                for token in turn.tokens_of::<Counter<K>>() {
                    turn.remove(token);
                }
                if left > 0 {
                    let counter = Counter::on(kernel.clone(), 1)?;
                    turn.add(counter, Interest::READABLE, link(kernel.clone(), left - 1))?;
                }
                turn.close()
            })
        }
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        events.add(counter, Interest::READABLE, link(kernel, 100)).unwrap();
        rest(&mut events);
        assert_eq!((events.len(), events.stats().runs, events.stats().stale), (0, 101, 0));
    }

    pub fn e13_a_source_that_cannot_name_its_descriptor_fails_alone<K: Kernel>(kernel: K) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let (adder, takes) = bystander(&kernel, &mut events);
        let bomb = Bomb::new(kernel, 1);
        let fuse = Rc::clone(&bomb.no_descriptor);
        let handler = events.add(bomb, Interest::READABLE, move |_, _| {
            fuse.set(true);
            Ok(())
        });
        let token = handler.unwrap();
        rest(&mut events);
        let panicked = format!("source {token}: a handler panicked: no descriptor");
        assert_eq!(*failures.borrow(), [panicked]);
        assert_eq!((events.len(), events.stats().healed), (1, 1));
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e13_a_source_that_cannot_name_its_descriptor_at_its_end_leaves_a_healed_ghost<
        K: Kernel,
    >(
        kernel: K,
    ) {
        let (mut events, _) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let (adder, takes) = bystander(&kernel, &mut events);
        let bomb = Bomb::new(kernel, 0);
        let duplicate = bomb.counter.try_clone().unwrap();
        let fuse = Rc::clone(&bomb.no_descriptor);
        let token = events.add(bomb, Interest::READABLE, |_, _| Ok(())).unwrap();
        fuse.set(true);
        assert!(events.remove(token));
        rest(&mut events);
        duplicate.add(1).unwrap();
        rest(&mut events);
        let stats = events.stats();
        assert_eq!((stats.ghosts, stats.healed, stats.events, stats.panics), (1, 1, 0, 1));
        assert_goes_on(&mut events, &adder, &takes);
    }

    pub fn e13_a_source_that_cannot_name_its_descriptor_at_a_healing_is_reported<K: Kernel>(
        kernel: K,
    ) {
        let (mut events, failures) = reporting(EventLoop::builder_on(kernel.clone(), ()));
        let bomb = Bomb::new(kernel.clone(), 0);
        let fuse = Rc::clone(&bomb.no_descriptor);
        events.add(bomb, Interest::READABLE, |_, _| Ok(())).unwrap();
        let (adder, takes) = bystander(&kernel, &mut events);
        let counter = Counter::on(kernel.clone(), 1).unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            fuse.set(true);
            *counter.get_mut() = Counter::on(kernel.clone(), 0)?;
            Ok(())
        });
        handler.unwrap();
        rest(&mut events);
        let failures = failures.borrow().join("; ");
        assert!(failures.contains("replaced") && failures.contains("registration"), "{failures}");
        assert_eq!(events.len(), 1);
        assert_goes_on(&mut events, &adder, &takes);
    }
}

mod modes {
    use super::*;

    pub fn e07_an_ignored_source_is_suspended_and_named(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"x").unwrap();
        let (mut events, failures) = reporting(EventLoop::builder().idle_runs(10));
        let ignoring = Rc::new(Cell::new(true));
        let ignores = Rc::clone(&ignoring);
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            if !ignores.get() {
                while stream.read(&mut [0; 16])?.is_some() {}
            }
            Ok(())
        });
        rest(&mut events);
        let ignored = format!("source {token}: a handler ignores its source's readiness");
        assert_eq!(*failures.borrow(), [ignored]);
        let runs = events.stats().runs;
        assert!((10..=12).contains(&runs), "{runs} runs");
        client.write_all(b"y").unwrap();
        rest(&mut events);
        assert_eq!((events.stats().runs, events.stats().suspended), (runs, 1));

        ignoring.set(false);
        assert!(events.resume(token, Input), "it is not closed");
        rest(&mut events);
        assert!(events.stats().runs > runs);
        assert_eq!(failures.borrow().len(), 1);
    }

    pub fn e07_an_ignored_hang_up_never_spins(trigger: Trigger) {
        for interest in [Interest::NONE, Interest::READABLE, Interest::PRIORITY] {
            let (reader, writer) = io::pipe().unwrap();
            let (mut events, _) = reporting(EventLoop::builder().idle_runs(10));
            trigger.add(&mut events, reader, interest, |_, _| Ok(()));
            drop(writer);
            rest(&mut events);
            let runs = events.stats().runs;
            assert!((1..=12).contains(&runs), "{runs} runs for {interest:?}");
        }
    }

    pub fn e07_an_ignored_error_never_spins(trigger: Trigger) {
        for interest in [Interest::NONE, Interest::READABLE, Interest::WRITABLE] {
            let (reader, writer) = io::pipe().unwrap();
            let (mut events, _) = reporting(EventLoop::builder().idle_runs(10));
            trigger.add(&mut events, writer, interest, |_, _| Ok(()));
            drop(reader);
            rest(&mut events);
            let runs = events.stats().runs;
            assert!((1..=12).contains(&runs), "{runs} runs for {interest:?}");
        }
    }

    pub fn e06_a_blocking_source_is_refused_or_made_nonblocking(trigger: Trigger) {
        let (stream, _peer) = UnixStream::pair().unwrap();
        let kept = stream.try_clone().unwrap();
        let is_nonblocking = |stream: &UnixStream| {
            let flags = rustix::fs::fcntl_getfl(stream).unwrap();
            flags.contains(rustix::fs::OFlags::NONBLOCK)
        };
        let builder = EventLoop::builder().on_blocking(OnBlocking::Refuse);
        let mut events: EventLoop = builder.build().unwrap();
        let Err(Rejected { source, error }) = events.add(stream, Interest::READABLE, |_, _| Ok(()))
        else {
            panic!("it is blocking")
        };
        assert!(matches!(error, Error::Blocking), "{error}");
        assert!(!is_nonblocking(&kept) && events.is_empty(), "and it is left as it was");

        let mut events = EventLoop::new().unwrap();
        trigger.add(&mut events, source, Interest::READABLE, |_, _| Ok(()));
        assert!(is_nonblocking(&kept));
    }
}

/// A paused level-triggered source with a hang-up, and an exclusive one with a connection to
/// accept.
#[test]
fn e13_a_healing_keeps_each_mode_and_wakes_no_paused_source_for_ever() {
    watchdog(|| {
        let (mut events, failures) = reporting(EventLoop::builder());
        let (reader, writer) = io::pipe().unwrap();
        let ended = counted();
        let seen = Rc::clone(&ended);
        let pipe =
            events.add(reader, Registration::level(Interest::READABLE), move |pipe, turn| {
                if pipe.read(&mut [0; 16])? == Some(0) {
                    seen.bump();
                    turn.close()?;
                }
                Ok(())
            });
        let pipe = pipe.unwrap();
        events.pause(pipe, Input);
        drop(writer);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Shared::new(listener);
        let address = listener.local_addr().unwrap();
        let accepted = counted();
        let seen = Rc::clone(&accepted);
        let exclusive = events.add(listener, Registration::exclusive(), move |listener, _| {
            while listener.accept()?.is_some() {
                seen.bump();
            }
            Ok(())
        });
        exclusive.unwrap();
        let counter = Counter::new(1).unwrap();
        let replaced = events.add(counter, Interest::READABLE, |counter, _| {
            *counter.get_mut() = Counter::new(0)?;
            Ok(())
        });
        replaced.unwrap();
        rest(&mut events);
        assert_eq!((events.stats().healed, failures.borrow().len()), (1, 1), "{failures:?}");
        assert!(events.stats().runs < 10, "{:?}", events.stats());

        let _client = std::net::TcpStream::connect(address).unwrap();
        looped::drive(&mut events, || accepted.get() == 1);
        events.resume(pipe, Input);
        rest(&mut events);
        assert_eq!((ended.get(), failures.borrow().len()), (1, 1), "{failures:?}");
    });
}

/// A source with a descriptor that the handler can point at another file under the same number.
struct Pointed(OwnedFd);

impl Source for Pointed {
    type Fd = OwnedFd;

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// No number tells, but the registration does, which the loop asks after a handler that had the
/// source itself in its hands.
#[test]
fn e13_a_source_pointed_at_another_file_under_its_number_is_closed_and_healed() {
    watchdog(|| {
        let (mut events, failures) = reporting(EventLoop::builder().idle_runs(5));
        let (mut client, server) = UnixStream::pair().unwrap();
        let _duplicate = server.try_clone().unwrap();
        let other: OwnedFd = UnixStream::pair().unwrap().0.into();
        let handler = events.add(
            Pointed(server.into()),
            Registration::level(Interest::READABLE),
            move |source, _| {
                rustix::io::dup2(&other, &mut source.get_mut().0)?;
                Ok(())
            },
        );
        handler.unwrap();
        client.write_all(b"x").unwrap();
        rest(&mut events);
        let stats = events.stats();
        assert_eq!((events.len(), stats.ghosts, stats.healed), (0, 1, 1));
        assert!(failures.borrow()[0].contains("replaced"), "{failures:?}");
    });
}

/// An exclusive registration cannot be changed to wait for output, so that is not kept silent.
#[test]
fn x02_output_that_blocks_on_an_exclusive_source_is_reported() {
    watchdog(|| {
        let (mut events, failures) = reporting(EventLoop::builder());
        let (mut client, server) = UnixStream::pair().unwrap();
        let handler = events.add(Shared::new(server), Registration::exclusive(), |stream, _| {
            while stream.input(|stream| (&**stream).read(&mut [0; 16]))?.is_some() {}
            while stream.output(|stream| (&**stream).write(&[0; 4096]))?.is_some() {}
            Ok(())
        });
        let token = handler.unwrap();
        client.write_all(b"x").unwrap();
        events.wake(token, Input);
        rest(&mut events);
        assert_eq!((events.len(), failures.borrow().len()), (0, 1));
        assert!(failures.borrow()[0].contains("output"), "{failures:?}");
    });
}
