//! Listeners: whose errors are whose, and what their connections inherit.

#[path = "support/long_path.rs"]
mod long_path;
mod support;

use rustix::io::Errno;
use rustix::net::sockopt;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::habits::{Failing, Habitual};
use support::sockets::{any_name, any_port, tcp_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Accept, Direction, EventLoop};
use watchbell::kernel::{Call, Linux, Sockets};
use watchbell::net::{Address, Listener, Stream};

type Kernel = Habitual<Linux, Failing>;

/// A loop that counts what its listener accepts, one connection waiting, on a kernel whose next
/// accepts fail.
fn listening(errors: &[Errno]) -> (EventLoop<u32, Kernel>, Stream) {
    let kernel = Habitual::new(Linux, Failing::new(Call::Accept, errors));
    let listener = Listener::bind_on(kernel.clone(), any_port(), 8).expect("a free port");
    let client = Stream::connect(listener.local_address().expect("bound")).expect("it listens");
    let mut events = EventLoop::builder_on(kernel, 0)
        .accept_pause(Duration::from_millis(1))
        .build()
        .expect("descriptors are left");
    let accept = events.add(listener, Interest::READABLE, |listener, turn| {
        while listener.accept()?.is_some() {
            *turn.state() += 1;
        }
        Ok(())
    });
    accept.expect("a new source");
    (events, client)
}

#[test]
fn e04_an_error_of_one_connection_is_counted_and_skipped() {
    let errors = [Errno::CONNABORTED, Errno::PROTO, Errno::NETUNREACH];
    let (mut events, _client) = listening(&errors);
    events.turn(None).expect("nothing fails");
    assert_eq!(*events.state(), 1);
    let stats = events.stats();
    assert_eq!((stats.skipped_accepts, stats.accept_pauses, stats.errors), (3, 0, 0));
}

#[test]
fn e04_want_of_descriptors_or_memory_rests_with_readiness_retained() {
    watchdog(|| {
        let errors = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
        let (mut events, _client) = listening(&errors);
        // One edge came with the connection, and no second one will.
        while *events.state() == 0 {
            events.turn(None).expect("nothing fails");
        }
        let stats = events.stats();
        assert_eq!((stats.accept_pauses, stats.skipped_accepts, stats.errors), (4, 0, 0));
        assert_eq!(stats.events, 1);
    });
}

#[test]
fn e04_any_other_error_ends_the_listener_and_it_alone() {
    let (mut events, _client) = listening(&[Errno::INVAL]);
    events.turn(None).expect("the loop goes on");
    assert_eq!((*events.state(), events.len(), events.stats().errors), (0, 0, 1));
    events.turn(Some(Duration::ZERO)).expect("the loop goes on");
}

/// The next connection, once it is there.
fn accept<K: Sockets>(listener: &Listener<K>) -> Stream<K> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => return stream,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
}

#[test]
fn e03_accepted_connections_say_what_is_left_and_send_at_once() {
    let listener = Listener::bind(any_port(), 8).expect("a free port");
    let port = listener.port().expect("bound").expect("an Internet address was asked for");
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let stream = accept(&listener);
    assert_eq!(sockopt::tcp_nodelay(&stream), Ok(true), "TCP_NODELAY is inherited");
    client.write_all(b"12345").expect("there is room");
    let mut received = stream.recv(&mut [0; 2]);
    while received.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
        received = stream.recv(&mut [0; 2]);
    }
    assert_eq!(received.expect("data").left, Some(3), "TCP_INQ is inherited");
}

#[test]
fn e03_accepted_unix_connections_say_what_is_left_where_the_kernel_can() {
    let listener = Listener::bind(any_name(), 8).expect("a free name");
    let name = listener.local_address().expect("bound");
    let client = Stream::connect(&name).expect("it listens");
    let stream = accept(&listener);
    assert_eq!(stream.local_address().expect("bound"), name);
    assert_eq!(client.peer_address().expect("connected"), name);
    client.send(&[std::io::IoSlice::new(b"12345")]).expect("there is room");
    let ours = stream.recv(&mut [0; 2]).expect("data").left;
    stream.send(&[std::io::IoSlice::new(b"12345")]).expect("there is room");
    let theirs = client.recv(&mut [0; 2]).expect("data").left;
    assert_eq!(ours, theirs, "both ends say it, or neither does");
    assert!(matches!(ours, Some(3) | None));
}

#[test]
fn e06_adopted_sockets_are_made_non_blocking() {
    let std_listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listener =
        Listener::try_from(std::os::fd::OwnedFd::from(std_listener)).expect("a listener");
    assert_eq!(
        listener.accept().map(drop).map_err(|error| error.kind()),
        Err(ErrorKind::WouldBlock)
    );
    let (stream, _peer) = tcp_pair(Linux);
    assert_eq!(stream.recv(&mut [0; 1]).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
}

#[test]
fn e06_what_is_no_socket_is_not_adopted() {
    let file = std::fs::File::open("/dev/null").expect("it is there");
    let refused = Stream::try_from(std::os::fd::OwnedFd::from(file)).expect_err("a file");
    assert_eq!(Errno::from_io_error(&refused), Some(Errno::NOTSOCK));
}

#[test]
fn c13_sockets_are_closed_on_exec() {
    let listener = Listener::bind(any_port(), 8).expect("a free port");
    let client = Stream::connect(listener.local_address().expect("bound")).expect("it listens");
    let stream = accept(&listener);
    let cloexec = rustix::io::FdFlags::CLOEXEC;
    assert_eq!(rustix::io::fcntl_getfd(&listener), Ok(cloexec));
    assert_eq!(rustix::io::fcntl_getfd(&client), Ok(cloexec));
    assert_eq!(rustix::io::fcntl_getfd(&stream), Ok(cloexec));
}

/// unix(7), BUGS: a path may fill `sun_path` to its last byte. Whoever has such a name is served
/// like anybody else; one client must not end the listening.
#[test]
fn e04_a_peer_whose_path_has_no_end_is_accepted_and_untold() {
    watchdog(|| {
        let directory = std::env::temp_dir().join(format!("wb-long-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("it is new");
        let path = directory.join("s");
        let listener = Listener::bind(Address::Unix(path.clone()), 8).expect("a listener");
        let name = long_path::path_in(&directory);
        let _peer = long_path::connect_from(&name, &path).expect("it listens");
        let (_stream, peer) = listener.accept().expect("one waits");
        assert_eq!(peer, Address::Untold);
        std::fs::remove_dir_all(&directory).expect("it is ours");
    });
}

/// accept(2) fails for want of descriptors before it looks at the backlog: with nobody there, that
/// is the boundary, and nothing to try again.
#[test]
fn e04_without_descriptors_an_empty_backlog_is_drained_all_the_same() {
    watchdog(|| {
        let kernel = Habitual::new(Linux, Failing::new(Call::Accept, &[Errno::MFILE]));
        let listener = Listener::bind_on(kernel.clone(), any_port(), 8).expect("a listener");
        let mut events = EventLoop::on(kernel, 0).expect("a loop");
        let handler = events.add(listener, Interest::READABLE, |listener, turn| {
            assert!(listener.accept()?.is_none());
            assert!(listener.is_drained());
            *turn.state() += 1;
            Ok(())
        });
        events.wake(handler.expect("a new source"), Direction::Input);
        events.turn(None).expect("nothing fails");
        assert_eq!((*events.state(), events.stats().accept_pauses), (1, 0));
    });
}
