//! Streams: what ends input, what an event promises, and that no byte behind a short read is lost.

mod support;

use rustix::net::{SendFlags, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use support::habits::{Habitual, Silent};
use support::sockets::{both_families, strict_loop, tcp_pair, unix_pair};
use watchbell::epoll::{Interest, Readiness};
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::net::{Output, Stream};

/// What a reader has seen.
#[derive(Debug, Default)]
struct Seen {
    bytes: Vec<u8>,
    ended: bool,
    readiness: Vec<Readiness>,
}

/// Reads all that is there and keeps it.
fn read_all<K: Sockets>(
    stream: &mut Ready<'_, Stream<K>>,
    turn: &mut Turn<'_, Seen, K>,
) -> io::Result<()> {
    turn.state().readiness.push(stream.readiness());
    let mut buf = [0; 64];
    while let Some(read) = stream.recv(&mut buf)? {
        if read == 0 {
            turn.state().ended = true;
            break;
        }
        turn.state().bytes.extend_from_slice(&buf[..read]);
    }
    Ok(())
}

/// Takes turns until the reader has seen the end; what it has read.
fn read_to_end<K: Sockets>(stream: Stream<K>, kernel: K) -> Vec<u8> {
    let mut events: EventLoop<Seen, K> = strict_loop(kernel, Budget::default());
    events.add(stream, Interest::READABLE, read_all).expect("a new source");
    turn_to_end(&mut events);
    events.into_state().bytes
}

/// Takes turns until the reader has seen the end.
fn turn_to_end<K: Sockets>(events: &mut EventLoop<Seen, K>) {
    while !events.state().ended {
        events.turn(None).expect("nothing fails");
    }
}

fn send_all(peer: &OwnedFd, bytes: &[u8]) {
    let sent = rustix::net::send(peer, bytes, SendFlags::empty()).expect("there is room");
    assert_eq!(sent, bytes.len());
}

fn end_output(peer: &OwnedFd) {
    rustix::net::shutdown(peer, rustix::net::Shutdown::Write).expect("it is connected");
}

/// What follows is a reset instead of an end of file.
fn reset_on_close(peer: impl AsFd) {
    sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).expect("a TCP socket");
}

#[test]
fn e04_zero_bytes_into_a_non_empty_buffer_are_end_of_file_and_it_stays_so() {
    both_families(Linux, |stream, peer, _| {
        drop(peer);
        let mut events: EventLoop<u32> = strict_loop(Linux, Budget::default());
        let handler = |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, u32>| {
            assert_eq!(stream.recv(&mut [0; 8])?, Some(0));
            assert!(stream.has_ended());
            assert_eq!(stream.recv(&mut [0; 8])?, Some(0));
            *turn.state() += 1;
            Ok(())
        };
        events.add(stream, Interest::READABLE, handler).expect("a new source");
        events.turn(None).expect("nothing fails");
        assert_eq!(*events.state(), 1);
        events.turn(Some(Duration::ZERO)).expect("nothing fails");
        assert_eq!(*events.state(), 1, "a source at its end is not run again");
    });
}

#[test]
fn e04_an_empty_buffer_is_refused_lest_it_read_as_end_of_file() {
    let (stream, peer) = tcp_pair(Linux);
    let mut events = EventLoop::new().expect("descriptors are left");
    let handler = |stream: &mut Ready<'_, Stream>, _: &mut Turn<'_>| stream.recv(&mut []).map(drop);
    events.add(stream, Interest::READABLE, handler).expect("a new source");
    drop(peer);
    events.turn(None).expect("one handler's panic is its own");
    assert_eq!(events.stats().panics, 1);
}

#[test]
fn e04_a_reset_is_terminal_for_that_source_alone() {
    let (doomed, enemy) = tcp_pair(Linux);
    let (other, mut friend) = tcp_pair(Linux);
    let mut events = EventLoop::builder_with(Seen::default())
        .on_failure(|failure, turn| {
            assert!(failure.to_string().contains("reset"), "{failure}");
            turn.state().ended = true;
        })
        .build()
        .expect("descriptors are left");
    let gone = events.add(doomed, Interest::READABLE, read_all).expect("a new source");
    events.add(other, Interest::READABLE, read_all).expect("a new source");
    reset_on_close(&enemy);
    drop(enemy);
    friend.write_all(b"still here").expect("there is room");
    while !events.state().ended || events.state().bytes.len() < 10 {
        events.turn(None).expect("the loop goes on");
    }
    assert_eq!(events.state().bytes, b"still here");
    assert_eq!((events.len(), events.stats().errors), (1, 1));
    assert!(!events.remove(gone), "the source that failed is closed");
}

#[test]
fn e07_a_mask_is_a_hint_and_a_spurious_one_costs_one_call() {
    let kernel = Counting::new(Linux);
    let (stream, _peer) = tcp_pair(kernel.clone());
    let mut events: EventLoop<Seen, _> = strict_loop(kernel.clone(), Budget::default());
    let token = events.add(stream, Interest::READABLE, read_all).expect("a new source");
    for round in 1..=3 {
        assert!(events.wake(token, Direction::Input));
        events.turn(Some(Duration::ZERO)).expect("nothing fails");
        events.turn(Some(Duration::ZERO)).expect("nothing fails");
        assert_eq!(kernel.calls(Call::Recv), round, "the result of the call decides");
    }
    assert!(events.state().bytes.is_empty() && !events.state().ended);
}

