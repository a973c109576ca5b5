//! One datagram socket, many peers: what is wrong with one of them concerns no other.

mod support;

use rustix::io::Errno;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use support::habits::{Failing, Habitual};
use support::sockets::{any_name, any_port, strict_loop};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, Direction, EventLoop, Ready, Turn};
use watchbell::kernel::{Call, Counting, Linux, Sockets};
use watchbell::net::{Address, Datagram, Sent};

const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

/// What came of the answers of a service.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    whole: u32,
    not_now: u32,
    full: u32,
    refused: Vec<Option<Errno>>,
}

impl Answers {
    fn count(&mut self, sent: Sent) {
        match sent {
            Sent::Whole => self.whole += 1,
            Sent::NotNow => self.not_now += 1,
            Sent::PeerFull => self.full += 1,
            Sent::Refused(error) => self.refused.push(Errno::from_io_error(&error)),
        }
    }
}

/// Sends every datagram back; nothing that a client is or does ends it.
fn answer<K: Sockets>(
    server: &mut Ready<'_, Datagram<K>>,
    turn: &mut Turn<'_, Answers, K>,
) -> io::Result<()> {
    let mut buf = [0; 64];
    while let Some(incoming) = server.recv_from(&mut buf)? {
        let sent = server.send_to(&buf[..incoming.bytes], &incoming.from)?;
        turn.state().count(sent);
    }
    Ok(())
}

/// A service in a loop of its own, which no failure may reach.
fn service<K: Sockets>(kernel: K, at: &Address) -> (EventLoop<Answers, K>, Address) {
    let server = Datagram::bind_on(kernel.clone(), at).expect("a free address");
    let address = server.local_address().expect("bound");
    let mut events = strict_loop(kernel, Budget::default());
    events.add(server, Interest::READABLE, answer).expect("a new source");
    (events, address)
}

fn client() -> Datagram {
    Datagram::bind(any_name()).expect("a free name")
}

/// Takes a turn, and then as many as an idle service would need to be seen spinning.
fn settle<K: Sockets>(events: &mut EventLoop<Answers, K>) {
    events.turn(None).expect("nothing fails");
    let mut runs = 0;
    while runs != events.stats().runs {
        runs = events.stats().runs;
        events.turn(NO_WAIT).expect("nothing fails");
    }
    for _ in 0..200 {
        events.turn(NO_WAIT).expect("nothing fails");
    }
    assert_eq!(events.stats().runs, runs, "nothing is there, and the service runs");
}

/// The client has been answered.
#[track_caller]
fn hears(client: &Datagram, expected: &[u8]) {
    let mut buf = [0; 64];
    let incoming = client.recv_from(&mut buf).expect("an answer");
    assert_eq!(&buf[..incoming.bytes], expected);
}

#[test]
fn e04_a_client_that_is_gone_or_has_no_name_is_passed_over() {
    watchdog(|| {
        let (mut events, address) = service(Linux, &any_name());
        let (gone, living) = (client(), client());
        gone.send_to(b"gone", &address).expect("there is room");
        drop(gone);
        let Address::Abstract(name) = &address else { panic!("a name was asked for") };
        let unnamed = UnixDatagram::unbound().expect("descriptors are left");
        let to = SocketAddr::from_abstract_name(name).expect("a name");
        unnamed.send_to_addr(b"unnamed", &to).expect("there is room");
        living.send_to(b"living", &address).expect("there is room");
        settle(&mut events);
        hears(&living, b"living");
        let refused = vec![Some(Errno::CONNREFUSED), Some(Errno::INVAL)];
        assert_eq!(*events.state(), Answers { whole: 1, refused, ..Answers::default() });
    });
}

#[test]
fn e04_a_client_whose_socket_file_is_gone_is_passed_over() {
    watchdog(|| {
        let path = std::env::temp_dir().join(format!("watchbell-peers-{}", std::process::id()));
        let (mut events, address) = service(Linux, &any_name());
        let unlinked = Datagram::bind(&path).expect("a free path");
        unlinked.send_to(b"unlinked", &address).expect("there is room");
        std::fs::remove_file(&path).expect("it was made");
        settle(&mut events);
        assert_eq!(events.state().refused, [Some(Errno::NOENT)]);
    });
}

/// One datagram to each of these in one run, and then to somebody who can be sent to.
fn refusals(from: &Address, cases: Vec<(Vec<u8>, Address)>) -> Vec<Option<Errno>> {
    let sender = Datagram::bind(from).expect("a free address");
    let address = sender.local_address().expect("bound");
    let mut events: EventLoop<Answers> = strict_loop(Linux, Budget::default());
    let handler = move |sender: &mut Ready<'_, Datagram>, turn: &mut Turn<'_, Answers>| {
        for (bytes, to) in &cases {
            turn.state().count(sender.send_to(bytes, to)?);
        }
        turn.state().count(sender.send_to(b"itself", &address)?);
        Ok(())
    };
    let token = events.add(sender, Interest::WRITABLE, handler).expect("a new source");
    events.wake(token, Direction::Output);
    events.turn(NO_WAIT).expect("nothing fails");
    assert_eq!((events.state().whole, events.len()), (1, 1));
    events.into_state().refused
}

#[test]
fn e04_what_one_udp_peer_is_refused_concerns_no_other() {
    let inet = |text: &str| Address::Inet(text.parse().expect("an address"));
    let cases = vec![
        (b"port 0".to_vec(), inet("127.0.0.1:0")),
        (vec![0; 70_000], inet("127.0.0.1:9")),
        (b"a broadcast".to_vec(), inet("255.255.255.255:9")),
        (b"another family".to_vec(), inet("[::1]:9")),
        (b"another family".to_vec(), any_name()),
    ];
    let refused = refusals(&any_port(), cases);
    assert_eq!(refused[..2], [Some(Errno::INVAL), Some(Errno::MSGSIZE)]);
    assert_eq!(refused.len(), 5);
}

