//! The loop's knobs.

use super::core::Core;
use super::slots::Slots;
use super::stats::Stats;
use super::timers::Timers;
use super::turns::STOP;
use super::{Budget, EventLoop, Failure};
use crate::epoll::{Epoll, Interest, OnBlocking, Registered};
use crate::eventfd::Counter;
use crate::kernel::{EventBuffer, Kernel};
use crate::sync::Arc;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;

/// Makes an [`EventLoop`] with other settings than the default ones.
///
/// ```
/// use watchbell::event_loop::{Budget, EventLoop};
///
/// let events: EventLoop = EventLoop::builder()
///     .budget(Budget::default().bytes(16 * 1024))
///     .events_a_wait(64)
///     .on_failure(|failure, _state| eprintln!("{failure}"))
///     .build()?;
/// assert!(events.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub struct Builder<D, K: Kernel> {
    kernel: K,
    settings: Settings,
    on_failure: Option<super::core::OnFailure<D>>,
}

/// What a loop is made with, and each loop of a pool of workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) budget: Budget,
    pub(crate) events_a_wait: usize,
    pub(crate) accept_pause: Duration,
    pub(super) on_blocking: OnBlocking,
    pub(super) idle_runs: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            budget: Budget::default(),
            events_a_wait: 256,
            accept_pause: Duration::from_millis(50),
            on_blocking: OnBlocking::SetNonblocking,
            idle_runs: 64,
        }
    }
}

impl<D, K: Kernel> Builder<D, K> {
    pub(super) fn new(kernel: K) -> Builder<D, K> {
        Builder { kernel, settings: Settings::default(), on_failure: None }
    }

    pub(crate) fn settings(self, settings: Settings) -> Self {
        Builder { settings, ..self }
    }

    /// What each source may spend in a turn, unless it is given its own budget.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = budget;
        self
    }

    /// How many events one wait fetches at most (default 256): `maxevents` of
    /// [epoll_wait(2)](https://man7.org/linux/man-pages/man2/epoll_wait.2.html).
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[doc(alias = "maxevents")]
    pub fn events_a_wait(mut self, events: usize) -> Self {
        assert!(events > 0, "a wait fetches at least one event");
        self.settings.events_a_wait = events;
        self
    }

    /// What to do with a blocking descriptor (default: make it non-blocking).
    pub fn on_blocking(mut self, on_blocking: OnBlocking) -> Self {
        self.settings.on_blocking = on_blocking;
        self
    }

    /// After how many runs in a row without an operation that succeeded or met the boundary a
    /// source is suspended and reported as [`Reason::Ignored`](super::Reason::Ignored) (default
    /// 64 runs).
    ///
    /// # Panics
    ///
    /// If it is zero.
    pub fn idle_runs(mut self, runs: u32) -> Self {
        assert!(runs > 0, "a source has to be run to be seen idle");
        self.settings.idle_runs = runs;
        self
    }

    /// How long accepting rests when descriptors or memory have run out (default 50 ms).
    pub fn accept_pause(mut self, pause: Duration) -> Self {
        self.settings.accept_pause = pause;
        self
    }

    /// Is told of each source and timer that failed, with the service's state. Without it, failures
    /// are only counted, in [`Stats`].
    pub fn on_failure(mut self, report: impl FnMut(&Failure, &mut D) + 'static) -> Self {
        self.on_failure = Some(Box::new(report));
        self
    }

    /// Makes the loop: two descriptors, its epoll instance and the eventfd that stops it.
    /// [`Builder`] has an example.
    ///
    /// # Errors
    ///
    /// Those of [epoll_create1(2)](https://man7.org/linux/man-pages/man2/epoll_create.2.html),
    /// [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html) and
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html): `EMFILE`, `ENFILE`,
    /// `ENOMEM`, `ENOSPC`.
    #[doc(alias = "epoll_create1")]
    #[doc(alias = "eventfd")]
    pub fn build(self) -> io::Result<EventLoop<D, K>> {
        let epoll = Epoll::on(self.kernel.clone())?;
        let stop = Arc::new(Counter::on(self.kernel, 0)?);
        let flags = Interest::READABLE.flags();
        let stop = Registered::add(epoll.instance(), stop, STOP, flags, None)?;
        Ok(EventLoop {
            core: Core {
                epoll,
                buffer: EventBuffer::with_capacity(self.settings.events_a_wait),
                slots: Slots::new(),
                runnable: VecDeque::new(),
                bells: Vec::new(),
                brief: Duration::ZERO,
                timers: Timers::new(),
                stop,
                stopping: false,
                heal_at: None,
                settings: self.settings,
                on_failure: self.on_failure,
                stats: Stats::default(),
            },
        })
    }
}

impl<D, K: Kernel> fmt::Debug for Builder<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
