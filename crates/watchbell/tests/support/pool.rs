//! A pool whose service does with each connection what the test says, and clients of it.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use crate::support::{thread_id, wait_until_blocked};
use std::io::{self, Read, Write};
use std::mem;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use watchbell::epoll::Interest;
use watchbell::event_loop::{Ready, Turn};
use watchbell::kernel::Sockets;
use watchbell::net::{Address, Listener, Output};
use watchbell::workers::{Builder, Connection, Control, Report, Service, Worker, Workers};

/// What the service does with a connection that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Echoes it to its end; [`PANIC`] and [`FAIL`] are obeyed instead.
    Echo,
    Drop,
    /// Returns an error.
    Refuse,
    Panic,
    /// Loses it (`mem::forget`), as a ledger is there to show.
    Lose,
    /// Moves it out of the loop, into [`Rules::kept`].
    Keep,
    /// Drops it and stops the worker's loop.
    Stop,
    /// Echoes it, and closes whatever the turn takes for its source.
    Close,
}

/// A byte that makes the echoing handler panic.
pub const PANIC: u8 = b'!';
/// A byte that makes the echoing handler fail.
pub const FAIL: u8 = b'?';

/// What the workers of a pool share.
pub struct Rules<K: Sockets> {
    act: Box<dyn Fn(u64) -> Act + Send + Sync>,
    /// Connections that the service was given so far, by all workers.
    seen: AtomicU64,
    pub kept: Mutex<Vec<Connection<K>>>,
    /// The kernel's ids of the workers' threads.
    threads: Mutex<Vec<i32>>,
}

/// One worker's state.
pub struct Scripted<K: Sockets>(Arc<Rules<K>>);

impl<K: Sockets> Service<K> for Scripted<K> {
    fn accepted(
        connection: Connection<K>,
        _peer: Address,
        turn: &mut Turn<'_, Worker<Self, K>, K>,
    ) -> io::Result<()> {
        let rules = Arc::clone(&turn.state().0);
        match (rules.act)(rules.seen.fetch_add(1, Ordering::SeqCst)) {
            Act::Echo => echo(connection, turn),
            Act::Drop => Ok(()),
            Act::Refuse => Err(io::Error::other("refused")),
            Act::Panic => panic!("the service panics, as it is told to"),
            Act::Lose => {
                mem::forget(connection);
                Ok(())
            }
            Act::Keep => {
                rules.kept.lock().unwrap().push(connection);
                Ok(())
            }
            Act::Stop => {
                turn.stop();
                Ok(())
            }
            Act::Close => {
                echo(connection, turn)?;
                turn.close()
            }
        }
    }
}

/// Echoes, on the worker and the thread that accepted, and on no other (X10).
fn echo<K: Sockets>(
    connection: Connection<K>,
    turn: &mut Turn<'_, Worker<Scripted<K>, K>, K>,
) -> io::Result<()> {
    let mut output = Output::default();
    let owner = (turn.state().index(), thread_id());
    turn.add(connection, Interest::READABLE, move |connection, turn| {
        assert_eq!(owner, (turn.state().index(), thread_id()), "a connection has one owner");
        answer(connection, &mut output)?;
        if output.is_finished() { turn.close() } else { Ok(()) }
    })?;
    Ok(())
}

fn answer<K: Sockets>(
    connection: &mut Ready<'_, Connection<K>>,
    output: &mut Output,
) -> io::Result<()> {
    connection.flush(output)?;
    let mut buf = [0; 512];
    while let Some(read) = connection.recv(&mut buf)? {
        if read == 0 {
            output.finish();
            break;
        }
        assert!(!buf[..read].contains(&PANIC), "the handler panics, as it is told to");
        if buf[..read].contains(&FAIL) {
            return Err(io::Error::other("the handler fails, as it is told to"));
        }
        connection.send(output, &buf[..read])?;
    }
    connection.flush(output)?;
    Ok(())
}

/// A running pool that listens on a loopback port of its own.
pub struct Pool<K: Sockets> {
    pub workers: Workers<K>,
    pub rules: Arc<Rules<K>>,
    pub address: SocketAddr,
}

impl<K: Sockets> Pool<K> {
    /// One whose service echoes.
    pub fn echoing(kernel: K, workers: usize) -> Pool<K> {
        Pool::start(kernel, workers, |builder| builder, |_| Act::Echo)
    }

    /// One whose service does with the n-th connection what `act` says.
    pub fn start(
        kernel: K,
        workers: usize,
        set: impl FnOnce(Builder<K>) -> Builder<K>,
        act: impl Fn(u64) -> Act + Send + Sync + 'static,
    ) -> Pool<K> {
        let listener = Listener::bind_on(kernel.clone(), loopback(), 1024).unwrap();
        let address = inet(&listener);
        let rules = Arc::new(Rules {
            act: Box::new(act),
            seen: AtomicU64::new(0),
            kept: Mutex::default(),
            threads: Mutex::default(),
        });
        let shared = Arc::clone(&rules);
        let builder = Workers::builder_on(kernel)
            .workers(NonZeroUsize::new(workers).unwrap())
            .listener(listener);
        let workers = set(builder).start(move |_| {
            shared.threads.lock().unwrap().push(thread_id());
            Scripted(Arc::clone(&shared))
        });
        Pool { workers: workers.unwrap(), rules, address }
    }

    pub fn control(&self) -> Control<K> {
        self.workers.control()
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// Returns once every worker is asleep, or has ended: whatever has happened, it is dealt with.
    pub fn wait_until_idle(&self) {
        let threads = self.rules.threads.lock().unwrap().clone();
        threads.into_iter().for_each(|thread| _ = wait_until_blocked(thread));
    }

    /// Ends the pool in order, which its connections must do by themselves.
    pub fn drain(self) -> Report {
        self.control().drain(FOREVER);
        self.workers.join()
    }

    pub fn close(self) -> Report {
        self.control().close();
        self.workers.join()
    }
}

/// Longer than any test runs.
pub const FOREVER: std::time::Duration = std::time::Duration::from_secs(3600);

pub fn loopback() -> Address {
    SocketAddr::from(([127, 0, 0, 1], 0)).into()
}

pub fn inet<K: Sockets>(listener: &Listener<K>) -> SocketAddr {
    match listener.local_address().unwrap() {
        Address::Inet(address) => address,
        other => panic!("{other} is no Internet address"),
    }
}

/// Sends `byte` and reads it back: the connection has been accepted, and is served.
#[track_caller]
pub fn exchange(client: &mut (impl Read + Write), byte: u8) {
    client.write_all(&[byte]).unwrap();
    let mut back = [0];
    client.read_exact(&mut back).unwrap();
    assert_eq!(back, [byte]);
}

/// Half-closes and reads to the end, which the server brings about once it has seen it.
#[track_caller]
pub fn end(mut client: TcpStream) {
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

/// Returns once the server has closed the connection, with or without a reset.
pub fn wait_for_close(mut client: impl Read) {
    while matches!(client.read(&mut [0; 64]), Ok(1..)) {}
}

/// Keeps threads until it is opened.
#[derive(Default)]
pub struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub fn pass(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
    }

    pub fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}
