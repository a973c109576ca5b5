//! Two workers watch a listener exclusively; an observer watches it beside them, and takes nothing.
#![allow(clippy::print_stdout)]

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use watchbell::epoll::{Epoll, Events, ExclusiveInterest, Interest, OnBlocking, Trigger};

const BURSTS: usize = 5;
const CLIENTS: usize = 8;

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let observer = Epoll::new()?;
    let _watched = observer.edge(&listener, Interest::READABLE, OnBlocking::SetNonblocking)?;
    // Workers accept when a burst is complete and was seen: else they may leave nothing to be seen.
    let gate = Mutex::new(());
    let (stopped, stop) = io::pipe()?;
    let (sender, accepted) = mpsc::sync_channel(CLIENTS);
    let work = || -> io::Result<usize> {
        let (epoll, mut events, mut count) = (Epoll::new()?, Events::with_capacity(2), 0);
        let listener = epoll.exclusive(&listener, ExclusiveInterest::Readable, Trigger::Level)?;
        let stopped = epoll.level(&stopped, Interest::NONE)?; // a hang-up is told unasked
        loop {
            epoll.wait(&mut events, None)?;
            if events.iter().any(|event| event.token == stopped.token()) {
                return Ok(count);
            }
            let _open = gate.lock();
            while let Ok((stream, _)) = listener.get_ref().accept() {
                count += 1;
                sender.send(stream).map_err(io::Error::other)?;
            }
        }
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        let (mut events, mut seen, mut sum) = (Events::with_capacity(1), 0, 0);
        for _ in 0..BURSTS {
            let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
            let clients =
                [(); CLIENTS].map(|()| listener.local_addr().and_then(TcpStream::connect));
            observer.wait(&mut events, None)?;
            seen += events.len();
            drop(closed);
            clients.into_iter().zip(accepted.iter()).for_each(drop);
        }
        drop(stop);
        for worker in workers {
            let count = worker.join().expect("no worker panics")?;
            println!("a worker accepted {count}");
            sum += count;
        }
        println!("accepted={sum} bursts={BURSTS} seen={seen}");
        Ok(())
    })
}
