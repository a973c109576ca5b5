//! Level- and edge-triggered registrations: what is told, what is refused, and how one ends.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
#[path = "support/door.rs"]
mod door;

use door::{Bell, refusal};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use watchbell::epoll::{AnyFd, Edge, Epoll, Events, Interest, Level, OnBlocking, Readiness};
use watchbell::epoll::{Registered, Source, Token};
use watchbell::eventfd::Counter;
use watchbell::kernel::{Call, Counting, EventFlags, EventfdFlags, Kernel, Linux};
use watchbell::{Error, Rejected};

const READABLE: Interest = Interest::READABLE;

/// The modes in which a body runs whose rule does not depend on the trigger.
const MODES: [Mode; 2] = [Mode::Level, Mode::Edge];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Level,
    Edge,
}

enum Watched<S: Source<Fd = K::Fd>, K: Kernel> {
    Level(Registered<S, Level, K>),
    Edge(Registered<S, Edge, K>),
}

impl Mode {
    fn watch<S: Source<Fd = K::Fd>, K: Kernel>(self, epoll: &Epoll<K>, source: S) -> Watched<S, K> {
        match self {
            Mode::Level => Watched::Level(epoll.level(source, READABLE).unwrap()),
            Mode::Edge => {
                Watched::Edge(epoll.edge(source, READABLE, OnBlocking::SetNonblocking).unwrap())
            }
        }
    }
}

impl<S: Source<Fd = K::Fd>, K: Kernel> Watched<S, K> {
    fn token(&self) -> Token {
        match self {
            Watched::Level(registered) => registered.token(),
            Watched::Edge(registered) => registered.token(),
        }
    }

    fn get_mut(&mut self) -> &mut S {
        match self {
            Watched::Level(registered) => registered.get_mut(),
            Watched::Edge(registered) => registered.get_mut(),
        }
    }
}

/// What is ready now: which registration, and whether for input.
fn ready<K: Kernel>(epoll: &Epoll<K>) -> Vec<Token> {
    let mut events = Events::with_capacity(8);
    epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(events.iter().all(|event| event.readiness.is_readable()));
    events.iter().map(|event| event.token).collect()
}

mod bodies {
    use super::*;

    pub fn e01_taking_an_event_takes_no_byte<K: Kernel>(kernel: K) {
        for mode in MODES {
            let epoll = Epoll::on(kernel.clone()).unwrap();
            let bell = Bell::new(&kernel, 0);
            let watched = mode.watch(&epoll, bell.clone());
            assert_eq!(ready(&epoll), []);
            bell.write(3);
            assert_eq!(ready(&epoll), [watched.token()]);
            let again = ready(&epoll);
            assert_eq!(again.is_empty(), mode == Mode::Edge);
            assert_eq!(bell.read(), 3, "{mode:?}");
        }
    }

