//! Output: written first, waited for only while something is left, never spun on.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, Trigger, counted, counting, rest, shared};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop};
use watchbell::kernel::Call;

in_both_modes! {
    fault_write_interest_is_not_left_on
    e08_with_nothing_to_write_a_writable_source_does_not_spin
    e08_output_is_tried_at_once_after_rest
    e08_output_is_armed_while_blocked_and_no_longer
    e08_a_short_write_is_gone_on_with
    e08_a_write_that_a_budget_refuses_is_made_in_the_next_turn
    e08_a_source_that_always_writes_is_always_run
    e08_output_goes_on_after_the_end_of_input
    e08_a_writable_pause_and_resume_is_run_again
}

/// Everything that has arrived.
fn drain(mut stream: &UnixStream) -> usize {
    stream.set_nonblocking(true).unwrap();
    let mut read = 0;
    loop {
        match stream.read(&mut [0; 65536]) {
            Ok(0) => return read,
            Ok(bytes) => read += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return read,
            Err(error) => panic!("{error}"),
        }
    }
}

mod modes {
    use super::*;

    pub fn fault_write_interest_is_not_left_on(trigger: Trigger) {
        let (kernel, mut events) = counting::<()>();
        let (mut client, server) = UnixStream::pair().unwrap();
        trigger.add(&mut events, server, Interest::READABLE, |stream, _| {
            while let Some(read) = stream.read(&mut [0; 16])? {
                assert_eq!(stream.write(&[0; 16][..read])?, Some(read));
            }
            Ok(())
        });
        client.write_all(b"hello").unwrap();
        rest(&mut events);
        kernel.reset();
        rest(&mut events);
        assert_eq!((kernel.calls(Call::EpollWait), kernel.calls(Call::EpollModify)), (1, 0));
        assert_eq!(drain(&client), 5);
    }

    /// Registered for both, as many programs do, with something to read now and then.
    pub fn e08_with_nothing_to_write_a_writable_source_does_not_spin(trigger: Trigger) {
        let (kernel, mut events) = counting::<()>();
        let (mut client, server) = UnixStream::pair().unwrap();
        let interest = Interest::READABLE | Interest::WRITABLE;
        trigger.add(&mut events, server, interest, |stream, _| {
            while stream.read(&mut [0; 16])?.is_some() {}
            Ok(())
        });
        for _ in 0..3 {
            kernel.reset();
            client.write_all(b"x").unwrap();
            rest(&mut events);
            let waits = kernel.calls(Call::EpollWait);
            assert!(waits <= 4, "{waits} waits for one event");
        }
        assert_eq!(events.stats().suspended, 0);
    }

    /// Room that was told and not used is not forgotten.
    pub fn e08_output_is_tried_at_once_after_rest(trigger: Trigger) {
        let (_, mut events) = counting::<()>();
        let (mut client, server) = UnixStream::pair().unwrap();
        let interest = Interest::READABLE | Interest::WRITABLE;
        trigger.add(&mut events, server, interest, |stream, _| {
            while let Some(read) = stream.read(&mut [0; 16])? {
                assert_eq!(stream.write(&[0; 16][..read])?, Some(read));
            }
            Ok(())
        });
        for _ in 0..3 {
            rest(&mut events);
            client.write_all(b"hello").unwrap();
            rest(&mut events);
            assert_eq!(drain(&client), 5);
        }
        assert_eq!(events.stats().suspended, 0);
    }

