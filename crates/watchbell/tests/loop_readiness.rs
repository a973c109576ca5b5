//! Readiness that is kept: boundaries, ends, errors, budgets, and what an event does not promise.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, Trigger, counted, drive, reporting, rest, shared};
use rustix::net::SendFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use support::watchdog;
use watchbell::epoll::{Epoll, Events, Interest, OnBlocking, Readiness};
use watchbell::event_loop::{Budget, EventLoop};
use watchbell::kernel::Call;

on_every_kernel! {
    e03_units_left_on_an_edge_are_taken_without_another
    c10_one_notification_of_a_semaphore_is_not_one_unit
    c17_after_one_unit_of_an_edge_the_source_stays_runnable
    e03_a_counter_taken_needs_no_second_read
    e05_a_spent_budget_is_run_again_with_no_new_edge
    e05_messages_that_are_charged_run_a_drained_source_again
    e05_a_handler_with_input_in_memory_is_run_again
    e05_a_budget_of_its_own_holds_from_the_next_run
    e07_an_event_promises_nothing
}

in_both_modes! {
    fault_short_read_is_not_drained
    e03_what_the_bytes_of_a_turn_leave_is_read_in_the_next
    e04_end_of_file_is_told_once_and_stays
    e04_an_interrupted_operation_is_made_again
    e04_an_error_ends_its_source_alone
    e04_an_errors_swallowing_handler_is_no_spin
    e07_a_half_close_is_told_apart
    e07_hang_up_and_error_come_unasked
    fault_second_edge_is_not_dropped
}

mod bodies {
    use super::*;
    use watchbell::eventfd::{Counter, Semaphore};
    use watchbell::kernel::Kernel;