    pub fn e02_an_edge_is_told_once_and_each_write_makes_one<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let edge = epoll.edge(Bell::new(&kernel, 0), READABLE, OnBlocking::Refuse).unwrap();
        for _ in 0..2 {
            edge.get_ref().write(1);
            assert_eq!(ready(&epoll), [edge.token()]);
            assert_eq!(ready(&epoll), []);
        }
        edge.modify(READABLE).unwrap();
        assert_eq!(ready(&epoll), [edge.token()], "modify looks again");
        assert_eq!(ready(&epoll), []);
    }

    pub fn e06_a_blocking_source_is_refused_or_set_as_the_caller_chose<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let blocking = Bell::with_flags(&kernel, 0, EventfdFlags::empty());
        let refused = epoll.edge(blocking, READABLE, OnBlocking::Refuse);
        let Err(Rejected { source, error }) = refused else { panic!("a blocking source") };
        assert!(matches!(error, Error::Blocking));
        assert!(!kernel.is_nonblocking(source.fd()).unwrap(), "refusing changes nothing");

        let edge = epoll.edge(source, READABLE, OnBlocking::SetNonblocking).unwrap();
        assert!(kernel.is_nonblocking(edge.get_ref().fd()).unwrap());
        assert_eq!(refusal(edge.get_ref().try_read()), Errno::AGAIN);

        let source = edge.into_inner();
        assert!(epoll.edge(source, READABLE, OnBlocking::Refuse).is_ok());
    }

    pub fn e06_a_level_does_not_ask<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let blocking = Bell::with_flags(&kernel, 0, EventfdFlags::empty());
        let level = epoll.level(blocking, READABLE).unwrap();
        assert!(!kernel.is_nonblocking(level.get_ref().fd()).unwrap());
    }

    pub fn e13_a_dropped_source_leaves_the_list_though_a_duplicate_lives<K: Kernel>(kernel: K) {
        for mode in MODES {
            let epoll = Epoll::on(kernel.clone()).unwrap();
            let bell = Bell::new(&kernel, 0);
            let duplicate = bell.duplicate();
            let watched = mode.watch(&epoll, bell);
            duplicate.write(1);
            drop(watched);
            duplicate.write(1);
            assert_eq!(ready(&epoll), [], "{mode:?}");
            assert_eq!(epoll.ghosts(), 0);
        }
    }

    pub fn e13_an_event_already_fetched_never_names_a_successor<K: Kernel>(kernel: K) {
        for mode in MODES {
            let epoll = Epoll::on(kernel.clone()).unwrap();
            let watched = mode.watch(&epoll, Bell::new(&kernel, 1));
            let fetched = ready(&epoll);
            assert_eq!(fetched, [watched.token()]);

            let number = number(&watched);
            drop(watched);
            // Other tests open descriptors too: the number is tried for until it comes back.
            let mut others = Vec::new();
            let successor = loop {
                let bell = Bell::new(&kernel, 0);
                if bell.number() == number || others.len() == 64 {
                    break mode.watch(&epoll, bell);
                }
                others.push(bell);
            };
            assert!(!fetched.contains(&successor.token()), "{mode:?}");
            assert_eq!(ready(&epoll), []);
        }
    }

    fn number<K: Kernel>(watched: &Watched<Bell<K>, K>) -> i32 {
        match watched {
            Watched::Level(registered) => registered.get_ref().number(),
            Watched::Edge(registered) => registered.get_ref().number(),
        }
    }

    pub fn e13_a_ghost_is_counted_and_names_nobody_else<K: Kernel>(kernel: K) {
        for mode in MODES {
            let epoll = Epoll::on(kernel.clone()).unwrap();
            let bell = Bell::new(&kernel, 0);
            let duplicate = bell.duplicate();
            let mut watched = mode.watch(&epoll, bell);
            let ghost = watched.token();

            *watched.get_mut() = Bell::new(&kernel, 0);
            drop(watched);
            assert_eq!(epoll.ghosts(), 1, "{mode:?}");
            let successor = mode.watch(&epoll, Bell::new(&kernel, 0));
            duplicate.write(1);
            assert_eq!(ready(&epoll), [ghost], "its open file lives on: {mode:?}");
            assert_ne!(ghost, successor.token());
            drop(duplicate);
            assert_eq!(ready(&epoll), []);
        }
    }

    pub fn case_s142_interest_can_be_changed_at_any_time<K: Kernel>(kernel: K) {
        let epoll = Epoll::on(kernel.clone()).unwrap();
        let level = epoll.level(Bell::new(&kernel, 1), Interest::NONE).unwrap();
        assert_eq!(ready(&epoll), []);
        level.modify(READABLE).unwrap();
        assert_eq!(ready(&epoll), [level.token()]);
        level.modify(Interest::NONE).unwrap();
        assert_eq!(ready(&epoll), []);
    }

    pub fn case_c060_a_nested_instance_is_readable_while_it_has_events<K: Kernel>(kernel: K) {
        let (outer, inner) =
            (Epoll::on(kernel.clone()).unwrap(), Epoll::on(kernel.clone()).unwrap());
        let level = inner.level(Bell::new(&kernel, 0), READABLE).unwrap();
        let all = READABLE | Interest::WRITABLE | Interest::PRIORITY;
        let nested = outer.level(inner, all).unwrap();
        let mut events = Events::with_capacity(8);
        let mut told = || {
            outer.wait(&mut events, Some(Duration::ZERO)).unwrap();
            events.iter().map(|event| event.readiness).collect::<Vec<Readiness>>()
        };
        assert!(told().is_empty());
        level.get_ref().write(1);
        for _ in 0..2 {
            let [readiness] = told()[..] else { panic!("the inner instance is ready") };
            assert!(readiness.is_readable());
            assert!(!readiness.is_writable() && !readiness.is_priority());
        }
        assert_eq!(ready(nested.get_ref()), [level.token()]);
        level.get_ref().read();
        assert!(told().is_empty());
    }

    pub fn case_c062_instances_cannot_watch_each_other_in_a_circle<K: Kernel>(kernel: K) {
        let [a, b, c] = [(); 3].map(|()| Epoll::on(kernel.clone()).unwrap());
        let watch = |outer: &Epoll<K>, inner| {
            let registered = outer.level(inner, READABLE).map_err(Error::from);
            registered.map(std::mem::forget)
        };
        let is_loop =
            |outcome| refusal(Result::map_err(outcome, std::io::Error::from)) == Errno::LOOP;
        watch(&a, &b).unwrap();
        assert!(is_loop(watch(&b, &a)));
        watch(&b, &c).unwrap();
        assert!(is_loop(watch(&c, &a)));
        watch(&a, &c).unwrap();
    }
}

on_every_kernel! {
    e01_taking_an_event_takes_no_byte
    e02_an_edge_is_told_once_and_each_write_makes_one
    e06_a_blocking_source_is_refused_or_set_as_the_caller_chose
    e06_a_level_does_not_ask
    e13_a_dropped_source_leaves_the_list_though_a_duplicate_lives
    e13_an_event_already_fetched_never_names_a_successor
    e13_a_ghost_is_counted_and_names_nobody_else
    case_s142_interest_can_be_changed_at_any_time
    case_c060_a_nested_instance_is_readable_while_it_has_events
    case_c062_instances_cannot_watch_each_other_in_a_circle
}

