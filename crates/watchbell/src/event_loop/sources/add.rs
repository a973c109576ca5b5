//! The two verbs that take a source in, and the ways in which it comes back.

use super::detached::Detached;
use super::entry::Entry;
use super::handler::{Call, Handled, Handler, Watched};
use super::registration::{LoopMode, Registration};
use super::remote::{Remote, Task};
use crate::doorbell::doorbell_on;
use crate::epoll::{Source, Token};
use crate::error::Rejected;
use crate::event_loop::registry::{Registry, Turn, Unseated};
use crate::event_loop::store::{self, Wish};
use crate::kernel::{Descriptor, Kernel};
use std::any::TypeId;
use std::io;

impl<D, K: Kernel> Registry<D, K> {
    /// Takes in a source, with what to do when it is ready.
    ///
    /// A source with a descriptor is given to `handler` as its [`Ready`](crate::event_loop::Ready);
    /// what the handler leaves is kept. A [`Queue`](crate::doorbell::Queue) gives each item that
    /// its doorbells push. The source is owned by the loop and closed when it is removed.
    ///
    /// A descriptor that is registered twice needs a duplicate: one descriptor is one registration.
    /// A blocking one is made non-blocking, or refused, as
    /// [`Builder::on_blocking`](crate::event_loop::Builder::on_blocking) says. `O_NONBLOCK` belongs
    /// to the open file, and stays with it when the source has left the loop.
    ///
    /// # Errors
    ///
    /// The source comes back in [`Rejected`]: [`Error::Forked`](crate::Error::Forked) in a forked
    /// child, [`Error::Blocking`](crate::Error::Blocking) where the descriptor is blocking and the
    /// loop was told to refuse that, `InvalidInput` for a budget with a part of zero,
    /// [`Error::Os`](crate::Error::Os) with the errors of
    /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html).
    ///
    /// ```
    /// # use std::{io::Write, os::unix::net::UnixStream};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
    /// let (mut ours, theirs) = UnixStream::pair()?;
    /// ours.write_all(b"ahoy")?;
    /// let mut events = EventLoop::with(Vec::new())?;
    /// events.add(theirs, Interest::READABLE, |stream, turn| {
    ///     let mut buf = [0; 4096];
    ///     while let Some(read) = stream.read(&mut buf)? {
    ///         turn.state().extend_from_slice(&buf[..read]);
    ///     }
    ///     Ok(())
    /// })?;
    /// events.turn(None)?;
    /// assert_eq!(events.state(), b"ahoy");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// A queue. An item is one message of the budget. When the queue is closed it stays here until
    /// it is removed or [taken](Registry::take); removed, it drops what is left, which counts as
    /// returned. The slots of a run's items are free at its end: a handler that pushes to its own
    /// queue finds them still taken.
    ///
    /// ```
    /// # use watchbell::doorbell::doorbell;
    /// # use watchbell::event_loop::{Budget, EventLoop};
    /// let (bell, queue) = doorbell::<u32>(8)?;
    /// let mut events = EventLoop::with(0)?;
    /// events.add(queue, Budget::default().messages(64), |item, turn| {
    ///     *turn.state() += item;
    ///     Ok(())
    /// })?;
    /// bell.push(3)?;
    /// bell.push(4)?;
    /// events.turn(None)?;
    /// assert_eq!(*events.state(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "epoll_ctl")]
    #[doc(alias = "EPOLL_CTL_ADD")]
    #[doc(alias = "EPOLLET")]
    pub fn add<S, M, F>(
        &mut self,
        source: S,
        registration: impl Into<Registration<M>>,
        handler: F,
    ) -> Result<Token, Rejected<S>>
    where
        S: Handled<K> + Watched<M>,
        M: LoopMode,
        F: for<'run> FnMut(S::Given<'run>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
    {
        self.add_handler(source, registration, Call(handler))
    }

    /// As [`add`](Registry::add), for a handler that is a type of its own. [`Handler`] has
    /// examples.
    ///
    /// # Errors
    ///
    /// As [`add`](Registry::add).
    #[doc(alias = "EPOLL_CTL_ADD")]
    pub fn add_handler<S, M, H>(
        &mut self,
        source: S,
        registration: impl Into<Registration<M>>,
        handler: H,
    ) -> Result<Token, Rejected<S>>
    where
        S: Handled<K> + Watched<M>,
        M: LoopMode,
        H: Handler<S, D, K> + 'static,
    {
        let registration = registration.into();
        if let Err(error) = registration.check() {
            self.discard(handler);
            return Err(Rejected { source, error: error.into() });
        }
        let may_block = !S::NEVER_BLOCKS && !registration.is_nonblocking();
        let on_blocking = may_block.then_some(self.settings.on_blocking);
        let (account, mut extras) = registration.into_account();
        if let Some(group) = source.group() {
            extras.get_or_insert_default().group = Some(group.clone());
        }
        let token = self.slots.vacancy();
        let (target, flags) = (source.entry_descriptor(), account.flags(account.armed()));
        let number = K::Fd::number(target);
        if let Err(error) = self.epoll.register(target, flags, token.data(), on_blocking) {
            self.discard(handler);
            return Err(Rejected { source, error });
        }
        let entry = source.enter(handler, number);
        self.seat(token, store::Source { entry, account, extras });
        Ok(token)
    }

    /// A handle by which other threads run code on this loop: at most `capacity` calls wait.
    /// [`Remote`] has an example.
    ///
    /// # Errors
    ///
    /// As [`doorbell`](crate::doorbell::doorbell) and [`add`](Registry::add).
    pub fn remote(&mut self, capacity: usize) -> io::Result<Remote<D, K>>
    where
        D: 'static,
    {
        let (bell, queue) = doorbell_on(self.epoll.kernel().clone(), capacity)?;
        self.add(queue, Registration::default(), |task: Task<D, K>, turn| task(turn))?;
        Ok(Remote::new(bell))
    }

    /// Ends a source and gives it back, without its handler. `None`: there is no such source of
    /// type `S`, or its handler is running (which can have it taken once it has returned, by
    /// [`after`](Registry::after) no time).
    ///
    /// ```
    /// use watchbell::doorbell::{Queue, doorbell};
    /// use watchbell::event_loop::{EventLoop, Registration};
    ///
    /// let (bell, queue) = doorbell::<u32>(8)?;
    /// let mut events = EventLoop::new()?;
    /// let jobs = events.add(queue, Registration::default(), |_job, turn| {
    ///     turn.stop();
    ///     Ok(())
    /// })?;
    /// bell.push(1).unwrap();
    /// events.run()?;
    /// bell.push(2).unwrap();
    ///
    /// let queue: Queue<u32> = events.take(jobs).expect("it is there");
    /// assert_eq!(queue.reclaim(), [2]);
    /// assert!(bell.ledger().balances());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take<S: 'static>(&mut self, token: Token) -> Option<S> {
        if !self.slots.get(token).is_some_and(Self::is_of_type::<S>) {
            return None;
        }
        let Unseated { source, .. } = self.unseat(token)?;
        let (taken, handler) = source.entry.into_parts();
        self.discard(handler);
        self.discard(source.extras);
        taken.downcast().ok().map(|source| *source)
    }

    /// Takes a source out of this loop (`EPOLL_CTL_DEL`) with all that it has: its handler, its
    /// account of readiness, its budget, its name and its rests. `None`: there is no such source of
    /// type `S` with a handler of type `H`, or it is running. [`Detached`] has an example.
    #[doc(alias = "EPOLL_CTL_DEL")]
    pub fn detach<S, H>(&mut self, token: Token) -> Option<Detached<S, H>>
    where
        S: Source<Fd = K::Fd> + 'static,
        H: Handler<S, D, K> + 'static,
    {
        let source = self.slots.resting(token)?;
        if source.entry.entry_type() != TypeId::of::<Entry<S, H>>() {
            return None;
        }
        let Unseated { source, readiness, certain } = self.unseat(token)?;
        let store::Source { entry, account, extras } = source;
        let entry = entry.into_any().downcast().ok()?;
        Some(Detached { entry, account, extras, readiness, certain })
    }

    /// Takes in a source that another loop has let go (`EPOLL_CTL_ADD`). Nothing that was reported
    /// to it there is forgotten.
    ///
    /// # Errors
    ///
    /// As [`add`](Registry::add); it comes back in [`Rejected`].
    #[doc(alias = "EPOLL_CTL_ADD")]
    pub fn attach<S, H>(
        &mut self,
        mut detached: Detached<S, H>,
    ) -> Result<Token, Rejected<Detached<S, H>>>
    where
        S: Source<Fd = K::Fd> + 'static,
        H: Handler<S, D, K> + 'static,
    {
        let token = self.slots.vacancy();
        let target = detached.entry.source.descriptor();
        let (account, armed) = (detached.account, detached.account.armed());
        let number = K::Fd::number(target);
        // An exclusive source whose input is stopped is in no interest list.
        let registered = match account.is_exclusive() && armed.is_empty() {
            true => self.epoll.check_owner(),
            false => self.epoll.register(target, account.flags(armed), token.data(), None),
        };
        if let Err(error) = registered {
            return Err(Rejected { source: detached, error });
        }
        detached.entry.set_number(number);
        let Detached { entry, account, extras, readiness, certain } = detached;
        self.seat(token, store::Source { entry, account, extras });
        if let Some(slot) = self.slots.get_mut(token) {
            slot.readiness = readiness;
        }
        if account.is_held() {
            // What held it may have let it go meanwhile: that was said to nobody.
            self.wish(token, Wish::LetGo);
        }
        self.settle(token);
        if certain {
            self.enqueue_certain(token);
        }
        Ok(token)
    }
}