    pub fn e03_units_left_on_an_edge_are_taken_without_another<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let taken = counted();
        let units = Rc::clone(&taken);
        let semaphore = Semaphore::on(kernel, 3).unwrap();
        let handler = events.add(semaphore, Interest::READABLE, move |semaphore, _| {
            if semaphore.wait()?.is_some() {
                units.bump();
            }
            Ok(())
        });
        handler.unwrap();
        rest(&mut events);
        assert_eq!(taken.get(), 3);
        assert_eq!(events.stats().events, 1, "one edge for three units");
        assert_eq!(events.stats().runs, 4, "the fourth met the boundary");
        assert_eq!(events.stats().retained, 3);
    }

    pub fn c10_one_notification_of_a_semaphore_is_not_one_unit<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let taken = counted();
        let units = Rc::clone(&taken);
        let semaphore = Semaphore::on(kernel, 0).unwrap();
        let poster = semaphore.try_clone().unwrap();
        let handler = events.add(semaphore, Interest::READABLE, move |semaphore, _| {
            while semaphore.wait()?.is_some() {
                units.bump();
            }
            Ok(())
        });
        handler.unwrap();
        poster.post(5).unwrap();
        rest(&mut events);
        assert_eq!((taken.get(), events.stats().events), (5, 1));
    }

    pub fn c17_after_one_unit_of_an_edge_the_source_stays_runnable<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let semaphore = Semaphore::on(kernel, 2).unwrap();
        let handler =
            events.add(semaphore, Interest::READABLE, |semaphore, _| semaphore.wait().map(drop));
        handler.unwrap();
        events.turn(None).unwrap();
        assert_eq!(events.stats().retained, 1);
        events.turn(None).unwrap(); // does not block, though no edge comes
        assert_eq!((events.stats().events, events.stats().runs), (1, 2));
    }

    pub fn e03_a_counter_taken_needs_no_second_read<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let sum = counted();
        let total = Rc::clone(&sum);
        let counter = Counter::on(kernel, 3).unwrap();
        let adder = counter.try_clone().unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            if let Some(count) = counter.take()? {
                total.set(total.get() + count);
            }
            Ok(())
        });
        handler.unwrap();
        rest(&mut events);
        assert_eq!((events.stats().runs, events.stats().retained), (1, 0));
        adder.add(4).unwrap();
        rest(&mut events);
        assert_eq!((sum.get(), events.stats().runs), (7, 2));
    }

    pub fn e05_a_spent_budget_is_run_again_with_no_new_edge<K: Kernel>(kernel: K) {
        let builder =
            EventLoop::builder_on(kernel.clone(), ()).budget(Budget::default().operations(4));
        let mut events: EventLoop<(), K> = builder.build().unwrap();
        let runs = shared::<Vec<u64>>();
        let seen = Rc::clone(&runs);
        let semaphore = Semaphore::on(kernel, 10).unwrap();
        let handler = events.add(semaphore, Interest::READABLE, move |semaphore, _| {
            let mut units = 0;
            while semaphore.wait()?.is_some() {
                units += 1;
            }
            seen.borrow_mut().push(units);
            Ok(())
        });
        handler.unwrap();
        rest(&mut events);
        assert_eq!(*runs.borrow(), [4, 4, 2]);
        let stats = events.stats();
        assert_eq!((stats.events, stats.spent, stats.retained), (1, 2, 2));
    }

    pub fn e05_messages_that_are_charged_run_a_drained_source_again<K: Kernel>(kernel: K) {
        let builder =
            EventLoop::builder_on(kernel.clone(), ()).budget(Budget::default().messages(4));
        let mut events: EventLoop<(), K> = builder.build().unwrap();
        let runs = shared::<Vec<u64>>();
        let seen = Rc::clone(&runs);
        let mut queued = 0;
        let counter = Counter::on(kernel, 10).unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            queued += counter.take()?.unwrap_or(0);
            let mut handled = 0;
            while queued > 0 {
                queued -= 1;
                handled += 1;
                if !counter.charge(1) {
                    break;
                }
            }
            seen.borrow_mut().push(handled);
            Ok(())
        });
        handler.unwrap();
        rest(&mut events);
        assert_eq!(*runs.borrow(), [4, 4, 2]);
        assert_eq!(events.stats().events, 1);
    }

    pub fn e05_a_handler_with_input_in_memory_is_run_again<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let runs = counted();
        let seen = Rc::clone(&runs);
        let counter = Counter::on(kernel, 1).unwrap();
        let handler = events.add(counter, Interest::READABLE, move |counter, _| {
            counter.take()?;
            if seen.bump() < 100 {
                counter.run_again();
            }
            Ok(())
        });
        handler.unwrap();
        rest(&mut events);
        assert_eq!(runs.get(), 100);
        assert_eq!(events.stats().suspended, 0, "it said that it had something to do");
    }

    pub fn e05_a_budget_of_its_own_holds_from_the_next_run<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let runs = shared::<Vec<u64>>();
        let seen = Rc::clone(&runs);
        let semaphore = Semaphore::on(kernel, 5).unwrap();
        let handler = events.add(semaphore, Interest::READABLE, move |semaphore, _| {
            let mut units = 0;
            while semaphore.wait()?.is_some() {
                units += 1;
            }
            seen.borrow_mut().push(units);
            Ok(())
        });
        let token = handler.unwrap();
        assert!(events.set_budget(token, Budget::default().operations(3)));
        rest(&mut events);
        assert_eq!(*runs.borrow(), [3, 2]);
    }

    /// Two descriptors of one counter: both are told, one finds it taken.
    pub fn e07_an_event_promises_nothing<K: Kernel>(kernel: K) {
        let mut events = EventLoop::on(kernel.clone(), ()).unwrap();
        let results = shared::<Vec<Option<u64>>>();
        let first = Counter::on(kernel, 0).unwrap();
        let (second, adder) = (first.try_clone().unwrap(), first.try_clone().unwrap());
        for counter in [first, second] {
            let results = Rc::clone(&results);
            let handler = events.add(counter, Interest::READABLE, move |counter, _| {
                assert!(counter.readiness().is_readable());
                results.borrow_mut().push(counter.take()?);
                Ok(())
            });
            handler.unwrap();
        }
        adder.add(3).unwrap();
        rest(&mut events);
        assert_eq!(*results.borrow(), [Some(3), None]);
    }
}

