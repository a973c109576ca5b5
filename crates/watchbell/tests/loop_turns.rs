//! Turns: fairness, timers, stops, and the count of all that.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, counted, counting, rest, shared};
use std::rc::Rc;
use std::time::{Duration, Instant};
use support::{observe, watchdog};
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop};
use watchbell::eventfd::Counter;
use watchbell::kernel::Call;

on_every_kernel! {
    e10_a_quiet_source_waits_for_one_turn_of_each_flooding_one
    e10_all_ready_sources_have_their_turn_though_a_wait_fetches_one
    fault_busy_source_does_not_starve_timers
    e14_a_timer_never_fires_early
    e14_timers_fire_in_order_and_once
    e14_a_timer_that_sets_timers_does_not_hold_the_loop
    e14_a_cancelled_timer_does_not_fire_and_is_dropped
    fault_rearmed_timers_do_not_pile_up
    e14_a_delay_beyond_the_clock_is_a_long_one
    fault_stop_before_run_is_kept
    fault_stop_wakes_a_loop_that_sleeps
    fault_stop_in_mid_batch_finishes_the_batch
    fault_stop_is_consumed_by_one_run
    e10_a_stop_in_a_turn_of_its_own_is_kept_for_the_run
    e10_a_stop_reaches_a_loop_whose_sources_never_rest
}

mod bodies {
    use super::*;
    use watchbell::eventfd::{Counter, Semaphore};
    use watchbell::kernel::Kernel;

    pub fn e10_a_quiet_source_waits_for_one_turn_of_each_flooding_one<K: Kernel>(kernel: K) {
        const OPERATIONS: u32 = 8;
        const FLOODS: u64 = 3;
        let budget = Budget::default().operations(OPERATIONS);
        let mut events: EventLoop<(), K> =
            EventLoop::builder_on(kernel.clone(), ()).budget(budget).build().unwrap();
        let taken = counted();
        for _ in 0..FLOODS {
            let units = Rc::clone(&taken);
            let flood = Semaphore::on(kernel.clone(), u32::MAX).unwrap();
            let handler = events.add(flood, Interest::READABLE, move |flood, _| {
                while flood.wait()?.is_some() {
                    units.bump();
                }
                Ok(())
            });
            handler.unwrap();
        }
        let quiet = Counter::on(kernel, 0).unwrap();
        let adder = quiet.try_clone().unwrap();
        let waited = shared::<Vec<u64>>();
        let (seen, units) = (Rc::clone(&waited), Rc::clone(&taken));
        let handler = events.add(quiet, Interest::READABLE, move |quiet, _| {
            seen.borrow_mut().push(units.replace(0));
            quiet.take().map(drop)
        });
        handler.unwrap();
        for _ in 0..10 {
            events.turn(None).unwrap();
            taken.set(0);
            adder.add(1).unwrap();
            events.turn(None).unwrap();
        }
        assert_eq!(waited.borrow().len(), 10, "it is run in the turn that sees its event");
        let longest = *waited.borrow().iter().max().unwrap();
        assert_eq!(longest, FLOODS * u64::from(OPERATIONS));
    }

    pub fn e10_all_ready_sources_have_their_turn_though_a_wait_fetches_one<K: Kernel>(kernel: K) {
        let mut events =
            EventLoop::builder_on(kernel.clone(), ()).events_a_wait(1).build().unwrap();
        let runs = shared::<Vec<usize>>();
        for index in 0..4 {
            let seen = Rc::clone(&runs);
            let counter = Counter::on(kernel.clone(), 1).unwrap();
            let handler = events.add(counter, Interest::READABLE, move |counter, _| {
                seen.borrow_mut().push(index);
                counter.take().map(drop)
            });
            handler.unwrap();
        }
        rest(&mut events);
        runs.borrow_mut().sort_unstable();
        assert_eq!(*runs.borrow(), [0, 1, 2, 3]);
    }

