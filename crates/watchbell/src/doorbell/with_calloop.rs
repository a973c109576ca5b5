//! A queue in [calloop](https://docs.rs/calloop)'s event loop.

use super::{Armed, Queue};
use crate::sync::thread;
use calloop::generic::Generic;
use calloop::{
    EventIterator, EventSource, Interest, Mode, Poll, PostAction, Readiness, Token, TokenFactory,
};
use std::io;
use std::os::fd::OwnedFd;

/// A [`Queue`] as an event source. Its events are the items, and a `None` at the end: then the
/// queue is closed and empty, and the source removes itself.
///
/// It is made by [`Queue::into_source`]. It arms the queue before each of calloop's waits; while
/// calloop is awake no push rings. So the loop has to be run by its own `dispatch` or `run`: one
/// whose descriptor is watched from yet another loop is not woken between two dispatches.
///
/// A producer that is preempted in the middle of a push cannot be waited for briefly, since a
/// source has no say in how long calloop waits. Until the item is there the loop goes on, and
/// yields the processor in each turn.
///
/// ```
/// use calloop::EventLoop;
/// use watchbell::doorbell::doorbell;
///
/// let (bell, queue) = doorbell::<u32>(8)?;
/// let mut events: EventLoop<'_, (u32, bool)> = EventLoop::try_new()?;
/// events.handle().insert_source(queue.into_source(64), |item, (), (sum, ended)| match item {
///     Some(n) => *sum += n,
///     None => *ended = true,
/// })?;
/// let producer = std::thread::spawn(move || (0..100).try_for_each(|n| bell.push_wait(n)));
/// let mut state = (0, false);
/// while !state.1 {
///     events.dispatch(None, &mut state)?;
/// }
/// assert_eq!(state.0, 99 * 100 / 2);
/// producer.join().unwrap().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct QueueSource<T> {
    queue: Queue<T>,
    budget: usize,
    /// The bell by another descriptor, while the source is registered: calloop's own source lends
    /// what it watches only shared, and the queue has to be changed.
    bell: Option<Generic<OwnedFd>>,
    /// For the events that no ring makes.
    token: Option<Token>,
}

impl<T> Queue<T> {
    /// Makes a source of it that gives up to `budget` items an event, and at least one.
    pub fn into_source(self, budget: usize) -> QueueSource<T> {
        QueueSource { queue: self, budget: budget.max(1), bell: None, token: None }
    }
}

impl<T> QueueSource<T> {
    /// The queue, to close it or to ask for its ledger.
    pub fn get_ref(&self) -> &Queue<T> {
        &self.queue
    }

    /// Takes the queue out. `calloop::Dispatcher::into_source_inner` gives the source back.
    pub fn into_queue(self) -> Queue<T> {
        self.queue
    }

    fn is_of_this(&mut self, readiness: Readiness, token: Token) -> io::Result<bool> {
        let mut rang = self.token == Some(token);
        if let Some(bell) = &mut self.bell {
            bell.process_events(readiness, token, |_, _| {
                rang = true;
                Ok(PostAction::Continue)
            })?;
        }
        Ok(rang)
    }
}

impl<T> EventSource for QueueSource<T> {
    type Event = Option<T>;
    type Metadata = ();
    type Ret = ();
    type Error = io::Error;

    const NEEDS_EXTRA_LIFECYCLE_EVENTS: bool = true;

    fn register(&mut self, poll: &mut Poll, tokens: &mut TokenFactory) -> calloop::Result<()> {
        let mut bell = Generic::new(self.queue.duplicate_bell()?, Interest::READ, Mode::Edge);
        bell.register(poll, tokens)?;
        self.bell = Some(bell);
        self.token = Some(tokens.token());
        Ok(())
    }

    fn reregister(&mut self, poll: &mut Poll, tokens: &mut TokenFactory) -> calloop::Result<()> {
        if let Some(bell) = &mut self.bell {
            bell.reregister(poll, tokens)?;
            self.token = Some(tokens.token());
        }
        Ok(())
    }

    fn unregister(&mut self, poll: &mut Poll) -> calloop::Result<()> {
        self.token = None;
        match self.bell.take() {
            Some(mut bell) => bell.unregister(poll),
            None => Ok(()),
        }
    }

    /// Arms the queue. An event stands for whatever no ring will tell.
    fn before_sleep(&mut self) -> calloop::Result<Option<(Readiness, Token)>> {
        let armed = self.queue.arm();
        if armed == Armed::SleepBriefly {
            thread::yield_now();
        }
        let readable = Readiness { readable: true, writable: false, error: false };
        let event = self.token.map(|token| (readable, token));
        Ok(event.filter(|_| armed != Armed::Sleep))
    }

    /// calloop is awake, also if this queue did not wake it.
    fn before_handle_events(&mut self, _: EventIterator<'_>) {
        self.queue.disarm();
    }

    fn process_events<F>(
        &mut self,
        readiness: Readiness,
        token: Token,
        mut callback: F,
    ) -> io::Result<PostAction>
    where
        F: FnMut(Option<T>, &mut ()),
    {
        if !self.is_of_this(readiness, token)? {
            return Ok(PostAction::Continue);
        }
        self.queue.drain(self.budget, |item| callback(Some(item), &mut ()));
        if !self.queue.has_ended() {
            return Ok(PostAction::Continue);
        }
        callback(None, &mut ());
        Ok(PostAction::Remove)
    }
}
