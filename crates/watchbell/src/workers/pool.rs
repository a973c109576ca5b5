//! The pool: starting workers, giving them orders, and their last word.

use super::shared::{Phase, Shared};
use super::worker::work;
use super::{Report, Service, WorkerError, WorkerReport};
use crate::Ledger;
use crate::event_loop::{Budget, Settings, Shared as SharedSource};
use crate::kernel::{Linux, Sockets};
use crate::net::Listener;
use crate::sync::Arc;
use crate::sync::thread::{self, JoinHandle};
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Workers that serve the same listeners; the [module](super) says how.
///
/// Dropping it closes everything, as [`Control::close`] does, and waits for the workers to end.
pub struct Workers<K: Sockets = Linux> {
    control: Control<K>,
    threads: Vec<JoinHandle<WorkerReport>>,
}

/// Gives orders to a pool, from any thread.
pub struct Control<K: Sockets = Linux> {
    kernel: K,
    workers: Arc<[Arc<Shared<K>>]>,
}

/// How a pool is to be set up.
#[must_use]
pub struct Builder<K: Sockets = Linux> {
    kernel: K,
    workers: NonZeroUsize,
    listeners: Vec<SharedSource<Listener<K>>>,
    settings: Settings,
}

impl Workers<Linux> {
    /// A pool on the running kernel.
    pub fn builder() -> Builder<Linux> {
        Workers::builder_on(Linux)
    }
}

impl<K: Sockets> Workers<K> {
    /// A pool on `kernel`.
    pub fn builder_on(kernel: K) -> Builder<K> {
        Builder {
            kernel,
            workers: NonZeroUsize::MIN,
            listeners: Vec::new(),
            settings: Settings::default(),
        }
    }

    /// A handle that gives orders to the pool.
    pub fn control(&self) -> Control<K> {
        self.control.clone()
    }

    /// Waits for every worker to end, which they do when they are told to
    /// ([`drain`](Control::drain), [`close`](Control::close)). A worker that failed or panicked
    /// says so in its report. [`Builder::start`] has the example.
    pub fn join(mut self) -> Report {
        self.join_threads()
    }

    fn join_threads(&mut self) -> Report {
        let threads = std::mem::take(&mut self.threads);
        let workers = threads.into_iter().enumerate().map(|(index, thread)| {
            thread.join().unwrap_or_else(|_panic| {
                // The service panicked in its making or its end; its unwinding has closed the rest.
                let ledger = self.control.workers[index].tally.ledger(0);
                let unstarted = WorkerReport::unstarted(index);
                WorkerReport { ledger, outcome: Err(WorkerError::Panicked), ..unstarted }
            })
        });
        Report { workers: workers.collect() }
    }
}

impl<K: Sockets> Drop for Workers<K> {
    fn drop(&mut self) {
        self.control.close();
        self.join_threads();
    }
}

impl<K: Sockets> Builder<K> {
    /// How many workers, each a thread and a loop of its own (default 1).
    pub fn workers(mut self, workers: NonZeroUsize) -> Self {
        self.workers = workers;
        self
    }

    /// Adds a listener, from which every worker accepts.
    pub fn listener(mut self, listener: Listener<K>) -> Self {
        self.listeners.push(SharedSource::new(listener));
        self
    }

    /// Adds a listener that somebody else watches as well, such as an ordinary observer. It closes
    /// only with its last clone: as long as another is held, what arrives after a drain's last
    /// look waits in its backlog for whoever holds it to accept.
    pub fn shared_listener(mut self, listener: SharedSource<Listener<K>>) -> Self {
        self.listeners.push(listener);
        self
    }