    pub fn fault_busy_source_does_not_starve_timers<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let flood = Semaphore::on(kernel, u32::MAX).unwrap();
        let handler = events.add(flood, Interest::READABLE, |flood, _| flood.wait().map(drop));
        handler.unwrap();
        let fired = counted();
        for round in 1..=10 {
            let seen = Rc::clone(&fired);
            events.after(Duration::ZERO, move |_| {
                seen.bump();
                Ok(())
            });
            events.turn(None).unwrap();
            assert_eq!(fired.get(), round, "it is due, and this turn ends");
        }
    }

    pub fn e14_a_timer_never_fires_early<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel, ()).unwrap();
        let fired = counted();
        for nanoseconds in [0, 1, 999, 10_000, 999_999, 1_000_000, 1_500_000, 3_000_001] {
            let due = events.now() + Duration::from_nanos(nanoseconds);
            let seen = Rc::clone(&fired);
            events.at(due, move |turn| {
                assert!(turn.now() >= due);
                assert_eq!(turn.token(), None);
                seen.bump();
                Ok(())
            });
        }
        while fired.get() < 8 {
            events.turn(None).unwrap();
        }
        assert_eq!((events.stats().panics, events.stats().timers), (0, 8));
    }

    pub fn e14_timers_fire_in_order_and_once<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel, ()).unwrap();
        let order = shared::<Vec<u32>>();
        let start = events.now();
        for (name, delay) in [(5, 30), (1, 10), (3, 20), (2, 10), (4, 20)] {
            let seen = Rc::clone(&order);
            events.at(start + Duration::from_micros(delay), move |_| {
                seen.borrow_mut().push(name);
                Ok(())
            });
        }
        while order.borrow().len() < 5 {
            events.turn(None).unwrap();
        }
        events.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!(*order.borrow(), [1, 2, 3, 4, 5]);
    }

    pub fn e14_a_timer_that_sets_timers_does_not_hold_the_loop<K: Kernel>(kernel: K) {
        fn again<K: Kernel>(fired: Rc<std::cell::Cell<u64>>, events: &mut EventLoop<(), K>) {
            let past = events.now();
            events.at(past, move |turn| next(fired, past, turn));
        }
        fn next<K: Kernel>(
            fired: Rc<std::cell::Cell<u64>>,
            past: std::time::Instant,
            turn: &mut watchbell::event_loop::Turn<'_, (), K>,
        ) -> std::io::Result<()> {
            fired.bump();
            turn.at(past, move |turn| next(fired, past, turn));
            Ok(())
        }
        let mut events = EventLoop::on(kernel, ()).unwrap();
        let fired = counted();
        again(Rc::clone(&fired), &mut events);
        for turn in 1..=10 {
            events.turn(None).unwrap();
            assert_eq!(fired.get(), turn);
        }
    }

    pub fn e14_a_cancelled_timer_does_not_fire_and_is_dropped<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel, ()).unwrap();
        let held = counted();
        let state = Rc::clone(&held);
        let timer = events.after(Duration::ZERO, move |_| {
            state.bump();
            Ok(())
        });
        assert_eq!(Rc::strong_count(&held), 2);
        assert!(events.cancel(timer));
        assert_eq!(Rc::strong_count(&held), 1, "what it held is dropped at once");
        assert!(!events.cancel(timer), "it was cancelled already");
        events.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!((held.get(), events.stats().timers), (0, 0));

        let timer = events.after(Duration::ZERO, |_| Ok(()));
        events.turn(None).unwrap();
        assert!(!events.cancel(timer), "it has fired");
    }

    pub fn fault_rearmed_timers_do_not_pile_up<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel, ()).unwrap();
        let held = counted();
        let set = |events: &mut EventLoop<(), K>| {
            let state = Rc::clone(&held);
            events.after(Duration::from_secs(3600), move |_| {
                state.bump();
                Ok(())
            })
        };
        let mut timer = set(&mut events);
        for _ in 0..10_000 {
            assert!(events.cancel(timer));
            timer = set(&mut events);
        }
        assert_eq!(Rc::strong_count(&held), 2, "one timer is held, not ten thousand");
    }

    pub fn e14_a_delay_beyond_the_clock_is_a_long_one<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        events.after(Duration::MAX, |_| panic!("in a century"));
        let counter = Counter::on(kernel, 1).unwrap();
        let handler =
            events.add(counter, Interest::READABLE, |counter, _| counter.take().map(drop));
        handler.unwrap();
        events.turn(Some(Duration::MAX)).unwrap();
        events.turn(Some(Duration::ZERO)).unwrap();
        let stats = events.stats();
        assert_eq!((stats.timers, stats.panics, stats.runs), (0, 0, 1));
    }

    pub fn fault_stop_before_run_is_kept<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel, ()).unwrap();
        let stop = events.stop_handle();
        stop.stop();
        stop.clone().stop();
        events.run().unwrap();
        assert_eq!(events.stats().turns, 1);
    }

    pub fn fault_stop_wakes_a_loop_that_sleeps<K: Kernel>(kernel: K) {
        let (send, receive) = std::sync::mpsc::channel();
        let thread = observe(move || {
            let mut events: EventLoop<(), K> = EventLoop::on(kernel, ()).unwrap();
            send.send(events.stop_handle()).unwrap();
            events.run().unwrap();
        });
        let stop = receive.recv().unwrap();
        thread.wait_until_blocked();
        stop.stop();
        thread.join();
        stop.stop(); // the loop is gone: it does nothing
    }

    pub fn fault_stop_in_mid_batch_finishes_the_batch<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let runs = counted();
        for _ in 0..3 {
            let seen = Rc::clone(&runs);
            let counter = Counter::on(kernel.clone(), 1).unwrap();
            let handler = events.add(counter, Interest::READABLE, move |counter, turn| {
                seen.bump();
                turn.stop();
                counter.take().map(drop)
            });
            handler.unwrap();
        }
        let timer = counted();
        let fired = Rc::clone(&timer);
        events.after(Duration::ZERO, move |_| {
            fired.bump();
            Ok(())
        });
        events.run().unwrap();
        assert_eq!((runs.get(), timer.get(), events.stats().turns), (3, 1, 1));
    }

    pub fn fault_stop_is_consumed_by_one_run<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel, ()).unwrap();
        events.stop_handle().stop();
        events.run().unwrap();
        let fired = counted();
        let seen = Rc::clone(&fired);
        events.after(Duration::from_micros(1), move |turn| {
            seen.bump();
            turn.stop();
            Ok(())
        });
        events.run().unwrap();
        assert_eq!(fired.get(), 1, "the second run was not stopped by the first stop");
    }

    pub fn e10_a_stop_in_a_turn_of_its_own_is_kept_for_the_run<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel, ()).unwrap();
        events.stop_handle().stop();
        events.turn(None).unwrap();
        events.turn(None).unwrap(); // does not block: the stop is there
        events.run().unwrap();
        assert_eq!(events.stats().turns, 3);
        events.turn(Some(Duration::ZERO)).unwrap();
        assert_eq!(events.stats().events, 1, "one write, one edge");
        assert!(!events.is_stopping() && !events.take_stop().unwrap(), "and then it is gone");
    }

    pub fn e10_a_stop_reaches_a_loop_whose_sources_never_rest<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let flood = Semaphore::on(kernel, u32::MAX).unwrap();
        let stop = events.stop_handle();
        let mut runs = 0;
        let handler = events.add(flood, Interest::READABLE, move |flood, _| {
            runs += 1;
            if runs == 5 {
                stop.stop();
            }
            flood.wait().map(drop)
        });
        handler.unwrap();
        events.run().unwrap();
        assert_eq!(events.stats().turns, 5, "the turn that it comes in is the last");
    }
}

