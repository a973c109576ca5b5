//! The urgent mark of tcp(7): a read stops there, short, and the connection stays open. No end of
//! file and no hang-up comes to the rescue of whoever takes a short read for the end.

mod support;

use rustix::net::SendFlags;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use support::watchdog;
use watchbell::epoll::Interest;
use watchbell::event_loop::EventLoop;
use watchbell::kernel::Linux;
use watchbell::net::Stream;

/// A connection on which two bytes wait on either side of an urgent one.
fn marked() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let mut client = TcpStream::connect(address).expect("it listens");
    let (server, _) = listener.accept().expect("one waits");
    client.write_all(b"ab").expect("there is room");
    assert_eq!(rustix::net::send(&client, b"!", SendFlags::OOB), Ok(1));
    client.write_all(b"cd").expect("there is room");
    (client, server)
}

#[test]
fn e03_reading_goes_on_behind_the_urgent_mark_of_an_open_connection() {
    watchdog(|| {
        let (_client, server) = marked();
        let mut events = EventLoop::with(Vec::new()).expect("a loop");
        let handler = events.add(server, Interest::READABLE, |stream, turn| {
            let mut buf = [0; 64];
            while let Some(read) = stream.read(&mut buf)? {
                turn.state().extend_from_slice(&buf[..read]);
            }
            Ok(())
        });
        handler.expect("a new source");
        while events.state().len() < 4 {
            events.turn(None).expect("nothing fails");
        }
        assert_eq!(events.state(), b"abcd");
    });
}

#[test]
fn e03_receiving_goes_on_behind_the_urgent_mark_of_an_open_connection() {
    watchdog(|| {
        let (_client, server) = marked();
        let stream = Stream::adopt(Linux, server.into()).expect("it is a stream");
        let mut events = EventLoop::with(Vec::new()).expect("a loop");
        let handler = events.add(stream, Interest::READABLE, |stream, turn| {
            let mut buf = [0; 64];
            while let Some(read) = stream.recv(&mut buf)? {
                turn.state().extend_from_slice(&buf[..read]);
            }
            Ok(())
        });
        handler.expect("a new source");
        while events.state().len() < 4 {
            events.turn(None).expect("nothing fails");
        }
        assert_eq!(events.state(), b"abcd");
    });
}
