//! The loop's knobs.

use super::EventLoop;
use super::account::{Budget, Memo};
use super::registry::{Failure, OnFailure, Registry, Settings, Stats, Turn, WAKE};
use super::run::Run;
use super::store::{Inbox, Runnable, Slots};
use super::time::Timers;
use crate::epoll::{Epoll, Interest, OnBlocking, Registered};
use crate::eventfd::Counter;
use crate::kernel::{EventBuffer, Kernel};
use crate::sync::Arc;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

/// Makes an [`EventLoop`] with other settings than the default ones.
///
/// ```
/// use watchbell::event_loop::{Budget, EventLoop};
///
/// let events = EventLoop::builder()
///     .budget(Budget::default().bytes(16 * 1024))
///     .events_a_wait(64)
///     .on_failure(|failure, _turn| eprintln!("{failure}"))
///     .build()?;
/// assert!(events.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub struct Builder<D, K: Kernel> {
    kernel: K,
    state: D,
    settings: Settings,
    on_failure: Option<OnFailure<D, K>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            budget: Budget::default(),
            events_a_wait: 256,
            timers_a_turn: 1024,
            accept_pause: Duration::from_millis(50),
            on_blocking: OnBlocking::SetNonblocking,
            idle_runs: 64,
        }
    }
}

/// The most events that one wait can be asked for: what the kernel allows, `INT_MAX` bytes of them.
const MOST_EVENTS: usize = i32::MAX as usize / 12;

impl Settings {
    /// Refuses the extremes that no loop can work with.
    pub(crate) fn check(&self) -> io::Result<()> {
        let is_zero = |knob: &str| format!("{knob} of zero: the loop could never do anything");
        let problem = if self.events_a_wait == 0 {
            is_zero("events_a_wait")
        } else if self.events_a_wait > MOST_EVENTS {
            format!("events_a_wait of {}: a wait brings at most {MOST_EVENTS}", self.events_a_wait)
        } else if self.timers_a_turn == 0 {
            is_zero("timers_a_turn")
        } else if self.idle_runs == 0 {
            "idle_runs of zero: a source has to be run to be seen idle".to_owned()
        } else {
            return self.budget.check();
        };
        Err(io::Error::new(ErrorKind::InvalidInput, problem))
    }
}

impl<D, K: Kernel> Builder<D, K> {
    pub(super) fn new(kernel: K, state: D) -> Builder<D, K> {
        Builder { kernel, state, settings: Settings::default(), on_failure: None }
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
    #[doc(alias = "maxevents")]
    pub fn events_a_wait(mut self, events: usize) -> Self {
        self.settings.events_a_wait = events;
        self
    }

    /// How many timers fire in one turn at most (default 1,024). Those that are left are due in the
    /// next one, after the sources have had their runs.
    pub fn timers_a_turn(mut self, timers: usize) -> Self {
        self.settings.timers_a_turn = timers;
        self
    }

    /// What to do with a blocking descriptor (default: make it non-blocking).
    pub fn on_blocking(mut self, on_blocking: OnBlocking) -> Self {
        self.settings.on_blocking = on_blocking;
        self
    }

    /// After how many runs in a row that come to nothing a source is suspended and reported as
    /// [`Reason::Ignored`](super::Reason::Ignored) (default 64 runs). A level-triggered source
    /// whose operations meet `EAGAIN` has twice as many, in the second half of which the kernel is
    /// asked each time whether it still reports the source.
    pub fn idle_runs(mut self, runs: u16) -> Self {
        self.settings.idle_runs = runs;
        self
    }

    /// How long accepting rests when descriptors or memory have run out (default 50 ms).
    pub fn accept_pause(mut self, pause: Duration) -> Self {
        self.settings.accept_pause = pause;
        self
    }

    /// Is called for each source and timer that failed, once it has been closed. Without it,
    /// failures are only counted, in [`Stats`]. It may act: end the failed source's partner, set a
    /// timer, stop the loop.
    pub fn on_failure(
        mut self,
        report: impl FnMut(&Failure, &mut Turn<'_, D, K>) + 'static,
    ) -> Self {
        self.on_failure = Some(Box::new(report));
        self
    }

    /// Makes the loop: two descriptors, its epoll instance and the eventfd that wakes it.
    /// [`Builder`] has an example.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a setting that no loop can work with; those of
    /// [epoll_create1(2)](https://man7.org/linux/man-pages/man2/epoll_create.2.html),
    /// [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html) and
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html): `EMFILE`, `ENFILE`,
    /// `ENOMEM`, `ENOSPC`.
    #[doc(alias = "epoll_create1")]
    #[doc(alias = "eventfd")]
    pub fn build(self) -> io::Result<EventLoop<D, K>> {
        let Builder { kernel, state, settings, on_failure } = self;
        settings.check()?;
        let epoll = Epoll::on(kernel.clone())?;
        let counter = Arc::new(Counter::on(kernel, 0)?);
        let (home, flags) = (epoll.instance().home(), Interest::READABLE.flags());
        let wakes = Registered::add_as(epoll.instance(), Arc::clone(&counter), WAKE, flags)?;
        let inbox = Arc::new(Inbox::new(move || drop(counter.ring())));
        let slots = Slots::new(home);
        let none = crate::epoll::Token::of_slot(home, u32::MAX, u32::MAX);
        let run = Rc::new(Run::new(Arc::clone(&inbox), settings.accept_pause, none));
        let registry = Registry {
            epoll,
            buffer: EventBuffer::with_capacity(settings.events_a_wait),
            slots,
            runnable: Runnable::default(),
            memo: Memo::default(),
            run,
            bells: Vec::new(),
            brief: Duration::ZERO,
            timers: Timers::new(),
            inbox,
            wakes,
            heal_at: None,
            settings,
            failures: VecDeque::new(),
            on_failure,
            stats: Stats::default(),
        };
        Ok(EventLoop { registry, state })
    }
}

impl<D, K: Kernel> fmt::Debug for Builder<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
