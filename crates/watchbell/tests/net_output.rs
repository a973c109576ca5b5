//! Output that the kernel does not take at once: it waits, in bounds, and nobody spins.

mod support;

use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use support::sockets::{echo, pattern, strict_loop, tcp_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux};
use watchbell::net::{Marks, MarksError, Output, QueueFull, Stream};

type Kernel = Counting<Linux>;
const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

/// What a sender's queue looked like after its last run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    runs: u32,
    queued: usize,
    blocked: bool,
    finished: bool,
}

/// Sends `bytes` of the pattern in its first run, and the rest of them as it can; then its end.
fn sender(
    bytes: usize,
) -> impl FnMut(&mut Ready<'_, Stream<Kernel>>, &mut Turn<'_, Seen, Kernel>) -> io::Result<()> {
    let mut output = Output::new(Marks::default().with_limit(bytes));
    let mut unsent = Some((0..bytes).map(pattern).collect::<Vec<u8>>());
    move |stream, turn| {
        stream.flush(&mut output)?;
        if let Some(bytes) = unsent.take() {
            stream.send(&mut output, &bytes)?;
            output.finish();
            stream.flush(&mut output)?;
        }
        assert_eq!(stream.recv(&mut [0; 8])?, None, "the peer says nothing");
        let seen = turn.state();
        seen.runs += 1;
        seen.queued = output.len();
        seen.blocked = stream.is_blocked();
        seen.finished = output.is_finished();
        Ok(())
    }
}

/// A loop with one sender that has had its first turn.
fn sending(bytes: usize, budget: Budget) -> (EventLoop<Seen, Kernel>, Seen, TcpStream, Kernel) {
    let kernel = Counting::new(Linux);
    let (stream, peer) = tcp_pair(kernel.clone());
    sockopt::set_socket_send_buffer_size(&stream, 64 << 10).expect("a socket");
    let mut events = strict_loop(kernel.clone(), budget);
    let token = events.watch(stream, Interest::READABLE, sender(bytes)).expect("a new source");
    kernel.reset();
    let mut seen = Seen::default();
    events.wake(token, Direction::Input);
    events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
    peer.set_nonblocking(true).expect("a socket");
    (events, seen, peer, kernel)
}

