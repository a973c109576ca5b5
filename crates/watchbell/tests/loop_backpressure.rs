//! Sources that are stopped and started again, by themselves, by others and by time.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, Trigger, counted, drive, reporting, rest, shared};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use watchbell::epoll::Interest;
use watchbell::event_loop::Direction::{Input, Output};
use watchbell::event_loop::EventLoop;

on_every_kernel! {
    e09_a_paused_source_is_not_run_and_loses_no_edge
    e09_a_full_sink_stops_its_source_and_an_empty_one_starts_it
    e09_a_source_paused_by_another_in_the_same_turn_is_not_run
    e09_pause_resume_and_wake_say_when_there_is_no_such_source
    e03_a_wake_is_one_more_try
}

in_both_modes! {
    e09_input_left_when_it_pauses_itself_is_read_after_resume
    e09_input_that_comes_during_a_pause_is_read_after_resume
    e09_a_pause_and_its_resume_in_one_run_leave_nothing_out
    e09_a_hang_up_during_a_pause_runs_the_handler_and_does_not_spin
    e09_a_source_paused_by_another_in_the_same_turn_is_not_run_in_either_mode
    e09_both_directions_may_rest
    e09_the_end_of_a_rest_takes_no_pause_back
    e09_a_resume_ends_a_rest
    e09_paused_output_is_written_after_resume
    e03_a_woken_source_is_tried
    fault_pausing_one_direction_does_not_silence_the_other
    e09_a_source_that_reads_nothing_while_its_output_is_blocked_waits_for_room
}

mod bodies {
    use super::*;
    use watchbell::eventfd::{Counter, Semaphore};
    use watchbell::kernel::Kernel;

    pub fn e09_a_paused_source_is_not_run_and_loses_no_edge<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let sum = counted();
        let total = Rc::clone(&sum);
        let counter = Counter::on(kernel, 0).unwrap();
        let adder = counter.try_clone().unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            total.set(total.get() + counter.take()?.unwrap_or(0));
            Ok(())
        });
        let token = handler.unwrap();
        assert!(events.pause(token, Input));
        adder.add(1).unwrap();
        rest(&mut events);
        adder.add(2).unwrap();
        rest(&mut events);
        assert_eq!((sum.get(), events.stats().runs), (0, 0));
        assert!(events.resume(token, Input));
        let edges = events.stats().events;
        events.turn(None).unwrap();
        assert_eq!((sum.get(), events.stats().events), (3, edges), "it ran with no new edge");
    }

    /// A queue of at most four between a semaphore and a slow sink, which takes two a turn.
    pub fn e09_a_full_sink_stops_its_source_and_an_empty_one_starts_it<K: Kernel>(kernel: K) {
        const HIGH: u64 = 4;
        const LOW: u64 = 2;
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let (queue, most, done, pauses) = (counted(), counted(), counted(), counted());

        let (length, highest, paused) = (Rc::clone(&queue), Rc::clone(&most), Rc::clone(&pauses));
        let source = Semaphore::on(kernel.clone(), 100).unwrap();
        let filler = events.add(source, Interest::READABLE, move |source, _| {
            while source.wait()?.is_some() {
                highest.set(highest.get().max(length.bump()));
                if length.get() == HIGH {
                    source.pause(Input);
                    paused.bump();
                }
            }
            Ok(())
        });
        let filler = filler.unwrap();
        let (length, finished) = (Rc::clone(&queue), Rc::clone(&done));
        let sink = Counter::on(kernel, 1).unwrap();
        let sink = events.add(sink, Interest::READABLE, move |sink, turn| {
            sink.take()?;
            for _ in 0..length.get().min(2) {
                length.set(length.get() - 1);
                finished.bump();
            }
            if length.get() <= LOW {
                assert!(turn.resume(filler, Input));
            }
            if finished.get() < 100 {
                sink.run_again();
            }
            Ok(())
        });
        sink.unwrap();
        rest(&mut events);
        assert_eq!((done.get(), most.get()), (100, HIGH));
        assert!(pauses.get() >= 24, "{} pauses", pauses.get());
    }

    pub fn e09_a_source_paused_by_another_in_the_same_turn_is_not_run<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let victim = shared::<Option<watchbell::epoll::Token>>();
        let runs = counted();
        let paused = Rc::clone(&victim);
        let first = Counter::on(kernel.clone(), 1).unwrap();
        let pauser = events.add(first, Interest::READABLE, move |counter, turn| {
            counter.take()?;
            assert!(turn.pause(paused.borrow().unwrap(), Input));
            Ok(())
        });
        pauser.unwrap();
        let seen = Rc::clone(&runs);
        let second = Counter::on(kernel, 1).unwrap();
        let handler = events.add(second, Interest::READABLE, move |counter, _| {
            seen.bump();
            counter.take().map(drop)
        });
        *victim.borrow_mut() = Some(handler.unwrap());
        events.turn(None).unwrap();
        assert_eq!((runs.get(), events.stats().events), (0, 2));
        events.resume(victim.borrow().unwrap(), Input);
        rest(&mut events);
        assert_eq!((runs.get(), events.stats().events), (1, 2));
    }

    pub fn e09_pause_resume_and_wake_say_when_there_is_no_such_source<K: Kernel>(kernel: K) {
        let mut events: EventLoop<(), K> = EventLoop::on(kernel.clone(), ()).unwrap();
        let counter = Counter::on(kernel, 0).unwrap();
        let token = events.add(counter, Interest::READABLE, |_, _| Ok(())).unwrap();
        assert!(events.pause(token, Input) && events.resume(token, Input));
        assert!(events.wake(token, Output) && events.remove(token));
        assert!(!events.pause(token, Input) && !events.resume(token, Input));
        assert!(!events.wake(token, Output) && !events.remove(token));
        assert!(!events.set_budget(token, watchbell::event_loop::Budget::default()));
    }

    pub fn e03_a_wake_is_one_more_try<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let found = shared::<Vec<Option<u64>>>();
        let seen = Rc::clone(&found);
        let counter = Counter::on(kernel, 0).unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            seen.borrow_mut().push(counter.take()?);
            Ok(())
        });
        let token = handler.unwrap();
        assert!(events.wake(token, Input));
        rest(&mut events);
        assert_eq!(*found.borrow(), [None], "it costs one operation if it was wrong");
    }
}

