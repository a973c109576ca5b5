//! One worker: a loop of its own on a thread of its own.

use super::shared::{Phase, Shared};
use super::{Connection, Counts, Service, WorkerError, WorkerReport};
use crate::epoll::{Interest, Readiness, Token};
use crate::event_loop::{
    Direction, EventLoop, Ready, Registration, Settings, Shared as SharedSource, TimerId, Turn,
};
use crate::kernel::{Linux, Sockets};
use crate::net::{Address, Listener};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use std::fmt;
use std::io;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The state of a worker's loop: the service's own, to which it dereferences, and the worker's.
pub struct Worker<S, K: Sockets = Linux> {
    service: S,
    index: usize,
    counts: Counts,
    /// The listeners that this worker still accepts from.
    listeners: Vec<Token>,
    /// When a drain ends at the latest, and the timer that sees to it. `None`: nobody has ordered
    /// one.
    deadline: Option<(Instant, TimerId)>,
    shared: Arc<Shared<K>>,
}

type WorkerTurn<'run, S, K> = Turn<'run, Worker<S, K>, K>;

impl<S, K: Sockets> Worker<S, K> {
    /// Which of the pool's workers this is, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether the pool is draining: no further connections come, and this one should end when it
    /// can.
    pub fn is_draining(&self) -> bool {
        self.deadline.is_some()
    }

    /// Forgets a listener that this worker no longer accepts from, and has the worker look whether
    /// that was the last thing to wait for.
    fn forget_listener(&mut self, token: Token) {
        self.listeners.retain(|listener| *listener != token);
        self.shared.ring();
    }
}

/// What is owed when a worker leaves, by its own end or by a panic.
struct Leaving<K: Sockets> {
    index: usize,
    all: Arc<[Arc<Shared<K>>]>,
}

impl<K: Sockets> Drop for Leaving<K> {
    /// Everybody who waits for this worker is answered. Every other worker tries its listeners: a
    /// wake that went to this one alone may have brought connections that it did not accept.
    fn drop(&mut self) {
        self.all[self.index].leave();
        self.all.iter().for_each(|worker| worker.ring());
    }
}

/// Runs one worker until the pool is told to end.
pub(super) fn work<S: Service<K>, K: Sockets>(
    kernel: K,
    settings: Settings,
    listeners: Vec<SharedSource<Listener<K>>>,
    index: usize,
    all: Arc<[Arc<Shared<K>>]>,
    make: impl FnOnce() -> S,
) -> WorkerReport {
    let shared = Arc::clone(&all[index]);
    let _leaving = Leaving { index, all };
    let worker = Worker {
        service: make(),
        index,
        counts: Counts::default(),
        listeners: Vec::new(),
        deadline: None,
        shared: Arc::clone(&shared),
    };
    let mut events = match set_up(kernel, settings, listeners, worker) {
        Ok(events) => events,
        Err(error) => {
            shared.report_start(Err(error));
            return WorkerReport::unstarted(index);
        }
    };
    shared.report_start(Ok(()));

    let outcome = match catch_unwind(AssertUnwindSafe(|| events.run())) {
        Ok(ended) => ended.map_err(WorkerError::Loop),
        Err(_panic) => Err(WorkerError::Panicked),
    };
    let (stats, counts) = (events.stats(), events.state().counts);
    // However it ended, that ends what the worker still holds.
    shared.tally.closing.store(true, Ordering::Relaxed);
    drop(events);
    WorkerReport { index, counts, ledger: shared.tally.ledger(0), stats, outcome }
}

/// A loop that watches the worker's bell and, exclusively, every listener.
fn set_up<S: Service<K>, K: Sockets>(
    kernel: K,
    settings: Settings,
    listeners: Vec<SharedSource<Listener<K>>>,
    worker: Worker<S, K>,
) -> io::Result<EventLoop<Worker<S, K>, K>> {
    let bell = Arc::clone(&worker.shared);
    let mut events = EventLoop::builder_on(kernel, worker)
        .settings(settings)
        .on_failure(|failure, turn: &mut WorkerTurn<'_, S, K>| {
            let worker = turn.state();
            let listener = failure.token.filter(|token| worker.listeners.contains(token));
            if let Some(token) = listener {
                worker.counts.lost_listeners += 1;
                worker.forget_listener(token);
            }
        })
        .build()?;
    events.add(bell, Registration::edge(Interest::READABLE).named("worker's bell"), hear)?;
    for listener in listeners {
        let token = events.add(listener, Registration::exclusive().named("listener"), accept)?;
        events.state_mut().listeners.push(token);
    }
    Ok(events)
}