/// Reads what is there; `true` at the end of file.
fn drain(peer: &mut TcpStream, into: &mut Vec<u8>) -> bool {
    let mut buf = vec![0; 1 << 16];
    loop {
        match peer.read(&mut buf) {
            Ok(0) => return true,
            Ok(read) => into.extend_from_slice(&buf[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn e08_what_the_kernel_takes_at_once_waits_for_nothing() {
    let (mut events, mut seen, _peer, kernel) = sending(64, Budget::default());
    assert_eq!(seen, Seen { runs: 1, finished: true, ..Seen::default() });
    for _ in 0..10 {
        events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
    }
    assert_eq!(seen.runs, 1, "a writable descriptor with an empty queue is left alone");
    assert_eq!(kernel.calls(Call::Send), 1);
    assert_eq!(kernel.calls(Call::EpollModify), 0);
}

#[test]
fn e08_output_is_watched_for_only_while_the_queue_holds_something() {
    watchdog(|| {
        let bytes = 2 << 20;
        let (mut events, mut seen, mut peer, kernel) =
            sending(bytes, Budget::default().bytes(bytes).operations(u32::MAX));
        assert!(seen.queued > 0 && seen.blocked, "{seen:?}");
        assert_eq!(kernel.calls(Call::EpollModify), 1, "the loop waits for room");
        assert_eq!(kernel.calls(Call::Shutdown), 0, "the end comes behind what is queued");

        let (runs, sends) = (seen.runs, kernel.calls(Call::Send));
        let mut received = Vec::new();
        while !drain(&mut peer, &mut received) {
            events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
        }
        assert!(seen.runs > runs && kernel.calls(Call::Send) > sends);
        assert!(seen.finished && seen.queued == 0 && !seen.blocked, "{seen:?}");
        assert_eq!(received.len(), bytes);
        assert!(received.iter().enumerate().all(|(at, byte)| *byte == pattern(at)));
        assert_eq!(kernel.calls(Call::EpollModify), 2, "and waits no more once the queue is empty");
        assert_eq!(kernel.calls(Call::Shutdown), 1);

        let runs = seen.runs;
        for _ in 0..10 {
            events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
        }
        assert_eq!(seen.runs, runs);
    });
}

#[test]
fn e08_a_blocked_queue_is_not_tried_again_before_there_is_room() {
    let (mut events, mut seen, _peer, kernel) =
        sending(2 << 20, Budget::default().bytes(2 << 20).operations(u32::MAX));
    events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
    let before = (seen, kernel.calls(Call::Send));
    for _ in 0..20 {
        events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
    }
    assert_eq!((seen, kernel.calls(Call::Send)), before);
}

#[test]
fn e08_with_the_budget_spent_write_readiness_is_retained() {
    let (mut events, mut seen, mut peer, kernel) = sending(10_000, Budget::default().bytes(1000));
    assert_eq!(seen, Seen { runs: 1, queued: 9000, ..Seen::default() });
    for turn in 2..=10 {
        events.turn_with(&mut seen, NO_WAIT).expect("nothing fails");
        assert_eq!((seen.runs, seen.queued), (turn, 10_000 - 1000 * turn as usize));
    }
    assert_eq!(kernel.calls(Call::Send), 10);
    assert_eq!(kernel.calls(Call::EpollModify), 0, "no edge is needed for it");
    let mut received = Vec::new();
    watchdog(move || while !drain(&mut peer, &mut received) {});
}

/// How many bytes of a flood are taken before everything stands still.
fn flood(peer: &mut TcpStream, events: &mut EventLoop<(), Kernel>, most: usize) -> usize {
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
        let (stream, mut peer) = tcp_pair(kernel.clone());
        let mut events: EventLoop<(), _> = strict_loop(kernel.clone(), Budget::default());
        let marks = Marks::new(4 << 10, 16 << 10).expect("low is below high");
        events.watch(stream, Interest::READABLE, echo(marks, 4096)).expect("a new source");
        peer.set_nonblocking(true).expect("a socket");

        let most = 256 << 20;
        let sent = flood(&mut peer, &mut events, most);
        assert!(sent < most / 4, "{sent} bytes went in, though none was read");
        let recvs = kernel.calls(Call::Recv);
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
        let token = events.watch(stream, Interest::READABLE, handler).expect("a new source");
        events.wake(token, Direction::Input);
        let (mut outcome, mut received) = (None, Vec::new());
        while outcome.is_none() {
            events.turn_with(&mut outcome, NO_WAIT).expect("nothing fails");
            drain(&mut peer, &mut received);
        }
        outcome.expect("the queue is empty")
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
    let token = events.watch(stream, Interest::READABLE, handler).expect("a new source");
    events.wake(token, Direction::Input);
    events.turn(NO_WAIT).expect("nothing fails");
    let mut received = String::new();
    peer.read_to_string(&mut received).expect("text");
    assert_eq!(received, "ten bytes!");
}

#[test]
fn e09_marks_that_leave_no_room_between_them_are_refused() {
    let refused = |low, high| -> MarksError { Marks::new(low, high).expect_err("no hysteresis") };
    for (low, high) in [(0, 0), (1, 0), (5, 4), (4, 4)] {
        let _: MarksError = refused(low, high);
    }
    assert!(Marks::new(0, 1).is_ok());
}

#[test]
fn e08_after_the_end_was_asked_for_nothing_more_is_taken_and_input_goes_on() {
    watchdog(|| {
        let (stream, mut peer) = tcp_pair(Linux);
        let mut events: EventLoop<Vec<u8>> = strict_loop(Linux, Budget::default());
        let mut output = Output::default();
        let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, Vec<u8>>| {
            output.finish();
            assert!(stream.flush(&mut output)? && output.is_finished());
            let refused = stream.send(&mut output, b"more").expect_err("it has ended");
            assert_eq!(refused.kind(), ErrorKind::BrokenPipe);
            let mut buf = [0; 64];
            while let Some(read) = stream.recv(&mut buf)? {
                if read == 0 {
                    turn.stop();
                    return turn.close();
                }
                turn.state().extend_from_slice(&buf[..read]);
            }
            Ok(())
        };
        let token = events.watch(stream, Interest::READABLE, handler).expect("a new source");
        events.wake(token, Direction::Input);
        let mut heard = Vec::new();
        events.turn_with(&mut heard, NO_WAIT).expect("nothing fails");
        assert_eq!(peer.read(&mut [0; 8]).expect("an end of file"), 0);
        peer.write_all(b"I go on").expect("its output is open");
        peer.shutdown(Shutdown::Write).expect("it is connected");
        events.run_with(&mut heard).expect("nothing fails");
        assert_eq!(heard, b"I go on");
    });
}

#[test]
fn e04_output_to_a_peer_that_has_gone_is_an_error_and_no_signal() {
    watchdog(|| {
        let (stream, peer) = tcp_pair(Linux);
        sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).expect("a TCP socket");
        drop(peer);
        let mut events: EventLoop<u32> = EventLoop::new().expect("descriptors are left");
        let mut output = Output::default();
        let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, u32>| {
            *turn.state() += 1;
            stream.send(&mut output, b"hello?")
        };
        events.watch(stream, Interest::READABLE, handler).expect("a new source");
        let mut runs = 0;
        while !events.is_empty() {
            events.turn_with(&mut runs, None).expect("the loop goes on");
        }
        assert_eq!((runs, events.stats().errors), (1, 1));
    });
}