#[test]
fn e04_what_one_unix_peer_is_refused_concerns_no_other() {
    let cases = vec![
        (b"nobody".to_vec(), any_name()),
        (b"no name".to_vec(), Address::Unnamed),
        (b"not told".to_vec(), Address::Untold),
        (vec![0; 1 << 20], any_name()),
    ];
    let refused = refusals(&any_name(), cases);
    let expected = [Some(Errno::CONNREFUSED), Some(Errno::INVAL), None];
    assert_eq!((&refused[..3], refused.len()), (&expected[..], 4));
}

#[test]
fn e04_a_text_that_is_no_address_is_refused() {
    let mut events = EventLoop::with(None).expect("descriptors");
    let sender = Datagram::bind("127.0.0.1:0").expect("a free port");
    let token = events.add(sender, Interest::READABLE, |sender, turn| {
        *turn.state() = Some(sender.send_to(b"x", "nobody")?);
        Ok(())
    });
    events.wake(token.expect("a new source"), Direction::Output);
    events.turn(NO_WAIT).expect("nothing fails");
    let sent = events.state();
    assert!(matches!(sent, Some(Sent::Refused(_))), "{sent:?}");
}

/// The one that does not read has its queue full; the service goes on, and does not spin.
fn a_full_client<K: Sockets>(kernel: K) {
    let (mut events, address) = service(kernel, &any_name());
    let (full, others) = (client(), [client(), client()]);
    let filler = client();
    while filler.send_to(b"x", full.local_address().expect("bound")).is_ok() {}
    for round in 1..=3 {
        full.send_to(b"me too", &address).expect("there is room");
        settle(&mut events);
        for other in &others {
            other.send_to(b"served", &address).expect("there is room");
            settle(&mut events);
            hears(other, b"served");
        }
        let answers = events.state();
        assert_eq!((answers.full, answers.whole), (round, 2 * round));
    }
    let answers = events.into_state();
    assert_eq!((answers.not_now, answers.refused), (0, vec![]));
}

#[test]
fn e08_a_unix_client_that_does_not_read_keeps_no_other_waiting() {
    watchdog(|| {
        a_full_client(Linux);
        a_full_client(Counting::new(Linux));
    });
}

/// A handler that tries at each of its runs to send to a peer whose queue is full.
fn trying_again(interest: Interest, later: Option<Duration>) -> (EventLoop<Answers>, Datagram) {
    let full = client();
    let to = full.local_address().expect("bound");
    let filler = client();
    while filler.send_to(b"x", &to).is_ok() {}
    let mut events: EventLoop<Answers> = strict_loop(Linux, Budget::default());
    let handler = move |sender: &mut Ready<'_, Datagram>, turn: &mut Turn<'_, Answers>| {
        if turn.state().whole > 0 {
            return Ok(());
        }
        let sent = sender.send_to(b"kept", &to)?;
        turn.state().count(sent);
        if let (Some(later), Some(token)) = (later, turn.token()) {
            turn.after(later, move |turn| {
                turn.wake(token, Direction::Output);
                Ok(())
            });
        }
        Ok(())
    };
    let token = events.add(client(), interest, handler).expect("a new source");
    events.wake(token, Direction::Output);
    (events, full)
}

#[test]
fn e08_attempts_at_a_full_unix_peer_do_not_spin() {
    watchdog(|| {
        for interest in [Interest::READABLE, Interest::READABLE | Interest::WRITABLE] {
            let (mut events, _full) = trying_again(interest, None);
            settle(&mut events);
            let answers = events.state();
            assert!(answers.full <= 2, "{interest:?}: {answers:?}");
            assert_eq!(answers.whole, 0);
        }
    });
}

#[test]
fn e08_a_full_unix_peer_is_tried_again_by_time() {
    watchdog(|| {
        let (mut events, full) = trying_again(Interest::READABLE, Some(Duration::from_micros(50)));
        // More attempts than a source may be idle for.
        while events.state().full < 100 {
            events.turn(None).expect("nothing fails");
        }
        while full.recv_from(&mut [0; 8]).is_ok() {}
        while events.state().whole == 0 {
            events.turn(None).expect("nothing fails");
        }
        hears(&full, b"kept");
    });
}

fn skipped(errors: &[Errno]) -> (u32, u64, usize) {
    let kernel = Habitual::new(Linux, Failing::new(Call::RecvFrom, errors));
    let server = Datagram::bind_on(kernel.clone(), any_port()).expect("a free port");
    let client = Datagram::bind("127.0.0.1:0").expect("a free port");
    client.send_to(b"x", server.local_address().expect("bound")).expect("there is room");
    let mut events = EventLoop::on(kernel, (0, 0)).expect("descriptors");
    let handler = events.add(server, Interest::READABLE, |server, turn| {
        while server.recv_from(&mut [0; 8])?.is_some() {
            turn.state().0 += 1;
        }
        turn.state().1 = server.get_ref().skipped_errors();
        Ok(())
    });
    handler.expect("a new source");
    events.turn(None).expect("nothing fails");
    let (read, skipped) = *events.state();
    (read, skipped, events.len())
}

#[test]
fn e04_an_error_of_one_peer_is_skipped_in_reading_and_counted() {
    watchdog(|| {
        let peers = [Errno::CONNREFUSED, Errno::HOSTUNREACH, Errno::NETUNREACH];
        assert_eq!(skipped(&peers), (1, 3, 1));
        assert_eq!(skipped(&[Errno::NOTSOCK]), (0, 0, 0), "the socket's own ends it");
    });
}
