//! How a source is watched.

use crate::epoll::{Edge, Exclusive, Interest, Level, Mode};
use crate::event_loop::account::{Account, Budget, Trigger};
use crate::event_loop::store::Extras;
use std::borrow::Cow;
use std::io;
use std::marker::PhantomData;

/// How a loop watches a source: its interest, its mode, its budget and its name.
///
/// An [`Interest`] alone is one, edge-triggered; so is a [`Budget`], for input. The mode is a type:
///
/// | mode | made by | for |
/// | --- | --- | --- |
/// | [`Edge`] | `Interest::READABLE.into()`, [`edge`](Registration::edge) | every source that is read and written through its `Ready` |
/// | [`Level`] | [`level`](Registration::level) | descriptors that another library reads and writes |
/// | [`Exclusive`] | [`exclusive`](Registration::exclusive) | a [`Shared`](crate::event_loop::Shared) source that several loops watch |
///
/// ```
/// use watchbell::epoll::Interest;
/// use watchbell::event_loop::{Budget, EventLoop, Registration};
/// use watchbell::eventfd::Counter;
///
/// let mut events = EventLoop::new()?;
/// let one = Registration::edge(Interest::READABLE)
///     .budget(Budget::default().operations(1))
///     .named("jobs done");
/// events.add(Counter::new(3)?, one, |counter, turn| {
///     assert_eq!(counter.take()?, Some(3));
///     turn.stop();
///     Ok(())
/// })?;
/// events.run()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Registration<M: Mode = Edge> {
    interest: Interest,
    budget: Option<Budget>,
    name: Option<Cow<'static, str>>,
    is_nonblocking: bool,
    mode: PhantomData<M>,
}

impl<M: Mode> Registration<M> {
    const fn new(interest: Interest) -> Registration<M> {
        Registration {
            interest,
            budget: None,
            name: None,
            is_nonblocking: false,
            mode: PhantomData,
        }
    }

    /// What the source may spend in a turn, in place of the loop's own setting.
    pub fn budget(self, budget: Budget) -> Self {
        Registration { budget: Some(budget), ..self }
    }

    /// A name for the source, by which its failure is reported.
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Registration { name: Some(name.into()), ..self }
    }

    /// The caller's word that the descriptor is non-blocking already. It saves the call that would
    /// make it so. If that is wrong, the loop may block in an operation.
    #[doc(alias = "O_NONBLOCK")]
    pub fn nonblocking(self) -> Self {
        Registration { is_nonblocking: true, ..self }
    }

    pub(super) fn check(&self) -> io::Result<()> {
        self.budget.map_or(Ok(()), Budget::check)
    }

    pub(super) fn is_nonblocking(&self) -> bool {
        self.is_nonblocking
    }

    pub(super) fn into_account(self) -> (Account, Option<Box<Extras>>)
    where
        M: LoopMode,
    {
        let Registration { interest, budget, name, .. } = self;
        let account = Account::new(interest, M::TRIGGER);
        let extras = (budget.is_some() || name.is_some())
            .then(|| Box::new(Extras { name, budget, ..Extras::default() }));
        (account, extras)
    }
}

impl Registration<Edge> {
    /// Edge-triggered (`EPOLLET`): what the handler leaves is kept by the loop.
    #[doc(alias = "EPOLLET")]
    pub const fn edge(interest: Interest) -> Registration<Edge> {
        Registration::new(interest)
    }
}

impl Registration<Level> {
    /// Level-triggered: the kernel reports again, in each turn, what the handler leaves. For
    /// descriptors that another library reads and writes by itself.
    ///
    /// Its operations are to be called in [`Ready::input`] and [`Ready::output`], so that a handler
    /// that uses its source can be told from one that ignores it. Alone,
    /// [`Interest::PRIORITY`] is watched for and nothing else, whatever operations wait for.
    ///
    /// ```
    /// # use std::{io::{Read, Write}, os::unix::net::UnixStream};
    /// # use watchbell::epoll::Interest;
    /// # use watchbell::event_loop::{EventLoop, Registration};
    /// let (mut ours, theirs) = UnixStream::pair()?;
    /// ours.write_all(b"ahoy")?;
    /// let mut events = EventLoop::with(0)?;
    /// events.add(theirs, Registration::level(Interest::READABLE), |stream, turn| {
    ///     // As another library may: one byte, and the rest is left.
    ///     if stream.input(|stream| stream.read(&mut [0]))?.is_some() {
    ///         *turn.state() += 1;
    ///     }
    ///     Ok(())
    /// })?;
    /// while *events.state() < 4 {
    ///     events.turn(None)?;
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [`Ready::input`]: crate::event_loop::Ready::input
    /// [`Ready::output`]: crate::event_loop::Ready::output
    pub const fn level(interest: Interest) -> Registration<Level> {
        Registration::new(interest)
    }
}

impl Registration<Exclusive> {
    /// Exclusive (`EPOLLEXCLUSIVE`) and edge-triggered, for a [`Shared`] source: of the loops that
    /// watch it this way, an event wakes one or a few. For input only: output that would block ends
    /// the source with an error, since an exclusive registration cannot be changed to wait for it.
    ///
    /// A source that is not shared cannot be registered so:
    ///
    /// ```compile_fail,E0277
    /// # use watchbell::event_loop::{EventLoop, Registration};
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut events = EventLoop::new().unwrap();
    /// events.add(listener, Registration::exclusive(), |_listener, _turn| Ok(())).unwrap();
    /// ```
    ///
    /// ```
    /// # use watchbell::event_loop::{EventLoop, Registration, Shared};
    /// let listener = Shared::new(std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    /// let mut events = EventLoop::new().unwrap();
    /// events.add(listener, Registration::exclusive(), |_listener, _turn| Ok(())).unwrap();
    /// ```
    ///
    /// [`Shared`]: crate::event_loop::Shared
    #[doc(alias = "EPOLLEXCLUSIVE")]
    pub const fn exclusive() -> Registration<Exclusive> {
        Registration::new(Interest::READABLE)
    }
}

impl Default for Registration<Edge> {
    /// Edge-triggered, for input.
    fn default() -> Registration<Edge> {
        Registration::edge(Interest::READABLE)
    }
}

impl From<Interest> for Registration<Edge> {
    fn from(interest: Interest) -> Registration<Edge> {
        Registration::edge(interest)
    }
}

impl From<Budget> for Registration<Edge> {
    /// For input, within this budget: what a queue needs.
    fn from(budget: Budget) -> Registration<Edge> {
        Registration::default().budget(budget)
    }
}

/// The modes of epoll_ctl(2), as the account has them.
pub trait LoopMode: Mode {
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "sealed by Mode, and asked by the loop alone")]
    const TRIGGER: Trigger;
}

#[expect(private_interfaces, reason = "as above")]
impl LoopMode for Edge {
    const TRIGGER: Trigger = Trigger::Edge;
}

#[expect(private_interfaces, reason = "as above")]
impl LoopMode for Level {
    const TRIGGER: Trigger = Trigger::Level;
}

#[expect(private_interfaces, reason = "as above")]
impl LoopMode for Exclusive {
    const TRIGGER: Trigger = Trigger::Exclusive;
}
