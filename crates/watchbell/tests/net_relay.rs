//! Relays: what one connection brings is queued for another, and the side that fills a queue is
//! the side that waits.

mod support;

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use support::sockets::{pattern, strict_loop, tcp_pair};
use support::{observe, watchdog};
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Counting, Linux, Sockets};
use watchbell::net::{Output, Stream};

const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

type Queue = Rc<RefCell<Output>>;

/// One side of a relay: it writes out its own queue and fills the other's, and says each time that
/// the other's is above its high-water mark.
fn side<K: Sockets>(
    own: Queue,
    other: Queue,
    above: mpsc::Sender<()>,
) -> impl FnMut(&mut Ready<'_, Stream<K>>, &mut Turn<'_, (), K>) -> io::Result<()> {
    move |stream, turn| {
        if stream.connected()?.is_none() {
            return Ok(());
        }
        let (mut own, mut other) = (own.borrow_mut(), other.borrow_mut());
        stream.flush(&mut own)?;
        let mut buf = [0; 16 * 1024];
        while !stream.has_ended() {
            match stream.recv(&mut buf)? {
                None => break,
                Some(0) => stream.forward_end(&mut other),
                Some(read) => stream.forward(&mut other, &buf[..read])?,
            }
        }
        if other.is_above_high_water() {
            let _ = above.send(()); // not every test listens
        }
        if stream.has_ended() && own.is_finished() { turn.close() } else { Ok(()) }
    }
}

/// A relay on a thread of its own, which ends with its connections.
struct Relay {
    client: TcpStream,
    upstream: TcpStream,
    /// Told when the client's queue is above its high-water mark.
    held: mpsc::Receiver<()>,
    thread: JoinHandle<()>,
}

fn relay<K: Sockets<Fd = OwnedFd>>(kernel: K) -> Relay {
    let (client_side, client) = tcp_pair(kernel.clone());
    let (upstream_side, upstream) = tcp_pair(kernel.clone());
    let (above, held) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut events: EventLoop<(), K> = strict_loop(kernel, Budget::default());
        let (to_client, to_upstream) = (Queue::default(), Queue::default());
        let both = Interest::READABLE | Interest::WRITABLE;
        let unheard = mpsc::channel().0;
        let brings_requests = side(Rc::clone(&to_client), Rc::clone(&to_upstream), unheard);
        let brings_answers = side(to_upstream, to_client, above);
        events.add(client_side, both, brings_requests).expect("a new source");
        events.add(upstream_side, both, brings_answers).expect("a new source");
        while !events.is_empty() {
            events.turn(None).expect("nothing fails");
        }
        assert_eq!(events.stats().suspended, 0);
    });
    Relay { client, upstream, held, thread }
}

const REQUESTS: usize = 1 << 20;
const ANSWER: usize = 64;

/// Answers each byte with [`ANSWER`] of its kind, and reads no further before that is written.
fn answer(mut upstream: TcpStream) {
    let mut requests = [0; 4096];
    loop {
        let read = upstream.read(&mut requests).expect("the relay is there");
        if read == 0 {
            return;
        }
        let answers: Vec<u8> = requests[..read].iter().flat_map(|byte| [*byte; ANSWER]).collect();
        upstream.write_all(&answers).expect("the relay is there");
    }
}

fn e09_a_relay_holds_the_input_that_fills_the_queue_body<K: Sockets<Fd = OwnedFd>>(kernel: K) {
    let Relay { mut client, upstream, held, thread } = relay(kernel);
    let upstream = observe(move || answer(upstream));
    let mut says = client.try_clone().expect("descriptors are left");
    let requests = thread::spawn(move || {
        let requests: Vec<u8> = (0..REQUESTS).map(pattern).collect();
        says.write_all(&requests).expect("the relay is there");
        says.shutdown(Shutdown::Write).expect("it is connected");
    });
    // The answers stand in every buffer there is before the client reads the first of them.
    held.recv().expect("the upstream fills the client's queue");
    upstream.wait_until_blocked();

    let mut block = [0; ANSWER * 64];
    for first in (0..REQUESTS).step_by(64) {
        client.read_exact(&mut block).expect("all answers arrive");
        for (at, answer) in block.chunks_exact(ANSWER).enumerate() {
            assert_eq!(answer, [pattern(first + at); ANSWER]);
        }
    }
    assert_eq!(client.read(&mut block).expect("an end of file"), 0);
    requests.join().expect("the client has said all");
    upstream.join();
    thread.join().expect("the relay has ended");
}

