//! A peer that attaches descriptors to its bytes. Alone in its program: it counts what is open.

mod support;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use support::sockets::{open_descriptors, strict_loop};
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop, Ready, Turn};
use watchbell::kernel::Linux;
use watchbell::net::Stream;

/// All bytes that were read, and whether the end was.
type Seen = (Vec<u8>, bool);

fn read_all(stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, Seen>) -> std::io::Result<()> {
    let mut buf = [0; 64];
    while let Some(read) = stream.recv(&mut buf)? {
        let (bytes, ended) = turn.state();
        bytes.extend_from_slice(&buf[..read]);
        *ended = read == 0;
        if *ended {
            break;
        }
    }
    Ok(())
}

fn send_with(peer: impl AsFd, bytes: &[u8], attached: &[BorrowedFd<'_>]) {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    assert!(control.push(SendAncillaryMessage::ScmRights(attached)));
    let sent = sendmsg(peer, &[IoSlice::new(bytes)], &mut control, SendFlags::empty());
    assert_eq!(sent, Ok(bytes.len()));
}

#[test]
fn e03_attached_descriptors_are_closed_and_every_byte_is_read() {
    let null = std::fs::File::open("/dev/null").expect("it is there");
    for attached in [1, 2, 3, 8] {
        // Attached before the socket is a stream of ours, which has the kernel refuse them.
        let (ours, peer) = UnixStream::pair().expect("two descriptors");
        let before = open_descriptors();
        send_with(&peer, b"one ", &vec![null.as_fd(); attached]);
        send_with(&peer, b"two ", &vec![null.as_fd(); attached]);
        rustix::io::write(&peer, b"three").expect("there is room");
        let stream = Stream::adopt(Linux, ours.into()).expect("it is a stream");
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        let one = [null.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&one)));
        let refused = sendmsg(&peer, &[IoSlice::new(b"!")], &mut control, SendFlags::empty());
        // Linux 6.16 refuses; before, it is one more to be closed, and a byte more to be read.
        let rest: &[u8] = match refused {
            Err(rustix::io::Errno::PERM) => b"one two three",
            sent => {
                assert_eq!(sent, Ok(1));
                b"one two three!"
            }
        };
        drop(peer);

        let mut events: EventLoop<Seen> = strict_loop(Linux, Budget::default());
        let with_the_loop = open_descriptors();
        events.add(stream, Interest::READABLE, read_all).expect("a new source");
        while !events.state().1 {
            events.turn(None).expect("nothing fails");
        }
        assert_eq!(events.state().0, rest);
        assert_eq!(open_descriptors(), with_the_loop, "{attached} attached to each");
        drop(events);
        assert_eq!(open_descriptors(), before - 2, "the pair is gone too");
    }
}