#[test]
fn e01_bytes_of_a_stream_stay_where_they_are() {
    for mode in MODES {
        let epoll = Epoll::new().unwrap();
        let (end, mut peer) = UnixStream::pair().unwrap();
        let mut watched = mode.watch(&epoll, end);
        peer.write_all(b"watch").unwrap();
        assert_eq!(ready(&epoll), [watched.token()]);
        let mut bytes = [0; 5];
        watched.get_mut().read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"watch");
    }
}

#[test]
fn e02_what_an_edge_left_unread_is_never_told_again() {
    let epoll = Epoll::new().unwrap();
    let (end, mut peer) = UnixStream::pair().unwrap();
    let mut watched = Mode::Edge.watch(&epoll, end);
    peer.write_all(b"watch").unwrap();
    assert_eq!(ready(&epoll), [watched.token()]);
    watched.get_mut().read_exact(&mut [0]).unwrap();
    assert_eq!(ready(&epoll), []);
    watched.get_mut().read_exact(&mut [0; 4]).unwrap();
}

#[test]
fn e06_what_epoll_does_not_support_comes_back() {
    let epoll = Epoll::new().unwrap();
    let file = File::open("/proc/self/stat").unwrap();
    let Err(Rejected { source, error }) = epoll.edge(file, READABLE, OnBlocking::SetNonblocking)
    else {
        panic!("epoll does not support such a file")
    };
    assert_eq!(refusal::<()>(Err(error.into())), Errno::PERM);
    assert!(Linux.is_nonblocking(source.as_fd()).unwrap(), "as documented, it stays set");
}

#[test]
fn e13_no_event_reaches_a_registration_that_was_taken_back() {
    let epoll = Epoll::new().unwrap();
    let (end, mut peer) = UnixStream::pair().unwrap();
    let level = epoll.level(end, READABLE).unwrap();
    peer.write_all(b"a").unwrap();
    let end = level.into_inner();
    assert_eq!(ready(&epoll), []);
    assert_eq!(epoll.ghosts(), 0);
    let level = epoll.level(end, READABLE).unwrap();
    assert_eq!(ready(&epoll), [level.token()]);
}

#[test]
fn case_s210_a_closed_descriptor_is_gone_and_its_number_is_another() {
    let door = door::Door::new(Linux);
    let bell = Bell::new(&Linux, 1);
    door.add(bell.fd(), EventFlags::IN, 1).unwrap();
    assert_eq!(door.ready(), "[1:IN]");
    drop(bell);
    assert_eq!(door.ready(), "[]");
    let other = Bell::new(&Linux, 1);
    assert_eq!(refusal(door.delete(other.fd())), Errno::NOENT);
    door.add(other.fd(), EventFlags::IN, 2).unwrap();
    assert_eq!(door.ready(), "[2:IN]");
}

#[test]
fn case_s211_a_duplicate_keeps_a_registration_that_nobody_can_remove() {
    let door = door::Door::new(Linux);
    let bell = Bell::new(&Linux, 0);
    let duplicate = bell.duplicate();
    door.add(bell.fd(), EventFlags::IN, 1).unwrap();
    drop(bell);
    duplicate.write(1);
    assert_eq!(door.ready(), "[1:IN]");
    assert_eq!(refusal(door.delete(duplicate.fd())), Errno::NOENT);
    assert_eq!(refusal(door.modify(duplicate.fd(), EventFlags::IN, 3)), Errno::NOENT);
    door.add(duplicate.fd(), EventFlags::IN, 2).unwrap();
    assert_eq!(door.ready(), "[1:IN, 2:IN]");
    drop(duplicate);
    assert_eq!(door.ready(), "[]");
}

/// A decorator has the descriptors of the kernel that it wraps, and takes the same sources.
#[test]
fn e06_only_a_source_that_may_block_is_looked_at() {
    let kernel = Counting::new(Linux);
    let epoll = Epoll::on(kernel.clone()).unwrap();
    let looks = || (kernel.calls(Call::IsNonblocking), kernel.calls(Call::SetNonblocking));

    let counter = Counter::on(kernel.clone(), 0).unwrap();
    let _counter = epoll.edge(counter, Interest::READABLE, OnBlocking::Refuse).unwrap();
    let counter = Arc::new(Counter::new(0).unwrap());
    let _counter = epoll.edge(counter, Interest::READABLE, OnBlocking::SetNonblocking).unwrap();
    assert_eq!(looks(), (0, 0));

    let (one, other) = UnixStream::pair().unwrap();
    let refused = epoll.edge(&one, Interest::READABLE, OnBlocking::Refuse);
    assert!(matches!(refused, Err(Rejected { error: Error::Blocking, .. })));
    assert_eq!(looks(), (1, 0));
    let other = AnyFd(other);
    let _other = epoll.edge(other, Interest::READABLE, OnBlocking::SetNonblocking).unwrap();
    assert_eq!(looks(), (1, 1));
}
