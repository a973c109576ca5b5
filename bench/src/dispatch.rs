//! P6: what an event costs.
//!
//! Sixteen socket pairs, eight of them with a byte to read at each turn. A handler reads its byte
//! and writes one for the next pair, until the run's events are used up.

use crate::{raw, stepper, verdict};
use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;
use watchbell::epoll::Interest;
use watchbell::event_loop::{EventLoop, Registration};
use watchbell::kernel::Linux;
use watchbell::net::Stream;

const PAIRS: usize = 16;
const ACTIVE: usize = 8;

/// Of two runs, the events.
const FEW: u32 = 80;
const MANY: u32 = 160;

/// The peers' ends, and how many events are still to be made and to be had.
struct Client {
    peers: Vec<OwnedFd>,
    to_send: Cell<u32>,
    to_get: Cell<u32>,
}

impl Client {
    /// The client's own part of an event, beside the read.
    #[inline]
    fn got(&self, index: usize) {
        self.to_get.set(self.to_get.get() - 1);
        if self.to_send.get() > 0 {
            let next = if index + 1 == PAIRS { 0 } else { index + 1 };
            raw::send(self.peers[next].as_raw_fd());
            self.to_send.set(self.to_send.get() - 1);
        }
    }

    fn begin(&self) {
        for index in 0..ACTIVE {
            raw::send(self.peers[index * PAIRS / ACTIVE].as_raw_fd());
        }
    }

    fn is_done(&self) -> bool {
        self.to_get.get() == 0
    }
}

/// Runs one subject over so many events.
pub fn subject(name: &str, events: u32) {
    let (ours, peers): (Vec<OwnedFd>, Vec<OwnedFd>) =
        (0..PAIRS).map(|_| raw::pair()).map(|[ours, peer]| (ours, peer)).unzip();
    let (to_send, to_get) = (Cell::new(events - ACTIVE as u32), Cell::new(events));
    let client = Rc::new(Client { peers, to_send, to_get });
    match name {
        "raw" => by_hand(ours, &client),
        _ => by_loop(name, ours, &client),
    }
    assert!(client.is_done());
}

fn by_hand(ours: Vec<OwnedFd>, client: &Client) {
    let epoll = raw::Epoll::new();
    for (index, fd) in ours.iter().enumerate() {
        epoll.add(fd.as_raw_fd(), libc::EPOLLIN, index as u64);
    }
    let mut events = Vec::with_capacity(256);
    client.begin();
    while !client.is_done() {
        epoll.look(&mut events);
        for event in &events {
            let index = event.u64 as usize;
            if raw::recv(ours[index].as_raw_fd()).is_ok() {
                client.got(index);
            }
        }
    }
}

fn by_loop(name: &str, ours: Vec<OwnedFd>, client: &Rc<Client>) {
    let mut events = EventLoop::new().expect("a loop");
    for (index, fd) in ours.into_iter().enumerate() {
        add(name, &mut events, index, fd, Rc::clone(client));
    }
    client.begin();
    while !client.is_done() {
        events.turn(Some(Duration::ZERO)).expect("a turn");
    }
}

fn add(name: &str, events: &mut EventLoop, index: usize, fd: OwnedFd, client: Rc<Client>) {
    let number: RawFd = fd.as_raw_fd();
    let added = match name {
        "level" => events.add(fd, Registration::level(Interest::READABLE), move |fd, _| {
            if fd.input(|_| raw::recv(number))?.is_some() {
                client.got(index);
            }
            Ok(())
        }),
        "edge" => events.add(fd, Interest::READABLE, move |fd, _| {
            while fd.input(|_| raw::recv(number))?.is_some() {
                client.got(index);
            }
            Ok(())
        }),
        "read" => {
            let added = events.add(UnixStream::from(fd), Interest::READABLE, move |stream, _| {
                let mut buf = [0; 64];
                while let Some(read) = stream.read(&mut buf)? {
                    (0..read).for_each(|_| client.got(index));
                }
                Ok(())
            });
            added.expect("it can be registered");
            return;
        }
        _ => {
            let stream = Stream::adopt(Linux, fd).expect("a stream");
            let added = events.add(stream, Interest::READABLE, move |stream, _| {
                let mut buf = [0; 64];
                while let Some(read) = stream.recv(&mut buf)? {
                    (0..read).for_each(|_| client.got(index));
                }
                Ok(())
            });
            added.expect("it can be registered");
            return;
        }
    };
    added.expect("it can be registered");
}

pub fn suite() {
    println!("dispatch: one recv and one send an event, {ACTIVE} events a turn");
    println!("{:<34} {:>12} {:>10}", "subject", "instructions", "calls");
    let subjects = [
        ("raw", "by hand, level-triggered", None),
        ("level", "watchbell, level, input", Some(300.0)),
        ("edge", "watchbell, edge, input to EAGAIN", None),
        ("read", "watchbell, edge, read to EAGAIN", None),
        ("stream", "watchbell, net::Stream, recv", None),
    ];
    for (name, what, goal) in subjects {
        let instructions = an_event(name, stepper::instructions);
        let calls = an_event(name, stepper::calls);
        println!("{what:<34} {instructions:>12.1} {calls:>10.3}  {}", verdict(instructions, goal));
    }
}

fn an_event(name: &str, count: fn(&[&str]) -> std::io::Result<u64>) -> f64 {
    let run = |events: u32| {
        count(&["subject", "dispatch", name, &events.to_string()]).expect("the subject runs")
    };
    (run(MANY) - run(FEW)) as f64 / f64::from(MANY - FEW)
}
