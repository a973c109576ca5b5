//! One flooding connection among quiet ones: answers are counted in turns, not in seconds.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use support::sockets::{Conversation, any_name, any_port, echo, strict_loop, unix_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop, Ready, Turn};
use watchbell::kernel::{Counting, Linux, Sockets};
use watchbell::net::{Marks, Stream};

const NO_WAIT: Option<Duration> = Some(Duration::ZERO);
const QUIET: usize = 100;

fn e05_flood_body<K: Sockets>(kernel: K) {
    let flood =
        Conversation { bytes: 1 << 20, chunk: 1 << 16, budget: Budget::default().bytes(4096) };
    for address in [any_port(), any_name()] {
        // It ends only when all of it has come back, byte for byte.
        let stats = flood.hold(kernel.clone(), &address);
        assert!(stats.turns >= 256, "{stats:?}");
        assert!(stats.spent >= 256 && stats.retained >= 256, "{stats:?}");
    }
}

#[test]
fn e05_a_flood_of_a_mebibyte_takes_at_least_256_turns_of_4096_bytes() {
    watchdog(|| {
        e05_flood_body(Linux);
        e05_flood_body(Counting::new(Linux));
    });
}

/// A loop with one source that is always readable, and quiet ones that are echoed.
struct Crowd {
    events: EventLoop<u64>,
    flooder: UnixStream,
    quiet: Vec<UnixStream>,
}

impl Crowd {
    fn gather() -> Crowd {
        let mut events = strict_loop(Linux, Budget::default().bytes(1024));
        let (stream, flooder) = unix_pair(Linux);
        events.add(stream, Interest::READABLE, swallow).expect("a new source");
        let quiet = (0..QUIET).map(|_| {
            let (stream, peer) = unix_pair(Linux);
            let handler = echo(Marks::default(), 512);
            events.add(stream, Interest::READABLE, handler).expect("a new source");
            peer
        });
        let quiet: Vec<UnixStream> = quiet.collect();
        quiet.iter().chain([&flooder]).for_each(|peer| {
            peer.set_nonblocking(true).expect("a socket");
        });
        Crowd { events, flooder, quiet }
    }

    /// Fills the flooder's socket to the brim, then takes one turn.
    fn turn(&mut self) {
        while let Ok(taken) = self.flooder.write(&[0; 4096]) {
            assert!(taken > 0);
        }
        let before = *self.events.state();
        self.events.turn(NO_WAIT).expect("nothing fails");
        let flooded = *self.events.state();
        assert!(flooded > before, "the flood has its share too");
        assert!(flooded - before <= 1024, "and not more");
    }
}

fn swallow(stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, u64>) -> std::io::Result<()> {
    let mut buf = [0; 512];
    while let Some(read) = stream.recv(&mut buf)? {
        *turn.state() += read as u64;
    }
    Ok(())
}

fn is_answered(mut peer: &UnixStream) -> bool {
    match peer.read(&mut [0; 8]) {
        Ok(read) => read == 8,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn e10_a_flood_keeps_no_quiet_source_waiting_longer_than_one_turn() {
    watchdog(|| {
        let mut crowd = Crowd::gather();
        crowd.turn();
        for index in 0..QUIET {
            (&crowd.quiet[index]).write_all(b"question").expect("there is room");
            crowd.turn();
            assert!(is_answered(&crowd.quiet[index]), "source {index} was made to wait");
        }
    });
}

#[test]
fn e10_all_quiet_sources_at_once_are_answered_in_one_turn_beside_the_flood() {
    watchdog(|| {
        let mut crowd = Crowd::gather();
        for _ in 0..20 {
            for mut peer in &crowd.quiet {
                peer.write_all(b"question").expect("there is room");
            }
            crowd.turn();
            assert!(crowd.quiet.iter().all(is_answered));
        }
    });
}
