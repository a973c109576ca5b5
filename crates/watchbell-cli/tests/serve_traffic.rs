//! Real clients, well behaved, over TCP and Unix-domain sockets.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send, sockopt};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;
use support::client::{Client, Target};
use support::random::Random;
use support::{Directory, PATIENCE, Server, proc, wait_until};

/// A server on TCP and on a Unix-domain socket.
fn both(directory: &Directory, more: &[&str]) -> Server {
    let listen = directory.listen();
    Server::start(&[&["--listen", "127.0.0.1:0", "--listen", &listen], more].concat())
}

/// One of many clients of a thread: sends its bytes in odd-sized pieces and compares what returns.
struct Pupil {
    client: Client,
    random: Random,
    bytes: Vec<u8>,
    sent: usize,
    piece_end: usize,
    back: usize,
    most_a_read: usize,
    half_closes: bool,
    ended: bool,
}

impl Pupil {
    fn new(target: &Target, number: usize) -> Pupil {
        let client = target.connect();
        client.set_nonblocking(true);
        let mut random = Random::quiet(number as u64 + 1);
        Pupil {
            client,
            bytes: random.bytes(256 * 1024),
            random,
            sent: 0,
            piece_end: 0,
            back: 0,
            most_a_read: if number % 4 == 3 { 40 } else { 16 * 1024 },
            half_closes: number.is_multiple_of(3),
            ended: false,
        }
    }

    /// What has to be ready for this client to get on.
    fn interest(&self) -> PollFlags {
        match self.sent < self.bytes.len() {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        }
    }

    /// One piece out and one read, as far as the socket lets it.
    fn step(&mut self) {
        for outcome in [self.write(), self.read()] {
            if let Err(error) = outcome {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        if self.sent == self.bytes.len() {
            return Ok(());
        }
        if self.sent == self.piece_end {
            self.piece_end = (self.sent + self.random.size(1, 9000)).min(self.bytes.len());
        }
        self.sent += self.client.write(&self.bytes[self.sent..self.piece_end])?;
        if self.sent == self.bytes.len() && self.half_closes {
            self.client.half_close();
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        let mut buffer = vec![0; self.random.size(1, self.most_a_read)];
        let count = self.client.read(&mut buffer)?;
        let expected = &self.bytes[self.back..];
        assert!(expected.starts_with(&buffer[..count]), "changed after byte {}", self.back);
        self.back += count;
        let complete = self.back == self.bytes.len();
        assert!(count > 0 || complete, "the rest is missing after byte {}", self.back);
        // One that half-closed waits for end of file; no byte may come before it.
        self.ended = if self.half_closes { count == 0 } else { complete };
        Ok(())
    }
}

/// Runs the clients until all have their bytes back.
fn teach(mut pupils: Vec<Pupil>) {
    let end = Instant::now() + PATIENCE;
    while pupils.iter().any(|pupil| !pupil.ended) {
        let left = end.saturating_duration_since(Instant::now());
        let ready = {
            let mut fds: Vec<PollFd<'_>> =
                pupils.iter().map(|pupil| PollFd::new(&pupil.client, pupil.interest())).collect();
            poll(&mut fds, Some(&Timespec::try_from(left).unwrap())).unwrap();
            fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>()
        };
        let done: usize = pupils.iter().map(|pupil| pupil.back).sum();
        assert!(ready.contains(&true), "stuck with {done} bytes back");
        for (pupil, _) in pupils.iter_mut().zip(&ready).filter(|(_, ready)| **ready) {
            pupil.step();
        }
        pupils.retain(|pupil| !pupil.ended);
        thread::yield_now();
    }
}

#[test]
fn e08_a_hundred_clients_get_256_kib_back_byte_exact() {
    let directory = Directory::new();
    let server = both(&directory, &["--workers", "2"]);
    thread::scope(|scope| {
        for group in 0..10 {
            let targets = &server.targets;
            scope.spawn(move || {
                let number = |index: usize| group * 10 + index;
                teach((0..10).map(|i| Pupil::new(&targets[i % 2], number(i))).collect());
            });
        }
    });
    let finished = server.stop();
    assert_eq!((finished.ledger.accepted, finished.ledger.processed), (100, 100));
    let connections: u64 = finished.workers.iter().map(|worker| worker.connections).sum();
    assert_eq!(connections, 100, "each was served by one worker: {finished:?}");
}

#[test]
fn e07_a_client_that_half_closes_gets_the_rest_and_then_end_of_file() {
    let directory = Directory::new();
    let server = both(&directory, &[]);
    let mut random = Random::new(7);
    for length in [0, 1, 5000, 65_536, 65_537, 1 << 20] {
        for target in &server.targets {
            let bytes = random.bytes(length);
            let back = target.connect().echo_to_the_end(&bytes, &mut random);
            assert!(back == bytes, "{} of {length} bytes over {target:?}", back.len());
        }
    }
    assert_eq!(server.stop().ledger.processed, 12);
}

#[test]
fn e07_data_and_fin_in_one_segment_lose_nothing() {
    let directory = Directory::new();
    let server = both(&directory, &[]);
    let mut random = Random::new(8);
    for round in 0..200 {
        // Mostly lengths that fit into one segment.
        let bytes = random.bytes([1, 2, 100, 1000, 10_000, 40_000][round % 6]);
        for target in &server.targets {
            let mut client = target.connect();
            match (&client, round % 3) {
                // MSG_MORE and the cork hold the bytes back until the FIN can go with them.
                (Client::Tcp(_), 0) => {
                    let sent = send(&client, &bytes, SendFlags::MORE).unwrap();
                    assert_eq!(sent, bytes.len());
                }
                (Client::Tcp(_), 1) => {
                    sockopt::set_tcp_cork(client.as_fd(), true).unwrap();
                    client.write_all(&bytes).unwrap();
                }
                _ => client.write_all(&bytes).unwrap(),
            }
            client.half_close();
            assert!(client.rest() == bytes, "round {round} over {target:?}");
        }
    }
    assert_eq!(server.stop().ledger.processed, 400);
}

#[test]
fn e05_a_flood_of_1_mib_on_a_budget_of_4096_is_byte_exact_while_a_quiet_client_gets_answers() {
    let server = Server::start(&["--listen", "127.0.0.1:0", "--workers", "1", "--budget", "4096"]);
    let target = &server.targets[0];
    let quiet_is_done = AtomicBool::new(false);
    let mut flood = target.connect();
    let mut sink = flood.duplicate();
    let (first, flooding) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut random = Random::new(9);
            let mut sent = 0;
            while sent < 1 << 20 || !quiet_is_done.load(Ordering::Relaxed) {
                flood.write_all(&random.bytes(8192)).unwrap();
                sent += 8192;
            }
            flood.half_close();
            sent
        });
        let receiver = scope.spawn(move || {
            let mut random = Random::quiet(9);
            let mut back = 0;
            while let ControlFlow::Continue(()) = next_block(&mut sink, &mut random) {
                back += 8192;
                let _ = first.send(());
            }
            back
        });
        flooding.recv_timeout(PATIENCE).expect("the flood runs");
        let mut quiet = target.connect();
        for number in 0..100_u32 {
            quiet.exchange(&number.to_be_bytes());
        }
        quiet_is_done.store(true, Ordering::Relaxed);
        assert_eq!(sender.join().unwrap(), receiver.join().unwrap());
    });
    assert_eq!(server.stop().ledger.accepted, 2);
}