mod modes {
    use super::*;

    /// Bytes and the end of file come in one edge, and the first read is short.
    pub fn fault_short_read_is_not_drained(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"abc").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut events = EventLoop::new().unwrap();
        let reads = shared::<Vec<Option<usize>>>();
        let seen = Rc::clone(&reads);
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            let read = stream.read(&mut [0; 4096])?;
            seen.borrow_mut().push(read);
            Ok(())
        });
        rest(&mut events);
        assert_eq!(*reads.borrow(), [Some(3), Some(0)]);
    }

    /// The read that spends the budget is the last, and is not cut short by it.
    pub fn e03_what_the_bytes_of_a_turn_leave_is_read_in_the_next(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(&[7; 25]).unwrap();
        let builder = EventLoop::builder().budget(Budget::default().bytes(10));
        let mut events: EventLoop = builder.build().unwrap();
        let runs = shared::<Vec<usize>>();
        let seen = Rc::clone(&runs);
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            let mut bytes = 0;
            while let Some(read) = stream.read(&mut [0; 4])? {
                bytes += read;
            }
            seen.borrow_mut().push(bytes);
            Ok(())
        });
        rest(&mut events);
        assert_eq!(*runs.borrow(), [12, 12, 1]);
        assert_eq!(events.stats().spent, 2);
    }

    pub fn e04_end_of_file_is_told_once_and_stays(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut events, failures) = reporting(EventLoop::builder());
        let ends = counted();
        let seen = Rc::clone(&ends);
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            assert_eq!(stream.read(&mut [0; 16])?, Some(0));
            assert!(stream.has_ended());
            assert_eq!(stream.read(&mut [0; 16])?, Some(0), "it stays so");
            seen.bump();
            Ok(())
        });
        rest(&mut events);
        assert_eq!((ends.get(), events.stats().runs), (1, 1), "an ended source is not run again");

        drop(client); // a hang-up: the handler is run for it, and does not spin on it
        rest(&mut events);
        let runs = events.stats().runs;
        assert!((2..=3).contains(&runs), "{runs} runs for one hang-up");
        assert_eq!(failures.borrow().len(), 0, "{failures:?}");
    }

    pub fn e04_an_interrupted_operation_is_made_again(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"x").unwrap();
        let mut events = EventLoop::new().unwrap();
        let read = counted();
        let bytes = Rc::clone(&read);
        let mut calls = 0;
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            let next = stream.input(|stream| {
                calls += 1;
                if calls % 2 == 1 {
                    Err(ErrorKind::Interrupted.into())
                } else {
                    stream.read(&mut [0])
                }
            });
            bytes.set(bytes.get() + next?.unwrap_or(0) as u64);
            Ok(())
        });
        rest(&mut events);
        assert_eq!(read.get(), 1);
    }

    pub fn e04_an_error_ends_its_source_alone(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        let (mut other, quiet) = UnixStream::pair().unwrap();
        let (mut events, failures) = reporting(EventLoop::builder());
        (&server).write_all(b"never read").unwrap();
        drop(client); // with unread input: the next read of the other side is ECONNRESET
        trigger.add(&mut events, server, Interest::READABLE, |stream, _| {
            while stream.read(&mut [0; 16])?.is_some_and(|read| read > 0) {}
            Ok(())
        });
        let read = counted();
        let bytes = Rc::clone(&read);
        trigger.add(&mut events, quiet, Interest::READABLE, move |stream, _| {
            while let Some(read) = stream.read(&mut [0; 16])? {
                bytes.set(bytes.get() + read as u64);
            }
            Ok(())
        });
        other.write_all(b"still here").unwrap();
        rest(&mut events);
        assert_eq!(failures.borrow().len(), 1, "{failures:?}");
        assert!(failures.borrow()[0].contains("reset"), "{failures:?}");
        assert_eq!((read.get(), events.len(), events.stats().errors), (10, 1, 1));
    }

    /// A socket that was never connected fails each read in the same way, for ever.
    pub fn e04_an_errors_swallowing_handler_is_no_spin(trigger: Trigger) {
        use rustix::net::{AddressFamily, SocketType};
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let (mut events, failures) = reporting(EventLoop::builder().idle_runs(10));
        let socket = TcpStream::from(socket);
        let token = trigger.add(&mut events, socket, Interest::READABLE, |stream, _| {
            match stream.read(&mut [0; 16]) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotConnected),
                Ok(read) => assert_eq!(read, None, "it has been suspended"),
            }
            Ok(())
        });
        events.turn(None).unwrap();
        for _ in 0..100 {
            events.turn(Some(Duration::ZERO)).unwrap();
        }
        assert!(events.stats().runs <= 12, "it spins: {:?}", events.stats());
        let ignored = format!("source {token}: a handler ignores its source's readiness");
        assert_eq!(*failures.borrow(), [ignored]);
    }

    pub fn e07_a_half_close_is_told_apart(trigger: Trigger) {
        let (client, server) = UnixStream::pair().unwrap();
        let mut events = EventLoop::new().unwrap();
        let told = shared::<Readiness>();
        let seen = Rc::clone(&told);
        trigger.add(&mut events, server, Interest::READABLE, move |stream, _| {
            *seen.borrow_mut() = stream.readiness();
            while stream.read(&mut [0; 16])?.is_some_and(|read| read > 0) {}
            Ok(())
        });
        client.shutdown(Shutdown::Write).unwrap();
        events.turn(None).unwrap();
        assert!(told.borrow().is_peer_closed() && !told.borrow().is_hangup(), "{told:?}");
        drop(client);
        events.turn(None).unwrap();
        assert!(told.borrow().is_hangup(), "{told:?}");
    }

    pub fn e07_hang_up_and_error_come_unasked(trigger: Trigger) {
        let mut events = EventLoop::new().unwrap();
        let told = shared::<Vec<Readiness>>();
        let (reader, writer) = io::pipe().unwrap();
        let seen = Rc::clone(&told);
        trigger.add(&mut events, reader, Interest::NONE, move |pipe, turn| {
            seen.borrow_mut().push(pipe.readiness());
            turn.close()
        });
        drop(writer);
        rest(&mut events);
        let (reader, writer) = io::pipe().unwrap();
        let seen = Rc::clone(&told);
        trigger.add(&mut events, writer, Interest::NONE, move |pipe, turn| {
            seen.borrow_mut().push(pipe.readiness());
            turn.close()
        });
        drop(reader);
        rest(&mut events);
        let told = told.borrow();
        assert!(told[0].is_hangup() && !told[0].is_error(), "{told:?}");
        assert!(told[1].is_error() && !told[1].is_readable(), "{told:?}");
        assert_eq!((told.len(), events.len()), (2, 0));
    }

    /// Input and output are told in one event, and the handler does one of them a run. What is left
    /// of the input runs it again; level-triggered the kernel says that none is, and since room by
    /// itself is no reason for a run, the handler gives its own. The room is kept either way.
    pub fn fault_second_edge_is_not_dropped(trigger: Trigger) {
        let (mut client, server) = UnixStream::pair().unwrap();
        client.write_all(b"in").unwrap();
        let mut events = EventLoop::new().unwrap();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let mut written = false;
        trigger.add(&mut events, server, interest, move |stream, _| {
            if stream.readiness().is_readable() {
                stream.read(&mut [0; 16])?;
                if trigger == Trigger::Level {
                    stream.run_again();
                }
            } else if !written {
                written = stream.write(b"out")?.is_some();
            }
            Ok(())
        });
        rest(&mut events);
        client.set_nonblocking(true).unwrap();
        let mut answer = [0; 16];
        assert_eq!(client.read(&mut answer).unwrap(), 3);
    }
}

