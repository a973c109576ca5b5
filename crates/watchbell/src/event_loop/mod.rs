//! An event loop that keeps account of readiness.
//!
//! # Why
//!
//! An edge-triggered event is told once (epoll(7)). Whoever takes it and does not read until
//! `EAGAIN` has to remember that, and every event loop whose handlers have to remember has lost
//! descriptors: to a short read taken for the end, to a budget, to an early return, to an error on
//! another descriptor. Here the handler does its input and output through [`Ready`], and the loop
//! sees what came of it. After a handler has returned, one of three things holds for each direction
//! of its source:
//!
//! - the boundary was reached: `EAGAIN`, or the kernel's own word that nothing is left;
//! - the source is terminal: end of file or an error;
//! - it is in the queue of runnable sources, or it is paused: by somebody's explicit word, or by a
//!   handler that leaves its input alone while its output is blocked, until there is room.
//!
//! # Turns
//!
//! A turn harvests the events of one wait, runs every source that is runnable once, in order, each
//! within its [`Budget`], and fires the timers that are due. A source that has something left is
//! run again in the next turn, behind the others, at no system call. While one is runnable the wait
//! does not block. A source that another one wakes runs in the same turn, unless it has run in it.
//!
//! # Failures stay where they happen
//!
//! An error or a panic of a handler closes its source (of a queue, it ends that item) and is
//! reported to [`Builder::on_failure`], which may act; the rest of the turn goes on. (With
//! `panic = "abort"` a panic ends the process, as everywhere.)
//!
//! # Identity
//!
//! Sources are named by [`Token`](crate::epoll::Token), slot and generation, never by descriptor
//! number: an event for a source that is gone is discarded and counted. A registration that a
//! handler made unremovable, by replacing its source's descriptor while a duplicate lives on, is
//! found, counted, and left behind with its epoll instance.
//!
//! # Processes
//!
//! A loop belongs to the process that made it. In a forked child, [`EventLoop::run`],
//! [`EventLoop::turn`] and [`Registry::add`] refuse with [`Error::Forked`], and dropping the loop
//! does not touch the interest list, which is the parent's. That is known without a system call, so
//! it is looked at in each turn. A handler that forks has to end the child's part by exec or exit,
//! and not by returning.
//!
//! # Example
//!
//! An echo service. `None` says that there is no more in this turn.
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//! use std::io::{Read, Write};
//! use watchbell::epoll::Interest;
//! use watchbell::event_loop::EventLoop;
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut client = TcpStream::connect(listener.local_addr()?)?;
//! client.write_all(b"ahoy")?;
//! client.shutdown(std::net::Shutdown::Write)?;
//!
//! let mut events = EventLoop::new()?;
//! events.add(listener, Interest::READABLE, |listener, turn| {
//!     while let Some((stream, _peer)) = listener.accept()? {
//!         turn.add(stream, Interest::READABLE, |stream, turn| {
//!             let mut buf = [0; 4096];
//!             while let Some(read) = stream.read(&mut buf)? {
//!                 if read == 0 {
//!                     turn.stop();
//!                     return turn.close();
//!                 }
//!                 let written = stream.write(&buf[..read])?;
//!                 assert_eq!(written, Some(read), "a real service queues the rest: see net");
//!             }
//!             Ok(())
//!         })?;
//!     }
//!     Ok(())
//! })?;
//! events.run()?;
//!
//! let mut answer = Vec::new();
//! client.read_to_end(&mut answer)?;
//! assert_eq!(answer, b"ahoy");
//! # Ok::<(), std::io::Error>(())
//! ```

mod account;
mod builder;
mod registry;
mod run;
mod sources;
mod stop;
mod store;
mod time;
mod turn;

pub use account::{Budget, Direction};
pub use builder::Builder;
pub use registry::{Failure, Reason, Registry, Stats, Turn};
pub use run::Ready;
#[cfg(feature = "signals")]
pub use sources::Signals;
pub use sources::{Accept, Detached, Handled, Handler, Registration, Remote, Task, Watched};
pub use stop::Stop;
pub use store::Shared;
pub use time::TimerId;

pub(crate) use account::After;
pub(crate) use registry::Settings;
pub(crate) use run::after_output;
#[cfg(test)]
pub(crate) use store::{Address, Inbox};
pub(crate) use store::{Flow, Wish};

use crate::error::Error;
use crate::kernel::{Kernel, Linux};
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// An edge-triggered event loop; the [module](self) says what it promises.
///
/// `D` is the service's own state, handed to every handler. The loop dereferences to its
/// [`Registry`], which takes in, asks and ends sources and timers. It stays on the thread that made
/// it; [`Stop`] and [`Remote`] reach it from others.
pub struct EventLoop<D = (), K: Kernel = Linux> {
    registry: Registry<D, K>,
    state: D,
}

impl EventLoop<(), Linux> {
    /// A loop on the running kernel, with the default settings and no state of its own. The
    /// [module](self) has an example.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    #[doc(alias = "epoll_create1")]
    pub fn new() -> io::Result<EventLoop> {
        EventLoop::builder().build()
    }