/// Accepts what there is, within the budget; the loop keeps the rest.
fn accept<S: Service<K>, K: Sockets>(
    listener: &mut Ready<'_, SharedSource<Listener<K>>>,
    turn: &mut WorkerTurn<'_, S, K>,
) -> io::Result<()> {
    let woken = listener.readiness() != Readiness::NONE;
    turn.state().counts.wakes += u64::from(woken);
    let mut is_empty = true;
    while let Some((stream, peer)) = listener.accept()? {
        is_empty = false;
        let worker = turn.state();
        worker.counts.accepts += 1;
        let connection = Connection::new(stream, &worker.shared);
        admit(connection, peer, turn);
    }
    let worker = turn.state();
    worker.counts.empty_accepts += u64::from(woken && is_empty && listener.is_drained());
    // The backlog is empty: nobody who connected before the end is left behind.
    if worker.is_draining() && listener.is_drained() {
        if let Some(token) = turn.token() {
            turn.state().forget_listener(token);
        }
        return turn.close();
    }
    Ok(())
}

/// Gives a connection to the service. Its failure ends that connection, not the accepting.
fn admit<S: Service<K>, K: Sockets>(
    connection: Connection<K>,
    peer: Address,
    turn: &mut WorkerTurn<'_, S, K>,
) {
    let outcome =
        catch_unwind(AssertUnwindSafe(|| S::accepted(connection, peer, &mut turn.of_no_source())));
    let counts = &mut turn.state().counts;
    match outcome {
        Ok(Ok(())) => counts.connections += 1,
        Ok(Err(_)) => counts.refused += 1,
        Err(_panic) => counts.panics += 1,
    }
}

/// The bell was rung: there is an order, somebody asks for the ledger, a connection has ended while
/// the worker drains, or another worker left connections to accept.
fn hear<S: Service<K>, K: Sockets>(
    bell: &mut Ready<'_, Arc<Shared<K>>>,
    turn: &mut WorkerTurn<'_, S, K>,
) -> io::Result<()> {
    while bell.input(|shared| shared.take_rings())?.is_some() {}
    let shared = Arc::clone(bell.get_ref());
    match shared.phase() {
        Phase::Serving => {}
        Phase::Draining { until } => drain(until, turn),
        Phase::Closing => close_all(turn)?,
    }
    let mut listeners = mem::take(&mut turn.state().listeners);
    listeners.retain(|listener| turn.wake(*listener, Direction::Input));
    turn.state().listeners = listeners;
    shared.answer(|| shared.tally.ledger(turn.tokens_of::<Connection<K>>().len()));
    let worker = turn.state();
    if worker.is_draining() && worker.listeners.is_empty() && shared.tally.all_ended() {
        turn.stop();
    }
    Ok(())
}

/// From now on the worker ends with its last connection, and at `until` at the latest.
fn drain<S: Service<K>, K: Sockets>(until: Instant, turn: &mut WorkerTurn<'_, S, K>) {
    let before = turn.state().deadline;
    if before.is_some_and(|(due, _)| due == until) {
        return;
    }
    if let Some((_, timer)) = before {
        turn.cancel(timer);
    }
    let timer = turn.at(until, close_all);
    let worker = turn.state();
    worker.deadline = Some((until, timer));
    worker.shared.tally.draining.store(true, Ordering::SeqCst);
}

/// Closes what is left, which counts as returned, and ends the worker.
fn close_all<S: Service<K>, K: Sockets>(turn: &mut WorkerTurn<'_, S, K>) -> io::Result<()> {
    turn.state().shared.tally.closing.store(true, Ordering::Relaxed);
    for listener in mem::take(&mut turn.state().listeners) {
        turn.remove(listener);
    }
    for connection in turn.tokens_of::<Connection<K>>() {
        turn.remove(connection);
    }
    turn.stop();
    Ok(())
}

impl<S, K: Sockets> Deref for Worker<S, K> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.service
    }
}

impl<S, K: Sockets> DerefMut for Worker<S, K> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.service
    }
}

impl<S: fmt::Debug, K: Sockets> fmt::Debug for Worker<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index)
            .field("service", &self.service)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