/// The twin of the loop: it takes a short read for the boundary, and the end of file is never told.
#[test]
fn e03_a_loop_that_stops_at_a_short_read_loses_the_end_of_file() {
    let (mut client, server) = UnixStream::pair().unwrap();
    let epoll = Epoll::new().unwrap();
    let server = epoll.edge(server, Interest::READABLE, OnBlocking::SetNonblocking).unwrap();
    client.write_all(b"abc").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wait(&epoll), 1);
    assert_eq!(server.get_ref().read(&mut [0; 4096]).unwrap(), 3);
    assert_eq!(wait(&epoll), 0, "nobody will ever tell of the end of file");
    assert_eq!(server.get_ref().read(&mut [0; 4096]).unwrap(), 0, "which is there");
}

fn wait(epoll: &Epoll) -> usize {
    let mut events = Events::with_capacity(4);
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    events.len()
}

/// A connection on which `ab`, an urgent byte, `cd` and the end have arrived. A read stops at the
/// urgent mark (tcp(7)), short of what is there.
fn urgent() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    client.write_all(b"ab").unwrap();
    assert_eq!(rustix::net::send(&client, b"!", SendFlags::OOB).unwrap(), 1);
    client.write_all(b"cd").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let epoll = Epoll::new().unwrap();
    let mut events = Events::with_capacity(1);
    let arrived = epoll.level(server.as_fd(), Interest::READABLE).unwrap();
    while !events.iter().any(|event| event.readiness.is_peer_closed()) {
        epoll.wait(&mut events, None).unwrap();
    }
    drop(arrived);
    (client, server)
}