    /// A loop on the running kernel, with other settings. [`Builder`] has an example.
    pub fn builder() -> Builder<(), Linux> {
        Builder::new(Linux, ())
    }
}

impl<D> EventLoop<D, Linux> {
    /// A loop on the running kernel whose handlers are given this state.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use watchbell::event_loop::EventLoop;
    /// let mut events = EventLoop::with(Vec::new())?;
    /// events.after(Duration::from_millis(1), |turn| {
    ///     turn.state().push("fired");
    ///     turn.stop();
    ///     Ok(())
    /// });
    /// events.run()?;
    /// assert_eq!(events.into_state(), ["fired"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_create1")]
    pub fn with(state: D) -> io::Result<EventLoop<D>> {
        EventLoop::builder_with(state).build()
    }

    /// As [`with`](EventLoop::with), with other settings. [`Builder`] has an example.
    pub fn builder_with(state: D) -> Builder<D, Linux> {
        Builder::new(Linux, state)
    }
}

impl<D, K: Kernel> EventLoop<D, K> {
    /// A loop on `kernel`, with the default settings.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    ///
    /// ```
    /// # use watchbell::{event_loop::EventLoop, kernel::Linux};
    /// let events = EventLoop::on(Linux, ())?; // or a kernel that counts its calls
    /// assert!(events.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_create1")]
    pub fn on(kernel: K, state: D) -> io::Result<EventLoop<D, K>> {
        Builder::new(kernel, state).build()
    }

    /// A loop on `kernel`, with other settings.
    pub fn builder_on(kernel: K, state: D) -> Builder<D, K> {
        Builder::new(kernel, state)
    }

    /// The service's state.
    pub fn state(&self) -> &D {
        &self.state
    }

    /// The service's state, to be changed between two turns.
    pub fn state_mut(&mut self) -> &mut D {
        &mut self.state
    }

    /// Ends the loop and every source in it, and gives the state back. [`with`](EventLoop::with)
    /// has an example.
    pub fn into_state(self) -> D {
        self.state
    }

    /// Runs the loop until it is stopped, and consumes the stop. What exclusive sources have left
    /// then is passed on to the other loops that watch them.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child; [`Error::Os`] if the wait itself fails, though no error
    /// of [epoll_pwait2(2)] is expected. [`with`](EventLoop::with) has an example.
    ///
    /// [epoll_pwait2(2)]: https://man7.org/linux/man-pages/man2/epoll_wait.2.html
    #[doc(alias = "epoll_wait")]
    #[doc(alias = "epoll_pwait2")]
    pub fn run(&mut self) -> Result<(), Error> {
        loop {
            self.turn(None)?;
            if self.take_stop()? {
                self.registry.pass_wakes();
                return Ok(());
            }
        }
    }

    /// Runs one turn, which waits for `longest` at most; `None` waits for the first event or timer.
    /// A stop that comes is kept for the next [`run`](EventLoop::run).
    ///
    /// # Errors
    ///
    /// As [`run`](EventLoop::run).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use watchbell::event_loop::EventLoop;
    /// # let mut events = EventLoop::new()?;
    /// events.turn(Some(Duration::ZERO))?; // looks, and does not wait
    /// events.turn(Some(Duration::from_millis(1)))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_wait")]
    #[doc(alias = "epoll_pwait2")]
    pub fn turn(&mut self, longest: Option<Duration>) -> Result<(), Error> {
        self.registry.epoll.check_owner()?;
        self.registry.turn(&mut self.state, longest)
    }

    /// Whether a stop has come that no [`run`](EventLoop::run) has ended by yet. Until one has,
    /// turns do not wait: a program that makes its own turns looks at this, and
    /// [takes](EventLoop::take_stop) it.
    pub fn is_stopping(&self) -> bool {
        self.registry.inbox.is_stopping()
    }

    /// Consumes a stop that has come. `false`: there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child: the stop is the parent's.
    ///
    /// ```
    /// # use watchbell::event_loop::EventLoop;
    /// let mut events = EventLoop::new()?;
    /// events.stop_handle().stop();
    /// while !events.take_stop()? {
    ///     events.turn(None)?;
    ///     // ... what the program does between turns ...
    /// }
    /// assert!(!events.is_stopping());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_stop(&mut self) -> Result<bool, Error> {
        self.registry.epoll.check_owner()?;
        Ok(self.registry.inbox.take_stop())
    }
}

impl<D, K: Kernel> Deref for EventLoop<D, K> {
    type Target = Registry<D, K>;

    fn deref(&self) -> &Registry<D, K> {
        &self.registry
    }
}

impl<D, K: Kernel> DerefMut for EventLoop<D, K> {
    fn deref_mut(&mut self) -> &mut Registry<D, K> {
        &mut self.registry
    }
}

impl<D, K: Kernel> fmt::Debug for EventLoop<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventLoop").field(&self.registry).finish()
    }
}
