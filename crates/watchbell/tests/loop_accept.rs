//! Listeners: several connections an edge, a budget, and errors of one connection.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/looped.rs"]
mod looped;
mod support;

use looped::{Bump, Trigger, counted, drive, reporting, rest, shared};
use rustix::io::Errno;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::rc::Rc;
use std::time::Duration;
use support::watchdog;
use watchbell::epoll::{Interest, Source};
use watchbell::event_loop::{Accept, Budget, EventLoop, Registration, Shared};

in_both_modes! {
    fault_one_accept_an_edge_leaves_the_backlog
    e04_the_backlog_is_accepted_within_the_budget_and_to_its_end
    e04_errors_of_one_connection_are_counted_and_skipped
    e04_want_of_descriptors_lets_accepting_rest_with_readiness_retained
    e04_an_error_of_the_listener_is_terminal
    e04_a_listener_that_fails_for_each_connection_is_no_spin
}

fn listener(connections: usize) -> (UnixListener, Vec<UnixStream>) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (pid, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let name = SocketAddr::from_abstract_name(format!("watchbell-accept-{pid}-{next}")).unwrap();
    let listener = UnixListener::bind_addr(&name).unwrap();
    let clients = (0..connections).map(|_| UnixStream::connect_addr(&name).unwrap()).collect();
    (listener, clients)
}

/// A listener that meets errors before it accepts.
struct Troubled {
    listener: UnixListener,
    errors: std::cell::RefCell<Vec<Errno>>,
    for_ever: bool,
}

impl Troubled {
    fn new(listener: UnixListener, errors: &[Errno], for_ever: bool) -> Troubled {
        Troubled { listener, errors: errors.to_vec().into(), for_ever }
    }
}

impl Source for Troubled {
    type Fd = OwnedFd;

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Accept for Troubled {
    type Connection = UnixStream;
    type Peer = std::os::unix::net::SocketAddr;

    fn accept(&self) -> io::Result<(UnixStream, Self::Peer)> {
        let mut errors = self.errors.borrow_mut();
        let error = if self.for_ever { errors.last().copied() } else { errors.pop() };
        error.map_or_else(|| Accept::accept(&self.listener), |error| Err(error.into()))
    }

    fn has_waiting(&self) -> io::Result<bool> {
        Ok(true)
    }
}

mod modes {
    use super::*;

    pub fn fault_one_accept_an_edge_leaves_the_backlog(trigger: Trigger) {
        let (listener, _clients) = listener(5);
        let mut events = EventLoop::new().unwrap();
        let accepted = shared::<Vec<UnixStream>>();
        let connections = Rc::clone(&accepted);
        trigger.add(&mut events, listener, Interest::READABLE, move |listener, _| {
            connections.borrow_mut().extend(listener.accept()?.map(|(stream, _)| stream));
            Ok(())
        });
        rest(&mut events);
        assert_eq!(accepted.borrow().len(), 5);
    }

    pub fn e04_the_backlog_is_accepted_within_the_budget_and_to_its_end(trigger: Trigger) {
        let (listener, _clients) = listener(10);
        let budget = Budget::default().operations(4);
        let mut events = EventLoop::builder().budget(budget).build().unwrap();
        let runs = shared::<Vec<usize>>();
        let seen = Rc::clone(&runs);
        trigger.add(&mut events, listener, Interest::READABLE, move |listener, _| {
            let mut connections = Vec::new();
            while let Some((stream, _)) = listener.accept()? {
                connections.push(stream);
            }
            seen.borrow_mut().push(connections.len());
            Ok(())
        });
        rest(&mut events);
        assert_eq!(*runs.borrow(), [4, 4, 2]);
        assert_eq!(events.stats().spent, 2);
    }

