//! The end of a connection whose peer still sends: what was written arrives.

mod support;

use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read, Write};
use std::thread;
use support::habits::{Habitual, Silent};
use support::sockets::{pattern, strict_loop, tcp_pair, unix_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop, Ready, Turn};
use watchbell::kernel::{Linux, Sockets};
use watchbell::net::{Marks, Output, Stream};

const ANSWER: usize = 100_000;

fn answer() -> Vec<u8> {
    (0..ANSWER).map(pattern).collect()
}

/// Sends the answer, reads nothing of what the peer sends, and closes: in order, or at once.
fn answering<K: Sockets>(
    in_order: bool,
) -> impl FnMut(&mut Ready<'_, Stream<K>>, &mut Turn<'_, (), K>) -> io::Result<()> + 'static {
    let mut output = Output::new(Marks::default());
    let mut answer = Some(answer());
    move |stream: &mut Ready<'_, Stream<K>>, turn: &mut Turn<'_, (), K>| {
        if let Some(answer) = answer.take() {
            stream.send(&mut output, &answer)?;
            output.finish();
        }
        stream.flush(&mut output)?;
        let may_close = !in_order || stream.drain_input()?;
        if may_close && output.is_finished() { turn.close() } else { Ok(()) }
    }
}

fn serve<K: Sockets>(kernel: K, stream: Stream<K>, in_order: bool) {
    let mut events: EventLoop<(), K> = strict_loop(kernel, Budget::default());
    let handler = answering(in_order);
    events.add(stream, Interest::READABLE, handler).expect("a new source");
    while !events.is_empty() {
        events.turn(None).expect("nothing fails");
    }
}

/// The peer writes much more than is kept of it, and only then reads.
fn e08_body<K: Sockets>(
    kernel: K,
    stream: Stream<K>,
    mut peer: impl Read + Write + Send + 'static,
) {
    let peer = thread::spawn(move || {
        peer.write_all(&vec![7; 1 << 20]).expect("it is read");
        let mut heard = Vec::new();
        peer.read_to_end(&mut heard).expect("no reset");
        heard
    });
    serve(kernel, stream, true);
    assert!(peer.join().expect("no panic") == answer(), "what was written has arrived");
}

#[test]
fn e08_what_was_written_arrives_although_the_peer_still_sends() {
    watchdog(|| {
        let (stream, peer) = tcp_pair(Linux);
        e08_body(Linux, stream, peer);
        let (stream, peer) = unix_pair(Linux);
        e08_body(Linux, stream, peer);
        let silent = Habitual::new(Linux, Silent);
        let (stream, peer) = tcp_pair(silent.clone());
        e08_body(silent, stream, peer);
    });
}

/// The wrong twin: input is left unread, and the close is a reset.
#[test]
fn case_closing_with_input_unread_cuts_the_answer_off() {
    watchdog(|| {
        let (stream, mut peer) = tcp_pair(Linux);
        // The kernel takes the whole answer from us, and cannot hand all of it to the peer.
        sockopt::set_socket_send_buffer_size(&stream, 1 << 20).expect("a socket");
        sockopt::set_socket_recv_buffer_size(&peer, 4096).expect("a socket");
        peer.write_all(b"unread").expect("there is room");
        serve(Linux, stream, false);
        let mut heard = Vec::new();
        let reset = peer.read_to_end(&mut heard).expect_err("no end of file");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        assert!(heard.len() < ANSWER, "{} bytes", heard.len());
    });
}

#[test]
fn case_closing_a_unix_stream_with_input_unread_loses_nothing_and_is_a_reset() {
    watchdog(|| {
        let (stream, mut peer) = unix_pair(Linux);
        sockopt::set_socket_send_buffer_size(&stream, 1 << 20).expect("a socket");
        peer.write_all(b"unread").expect("there is room");
        serve(Linux, stream, false);
        let mut heard = Vec::new();
        let reset = peer.read_to_end(&mut heard).expect_err("no end of file");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        assert!(heard == answer(), "{} bytes", heard.len());
    });
}

#[test]
fn e05_draining_keeps_to_the_budget() {
    watchdog(|| {
        let (stream, mut peer) = unix_pair(Linux);
        // Read by 16 KiB: each of the first two reads spends the budget.
        peer.write_all(&[7; 36_000]).expect("there is room");
        drop(peer);
        let mut events: EventLoop<Vec<bool>> = strict_loop(Linux, Budget::default().bytes(4096));
        let handler = events.add(stream, Interest::READABLE, |stream, turn| {
            let ended = stream.drain_input()?;
            turn.state().push(ended);
            if ended { turn.close() } else { Ok(()) }
        });
        handler.expect("a new source");
        while !events.is_empty() {
            events.turn(None).expect("nothing fails");
        }
        assert_eq!(*events.state(), [false, false, true]);
    });
}
