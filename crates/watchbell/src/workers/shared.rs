//! What the pool and one of its workers share: orders, the bell that announces them, and counts.

use crate::Ledger;
use crate::epoll::Source;
use crate::eventfd::Counter;
use crate::kernel::{Borrowed, Sockets};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, lock};
use std::io;
use std::time::Instant;

/// Shared by the pool, one worker, and the connections that it accepted.
pub(super) struct Shared<K: Sockets> {
    pub(super) tally: Tally,
    /// Orders are written under the lock, then the bell is rung; the worker takes the bell's count,
    /// then reads the orders. An order that is given in between has its own ring, and is read
    /// twice.
    orders: Mutex<Orders>,
    /// Signals that the worker has changed `orders`.
    changed: Condvar,
    bell: Counter<K>,
}

/// Guarded by the lock around it.
struct Orders {
    phase: Phase,
    /// Whether the worker's loop could be set up.
    started: Option<io::Result<()>>,
    /// Ledgers that were asked for, and how many of them are answered by `ledger`.
    asked: u64,
    answered: u64,
    ledger: Ledger,
}

/// What a worker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Serving,
    /// Accept the backlog, stop accepting, let connections end by themselves until the instant.
    Draining {
        until: Instant,
    },
    /// Close everything now.
    Closing,
}

/// Counts of connections. They are written by whichever thread drops a connection, and read with
/// the loop's own count of what it holds.
#[derive(Default)]
pub(super) struct Tally {
    accepted: AtomicU64,
    processed: AtomicU64,
    returned: AtomicU64,
    /// Connections end because the service does.
    pub(super) closing: AtomicBool,
    /// The worker waits for its last connection to end.
    pub(super) draining: AtomicBool,
}

impl Tally {
    pub(super) fn accept(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    /// The ledger of a worker that holds `owned` connections. Exact in the worker's own thread, as
    /// long as its connections stay there.
    pub(super) fn ledger(&self, owned: usize) -> Ledger {
        Ledger {
            accepted: self.accepted.load(Ordering::SeqCst),
            processed: self.processed.load(Ordering::SeqCst),
            returned: self.returned.load(Ordering::SeqCst),
            owned: owned as u64,
        }
    }

    /// Whether no accepted connection is left, going by the counts alone.
    pub(super) fn all_ended(&self) -> bool {
        self.ledger(0).balances()
    }
}

impl<K: Sockets> Shared<K> {
    pub(super) fn new(kernel: K) -> io::Result<Shared<K>> {
        Ok(Shared {
            tally: Tally::default(),
            orders: Mutex::new(Orders {
                phase: Phase::Serving,
                started: None,
                asked: 0,
                answered: 0,
                ledger: Ledger::default(),
            }),
            changed: Condvar::new(),
            bell: Counter::on(kernel, 0)?,
        })
    }

    /// Has the worker look at its orders, and try its listeners.
    pub(super) fn ring(&self) {
        // A full counter is not zero, which is all that the worker needs.
        let _ = self.bell.add(1);
    }

    /// Takes the rings so far: what a worker does before it looks at its orders.
    pub(super) fn take_rings(&self) -> io::Result<u64> {
        self.bell.try_take()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Gives an order. A later phase is never taken back.
    pub(super) fn order(&self, phase: Phase) {
        let mut orders = lock(&self.orders);
        if orders.phase != Phase::Closing {
            orders.phase = phase;
        }
        drop(orders);
        self.ring();
    }

    pub(super) fn phase(&self) -> Phase {
        lock(&self.orders).phase
    }

    /// The worker says whether its loop stands.
    pub(super) fn report_start(&self, result: io::Result<()>) {
        lock(&self.orders).started.get_or_insert(result);
        self.changed.notify_all();
    }

    pub(super) fn wait_for_start(&self) -> io::Result<()> {
        let mut orders = lock(&self.orders);
        loop {
            match orders.started.take() {
                Some(result) => return result,
                None => orders = self.wait(orders),
            }
        }
    }

    /// Answers those who asked for a ledger so far, if any did.
    pub(super) fn answer(&self, ledger: impl FnOnce() -> Ledger) {
        let mut orders = lock(&self.orders);
        if orders.answered < orders.asked {
            orders.ledger = ledger();
            orders.answered = orders.asked;
            self.changed.notify_all();
        }
    }

    /// The worker has left and closed all that it held: whoever waits for it, or asks from now on,
    /// is answered.
    pub(super) fn leave(&self) {
        let mut orders = lock(&self.orders);
        orders.ledger = self.tally.ledger(0);
        orders.answered = u64::MAX;
        let early = || Err(io::Error::other("a worker ended before it had started"));
        orders.started.get_or_insert_with(early);
        self.changed.notify_all();
    }

    /// Asks the worker for its ledger, taken between two of its turns, and waits for it.
    pub(super) fn ledger(&self) -> Ledger {
        let mut orders = lock(&self.orders);
        let ticket = orders.asked.saturating_add(1);
        orders.asked = ticket;
        self.ring();
        while orders.answered < ticket {
            orders = self.wait(orders);
        }
        orders.ledger
    }

    /// A connection of this worker's is being closed.
    pub(super) fn end_connection(&self) {
        let tally = &self.tally;
        if tally.closing.load(Ordering::Relaxed) {
            tally.returned.fetch_add(1, Ordering::SeqCst);
            return;
        }
        tally.processed.fetch_add(1, Ordering::SeqCst);
        // The worker may be asleep, waiting for the last one. We count, then look whether it
        // drains; it says that it drains, then looks at the counts. In the one order of all four,
        // whichever comes second sees the other.
        if tally.draining.load(Ordering::SeqCst) {
            self.ring();
        }
    }

    fn wait<'orders>(&self, orders: MutexGuard<'orders, Orders>) -> MutexGuard<'orders, Orders> {
        self.changed.wait(orders).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Sockets> Source for Shared<K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.bell.descriptor()
    }
}
