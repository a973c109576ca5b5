//! Connections in progress: connected, refused, undecided.

mod support;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use support::sockets::{any_name, any_port, strict_loop};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Accept, Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::net::{Address, Listener, Output, Stream};

type Outcomes = Vec<Result<bool, ErrorKind>>;

fn both() -> Interest {
    Interest::READABLE | Interest::WRITABLE
}

/// Keeps what `connected` said, each time; closes when it failed.
fn ask<K: Sockets>(
    stream: &mut Ready<'_, Stream<K>>,
    turn: &mut Turn<'_, Outcomes, K>,
) -> io::Result<()> {
    let outcome = stream.connected().map(|connected| connected.is_some());
    turn.state().push(outcome.as_ref().copied().map_err(io::Error::kind));
    if outcome.is_err() { turn.close() } else { Ok(()) }
}

fn connecting<K: Sockets>(kernel: K, address: &Address) -> Outcomes {
    let stream = Stream::connect_on(kernel.clone(), address).expect("it begins");
    let mut events: EventLoop<Outcomes, K> = strict_loop(kernel, Budget::default());
    events.add(stream, both(), ask).expect("a new source");
    while !events.state().iter().any(|outcome| *outcome != Ok(false)) {
        events.turn(None).expect("nothing fails");
    }
    events.into_state()
}

fn e04_connected_body<K: Sockets>(kernel: K) {
    watchdog(move || {
        for address in [any_port(), any_name()] {
            let listener = Listener::bind_on(kernel.clone(), &address, 8).expect("a free address");
            let address = listener.local_address().expect("bound");
            assert_eq!(connecting(kernel.clone(), &address).last(), Some(&Ok(true)));
        }
    });
}

#[test]
fn e04_a_connection_in_progress_is_reported_when_it_is_made() {
    e04_connected_body(Linux);
    e04_connected_body(Counting::new(Linux));
}

#[test]
fn e04_a_refused_connection_is_reported_as_such() {
    watchdog(|| {
        // Bound and not listening: nobody else gets the port meanwhile.
        let holder = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        )
        .expect("descriptors are left");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        rustix::net::bind(&holder, &any).expect("a free port");
        let bound = rustix::net::getsockname(&holder).expect("bound");
        let address = SocketAddr::try_from(bound).expect("an Internet address").into();
        let outcomes = connecting(Linux, &address);
        assert_eq!(outcomes.last(), Some(&Err(ErrorKind::ConnectionRefused)));
    });
}

/// The first write is made at once; the edge that told of room was told before and comes no more.
#[test]
fn e08_once_connected_output_is_written_first_and_waited_for_then() {
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let listener = Listener::bind_on(kernel.clone(), any_port(), 8).expect("a free port");
        let address = listener.local_address().expect("bound");
        let stream = Stream::connect_on(kernel.clone(), &address).expect("it begins");
        let mut events: EventLoop<u32, _> = strict_loop(kernel.clone(), Budget::default());
        let handler = |stream: &mut Ready<'_, Stream<_>>, turn: &mut Turn<'_, u32, _>| {
            if stream.connected()?.is_some() && *turn.state() == 0 {
                stream.send(&mut Output::default(), b"ahoy")?;
                *turn.state() = 1;
            }
            Ok(())
        };
        events.add(stream, both(), handler).expect("a new source");
        while *events.state() == 0 {
            events.turn(None).expect("nothing fails");
        }
        let (peer, _) = listener.accept().expect("it is connected");
        let received = peer.recv(&mut [0; 8]).expect("data is there");
        assert_eq!(received.bytes, 4);
        let runs = events.stats().runs;
        for _ in 0..10 {
            events.turn(Some(Duration::ZERO)).expect("nothing fails");
        }
        assert_eq!(events.stats().runs, runs, "a writable descriptor is watched no more");
        assert_eq!(kernel.calls(Call::EpollModify), 1);
    });
}

#[test]
fn e04_a_connection_that_is_not_decided_yet_is_no_error() {
    let listener = Listener::bind(any_port(), 0).expect("a free port");
    let address = listener.local_address().expect("bound");
    // The kernel takes one more than the backlog; what comes then gets no answer.
    let queued: Vec<Stream> = (0..4).map(|_| Stream::connect(&address).expect("begun")).collect();
    let last = Stream::connect(&address).expect("it begins");
    if last.peer_address().is_ok() {
        return; // a kernel that takes more
    }
    let mut events: EventLoop<Outcomes> = strict_loop(Linux, Budget::default());
    let token = events.add(last, both(), ask).expect("a new source");
    events.wake(token, Direction::Output);
    events.turn(Some(Duration::ZERO)).expect("nothing fails");
    assert_eq!(*events.state(), [Ok(false)]);
    drop(queued);
}

#[test]
fn e04_a_full_unix_backlog_refuses_at_once() {
    let listener = Listener::bind(any_name(), 0).expect("a free name");
    let address = listener.local_address().expect("bound");
    let queued = Stream::connect(&address).expect("the kernel takes one more than the backlog");
    let refused = Stream::connect(&address).expect_err("the backlog is full");
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    drop(queued);
}
