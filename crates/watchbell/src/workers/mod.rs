//! Several workers on the same listeners.
//!
//! Each worker is a thread with an event loop of its own. The listeners are shared, not duplicated,
//! and registered exclusively (`EPOLLEXCLUSIVE`) in each loop: a connection wakes one worker or a
//! few, not all. Nothing here relies on how many:
//!
//! - being woken reserves nothing; accepting finds the backlog empty, or holding several;
//! - a wake goes to one worker however many connections it brings. A worker that spends its budget,
//!   or runs out of descriptors, keeps the rest for its next turns; one that leaves, by an error or
//!   a panic, wakes the others;
//! - the kernel's choice of whom to wake is no balance, and this pool does not yet make one. The
//!   report shows each worker's share.
//!
//! A connection belongs to the worker that accepted it, and to nobody else, until it is closed.
//! Ordinary observers may watch the same listeners ([`Builder::shared_listener`]).
//!
//! # The end
//!
//! [`Control::drain`] ends the service in this order: the backlog is accepted, the listeners are
//! closed, connections end by themselves, those that are left at the deadline are closed, the
//! workers report. The [`Ledger`] says where every connection has gone, and is exact at each of
//! these points.
//!
//! What the kernel does not let it do better:
//!
//! - A connection that arrives between a worker's last look at the backlog and the closing of the
//!   listener is reset. There is no call that stops a listener and keeps its backlog.
//! - Without descriptors (`EMFILE`) the backlog cannot be accepted. It waits until the drain's
//!   deadline, and is reset then, unless descriptors come free before.
//! - A listener that was given by [`Builder::shared_listener`] closes only with its last
//!   [`Arc`](crate::sync::Arc). While somebody else holds one, connections that arrive wait in its
//!   backlog, and no worker accepts them.
//!
//! # What it does not do yet
//!
//! There is no idle time-out: a peer that says nothing keeps its connection, until a drain's
//! deadline. A service sets timers of its own ([`after`](crate::event_loop::Registry::after)).
//! And there is no limit on connections, short of the process's descriptors (`RLIMIT_NOFILE`).
//!
//! # Example
//!
//! ```
//! use std::io::{self, Read, Write};
//! use std::net::{Shutdown, TcpStream};
//! use std::time::Duration;
//! use watchbell::epoll::Interest;
//! use watchbell::event_loop::Turn;
//! use watchbell::net::{Address, Listener, Output};
//! use watchbell::workers::{Connection, Service, Worker, Workers};
//!
//! struct Echo;
//!
//! impl Service for Echo {
//!     fn accepted(
//!         connection: Connection,
//!         _peer: Address,
//!         turn: &mut Turn<'_, Worker<Echo>>,
//!     ) -> io::Result<()> {
//!         let mut output = Output::default();
//!         turn.add(connection, Interest::READABLE, move |connection, turn| {
//!             connection.flush(&mut output)?;
//!             let mut buf = [0; 4096];
//!             while let Some(read) = connection.recv(&mut buf)? {
//!                 if read == 0 {
//!                     output.finish();
//!                     break;
//!                 }
//!                 connection.send(&mut output, &buf[..read])?;
//!             }
//!             connection.flush(&mut output)?;
//!             if output.is_finished() { turn.close() } else { Ok(()) }
//!         })?;
//!         Ok(())
//!     }
//! }
//!
//! let listener = Listener::bind("127.0.0.1:0", 128)?;
//! let port = listener.port()?.expect("a TCP listener");
//! let workers = Workers::builder().listener(listener).start(|_index| Echo)?;
//!
//! let mut client = TcpStream::connect(("127.0.0.1", port))?;
//! client.write_all(b"ahoy")?;
//! client.shutdown(Shutdown::Write)?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert_eq!(answer, "ahoy");
//!
//! workers.control().drain(Duration::from_secs(1));
//! let ledger = workers.join().ledger();
//! assert_eq!((ledger.accepted, ledger.owned), (1, 0));
//! assert!(ledger.balances());
//! # Ok::<(), io::Error>(())
//! ```

mod connection;
mod pool;
mod report;
mod service;
mod shared;
mod worker;

pub use crate::Ledger;
pub use connection::Connection;
pub use pool::{Builder, Control, Workers};
pub use report::{Counts, Report, WorkerError, WorkerReport};
pub use service::Service;
pub use worker::Worker;