#[test]
fn e09_a_relay_holds_the_input_that_fills_the_queue() {
    watchdog(|| e09_a_relay_holds_the_input_that_fills_the_queue_body(Linux));
    watchdog(|| e09_a_relay_holds_the_input_that_fills_the_queue_body(Counting::new(Linux)));
}

/// `first` says its last word and ends its output; `second` hears the end, and goes on.
fn half_close(mut first: &TcpStream, mut second: &TcpStream) {
    first.write_all(b"my last word").expect("it is connected");
    first.shutdown(Shutdown::Write).expect("it is connected");
    let mut heard = String::new();
    second.read_to_string(&mut heard).expect("an end of file");
    assert_eq!(heard, "my last word");

    for _ in 0..3 {
        second.write_all(b"I go on").expect("its output is open");
        let mut heard = [0; 7];
        first.read_exact(&mut heard).expect("its input is open");
        assert_eq!(&heard, b"I go on");
    }
    second.shutdown(Shutdown::Write).expect("it is connected");
    assert_eq!(first.read(&mut [0; 8]).expect("an end of file"), 0);
}

fn e09_half_closes_pass_through_a_relay_both_ways_body<K: Sockets<Fd = OwnedFd>>(kernel: K) {
    let Relay { client, upstream, thread, .. } = relay(kernel.clone());
    half_close(&client, &upstream);
    thread.join().expect("the relay has ended");

    let Relay { client, upstream, thread, .. } = relay(kernel);
    half_close(&upstream, &client);
    thread.join().expect("the relay has ended");
}

#[test]
fn e09_half_closes_pass_through_a_relay_both_ways() {
    watchdog(|| e09_half_closes_pass_through_a_relay_both_ways_body(Linux));
    watchdog(|| e09_half_closes_pass_through_a_relay_both_ways_body(Counting::new(Linux)));
}

/// Wakes a source 100 times, each from a timer, and sees it run once each time.
fn wakes<K: Sockets<Fd = OwnedFd>>(
    kernel: K,
    mut act: impl FnMut(&mut Ready<'_, Stream<K>>) -> io::Result<()> + 'static,
) -> TcpStream {
    let (stream, peer) = tcp_pair(kernel.clone());
    let mut events: EventLoop<u32, K> = strict_loop(kernel, Budget::default());
    let handler = move |stream: &mut Ready<'_, Stream<K>>, turn: &mut Turn<'_, u32, K>| {
        *turn.state() += 1;
        act(stream)
    };
    let token = events.add(stream, Interest::READABLE, handler).expect("a new source");
    for wake in 1..=100 {
        events.after(Duration::ZERO, move |turn| {
            assert!(turn.wake(token, Direction::Output));
            Ok(())
        });
        for _ in 0..3 {
            events.turn(NO_WAIT).expect("nothing fails");
        }
        assert_eq!(*events.state(), wake, "one run a wake");
    }
    assert_eq!(events.stats().suspended, 0);
    peer
}

fn e07_a_wake_of_output_body<K: Sockets<Fd = OwnedFd>>(kernel: K) {
    let mut output = Output::default();
    let mut peer = wakes(kernel, move |stream| stream.send(&mut output, b"!"));
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).expect("an end of file");
    assert_eq!(heard, [b'!'; 100]);
}

#[test]
fn e07_a_wake_of_output_runs_a_source_that_is_registered_for_input() {
    watchdog(|| e07_a_wake_of_output_body(Linux));
    watchdog(|| e07_a_wake_of_output_body(Counting::new(Linux)));
    // One that finds nothing to do has no less been asked to look.
    watchdog(|| drop(wakes(Linux, |stream| stream.recv(&mut [0; 8]).map(drop))));
}
