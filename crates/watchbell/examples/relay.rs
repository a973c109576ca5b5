//! A TCP relay between a client and an echo server, with half-close and backpressure both ways.
#![allow(clippy::print_stdout)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::{cell::RefCell, os::fd::OwnedFd, rc::Rc, thread};
use watchbell::epoll::Interest;
use watchbell::event_loop::{EventLoop, Ready, Turn};
use watchbell::net::{Output, Stream};

/// One side: writes out its own queue, and fills the other side's.
fn pass(stream: &mut Ready<'_, Stream>, own: &mut Output, other: &mut Output) -> io::Result<usize> {
    let (mut buf, mut brought) = ([0; 16 * 1024], 0);
    if stream.connected()?.is_none() {
        return Ok(0);
    }
    stream.flush(own)?;
    while !stream.has_ended() {
        match stream.recv(&mut buf)? {
            None => break,
            Some(0) => stream.forward_end(other),
            Some(read) => stream.forward(other, &buf[..read]).map(|()| brought += read)?,
        }
    }
    Ok(brought)
}

fn main() -> io::Result<()> {
    let (front, server) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    let (address, upstream) = (front.local_addr()?, server.local_addr()?);
    thread::spawn(move || server.accept().and_then(|(it, _)| io::copy(&mut &it, &mut &it)));
    thread::spawn(move || -> io::Result<()> {
        let mut client = TcpStream::connect(address)?;
        client.write_all(&[7; 100_000])?;
        client.shutdown(Shutdown::Write)?;
        client.read_to_end(&mut Vec::new()).map(drop)
    });

    // Where a side fails, the other would wait for it for ever: a server closes that one too.
    let mut events =
        EventLoop::builder_with([0; 2]).on_failure(|failure, _| eprintln!("{failure}")).build()?;
    let queues = [(); 2].map(|()| Rc::<RefCell<Output>>::default());
    let sides = [OwnedFd::from(front.accept()?.0).try_into()?, Stream::connect(upstream)?];
    for (side, stream) in sides.into_iter().enumerate() {
        let (own, other) = (Rc::clone(&queues[side]), Rc::clone(&queues[1 - side]));
        let handler = move |stream: &mut Ready<'_, Stream>, turn: &mut Turn<'_, [usize; 2]>| {
            turn.state()[side] += pass(stream, &mut own.borrow_mut(), &mut other.borrow_mut())?;
            if stream.has_ended() && own.borrow().is_finished() { turn.close() } else { Ok(()) }
        };
        // Watched for room as well, each side is run once before the other fills its queue.
        events.add(stream, Interest::READABLE | Interest::WRITABLE, handler)?;
    }
    while !events.is_empty() {
        events.turn(None)?;
    }
    let brought = events.into_state(); // bytes, by each side
    assert_eq!(brought[0], brought[1]);
    println!("relayed={}", brought[0]);
    Ok(())
}