    pub fn e04_errors_of_one_connection_are_counted_and_skipped(trigger: Trigger) {
        let (listener, _clients) = listener(2);
        let errors = [Errno::CONNABORTED, Errno::PROTO, Errno::HOSTUNREACH];
        let (mut events, failures) = reporting(EventLoop::builder());
        let accepted = counted();
        let seen = Rc::clone(&accepted);
        let source = Troubled::new(listener, &errors, false);
        trigger.add(&mut events, source, Interest::READABLE, move |listener, _| {
            while listener.accept()?.is_some() {
                seen.bump();
            }
            Ok(())
        });
        rest(&mut events);
        let stats = events.stats();
        assert_eq!((accepted.get(), stats.skipped_accepts, stats.runs), (2, 3, 1));
        assert_eq!(failures.borrow().len(), 0);
    }

    /// More rests in a row than a source may be idle for: it is at rest, not ignored.
    pub fn e04_want_of_descriptors_lets_accepting_rest_with_readiness_retained(trigger: Trigger) {
        let (listener, _clients) = listener(2);
        let errors = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::MFILE];
        let pause = Duration::from_micros(100);
        let (mut events, failures) =
            reporting(EventLoop::builder().accept_pause(pause).idle_runs(2));
        let accepted = counted();
        let seen = Rc::clone(&accepted);
        let source = Troubled::new(listener, &errors, false);
        trigger.add(&mut events, source, Interest::READABLE, move |listener, _| {
            while listener.accept()?.is_some() {
                seen.bump();
            }
            Ok(())
        });
        drive(&mut events, || accepted.get() == 2);
        assert_eq!(events.stats().accept_pauses, 5);
        assert_eq!(failures.borrow().len(), 0, "{failures:?}");
    }

    pub fn e04_an_error_of_the_listener_is_terminal(trigger: Trigger) {
        let (listener, _clients) = listener(1);
        let (mut events, failures) = reporting(EventLoop::builder());
        let source = Troubled::new(listener, &[Errno::INVAL], false);
        trigger.add(&mut events, source, Interest::READABLE, |listener, _| {
            listener.accept().map(drop)
        });
        rest(&mut events);
        assert_eq!((failures.borrow().len(), events.len()), (1, 0));
    }

    pub fn e04_a_listener_that_fails_for_each_connection_is_no_spin(trigger: Trigger) {
        let (listener, _clients) = listener(1);
        let (mut events, failures) = reporting(EventLoop::builder().idle_runs(5));
        let source = Troubled::new(listener, &[Errno::OPNOTSUPP], true);
        let token = trigger.add(&mut events, source, Interest::READABLE, |listener, _| {
            while listener.accept()?.is_some() {}
            Ok(())
        });
        rest(&mut events);
        let ignored = format!("source {token}: a handler ignores its source's readiness");
        assert_eq!(*failures.borrow(), [ignored]);
    }
}

/// Several loops watch one listener; each of them takes what it finds.
#[test]
fn e04_a_shared_listener_is_accepted_from_by_any_of_its_loops() {
    watchdog(|| {
        let listener = Shared::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let accepted = counted();
        let mut loops = [EventLoop::new().unwrap(), EventLoop::new().unwrap()];
        for events in &mut loops {
            let seen = Rc::clone(&accepted);
            let shared = listener.clone();
            let handler = events.add(shared, Registration::exclusive(), move |listener, turn| {
                while let Some((stream, _)) = listener.accept()? {
                    seen.bump();
                    turn.add(stream, Interest::READABLE, |_, turn| turn.close())?;
                }
                Ok(())
            });
            handler.unwrap();
        }
        let _clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        while accepted.get() < 3 {
            loops.iter_mut().for_each(|events| events.turn(Some(Duration::ZERO)).unwrap());
        }
    });
}

#[test]
fn e13_a_descriptor_is_registered_once_and_the_second_comes_back() {
    let listener = Shared::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let mut events = EventLoop::new().unwrap();
    events.add(listener.clone(), Registration::exclusive(), |_, _| Ok(())).unwrap();
    let second = events.add(listener, Registration::exclusive(), |_, _| Ok(())).unwrap_err();
    let error = io::Error::from(second);
    assert_eq!(Errno::from_io_error(&error), Some(Errno::EXIST));
    assert_eq!(events.len(), 1);
}
