//! System calls a request, counted.

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use support::sockets::{echo, strict_loop, tcp_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop};
use watchbell::kernel::{Call, Counting, Linux};
use watchbell::net::Marks;

type Kernel = Counting<Linux>;
const REQUEST: usize = 64;

/// An echo service of `connections`, and their peers.
fn service(connections: usize) -> (EventLoop<(), Kernel>, Vec<TcpStream>, Kernel) {
    let kernel = Counting::new(Linux);
    let mut events = strict_loop(kernel.clone(), Budget::default());
    let peers = (0..connections).map(|_| {
        let (stream, peer) = tcp_pair(kernel.clone());
        let handler = echo(Marks::default(), 4096);
        events.add(stream, Interest::READABLE, handler).expect("a new source");
        peer
    });
    let peers = peers.collect();
    // What the registration itself tells is no request's.
    events.turn(Some(Duration::ZERO)).expect("nothing fails");
    kernel.reset();
    (events, peers, kernel)
}

#[test]
fn e03_a_request_on_tcp_is_one_wait_one_receive_and_one_send() {
    watchdog(|| {
        let requests = 1000;
        let (mut events, mut peers, kernel) = service(1);
        let peer = &mut peers[0];
        for _ in 0..requests {
            peer.write_all(&[1; REQUEST]).expect("there is room");
            events.turn(None).expect("nothing fails");
            peer.read_exact(&mut [0; REQUEST]).expect("an answer");
        }
        assert_eq!(kernel.calls(Call::EpollWait), requests);
        assert_eq!(kernel.calls(Call::Recv), requests, "no read is made to meet EAGAIN");
        assert_eq!(kernel.calls(Call::Send), requests);
        assert_eq!(kernel.total(), 3 * requests, "and there is no other call");

        peer.shutdown(Shutdown::Write).expect("it is connected");
        events.turn(None).expect("nothing fails");
        assert_eq!(kernel.calls(Call::Recv), requests + 1, "one more for the end of file");
        assert!(events.is_empty());
    });
}

#[test]
fn e03_fifty_requests_share_their_waits() {
    watchdog(|| {
        let (connections, rounds) = (50, 100);
        let (mut events, mut peers, kernel) = service(connections);
        for _ in 0..rounds {
            for peer in &mut peers {
                peer.write_all(&[1; REQUEST]).expect("there is room");
            }
            let done = kernel.calls(Call::Send) + connections as u64;
            while kernel.calls(Call::Send) < done {
                events.turn(None).expect("nothing fails");
            }
            for peer in &mut peers {
                peer.read_exact(&mut [0; REQUEST]).expect("an answer");
            }
        }
        let requests = (connections * rounds) as u64;
        assert_eq!(kernel.calls(Call::Recv), requests);
        assert_eq!(kernel.calls(Call::Send), requests);
        let others = kernel.total() - 2 * requests - kernel.calls(Call::EpollWait);
        assert_eq!(others, 0, "two calls a request and the waits that they share");
        assert!(kernel.calls(Call::EpollWait) <= requests / 10, "which are few");
    });
}
