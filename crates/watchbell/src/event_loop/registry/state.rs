//! The loop's state: its sources, which of them have a turn, its timers.

use super::failure::{Failure, OnFailure};
use crate::doorbell::Armed;
use crate::epoll::{Edge, Epoll, OnBlocking, Registered, Token};
use crate::error::Error;
use crate::event_loop::account::{Budget, Direction, Memo};
use crate::event_loop::run::Run;
use crate::event_loop::store::{Inbox, Runnable, Slots};
use crate::event_loop::time::Timers;
use crate::eventfd::Counter;
use crate::kernel::{EventBuffer, EventFlags, Kernel};
use crate::sync::{Arc, thread};
use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The sources and timers of a loop.
///
/// An [`EventLoop`](crate::event_loop::EventLoop) and a [`Turn`](super::Turn) both dereference to
/// it, so that sources are taken in, asked and ended in the same way from outside the loop and from
/// inside a handler.
pub struct Registry<D, K: Kernel> {
    pub(in crate::event_loop) epoll: Epoll<K>,
    pub(in crate::event_loop) buffer: EventBuffer,
    pub(in crate::event_loop) slots: Slots<Boxed<D, K>>,
    pub(in crate::event_loop) runnable: Runnable,
    pub(in crate::event_loop) memo: Memo,
    /// Where the account of the running source is.
    pub(in crate::event_loop) run: Rc<Run>,
    /// The queues among the sources.
    pub(in crate::event_loop) bells: Vec<Token>,
    /// How long the last sleep was, if a push was under way.
    pub(in crate::event_loop) brief: Duration,
    pub(in crate::event_loop) timers: Timers<Due<D, K>>,
    pub(in crate::event_loop) inbox: Arc<Inbox>,
    /// The eventfd that wakes the loop for its inbox. It is never read: each write is an edge.
    pub(in crate::event_loop) wakes: Registered<Arc<Counter<K>>, Edge, K>,
    pub(in crate::event_loop) heal_at: Option<(Instant, Duration)>,
    pub(in crate::event_loop) settings: Settings,
    /// Failures that have not been reported yet.
    pub(in crate::event_loop) failures: VecDeque<Failure>,
    pub(in crate::event_loop) on_failure: Option<OnFailure<D, K>>,
    pub(in crate::event_loop) stats: Stats,
}

/// The token of the eventfd that wakes the loop: no slot's.
pub(in crate::event_loop) const WAKE: u64 = u64::MAX;

/// A source and its handler, whatever their types.
pub(in crate::event_loop) type Boxed<D, K> = Box<dyn Dispatch<D, K>>;

/// How the loop handles a source whose type it does not know.
pub trait Dispatch<D, K: Kernel> {
    /// Runs the handler once.
    fn run(&mut self, run: &Run, registry: &mut Registry<D, K>, state: &mut D) -> io::Result<()>;

    /// `EPOLL_CTL_ADD` of the source, which may have another descriptor now than it had.
    fn add(&mut self, epoll: &Epoll<K>, flags: EventFlags, data: u64) -> Result<(), Error>;

    /// `EPOLL_CTL_MOD` of the registered source.
    fn modify(&self, epoll: &Epoll<K>, flags: EventFlags, data: u64) -> Result<(), Error>;

    /// `EPOLL_CTL_DEL`. A registration that the source's descriptor does not reach is a ghost,
    /// which the instance counts. A source that panics when it is asked for its descriptor leaves
    /// one too.
    ///
    /// # Errors
    ///
    /// That panic.
    fn delete(&self, epoll: &Epoll<K>) -> thread::Result<()>;

    /// Whether the kernel says that the source is ready for input, or has failed, at this moment.
    fn is_reported_ready(&self, kernel: &K) -> bool;

    /// The type of the source.
    fn source_type(&self) -> TypeId;

    /// The source, and the handler.
    fn into_parts(self: Box<Self>) -> (Box<dyn Any>, Box<dyn Any>);

    /// The source and its handler, as the type that they are.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;

    /// The type of source and handler together.
    fn entry_type(&self) -> TypeId;

    /// The source as a queue that has to be armed before the loop sleeps, if it is one.
    fn bell(&mut self) -> Option<&mut dyn Bell> {
        None
    }
}

/// What the loop asks of a queue around its waits.
pub trait Bell {
    /// As [`Queue::arm`](crate::doorbell::Queue::arm); [`Armed::Closed`] only until its handler
    /// knows.
    fn arm(&mut self) -> Armed;

    /// The loop is awake, and looks by itself. Whether there is something to handle.
    fn look(&mut self) -> bool;
}

/// What a timer does when it is due.
pub(in crate::event_loop) enum Due<D, K: Kernel> {
    Call(Callback<D, K>),
    /// A direction has rested for long enough.
    Rested(Token, Direction),
}

type Callback<D, K> = Box<dyn FnOnce(&mut Registry<D, K>, &mut D) -> io::Result<()>>;

/// What a loop is made with, and each loop of a pool of workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) budget: Budget,
    pub(crate) events_a_wait: usize,
    pub(crate) timers_a_turn: usize,
    pub(crate) accept_pause: Duration,
    pub(crate) on_blocking: OnBlocking,
    pub(crate) idle_runs: u16,
}

/// Counts since the loop was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Turns: one wait each.
    pub turns: u64,
    /// Events that the waits brought.
    pub events: u64,
    /// Runs of handlers.
    pub runs: u64,
    /// Runs after which a source was kept runnable, with no new edge.
    pub retained: u64,
    /// Runs that spent their budget.
    pub spent: u64,
    /// Events for a source that was gone, or was removed before its turn came: discarded.
    pub stale: u64,
    /// Handlers that returned an error, and registrations that the kernel refused to change.
    pub errors: u64,
    /// Panics of handlers and timers, and of destructors that the loop ran.
    pub panics: u64,
    /// Sources that were suspended because their handler ignored them.
    pub suspended: u64,
    /// Registrations that could not be removed by their descriptor.
    pub ghosts: u64,
    /// New epoll instances made to be rid of ghosts.
    pub healed: u64,
    /// Times that a healing had to wait, for want of descriptors or memory.
    pub heal_pauses: u64,
    /// Timers that fired.
    pub timers: u64,
    /// Connections that accept(2) had an error for instead of a descriptor.
    pub skipped_accepts: u64,
    /// Times that accepting rested, for want of descriptors or memory.
    pub accept_pauses: u64,
}

impl<D, K: Kernel> fmt::Debug for Registry<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("epoll", &self.epoll)
            .field("sources", &self.slots.len())
            .field("runnable", &self.runnable.len())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}
