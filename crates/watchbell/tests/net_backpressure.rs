//! Backpressure: what a reader that does not read costs, and whom it stops.

mod support;

use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;
use support::sockets::{drain, echo, strict_loop, tcp_pair, unix_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux};
use watchbell::net::{Marks, MarksError, Output, QueueFull, Stream};

type Kernel = Counting<Linux>;
const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

/// How many bytes of a flood are taken before everything stands still.
fn flood(peer: &mut impl Write, events: &mut EventLoop<(), Kernel>, most: usize) -> usize {
    let (mut sent, mut quiet) = (0, 0);
    while quiet < 10 && sent < most {
        match peer.write(&[0x5a; 4096]) {
            Ok(taken) => (sent, quiet) = (sent + taken, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => quiet += 1,
            Err(error) => panic!("{error}"),
        }
        events.turn(NO_WAIT).expect("nothing fails");
    }
    sent
}

#[test]
fn e09_a_reader_that_does_not_read_stops_its_own_input_in_bounds() {
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let (stream, mut peer) = unix_pair(kernel.clone());
        let mut events: EventLoop<(), _> = strict_loop(kernel.clone(), Budget::default());
        let marks = Marks::new(4 << 10, 16 << 10).expect("low is below high");
        let token = events.add(stream, Interest::READABLE, echo(marks, 4096));
        let token = token.expect("a new source");
        peer.set_nonblocking(true).expect("a socket");

        let most = 64 << 20;
        let sent = flood(&mut peer, &mut events, most);
        assert!(sent < most / 4, "{sent} bytes went in, though none was read");
        let recvs = kernel.calls(Call::Recv);
        assert!(events.resume(token, Direction::Input), "a pause of another kind is taken back");
        events.turn(NO_WAIT).expect("nothing fails");
        assert_eq!(kernel.calls(Call::Recv), recvs, "input rests above the high-water mark");

        peer.shutdown(Shutdown::Write).expect("it is connected");
        let mut received = Vec::new();
        while !drain(&mut peer, &mut received) {
            events.turn(NO_WAIT).expect("nothing fails");
        }
        assert_eq!(received.len(), sent, "the low-water mark starts it again");
        assert!(events.is_empty());
    });
}

/// A stream whose queue is filled in its first run and which says what became of its input.
fn e09_filled(pause_first: bool) -> (bool, bool) {
    watchdog(move || {
        let (stream, mut peer) = tcp_pair(Linux);
        sockopt::set_socket_send_buffer_size(&stream, 64 << 10).expect("a socket");
        peer.set_nonblocking(true).expect("a socket");
        let budget = Budget::default().bytes(2 << 20).operations(u32::MAX);
        let mut events: EventLoop<Option<(bool, bool)>> = strict_loop(Linux, budget);
        let mut output = Output::new(Marks::default().with_limit(2 << 20));
        let mut held = None;
        let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, _>| {
            if held.is_none() {
                if pause_first {
                    stream.pause(Direction::Input);
                }
                stream.send(&mut output, &vec![0; 2 << 20])?;
                assert!(stream.is_blocked() && output.is_above_high_water());
                held = Some(stream.is_paused(Direction::Input));
            }
            if stream.flush(&mut output)? {
                assert!(!output.is_above_high_water());
                *turn.state() = held.map(|held| (held, stream.is_paused(Direction::Input)));
            }
            assert_eq!(stream.recv(&mut [0; 8])?, None, "the peer says nothing");
            Ok(())
        };
        let token = events.add(stream, Interest::READABLE, handler).expect("a new source");
        events.wake(token, Direction::Input);
        let mut received = Vec::new();
        while events.state().is_none() {
            events.turn(NO_WAIT).expect("nothing fails");
            drain(&mut peer, &mut received);
        }
        events.into_state().expect("the queue is empty")
    })
}

#[test]
fn e09_the_high_mark_pauses_input_and_the_low_mark_resumes_it() {
    assert_eq!(e09_filled(false), (true, false));
}

#[test]
fn e09_the_low_mark_does_not_take_back_a_pause_of_the_handlers_own() {
    assert_eq!(e09_filled(true), (true, true));
}

#[test]
fn e09_what_is_beyond_the_limit_is_refused_with_nothing_taken() {
    let (stream, mut peer) = tcp_pair(Linux);
    let mut events: EventLoop = strict_loop(Linux, Budget::default());
    let marks = Marks::new(1, 2).expect("low is below high").with_limit(10);
    let mut output = Output::new(marks);
    let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_>| {
        let error = stream.send(&mut output, b"eleven byte").expect_err("the limit is 10");
        let full = error.get_ref().and_then(|inner| inner.downcast_ref::<QueueFull>());
        assert_eq!(full.copied(), Some(QueueFull { queued: 0, refused: 11 }));
        stream.send(&mut output, b"ten bytes!")?;
        turn.close()
    };
    let token = events.add(stream, Interest::READABLE, handler).expect("a new source");
    events.wake(token, Direction::Input);
    events.turn(NO_WAIT).expect("nothing fails");
    let mut received = String::new();
    peer.read_to_string(&mut received).expect("text");
    assert_eq!(received, "ten bytes!");
}

#[test]
fn e09_marks_that_leave_no_room_between_them_are_refused() {
    for (low, high) in [(0, 0), (1, 0), (5, 4), (4, 4)] {
        let error: MarksError = Marks::new(low, high).expect_err("there is no hysteresis");
        assert_eq!(io::Error::from(error).kind(), ErrorKind::InvalidInput);
    }
    assert!(Marks::new(0, 1).is_ok());
}