mod modes {
    use super::*;

    pub fn e09_input_left_when_it_pauses_itself_is_read_after_resume(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"abcdef").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut events = EventLoop::new().unwrap();
        let reads = shared::<Vec<Option<usize>>>();
        let seen = Rc::clone(&reads);
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            seen.borrow_mut().push(stream.read(&mut [0; 2])?);
            stream.pause(Input);
            assert!(stream.is_paused(Input));
            assert!(stream.has_ended() || stream.read(&mut [0; 2])?.is_none(), "at once");
            Ok(())
        });
        for expected in [Some(2), Some(2), Some(2), Some(0)] {
            rest(&mut events);
            assert_eq!(reads.borrow_mut().drain(..).collect::<Vec<_>>(), [expected]);
            assert!(events.resume(token, Input));
        }
    }

    pub fn e09_input_that_comes_during_a_pause_is_read_after_resume(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let read = counted();
        let bytes = Rc::clone(&read);
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            while let Some(read) = stream.read(&mut [0; 2])? {
                bytes.set(bytes.get() + read as u64);
            }
            Ok(())
        });
        for round in 1..=3 {
            events.pause(token, Input);
            client.write_all(b"abc").unwrap();
            rest(&mut events);
            assert_eq!(read.get(), (round - 1) * 3);
            events.resume(token, Input);
            rest(&mut events);
            assert_eq!(read.get(), round * 3);
        }
    }

    pub fn e09_a_pause_and_its_resume_in_one_run_leave_nothing_out(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"abcdef").unwrap();
        let mut events = EventLoop::new().unwrap();
        let read = counted();
        let bytes = Rc::clone(&read);
        trigger.add(&mut events, server, Interest::READABLE, move |stream, turn| {
            bytes.set(bytes.get() + stream.read(&mut [0; 1])?.unwrap_or(0) as u64);
            stream.pause(Input);
            let token = turn.token().unwrap();
            assert!(turn.resume(token, Input));
            Ok(())
        });
        rest(&mut events);
        assert_eq!(read.get(), 6);
    }

    pub fn e09_a_hang_up_during_a_pause_runs_the_handler_and_does_not_spin(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        let (mut events, failures) = reporting(EventLoop::builder());
        let reads = shared::<Vec<usize>>();
        let seen = Rc::clone(&reads);
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, turn| {
            while let Some(read) = stream.read(&mut [0; 64])? {
                seen.borrow_mut().push(read);
                if read == 0 {
                    return turn.close();
                }
            }
            Ok(())
        });
        events.pause(token, Input);
        client.write_all(b"last words").unwrap();
        drop(client);
        rest(&mut events);
        let runs = events.stats().runs;
        assert!((1..=2).contains(&runs), "{runs} runs for one hang-up");
        assert_eq!((reads.borrow().len(), failures.borrow().len()), (0, 0));
        events.resume(token, Input);
        rest(&mut events);
        assert_eq!((reads.borrow().clone(), events.len()), (vec![10, 0], 0));
    }

    pub fn e09_a_source_paused_by_another_in_the_same_turn_is_not_run_in_either_mode(
        trigger: Trigger,
    ) {
        let mut events = EventLoop::new().unwrap();
        let victim = shared::<Option<watchbell::epoll::Token>>();
        let (mut client, server) = UnixStream::pair().unwrap();
        let paused = Rc::clone(&victim);
        trigger.add(&mut events, server, Interest::READABLE, move |stream, turn| {
            while stream.read(&mut [0; 64])?.is_some() {}
            assert!(turn.pause(paused.borrow().unwrap(), Input));
            Ok(())
        });
        let (mut other, quiet) = UnixStream::pair().unwrap();
        let read = counted();
        let runs = Rc::clone(&read);
        let token = trigger.add(&mut events, quiet, Interest::READABLE, move |stream, _| {
            runs.bump();
            while stream.read(&mut [0; 64])?.is_some() {}
            Ok(())
        });
        *victim.borrow_mut() = Some(token);
        client.write_all(b"x").unwrap();
        other.write_all(b"x").unwrap();
        rest(&mut events);
        assert_eq!(read.get(), 0);
        events.resume(token, Input);
        rest(&mut events);
        assert_eq!(read.get(), 1);
    }

    pub fn e09_both_directions_may_rest(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"x").unwrap();
        let mut events = EventLoop::new().unwrap();
        let (read, written) = (counted(), counted());
        let (bytes, out) = (Rc::clone(&read), Rc::clone(&written));
        let mut runs = 0;
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            runs += 1;
            if runs == 1 {
                stream.rest(Input, Duration::from_millis(1));
                stream.rest(Output, Duration::from_millis(2));
            }
            bytes.set(bytes.get() + stream.read(&mut [0; 2])?.unwrap_or(0) as u64);
            if out.get() == 0 {
                out.set(stream.write(b"y")?.unwrap_or(0) as u64);
            }
            Ok(())
        });
        drive(&mut events, || read.get() == 1 && written.get() == 1);
    }

    pub fn e09_the_end_of_a_rest_takes_no_pause_back(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"x").unwrap();
        let mut events = EventLoop::new().unwrap();
        let mut rested = false;
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            if !std::mem::replace(&mut rested, true) {
                stream.rest(Input, Duration::from_millis(1));
                return Ok(());
            }
            while stream.read(&mut [0; 2])?.is_some() {}
            Ok(())
        });
        events.turn(None).unwrap();
        events.pause(token, Input);
        let over = counted();
        let rung = Rc::clone(&over);
        events.after(Duration::from_millis(5), move |_| {
            rung.bump();
            Ok(())
        });
        drive(&mut events, || over.get() == 1);
        rest(&mut events);
        assert_eq!(events.stats().runs, 1, "it is paused still");
        events.resume(token, Input);
        rest(&mut events);
        assert!(events.stats().runs >= 2);
    }

    pub fn e09_a_resume_ends_a_rest(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"x").unwrap();
        let mut events = EventLoop::new().unwrap();
        let mut rested = false;
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            if !std::mem::replace(&mut rested, true) {
                stream.rest(Input, Duration::from_secs(3600));
                return Ok(());
            }
            while stream.read(&mut [0; 2])?.is_some() {}
            Ok(())
        });
        rest(&mut events);
        assert_eq!(events.stats().runs, 1);
        events.resume(token, Input);
        rest(&mut events);
        assert!(events.stats().runs >= 2);
    }

    pub fn e09_paused_output_is_written_after_resume(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"x").unwrap();
        client.set_nonblocking(true).unwrap();
        let mut events = EventLoop::new().unwrap();
        let mut owed = 0;
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            while let Some(read) = stream.read(&mut [0; 16])? {
                owed += read;
            }
            if owed > 0 && stream.write(&vec![7; owed])?.is_some() {
                owed = 0;
            }
            Ok(())
        });
        events.pause(token, Output);
        rest(&mut events);
        assert!(client.read(&mut [0; 16]).is_err());
        events.resume(token, Output);
        rest(&mut events);
        assert_eq!(client.read(&mut [0; 16]).unwrap(), 1);
    }

    /// It answers four bytes for each, and pauses nothing: it just does not read what it could not
    /// answer.
    pub fn e09_a_source_that_reads_nothing_while_its_output_is_blocked_waits_for_room(
        trigger: Trigger,
    ) {
        const BYTES: usize = 1 << 19;
        let (mut client, server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let (mut events, failures) = reporting(EventLoop::builder());
        let mut owed = 0;
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            loop {
                while owed > 0 {
                    let Some(written) = stream.write(&[0; 4096][..owed.min(4096)])? else {
                        return Ok(());
                    };
                    owed -= written;
                }
                match stream.read(&mut [0; 4096])? {
                    Some(read) if read > 0 => owed += 4 * read,
                    _ => return Ok(()),
                }
            }
        });
        let (mut sent, mut answered) = (0, 0);
        while answered < 4 * BYTES {
            while let Ok(written) = client.write(&[0; 4096][..(BYTES - sent).min(4096)]) {
                sent += written;
                if sent == BYTES {
                    break;
                }
            }
            rest(&mut events);
            let runs = events.stats().runs;
            rest(&mut events);
            assert_eq!(events.stats().runs, runs, "it waits");
            let before = answered;
            while let Ok(read) = client.read(&mut [0; 65536]) {
                answered += read;
            }
            assert!(answered > before, "after {answered} bytes nothing came: {failures:?}");
        }
        assert_eq!(failures.borrow().len(), 0, "{failures:?}");
    }

    pub fn fault_pausing_one_direction_does_not_silence_the_other(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let mut events = EventLoop::new().unwrap();
        let (read, written) = (counted(), counted());
        let (bytes, out) = (Rc::clone(&read), Rc::clone(&written));
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            while let Some(read) = stream.read(&mut [0; 64])? {
                bytes.set(bytes.get() + read as u64);
            }
            while let Some(written) = stream.write(&[0; 65536])? {
                out.set(out.get() + written as u64);
            }
            Ok(())
        });
        let drain = |mut client: &UnixStream| while client.read(&mut [0; 65536]).is_ok() {};
        client.write_all(b"x").unwrap();
        rest(&mut events);
        let full = written.get();
        assert!(read.get() == 1 && full > 0);

        events.pause(token, Input);
        drain(&client);
        rest(&mut events);
        assert!(written.get() > full, "output goes on");
        events.pause(token, Output);
        events.resume(token, Input);
        client.write_all(b"y").unwrap();
        rest(&mut events);
        assert_eq!(read.get(), 2, "input goes on");
    }

    /// A source that has work which no event tells of is run when it is woken.
    pub fn e03_a_woken_source_is_tried(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let runs = counted();
        let seen = Rc::clone(&runs);
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            seen.bump();
            assert_eq!(stream.read(&mut [0; 16])?, None);
            Ok(())
        });
        for round in 1..=3 {
            assert!(events.wake(token, Input));
            rest(&mut events);
            assert_eq!(runs.get(), round);
        }
        drop(client);
    }
}
