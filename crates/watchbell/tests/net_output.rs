//! Output that the kernel does not take at once: it waits, in bounds, and nobody spins.

mod support;

use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;
use support::habits::{Habitual, Slicing};
use support::sockets::{drain, pattern, strict_loop, tcp_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::net::{Marks, Output, Stream};

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
fn sender<K: Sockets>(
    bytes: usize,
) -> impl FnMut(&mut Ready<'_, Stream<K>>, &mut Turn<'_, Seen, K>) -> io::Result<()> {
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
fn sending<K: Sockets<Fd = OwnedFd>>(
    kernel: K,
    bytes: usize,
    budget: Budget,
) -> (EventLoop<Seen, Counting<K>>, TcpStream, Counting<K>) {
    let kernel = Counting::new(kernel);
    let (stream, peer) = tcp_pair(kernel.clone());
    sockopt::set_socket_send_buffer_size(&stream, 64 << 10).expect("a socket");
    let mut events: EventLoop<Seen, _> = strict_loop(kernel.clone(), budget);
    let token = events.add(stream, Interest::READABLE, sender(bytes)).expect("a new source");
    kernel.reset();
    events.wake(token, Direction::Input);
    events.turn(NO_WAIT).expect("nothing fails");
    peer.set_nonblocking(true).expect("a socket");
    (events, peer, kernel)
}

#[test]
fn e08_what_the_kernel_takes_at_once_waits_for_nothing() {
    let (mut events, _peer, kernel) = sending(Linux, 64, Budget::default());
    assert_eq!(*events.state(), Seen { runs: 1, finished: true, ..Seen::default() });
    for _ in 0..10 {
        events.turn(NO_WAIT).expect("nothing fails");
    }
    assert_eq!(events.state().runs, 1, "a writable descriptor with an empty queue is left alone");
    assert_eq!(kernel.calls(Call::Send), 1);
    assert_eq!(kernel.calls(Call::EpollModify), 0);
}

#[test]
fn e08_output_is_watched_for_only_while_the_queue_holds_something() {
    watchdog(|| {
        let bytes = 2 << 20;
        let (mut events, mut peer, kernel) =
            sending(Linux, bytes, Budget::default().bytes(bytes).operations(u32::MAX));
        let seen = *events.state();
        assert!(seen.queued > 0 && seen.blocked, "{seen:?}");
        assert_eq!(kernel.calls(Call::EpollModify), 1, "the loop waits for room");
        assert_eq!(kernel.calls(Call::Shutdown), 0, "the end comes behind what is queued");

        let (runs, sends) = (seen.runs, kernel.calls(Call::Send));
        let mut received = Vec::new();
        while !drain(&mut peer, &mut received) {
            events.turn(NO_WAIT).expect("nothing fails");
        }
        let seen = *events.state();
        assert!(seen.runs > runs && kernel.calls(Call::Send) > sends);
        assert!(seen.finished && seen.queued == 0 && !seen.blocked, "{seen:?}");
        assert_eq!(received.len(), bytes);
        assert!(received.iter().enumerate().all(|(at, byte)| *byte == pattern(at)));
        assert_eq!(kernel.calls(Call::EpollModify), 2, "and waits no more once the queue is empty");
        assert_eq!(kernel.calls(Call::Shutdown), 1);

        let runs = seen.runs;
        for _ in 0..10 {
            events.turn(NO_WAIT).expect("nothing fails");
        }
        assert_eq!(events.state().runs, runs);
    });
}

#[test]
fn e08_a_blocked_queue_is_not_tried_again_before_there_is_room() {
    watchdog(|| {
        let (mut events, _peer, kernel) =
            sending(Linux, 2 << 20, Budget::default().bytes(2 << 20).operations(u32::MAX));
        // What is on its way to the peer's buffer may still make room; then it stands still, and a
        // queue that is tried without a reason never does.
        let mut still = 0;
        while still < 1000 {
            let before = (*events.state(), kernel.calls(Call::Send));
            events.turn(NO_WAIT).expect("nothing fails");
            let after = (*events.state(), kernel.calls(Call::Send));
            still = if after == before { still + 1 } else { 0 };
        }
        let seen = events.state();
        assert!(seen.blocked && seen.queued > 0, "{seen:?}");
    });
}

#[test]
fn e08_with_the_budget_spent_write_readiness_is_retained() {
    // Each call takes 1000 bytes and spends the budget with them.
    let slicing = Habitual::new(Linux, Slicing(1000));
    let (mut events, mut peer, kernel) = sending(slicing, 10_000, Budget::default().bytes(1000));
    assert_eq!(*events.state(), Seen { runs: 1, queued: 9000, ..Seen::default() });
    for turn in 2..=10 {
        events.turn(NO_WAIT).expect("nothing fails");
        let seen = events.state();
        assert_eq!((seen.runs, seen.queued), (turn, 10_000 - 1000 * turn as usize));
    }
    assert_eq!(kernel.calls(Call::Send), 10);
    assert_eq!(kernel.calls(Call::EpollModify), 0, "no edge is needed for it");
    let mut received = Vec::new();
    watchdog(move || while !drain(&mut peer, &mut received) {});
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
        let token = events.add(stream, Interest::READABLE, handler).expect("a new source");
        events.wake(token, Direction::Input);
        events.turn(NO_WAIT).expect("nothing fails");
        assert_eq!(peer.read(&mut [0; 8]).expect("an end of file"), 0);
        peer.write_all(b"I go on").expect("its output is open");
        peer.shutdown(Shutdown::Write).expect("it is connected");
        events.run().expect("nothing fails");
        assert_eq!(events.state(), b"I go on");
    });
}

#[test]
fn e04_output_to_a_peer_that_has_gone_is_an_error_and_no_signal() {
    watchdog(|| {
        let (stream, peer) = tcp_pair(Linux);
        sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).expect("a TCP socket");
        drop(peer);
        let mut events = EventLoop::with(0).expect("descriptors are left");
        let mut output = Output::default();
        let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, u32>| {
            *turn.state() += 1;
            stream.send(&mut output, b"hello?")
        };
        events.add(stream, Interest::READABLE, handler).expect("a new source");
        while !events.is_empty() {
            events.turn(None).expect("the loop goes on");
        }
        assert_eq!((*events.state(), events.stats().errors), (1, 1));
    });
}
