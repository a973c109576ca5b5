//! Options of connections, and an end by force.

mod support;

use rustix::io::Errno;
use rustix::net::sockopt;
use std::io::{self, ErrorKind, Read};
use std::time::Duration;
use support::sockets::{strict_loop, tcp_pair, unix_pair};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop};
use watchbell::kernel::{Call, Counting, Linux};

fn errno(result: io::Result<()>) -> Option<Errno> {
    result.err().and_then(|error| Errno::from_io_error(&error))
}

#[test]
fn e04_the_peer_of_an_aborted_connection_sees_a_reset() {
    watchdog(|| {
        let kernel = Counting::new(Linux);
        let (stream, mut peer) = tcp_pair(kernel.clone());
        stream.abort().expect("a TCP socket");
        let reset = peer.read(&mut [0; 8]).expect_err("no end of file");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        assert_eq!(kernel.calls(Call::SetLinger), 1);
        // Its twin ends in order.
        let (stream, mut peer) = tcp_pair(Linux);
        drop(stream);
        assert_eq!(peer.read(&mut [0; 8]).expect("an end of file"), 0);
    });
}

#[test]
fn e04_a_source_that_lingers_for_no_time_is_closed_by_a_reset() {
    watchdog(|| {
        let (stream, mut peer) = tcp_pair(Linux);
        let mut events: EventLoop = strict_loop(Linux, Budget::default());
        let handler = events.add(stream, Interest::WRITABLE, |stream, turn| {
            stream.get_ref().set_linger(Some(Duration::ZERO))?;
            turn.close()
        });
        handler.expect("a new source");
        events.turn(None).expect("nothing fails");
        let reset = peer.read(&mut [0; 8]).expect_err("no end of file");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn options_are_what_they_were_set_to() {
    let (stream, _peer) = tcp_pair(Linux);
    assert_eq!(sockopt::tcp_nodelay(&stream), Ok(true));
    stream.set_nodelay(false).expect("a TCP socket");
    assert_eq!(sockopt::tcp_nodelay(&stream), Ok(false));

    stream.set_keepalive(Some(Duration::from_millis(1500))).expect("within its limits");
    assert_eq!(sockopt::socket_keepalive(&stream), Ok(true));
    assert_eq!(sockopt::tcp_keepidle(&stream), Ok(Duration::from_secs(2)), "rounded up");
    stream.set_keepalive(None).expect("a TCP socket");
    assert_eq!(sockopt::socket_keepalive(&stream), Ok(false));

    // Half a second must not become none, which is a reset.
    stream.set_linger(Some(Duration::from_millis(500))).expect("within its limits");
    assert_eq!(sockopt::socket_linger(&stream), Ok(Some(Duration::from_secs(1))));
    stream.set_linger(None).expect("a TCP socket");
    assert_eq!(sockopt::socket_linger(&stream), Ok(None));
}

#[test]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    let (stream, _peer) = tcp_pair(Linux);
    for idle in [Duration::ZERO, Duration::from_secs(32_768), Duration::MAX] {
        assert_eq!(errno(stream.set_keepalive(Some(idle))), Some(Errno::INVAL), "{idle:?}");
    }
    assert_eq!(sockopt::socket_keepalive(&stream), Ok(false));
    let (stream, _peer) = unix_pair(Linux);
    assert_eq!(errno(stream.set_nodelay(true)), Some(Errno::OPNOTSUPP));
    assert_eq!(errno(stream.set_keepalive(Some(Duration::from_secs(1)))), Some(Errno::OPNOTSUPP));
}