/// Reads one block of the flood and compares it, or finds the end of file.
fn next_block(sink: &mut Client, random: &mut Random) -> ControlFlow<()> {
    let mut block = vec![0; 8192];
    let mut filled = 0;
    while filled < block.len() {
        match sink.read(&mut block[filled..]).unwrap() {
            0 if filled == 0 => return ControlFlow::Break(()),
            0 => panic!("the flood was cut in a block"),
            count => filled += count,
        }
    }
    assert!(block == random.bytes(8192), "the flood came back changed");
    ControlFlow::Continue(())
}

#[test]
fn x09_two_workers_each_accept_connections_of_their_own() {
    // Who is woken is the kernel's choice, so that only many arrivals at once make it likely; a
    // server that leaves a worker out fails every round.
    for _ in 0..20 {
        let server = Server::start(&["--listen", "127.0.0.1:0", "--workers", "2"]);
        let target = &server.targets[0];
        thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    let bytes = Random::quiet(thread + 1).bytes(2000);
                    for _ in 0..5 {
                        let mut burst: Vec<_> = (0..10).map(|_| target.connect()).collect();
                        burst.iter_mut().for_each(|client| client.exchange(&bytes));
                    }
                });
            }
        });
        let finished = server.stop();
        assert_eq!(finished.ledger.accepted, 400);
        if finished.workers.iter().all(|worker| worker.accepts > 0) {
            return;
        }
    }
    panic!("in 20 rounds of 400 connections one worker accepted all");
}

#[test]
fn x10_ten_thousand_connections_leak_no_descriptor() {
    let directory = Directory::new();
    let server = both(&directory, &["--workers", "2"]);
    let pid = server.pid();
    let baseline = proc::descriptors(pid);
    thread::scope(|scope| {
        for thread in 0..8 {
            let target = &server.targets[thread % 2];
            scope.spawn(move || {
                for number in 0..1250 {
                    let mut client = target.connect();
                    client.exchange(&[number as u8; 10][..number % 10 + 1]);
                    // Every way to end: a close, a half-close that waits, a reset.
                    match number % 3 {
                        0 => drop(client),
                        1 => {
                            client.half_close();
                            assert!(client.rest().is_empty());
                        }
                        _ => client.reset(),
                    }
                }
            });
        }
    });
    wait_until("the descriptors are as few as before", || proc::descriptors(pid) == baseline);
    assert_eq!(server.stop().ledger.processed, 10_000);
}
