//! Datagrams: empty ones, cut ones, and whom the loop hears of.

mod support;

use std::io;
use std::time::Duration;
use support::sockets::{any_name, any_port, strict_loop};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::net::{Address, Datagram, Incoming};

const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

type Heard = Vec<(Vec<u8>, usize, Address)>;

/// Keeps every datagram, up to eight bytes of it.
fn hear<K: Sockets>(
    socket: &mut Ready<'_, Datagram<K>>,
    turn: &mut Turn<'_, Heard, K>,
) -> io::Result<()> {
    let mut buf = [0; 8];
    while let Some(Incoming { bytes, cut, from }) = socket.recv_from(&mut buf)? {
        turn.state().push((buf[..bytes].to_vec(), cut, from));
    }
    Ok(())
}

fn pair<K: Sockets>(
    kernel: K,
    any: fn() -> Address,
) -> (Datagram<K>, Address, Datagram<K>, Address) {
    let bind = || Datagram::bind_on(kernel.clone(), any()).expect("a free address");
    let (server, client) = (bind(), bind());
    let addresses = [&server, &client].map(|socket| socket.local_address().expect("bound"));
    let [server_address, client_address] = addresses;
    (server, server_address, client, client_address)
}

fn e04_body<K: Sockets>(kernel: K) {
    for any in [any_port, any_name] {
        let (server, address, client, from) = pair(kernel.clone(), any);
        let mut events: EventLoop<Heard, K> = strict_loop(kernel.clone(), Budget::default());
        events.add(server, Interest::READABLE, hear).expect("a new source");
        for bytes in [&b""[..], b"whole", b"twelve bytes", b""] {
            assert_eq!(client.send_to(bytes, &address).expect("there is room"), bytes.len());
        }
        while events.state().len() < 4 {
            events.turn(None).expect("nothing fails");
        }
        let expected = [
            (&b""[..], 0), // an empty one is no end of file
            (b"whole", 0),
            (b"twelve b", 4), // what was cut off is told
            (b"", 0),
        ];
        let expected = expected.map(|(bytes, cut)| (bytes.to_vec(), cut, from.clone()));
        assert_eq!(*events.state(), expected);
    }
}

#[test]
fn e04_an_empty_datagram_is_no_end_and_a_cut_one_says_so() {
    watchdog(|| {
        e04_body(Linux);
        e04_body(Counting::new(Linux));
    });
}

#[test]
fn e05_each_datagram_is_a_message_of_the_budget() {
    let kernel = Counting::new(Linux);
    let (server, address, client, _) = pair(kernel.clone(), any_name);
    let budget = Budget::default().messages(2);
    let mut events: EventLoop<Heard, _> = strict_loop(kernel.clone(), budget);
    events.add(server, Interest::READABLE, hear).expect("a new source");
    for _ in 0..5 {
        client.send_to(b"x", &address).expect("there is room");
    }
    for expected in [2, 4, 5] {
        events.turn(NO_WAIT).expect("nothing fails");
        assert_eq!(events.state().len(), expected);
    }
    assert_eq!(kernel.calls(Call::RecvFrom), 6, "the last one met EAGAIN");
}

#[test]
fn e05_a_datagram_longer_than_the_bytes_that_are_left_is_whole_and_ends_the_turn() {
    let (server, address, client, _) = pair(Linux, any_name);
    let mut events: EventLoop<Heard> = strict_loop(Linux, Budget::default().bytes(3));
    events.add(server, Interest::READABLE, hear).expect("a new source");
    for _ in 0..2 {
        client.send_to(b"5 now", &address).expect("there is room");
    }
    for expected in [1, 2] {
        events.turn(NO_WAIT).expect("nothing fails");
        let heard = events.state();
        assert_eq!(heard.len(), expected);
        assert!(heard.iter().all(|(bytes, cut, _)| bytes == b"5 now" && *cut == 0));
    }
}

/// The buffer of the refused datagram is freed, which tells of room in the sender's own queue; of
/// the receiver's the kernel tells nobody.
#[test]
fn case_each_attempt_at_a_full_unix_receiver_makes_an_edge() {
    let (server, address, other, _) = pair(Linux, any_name);
    fill(&other, &address);
    let sender = Datagram::bind(any_name()).expect("a free name");
    let mut events: EventLoop<u32> = strict_loop(Linux, Budget::default());
    let handler = move |sender: &mut Ready<'_, Datagram>, turn: &mut Turn<'_, u32>| {
        assert_eq!(sender.recv_from(&mut [0; 8])?, None);
        if *turn.state() == 0 {
            // Not `Ready::send_to`, which knows.
            let sent = sender.output(|socket| socket.send_to(b"mine", &address))?;
            *turn.state() = u32::from(sent.is_some());
        }
        Ok(())
    };
    let token = events.add(sender, Interest::READABLE, handler).expect("a new source");
    events.wake(token, Direction::Input);
    for run in 1..=5 {
        events.turn(NO_WAIT).expect("nothing fails");
        assert_eq!((*events.state(), events.stats().runs), (0, run));
    }
    while server.recv_from(&mut [0; 8]).is_ok() {}
    events.turn(NO_WAIT).expect("nothing fails");
    assert_eq!(*events.state(), 1);
}

/// Sends until the queue of `to` is full.
fn fill(from: &Datagram, to: &Address) {
    while from.send_to(b"x", to).is_ok() {}
}
