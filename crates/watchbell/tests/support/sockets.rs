//! Sockets for tests: addresses, an echo service, and a whole conversation with it.

use super::watchdog;
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use watchbell::epoll::Interest;
use watchbell::event_loop::{Budget, EventLoop, Ready, Stats, Turn};
use watchbell::kernel::{Kernel, Sockets};
use watchbell::net::{Address, Listener, Marks, Output, Stream};

/// A free port of the loopback interface.
pub fn any_port() -> Address {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()
}

/// A free name for a Unix-domain socket.
pub fn any_name() -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Address::Abstract(format!("watchbell-test-{process}-{next}").into_bytes())
}

/// A connected pair: our end as the library's stream, the peer as std's.
pub fn tcp_pair<K: Sockets<Fd = OwnedFd>>(kernel: K) -> (Stream<K>, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let peer = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    peer.set_nodelay(true).expect("a TCP socket");
    let (ours, _) = listener.accept().expect("the peer is connected");
    (Stream::adopt(kernel, ours.into()).expect("a connected socket"), peer)
}

/// As [`tcp_pair`], for a Unix-domain stream.
pub fn unix_pair<K: Sockets<Fd = OwnedFd>>(kernel: K) -> (Stream<K>, UnixStream) {
    let (ours, peer) = UnixStream::pair().expect("descriptors are left");
    (Stream::adopt(kernel, ours.into()).expect("a connected socket"), peer)
}

/// A loop in which no source may fail.
pub fn strict_loop<D: Default + 'static, K: Kernel>(kernel: K, budget: Budget) -> EventLoop<D, K> {
    EventLoop::builder_on(kernel, D::default())
        .budget(budget)
        .on_failure(|failure, _| panic!("{failure}"))
        .build()
        .expect("descriptors are left")
}

/// Byte `index` of what conversations are about: no two neighbouring blocks are alike.
pub fn pattern(index: usize) -> u8 {
    (index ^ (index >> 8) ^ (index >> 16)) as u8
}

/// The echo service's handler: what it reads it sends, and closes when both ends have ended.
pub fn echo<D, K: Sockets>(
    marks: Marks,
    buffer: usize,
) -> impl FnMut(&mut Ready<'_, Stream<K>>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static {
    let mut output = Output::new(marks);
    move |stream: &mut Ready<'_, Stream<K>>, turn: &mut Turn<'_, D, K>| {
        stream.flush(&mut output)?;
        let mut buf = vec![0; buffer];
        while let Some(read) = stream.recv(&mut buf)? {
            if read == 0 {
                output.finish();
                stream.flush(&mut output)?;
                break;
            }
            stream.send(&mut output, &buf[..read])?;
        }
        if output.is_finished() { turn.close() } else { Ok(()) }
    }
}

/// One connection to an echo service, from connect to the last end of file.
#[derive(Clone, Copy)]
pub struct Conversation {
    pub bytes: usize,
    pub chunk: usize,
    pub budget: Budget,
}

impl Default for Conversation {
    fn default() -> Conversation {
        Conversation { bytes: 300_000, chunk: 10_007, budget: Budget::default() }
    }
}

impl Conversation {
    /// Holds it at `address`, both ends as sources of one loop on `kernel`.
    pub fn hold<K: Sockets>(self, kernel: K, address: &Address) -> Stats {
        let mut events: EventLoop<(), K> = strict_loop(kernel.clone(), self.budget);
        let listener = Listener::bind_on(kernel.clone(), address, 16).expect("a free address");
        let address = listener.local_address().expect("bound");
        let accepting = events.add(listener, Interest::READABLE, |listener, turn| {
            while let Some((stream, _)) = listener.accept()? {
                turn.add(stream, Interest::READABLE, echo(Marks::new(1 << 12, 1 << 14)?, 4096))?;
            }
            Ok(())
        });
        accepting.expect("a new source");
        let client = Stream::connect_on(kernel, &address).expect("it listens");
        let both = Interest::READABLE | Interest::WRITABLE;
        events.add(client, both, self.client()).expect("a new source");
        events.run().expect("nothing fails");
        // The service's end may still have its last run before it.
        while events.len() > 1 {
            events.turn(None).expect("nothing fails");
        }
        events.stats()
    }

    /// Sends the pattern, ends its output, and reads all of it back.
    fn client<K: Sockets>(
        self,
    ) -> impl FnMut(&mut Ready<'_, Stream<K>>, &mut Turn<'_, (), K>) -> io::Result<()> + 'static
    {
        let mut output = Output::default();
        let (mut sent, mut received) = (0, 0);
        move |stream: &mut Ready<'_, Stream<K>>, turn: &mut Turn<'_, (), K>| {
            if stream.connected()?.is_none() {
                return Ok(());
            }
            while stream.flush(&mut output)? && sent < self.bytes {
                let end = self.bytes.min(sent + self.chunk);
                let chunk: Vec<u8> = (sent..end).map(pattern).collect();
                stream.send(&mut output, &chunk)?;
                sent = end;
                if sent == self.bytes {
                    output.finish();
                }
            }
            let mut buf = [0; 4096];
            while let Some(read) = stream.recv(&mut buf)? {
                if read == 0 {
                    assert_eq!(received, self.bytes, "an early end of file");
                    turn.stop();
                    return turn.close();
                }
                for byte in &buf[..read] {
                    assert_eq!(*byte, pattern(received), "byte {received}");
                    received += 1;
                }
            }
            Ok(())
        }
    }
}

/// Reads what is there; `true` at the end of file.
pub fn drain(peer: &mut impl Read, into: &mut Vec<u8>) -> bool {
    let mut buf = vec![0; 1 << 16];
    loop {
        match peer.read(&mut buf) {
            Ok(0) => return true,
            Ok(read) => into.extend_from_slice(&buf[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// How many descriptors this process has open.
pub fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("proc is mounted").count()
}

/// The same body on TCP and on Unix-domain sockets: our stream, the peer, the kernel.
pub fn both_families<K: Sockets<Fd = OwnedFd>>(kernel: K, body: fn(Stream<K>, OwnedFd, K)) {
    watchdog(move || {
        let (stream, peer) = tcp_pair(kernel.clone());
        body(stream, peer.into(), kernel.clone());
        let (stream, peer) = unix_pair(kernel.clone());
        body(stream, peer.into(), kernel);
    });
}