    pub fn e08_output_is_armed_while_blocked_and_no_longer(trigger: Trigger) {
        const BYTES: usize = 4 << 20;
        let (kernel, mut events) = counting::<()>();
        let (mut client, server) = UnixStream::pair().unwrap();
        let mut left = BYTES;
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            while stream.read(&mut [0; 16])?.is_some() {}
            while left > 0 {
                let Some(written) = stream.write(&[0; 4096][..left.min(4096)])? else { break };
                left -= written;
            }
            Ok(())
        });
        rest(&mut events);
        client.write_all(b"go").unwrap();
        kernel.reset();
        rest(&mut events);
        assert_eq!(kernel.calls(Call::EpollModify), 1, "armed once it is blocked");
        kernel.reset();
        rest(&mut events);
        assert_eq!((kernel.calls(Call::EpollWait), kernel.calls(Call::EpollModify)), (1, 0));

        kernel.reset();
        let mut read = 0;
        while read < BYTES {
            read += drain(&client);
            rest(&mut events);
        }
        assert!(kernel.calls(Call::EpollModify) % 2 == 1, "disarmed at the end");
        kernel.reset();
        client.write_all(b"more").unwrap();
        rest(&mut events);
        assert_eq!(kernel.calls(Call::EpollModify), 0, "input alone arms nothing");
        assert_eq!(drain(&client), 0);
    }

    /// One write a run: what was cut short asks for the next run, and no wake or interest does.
    pub fn e08_a_short_write_is_gone_on_with(trigger: Trigger) {
        const BYTES: usize = 4 << 20;
        let (client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let writes = shared::<Vec<Option<usize>>>();
        let seen = Rc::clone(&writes);
        let bytes = vec![1; BYTES];
        let mut left = BYTES;
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            if left > 0 {
                let written = stream.write(&bytes[..left])?;
                left -= written.unwrap_or(0);
                seen.borrow_mut().push(written);
            }
            Ok(())
        });
        events.wake(token, Direction::Input);
        rest(&mut events);
        {
            let writes = writes.borrow();
            assert!((1..BYTES).contains(&writes[0].unwrap()), "it is short: {writes:?}");
            assert!(writes[1..].iter().all(Option::is_none), "then EAGAIN: {writes:?}");
        }
        let mut read = 0;
        while read < BYTES {
            let came = drain(&client);
            assert!(came > 0, "nothing came after {read} bytes");
            read += came;
            rest(&mut events);
        }
        let written: usize = writes.borrow().iter().flatten().sum();
        assert_eq!((read, written), (BYTES, BYTES));
    }

    /// A budget ends a turn and shortens no write; what comes behind it waits for the next turn.
    pub fn e08_a_write_that_a_budget_refuses_is_made_in_the_next_turn(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        let budget = Budget::default().bytes(10);
        let mut events = EventLoop::builder().budget(budget).build().unwrap();
        let runs = shared::<Vec<Vec<Option<usize>>>>();
        let seen = Rc::clone(&runs);
        let mut left = vec![5_usize, 25, 25];
        let token = trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            let mut writes = Vec::new();
            while let Some(&bytes) = left.last() {
                writes.push(stream.write(&[1; 25][..bytes])?);
                let Some(Some(written)) = writes.last() else { break };
                assert_eq!(*written, bytes, "it is whole");
                left.pop();
            }
            seen.borrow_mut().push(writes);
            Ok(())
        });
        events.wake(token, Direction::Input);
        rest(&mut events);
        let runs = runs.borrow();
        assert_eq!(runs[..3], [vec![Some(25), None], vec![Some(25), None], vec![Some(5)]]);
        assert_eq!((drain(&client), events.stats().spent), (55, 2));
    }

    /// One that writes in each run, and says that it will go on, keeps its turn.
    pub fn e08_a_source_that_always_writes_is_always_run(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let mut lines = 0;
        trigger.add(&mut events, server, Interest::WRITABLE, move |stream, turn| {
            if stream.write(b"line\n")?.is_some() {
                lines += 1;
                stream.run_again();
            }
            if lines == 100 { turn.close() } else { Ok(()) }
        });
        let mut read = 0;
        for _ in 0..100 {
            rest(&mut events);
            read += drain(&client);
        }
        assert_eq!((read, events.len()), (500, 0));
    }

    pub fn e08_output_goes_on_after_the_end_of_input(trigger: Trigger) {
        const BYTES: usize = 1 << 20;
        let (client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let mut left = BYTES;
        trigger.add(&mut events, server, Interest::READABLE, move |stream, turn| {
            while stream.read(&mut [0; 16])?.is_some_and(|read| read > 0) {}
            while stream.has_ended() && left > 0 {
                let Some(written) = stream.write(&[0; 4096][..left.min(4096)])? else { break };
                left -= written;
            }
            if left == 0 { turn.close() } else { Ok(()) }
        });
        client.shutdown(Shutdown::Write).unwrap();
        let mut read = 0;
        while read < BYTES {
            rest(&mut events);
            let bytes = drain(&client);
            assert!(bytes > 0, "nothing came after {read} bytes");
            read += bytes;
        }
        rest(&mut events);
        assert_eq!(events.len(), 0);
    }

    pub fn e08_a_writable_pause_and_resume_is_run_again(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let runs = counted();
        let seen = Rc::clone(&runs);
        let token = trigger.add(&mut events, server, Interest::WRITABLE, move |stream, _| {
            seen.bump();
            stream.pause(Direction::Output);
            Ok(())
        });
        rest(&mut events);
        assert_eq!(runs.get(), 1);
        events.resume(token, Direction::Output);
        rest(&mut events);
        assert_eq!(runs.get(), 2);
        drop(client);
    }
}

/// One that writes in each run and is content with it has a run for each edge, which the peer's
/// reading makes. (Level-triggered, unused room is not asked about.)
#[test]
fn e08_a_source_that_is_content_is_run_for_the_next_edge_of_room() {
    let (client, server) = UnixStream::pair().unwrap();
    let mut events = EventLoop::new().unwrap();
    let mut lines = 0;
    let handler = events.add(server, Interest::WRITABLE, move |stream, turn| {
        if stream.write(b"line\n")?.is_some() {
            lines += 1;
        }
        if lines == 100 { turn.close() } else { Ok(()) }
    });
    handler.unwrap();
    let mut read = 0;
    for _ in 0..100 {
        rest(&mut events);
        read += drain(&client);
    }
    assert_eq!((read, events.len()), (500, 0));
}

/// `EAGAIN` is the kernel's backpressure; a spent budget is not. (Level-triggered, room is what the
/// kernel calls room, and a Unix socket calls it so late.)
#[test]
fn e09_blocked_is_told_apart_from_busy() {
    let (client, server) = UnixStream::pair().unwrap();
    let budget = Budget::default().operations(8);
    let mut events = EventLoop::builder().budget(budget).build().unwrap();
    let states = shared::<Vec<(bool, bool)>>();
    let seen = Rc::clone(&states);
    let mut writing = true;
    let handler = events.add(server, Interest::WRITABLE, move |stream, _| {
        let before = stream.is_blocked();
        while writing && stream.write(&[0; 4096])?.is_some() {}
        seen.borrow_mut().push((before, stream.is_blocked()));
        writing &= !stream.is_blocked();
        Ok(())
    });
    handler.unwrap();
    rest(&mut events);
    let first = states.borrow()[0];
    let last = *states.borrow().last().unwrap();
    assert_eq!((first, last), ((false, false), (false, true)), "budget, then EAGAIN");
    drain(&client);
    states.borrow_mut().clear();
    events.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!(*states.borrow(), [(false, false)], "an edge ends it");
}