#[test]
fn e07_error_and_hangup_arrive_unasked() {
    let (stream, peer) = tcp_pair(Linux);
    let mut events: EventLoop<Vec<Readiness>> = strict_loop(Linux, Budget::default());
    let handler = |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, Vec<Readiness>>| {
        turn.state().push(stream.readiness());
        let error = stream.recv(&mut [0; 8]).expect_err("the error waits to be read");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        turn.close()
    };
    events.add(stream, Interest::NONE, handler).expect("a new source");
    reset_on_close(&peer);
    drop(peer);
    events.turn(None).expect("nothing fails");
    let told = events.into_state();
    assert!(told[0].is_error() && told[0].is_hangup(), "{told:?}");
}

#[test]
fn e07_rdhup_tells_a_half_close_apart_and_output_goes_on() {
    both_families(Linux, |stream, peer, _| {
        let mut events: EventLoop<Seen> = strict_loop(Linux, Budget::default());
        let handler = |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, Seen>| {
            read_all(stream, turn)?;
            stream.send(&mut Output::default(), b"late answer")
        };
        events.add(stream, Interest::READABLE, handler).expect("a new source");
        send_all(&peer, b"question");
        end_output(&peer);
        turn_to_end(&mut events);
        let seen = events.into_state();
        assert_eq!(seen.bytes, b"question");
        let last = seen.readiness.last().expect("it was run");
        assert!(last.is_peer_closed() && !last.is_hangup() && !last.is_error(), "{last:?}");
        let mut answer = [0; 11];
        rustix::io::read(&peer, &mut answer).expect("an answer");
        assert_eq!(&answer, b"late answer");
    });
}

#[test]
fn e03_data_and_end_of_file_in_one_edge_are_both_read() {
    both_families(Linux, |stream, peer, _| {
        send_all(&peer, b"last words");
        drop(peer);
        assert_eq!(read_to_end(stream, Linux), b"last words");
    });
}

#[test]
fn e03_data_and_end_of_file_in_one_edge_are_both_read_from_a_silent_kernel() {
    both_families(Habitual::new(Linux, Silent), |stream, peer, kernel| {
        send_all(&peer, b"last words");
        drop(peer);
        assert_eq!(read_to_end(stream, kernel), b"last words");
    });
}

/// The event was harvested before the peer closed, and the read already says that nothing is left.
#[test]
fn e03_an_end_between_the_event_and_the_read_is_not_lost() {
    both_families(Linux, |stream, peer, _| {
        send_all(&peer, b"last words");
        let mut peer = Some(peer);
        let mut events: EventLoop<Seen> = strict_loop(Linux, Budget::default());
        let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, Seen>| {
            drop(peer.take());
            read_all(stream, turn)
        };
        events.add(stream, Interest::READABLE, handler).expect("a new source");
        turn_to_end(&mut events);
        let seen = events.into_state();
        assert_eq!(seen.bytes, b"last words");
        assert!(!seen.readiness[0].is_peer_closed(), "the first event knew nothing of the end");
    });
}

#[test]
fn e03_a_unix_socket_says_that_nothing_is_left_though_its_end_is() {
    let (stream, mut peer) = unix_pair(Linux);
    peer.write_all(b"last words").expect("there is room");
    drop(peer);
    let received = stream.recv(&mut [0; 64]).expect("data is there");
    assert!(matches!(received.left, Some(0) | None), "{received:?}");
    assert_eq!(stream.recv(&mut [0; 64]).expect("the end is there").bytes, 0);
}

#[test]
fn e03_a_tcp_socket_counts_a_pending_end_as_one_byte() {
    let (stream, mut peer) = tcp_pair(Linux);
    peer.write_all(b"last words").expect("there is room");
    peer.shutdown(Shutdown::Write).expect("it is connected");
    rustix::event::poll(
        &mut [rustix::event::PollFd::new(&stream, rustix::event::PollFlags::RDHUP)],
        None,
    )
    .expect("the end arrives");
    let received = stream.recv(&mut [0; 64]).expect("data is there");
    assert!(matches!(received.left, Some(1) | None), "{received:?}");
}

#[test]
fn e03_all_bytes_and_the_end_are_read_past_an_urgent_mark() {
    both_families(Linux, |stream, peer, _| {
        send_all(&peer, b"before ");
        if rustix::net::send(&peer, b"!", SendFlags::OOB).is_err() {
            return; // a kernel without urgent data on Unix-domain sockets
        }
        send_all(&peer, b"after");
        drop(peer);
        assert_eq!(read_to_end(stream, Linux), b"before after");
    });
}

#[test]
fn e03_bytes_behind_an_urgent_byte_that_came_alone_are_read() {
    both_families(Linux, |stream, peer, _| {
        if rustix::net::send(&peer, b"!", SendFlags::OOB).is_err() {
            return;
        }
        let mut events: EventLoop<Seen> = strict_loop(Linux, Budget::default());
        events.add(stream, Interest::READABLE, read_all).expect("a new source");
        events.turn(Some(Duration::from_millis(1))).expect("nothing fails");
        send_all(&peer, b"after");
        drop(peer);
        turn_to_end(&mut events);
        assert_eq!(events.state().bytes, b"after");
    });
}

#[test]
fn e03_a_buffer_filled_to_its_last_byte_needs_no_second_read() {
    let kernel = Counting::new(Linux);
    let (stream, mut peer) = tcp_pair(kernel.clone());
    let mut events: EventLoop<Seen, _> = strict_loop(kernel.clone(), Budget::default());
    events.add(stream, Interest::READABLE, read_all).expect("a new source");
    peer.write_all(&[7; 64]).expect("there is room");
    while events.state().bytes.len() < 64 {
        events.turn(None).expect("nothing fails");
    }
    assert_eq!(kernel.calls(Call::Recv), 1);
    peer.set_nonblocking(true).expect("a socket");
    assert_eq!(peer.read(&mut [0; 1]).expect_err("no answer").kind(), ErrorKind::WouldBlock);
}