/// The service's state reaches handlers, timers and reports alike.
#[test]
fn e10_state_is_handed_to_all() {
    watchdog(|| {
        let builder = EventLoop::builder_with(Vec::new());
        let mut events = builder.on_failure(|_, turn| turn.state().push("report")).build().unwrap();
        let counter = watchbell::eventfd::Counter::new(1).unwrap();
        let handler = events.add(counter, Interest::READABLE, |_, turn| {
            turn.state().push("handler");
            turn.after(Duration::ZERO, |turn| {
                turn.state().push("timer");
                turn.stop();
                Ok(())
            });
            Err(std::io::Error::other("no"))
        });
        handler.unwrap();
        events.run().unwrap();
        assert_eq!(events.into_state(), ["handler", "report", "timer"]);
    });
}

/// A time-out is no busy loop: the wait that it asks for lasts until the timer is due.
#[test]
fn e14_a_timer_costs_one_wait() {
    watchdog(|| {
        for delay in [Duration::from_micros(50), Duration::from_micros(1500)] {
            let (kernel, mut events) = counting::<()>();
            events.after(delay, |turn| {
                turn.stop();
                Ok(())
            });
            kernel.reset();
            events.run().unwrap();
            assert_eq!(kernel.calls(Call::EpollWait), 1, "{delay:?}");
        }
    });
}

/// A rest that was taken back leaves no timer that could end the next one.
#[test]
fn e14_a_rest_is_not_ended_by_the_timer_of_a_former_one() {
    watchdog(|| {
        const SHORT: Duration = Duration::from_millis(20);
        const LONG: Duration = Duration::from_millis(150);
        let mut events = EventLoop::with(Vec::<Instant>::new()).unwrap();
        let counter = Counter::new(1).unwrap();
        let token = events.add(counter, Interest::READABLE, |counter, turn| {
            let now = turn.now();
            turn.state().push(now);
            let is_first = turn.state().len() == 1;
            counter.rest(Direction::Input, if is_first { SHORT } else { LONG });
            Ok(())
        });
        events.turn(None).unwrap();
        assert!(events.resume(token.unwrap(), Direction::Input));
        while events.state().len() < 3 {
            events.turn(None).unwrap();
        }
        let runs = events.into_state();
        assert!(runs[2] - runs[1] >= LONG, "{runs:?}");
    });
}
