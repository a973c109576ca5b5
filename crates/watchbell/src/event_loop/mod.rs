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
//! does not block.
//!
//! # Failures stay where they happen
//!
//! An error or a panic of a handler closes its source (of a queue, it ends that item) and is
//! reported to [`Builder::on_failure`]; the rest of the turn goes on. (With `panic = "abort"` a
//! panic ends the process, as everywhere.)
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
//! A loop belongs to the process that made it. In a forked child, [`EventLoop::run`] and
//! [`EventLoop::add`] refuse with [`Error::Forked`], and dropping the loop does not touch the
//! interest list, which is the parent's. The process is looked at when a run begins and when a
//! registration changes, not in each turn: a handler that forks has to end the child's part by exec
//! or exit, and not by returning.
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
//! let mut events: EventLoop = EventLoop::new()?;
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

mod accept;
mod bells;
mod budget;
mod builder;
mod core;
mod counters;
mod directions;
mod failure;
mod handler;
mod heal;
mod ready;
mod registrations;
mod remote;
mod served;
#[cfg(feature = "signals")]
mod signals;
mod slots;
mod stats;
mod stop;
mod timers;
mod turn;
mod turns;

pub use accept::Accept;
pub use budget::Budget;
pub use builder::Builder;
pub use directions::Direction;
pub use failure::{Failure, Reason};
pub use handler::Handler;
pub use ready::Ready;
pub use remote::{Remote, Task};
pub use served::QueueHandler;
#[cfg(feature = "signals")]
pub use signals::Signals;
pub use stats::Stats;
pub use stop::Stop;
pub use timers::TimerId;
pub use turn::Turn;

pub(crate) use builder::Settings;
pub(crate) use directions::After;
pub(crate) use ready::{Message, after_output};

use self::core::Core;
use crate::error::Error;
use crate::kernel::{Kernel, Linux};
use std::fmt;
use std::io;
use std::time::Duration;

/// An edge-triggered event loop; the [module](self) says what it promises.
///
/// `D` is the service's own state, handed to every handler. A loop stays on the thread that made
/// it; [`Stop`] reaches it from others.
pub struct EventLoop<D = (), K: Kernel = Linux> {
    pub(crate) core: Core<D, K>,
}

impl<D> EventLoop<D, Linux> {
    /// A loop on the running kernel, with the default settings. The [module](self) has an example.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    #[doc(alias = "epoll_create1")]
    pub fn new() -> io::Result<EventLoop<D, Linux>> {
        EventLoop::builder().build()
    }

    /// A loop on the running kernel, with other settings. [`Builder`] has an example.
    pub fn builder() -> Builder<D, Linux> {
        Builder::new(Linux)
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
    /// let events: EventLoop = EventLoop::on(Linux)?; // or a kernel that counts its calls
    /// assert!(events.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_create1")]
    pub fn on(kernel: K) -> io::Result<EventLoop<D, K>> {
        Builder::new(kernel).build()
    }

    /// A loop on `kernel`, with other settings.
    pub fn builder_on(kernel: K) -> Builder<D, K> {
        Builder::new(kernel)
    }

    /// Runs the loop until it is stopped, and consumes the stop.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`] in a forked child; [`Error::Os`] if the wait itself fails, though no error
    /// of [epoll_pwait2(2)] is expected.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use watchbell::event_loop::EventLoop;
    /// let mut events: EventLoop<u32> = EventLoop::new()?;
    /// events.after(Duration::from_millis(1), |turn| {
    ///     *turn.state() += 1;
    ///     turn.stop();
    ///     Ok(())
    /// });
    /// let mut fired = 0;
    /// events.run_with(&mut fired)?;
    /// assert_eq!(fired, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [epoll_pwait2(2)]: https://man7.org/linux/man-pages/man2/epoll_wait.2.html
    #[doc(alias = "epoll_wait")]
    #[doc(alias = "epoll_pwait2")]
    pub fn run_with(&mut self, state: &mut D) -> Result<(), Error> {
        self.core.epoll.instance().check_owner()?;
        loop {
            self.core.turn(state, None)?;
            if self.take_stop()? {
                return Ok(());
            }
        }
    }

    /// Whether a stop has come that no [`run`](EventLoop::run) has ended by yet. Until one has,
    /// turns do not wait: a program that makes its own turns looks at this, and
    /// [takes](EventLoop::take_stop) it.
    pub fn is_stopping(&self) -> bool {
        self.core.stopping
    }

    /// Consumes a stop that has come. `false`: there is none.
    ///
    /// # Errors
    ///
    /// Those of [read(2)](https://man7.org/linux/man-pages/man2/read.2.html) on an eventfd; none is
    /// expected.
    ///
    /// # Panics
    ///
    /// As [`Counter::try_take`](crate::eventfd::Counter::try_take).
    ///
    /// ```
    /// # use watchbell::event_loop::EventLoop;
    /// let mut events: EventLoop = EventLoop::new()?;
    /// events.stop_handle().stop();
    /// while !events.take_stop()? {
    ///     events.turn(None)?;
    ///     // ... what the program does between turns ...
    /// }
    /// assert!(!events.is_stopping());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd_read")]
    pub fn take_stop(&mut self) -> Result<bool, Error> {
        let stopping = std::mem::take(&mut self.core.stopping);
        if stopping {
            self.core.stop.get_ref().try_take()?;
        }
        Ok(stopping)
    }

    /// Runs one turn, which waits for `longest` at most; `None` waits for the first event or timer.
    /// A stop that comes is kept for the next [`run`](EventLoop::run).
    ///
    /// # Errors
    ///
    /// As [`run_with`](EventLoop::run_with).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use watchbell::event_loop::EventLoop;
    /// # let mut events: EventLoop<u32> = EventLoop::new()?;
    /// # let mut state = 0;
    /// events.turn_with(&mut state, Some(Duration::ZERO))?; // looks, and does not wait
    /// events.turn_with(&mut state, Some(Duration::from_millis(1)))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "epoll_wait")]
    #[doc(alias = "epoll_pwait2")]
    pub fn turn_with(&mut self, state: &mut D, longest: Option<Duration>) -> Result<(), Error> {
        self.core.epoll.instance().check_owner()?;
        self.core.turn(state, longest)
    }
}

impl<K: Kernel> EventLoop<(), K> {
    /// As [`run_with`](EventLoop::run_with), which has an example, for a service without state of
    /// its own.
    ///
    /// # Errors
    ///
    /// As [`run_with`](EventLoop::run_with).
    #[doc(alias = "epoll_wait")]
    pub fn run(&mut self) -> Result<(), Error> {
        self.run_with(&mut ())
    }

    /// As [`turn_with`](EventLoop::turn_with), which has an example, for a service without state of
    /// its own.
    ///
    /// # Errors
    ///
    /// As [`run_with`](EventLoop::run_with).
    #[doc(alias = "epoll_wait")]
    pub fn turn(&mut self, longest: Option<Duration>) -> Result<(), Error> {
        self.turn_with(&mut (), longest)
    }
}

impl<D, K: Kernel> fmt::Debug for EventLoop<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop")
            .field("epoll", &self.core.epoll)
            .field("sources", &self.core.slots.len())
            .field("runnable", &self.core.runnable.len())
            .field("stats", &self.core.stats)
            .finish_non_exhaustive()
    }
}