#[test]
fn e03_a_read_that_stops_at_the_urgent_mark_is_not_the_boundary() {
    watchdog(|| {
        let (_client, server) = urgent();
        let mut events = EventLoop::new().unwrap();
        let text = shared::<Vec<u8>>();
        let end = counted();
        let (bytes, ends) = (Rc::clone(&text), Rc::clone(&end));
        let handler = events.add(server, Interest::READABLE, move |stream, _| {
            let mut buf = [0; 64];
            match stream.read(&mut buf)? {
                Some(0) => drop(ends.bump()),
                Some(read) => bytes.borrow_mut().extend(&buf[..read]),
                None => {}
            }
            Ok(())
        });
        handler.unwrap();
        drive(&mut events, || end.get() > 0);
        assert_eq!(*text.borrow(), b"abcd");
    });
}

#[test]
fn e03_a_loop_that_stops_at_a_short_read_loses_what_is_behind_the_urgent_mark() {
    watchdog(|| {
        let (_client, server) = urgent();
        let epoll = Epoll::new().unwrap();
        let server = epoll.edge(server, Interest::READABLE, OnBlocking::SetNonblocking).unwrap();
        assert_eq!(wait(&epoll), 1);
        assert_eq!(server.get_ref().read(&mut [0; 64]).unwrap(), 2);
        assert_eq!(wait(&epoll), 0);
    });
}

/// The first write goes out at once: the edge of a connection's first room was told long ago.
#[test]
fn fault_first_write_is_not_deferred_to_an_edge_that_was_told() {
    let (kernel, mut events) = looped::counting::<()>();
    let (mut client, server) = UnixStream::pair().unwrap();
    client.write_all(b"ping").unwrap();
    let handler = events.add(server, Interest::READABLE, |stream, _| {
        while stream.read(&mut [0; 16])?.is_some() {
            assert_eq!(stream.write(b"pong")?, Some(4));
        }
        Ok(())
    });
    handler.unwrap();
    rest(&mut events);
    client.read_exact(&mut [0; 4]).unwrap();
    assert_eq!(kernel.calls(Call::EpollModify), 0);
}
