//! One thread waits, and hands each connection that is ready to a worker: as a lease, so that no
//! two workers ever have the same one, and nothing that arrives meanwhile is lost.
#![allow(clippy::print_stdout)]

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use watchbell::epoll::{Interest, Lease, Leases};

const CONNECTIONS: usize = 8;
const REQUESTS: usize = 50;

fn main() -> io::Result<()> {
    let leases = Leases::new()?;
    for _ in 0..CONNECTIONS {
        let (client, server) = UnixStream::pair()?;
        server.set_nonblocking(true)?;
        leases.add(server, Interest::READABLE)?;
        thread::spawn(move || ask(client));
    }
    let served = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers = [(); 2].map(|()| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(|| receiver.into_iter().try_for_each(|lease| serve(lease, &served)));
            sender
        });
        let mut turn = workers.iter().cycle();
        while !leases.is_empty() {
            let lease = leases.wait(None)?.expect("without a time-out it waits for an event");
            if lease.readiness().is_peer_closed() {
                drop(lease.close()); // a client has all its answers when it goes
            } else if let Some(worker) = turn.next() {
                worker.send(lease).map_err(io::Error::other)?;
            }
        }
        Ok::<_, io::Error>(())
    })?;
    let (out, undecided) = (leases.out(), leases.undecided());
    println!("served={} out={out} undecided={undecided}", served.into_inner());
    Ok(())
}

/// Serves what is there, a few requests at most, and gives the connection back.
fn serve(mut lease: Lease<UnixStream>, served: &AtomicUsize) -> io::Result<()> {
    let mut budget = 0..4;
    while budget.next().is_some() && matches!(lease.get_mut().read(&mut [0]), Ok(1)) {
        served.fetch_add(1, Ordering::Relaxed);
        lease.get_mut().write_all(b"!")?;
    }
    Ok(lease.rearm()?) // the kernel looks again: what is left is the next event
}

/// A client: one request at a time.
fn ask(mut stream: UnixStream) -> io::Result<()> {
    (0..REQUESTS).try_for_each(|_| stream.write_all(b"?").and(stream.read_exact(&mut [0])))
}