    /// What each source may spend in a turn.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = budget;
        self
    }

    /// How many events one wait of a worker fetches at most (default 256).
    #[doc(alias = "maxevents")]
    pub fn events_a_wait(mut self, events: usize) -> Self {
        self.settings.events_a_wait = events;
        self
    }

    /// How long accepting rests when descriptors or memory have run out (default 50 ms).
    pub fn accept_pause(mut self, pause: Duration) -> Self {
        self.settings.accept_pause = pause;
        self
    }

    /// Starts the workers. `make` makes the service's state of each, on its own thread.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a setting that no loop can work with. Those of
    /// [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html), of starting a
    /// thread ([pthread_create(3)](https://man7.org/linux/man-pages/man3/pthread_create.3.html)),
    /// and of making and filling a loop
    /// ([epoll_create1(2)](https://man7.org/linux/man-pages/man2/epoll_create.2.html),
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html)). Workers that had
    /// started are ended again.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{io::{self, Read}, net::TcpStream, time::Duration};
    /// # use watchbell::event_loop::Turn;
    /// # use watchbell::net::{Address, Listener};
    /// # use watchbell::workers::{Connection, Service, Worker, Workers};
    /// struct Closing;
    /// # impl Service for Closing {
    /// #     fn accepted(
    /// #         connection: Connection,
    /// #         _peer: Address,
    /// #         _turn: &mut Turn<'_, Worker<Closing>>,
    /// #     ) -> io::Result<()> {
    /// #         drop(connection);
    /// #         Ok(())
    /// #     }
    /// # }
    /// # let listener = Listener::bind("127.0.0.1:0", 128)?;
    /// # let port = listener.port()?.expect("a TCP listener");
    /// // impl Service for Closing: `accepted` drops each connection
    /// let pool = Workers::builder().events_a_wait(64).listener(listener);
    /// let workers = pool.start(|_index| Closing)?;
    /// assert_eq!(TcpStream::connect(("127.0.0.1", port))?.read(&mut [0; 8])?, 0);
    /// assert_eq!(workers.control().ledger().processed, 1);
    /// workers.control().drain(Duration::from_secs(1));
    /// assert!(workers.join().ledger().balances());
    /// # Ok::<(), io::Error>(())
    /// ```
    #[doc(alias = "pthread_create")]
    pub fn start<S: Service<K>>(
        self,
        make: impl Fn(usize) -> S + Send + Sync + 'static,
    ) -> io::Result<Workers<K>> {
        let Builder { kernel, workers, listeners, settings } = self;
        settings.check()?;
        let shared: io::Result<Vec<_>> =
            (0..workers.get()).map(|_| Shared::new(kernel.clone()).map(Arc::new)).collect();
        let control = Control { kernel: kernel.clone(), workers: shared?.into() };
        // From here on, dropping the pool ends what has been started.
        let mut pool = Workers { control, threads: Vec::new() };
        let make = Arc::new(make);
        for index in 0..workers.get() {
            let (kernel, listeners, make) = (kernel.clone(), listeners.clone(), Arc::clone(&make));
            let all = Arc::clone(&pool.control.workers);
            let thread = thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || work(kernel, settings, listeners, index, all, || make(index)))?;
            pool.threads.push(thread);
        }
        pool.control.workers.iter().try_for_each(|worker| worker.wait_for_start())?;
        Ok(pool)
    }
}

impl<K: Sockets> Control<K> {
    /// Ends the service in order: each worker accepts what is in the backlog, stops accepting, and
    /// ends when its connections have ended by themselves, or at `longest` from now, when it closes
    /// those that are left. Ordered again, it moves that instant; after a [`close`](Control::close)
    /// it changes nothing. The [module](super#the-end) says what becomes of those that arrive
    /// meanwhile; [`Builder::start`] has an example.
    pub fn drain(&self, longest: Duration) {
        const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
        let until = self.kernel.now() + longest.min(CENTURY);
        self.order(Phase::Draining { until });
    }

    /// Ends the service now: every connection is closed.
    pub fn close(&self) {
        self.order(Phase::Closing);
    }

    /// The ledger of all workers, each of which counts what it holds between two of its turns.
    ///
    /// It waits for a turn of each; a worker that has ended answers at once. It must not be called
    /// from a worker, which would wait for itself, for ever.
    ///
    /// # Panics
    ///
    /// If a count passes 2^64. [`Builder::start`] has the example.
    pub fn ledger(&self) -> Ledger {
        Ledger::sum(self.workers.iter().map(|worker| worker.ledger()))
    }

    fn order(&self, phase: Phase) {
        self.workers.iter().for_each(|worker| worker.order(phase));
    }
}

impl<K: Sockets> Clone for Control<K> {
    fn clone(&self) -> Control<K> {
        Control { kernel: self.kernel.clone(), workers: Arc::clone(&self.workers) }
    }
}

impl<K: Sockets> fmt::Debug for Control<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}

impl<K: Sockets> fmt::Debug for Workers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("workers", &self.threads.len()).finish_non_exhaustive()
    }
}

impl<K: Sockets> fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("listeners", &self.listeners)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
