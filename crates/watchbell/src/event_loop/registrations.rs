//! Taking sources and timers in, the same from outside the loop and from inside a handler.

use super::core::Watch;
use super::remote::{Remote, Task};
use super::timers::Due;
use super::{
    Budget, Direction, EventLoop, Handler, QueueHandler, Ready, Stats, Stop, TimerId, Turn,
};
use crate::Rejected;
use crate::doorbell::{Queue, doorbell_on};
use crate::epoll::{
    Edge, Exclusive, ExclusiveInterest, ExclusiveTarget, Interest, Level, Source, Token,
};
use crate::kernel::{EventFlags, Kernel};
use crate::sync::Arc;
use std::io;
use std::time::{Duration, Instant};

macro_rules! registrations {
    ($($of:tt)*) => {
        impl<D, K: Kernel> $($of)* {
            /// Takes in a source, edge-triggered, with what to do when it is ready.
            ///
            /// Its events need no care beyond that of [`Ready`]: what the handler leaves is kept.
            /// The source is owned by the loop and closed when it is removed.
            ///
            /// # Errors
            ///
            /// The source comes back in [`Rejected`]: [`Error::Forked`](crate::Error::Forked) in a
            /// forked child, [`Error::Blocking`](crate::Error::Blocking) where the descriptor is
            /// blocking and the loop was told to refuse that,
            /// [`Error::Os`](crate::Error::Os) with the errors of
            /// [epoll_ctl(2)](https://man7.org/linux/man-pages/man2/epoll_ctl.2.html).
            ///
            /// ```
            /// # use std::{io::Write, os::unix::net::UnixStream};
            /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
            /// let (mut ours, theirs) = UnixStream::pair()?;
            /// ours.write_all(b"ahoy")?;
            /// let mut events: EventLoop<Vec<u8>> = EventLoop::new()?;
            /// events.add(theirs, Interest::READABLE, |stream, turn| {
            ///     let mut buf = [0; 4096];
            ///     while let Some(read) = stream.read(&mut buf)? {
            ///         turn.state().extend_from_slice(&buf[..read]);
            ///     }
            ///     Ok(())
            /// })?;
            /// let mut heard = Vec::new();
            /// events.turn_with(&mut heard, None)?;
            /// assert_eq!(heard, b"ahoy");
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[doc(alias = "epoll_ctl")]
            #[doc(alias = "EPOLL_CTL_ADD")]
            #[doc(alias = "EPOLLET")]
            pub fn add<S, F>(
                &mut self,
                source: S,
                interest: Interest,
                handler: F,
            ) -> Result<Token, Rejected<S>>
            where
                S: Source<Fd = K::Fd> + 'static,
                F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                let watch = Watch::new(interest);
                self.core.insert::<S, Edge, F>(source, watch, handler)
            }

            /// As [`add`](Self::add), for a handler that is a type of its own.
            ///
            /// # Errors
            ///
            /// As [`add`](Self::add).
            ///
            /// ```
            /// # use std::io::Result;
            /// # use watchbell::{epoll::Interest, eventfd::Counter};
            /// use watchbell::event_loop::{EventLoop, Handler, Ready, Turn};
            ///
            /// struct Sum(u64);
            /// impl Handler<Counter> for Sum {
            ///     fn ready(&mut self, done: &mut Ready<Counter>, turn: &mut Turn) -> Result<()> {
            ///         self.0 += done.take()?.unwrap_or(0);
            ///         if self.0 >= 7 { turn.close() } else { Ok(()) }
            ///     }
            /// }
            /// let mut events: EventLoop = EventLoop::new()?;
            /// events.add_handler(Counter::new(7)?, Interest::READABLE, Sum(0))?;
            /// events.turn(None)?;
            /// assert!(events.is_empty());
            /// # Ok::<(), std::io::Error>(())
            /// ```
            pub fn add_handler<S, H>(
                &mut self,
                source: S,
                interest: Interest,
                handler: H,
            ) -> Result<Token, Rejected<S>>
            where
                S: Source<Fd = K::Fd> + 'static,
                H: Handler<S, D, K> + 'static,
            {
                let watch = Watch::new(interest);
                self.core.insert::<S, Edge, H>(source, watch, handler)
            }

            /// As [`add`](Self::add), level-triggered: the kernel tells at each wait of what is
            /// left. For sources whose readiness another library consumes in its own way; it is
            /// called in [`Ready::input`] and [`Ready::output`], so that a handler that uses its
            /// source can be told from one that ignores it.
            ///
            /// # Errors
            ///
            /// As [`add`](Self::add).
            ///
            /// ```
            /// # use std::{io::{Read, Write}, os::unix::net::UnixStream};
            /// # use watchbell::{epoll::Interest, event_loop::EventLoop};
            /// let (mut ours, theirs) = UnixStream::pair()?;
            /// ours.write_all(b"ahoy")?;
            /// let mut events: EventLoop<u32> = EventLoop::new()?;
            /// events.add_level(theirs, Interest::READABLE, |stream, turn| {
            ///     // As another library may: one byte, and the rest is left.
            ///     if stream.input(|stream| stream.read(&mut [0]))?.is_some() {
            ///         *turn.state() += 1;
            ///     }
            ///     Ok(())
            /// })?;
            /// let mut bytes = 0;
            /// while bytes < 4 {
            ///     events.turn_with(&mut bytes, None)?;
            /// }
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[doc(alias = "epoll_ctl")]
            pub fn add_level<S, F>(
                &mut self,
                source: S,
                interest: Interest,
                handler: F,
            ) -> Result<Token, Rejected<S>>
            where
                S: Source<Fd = K::Fd> + 'static,
                F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                let watch = Watch::new(interest);
                self.core.insert::<S, Level, F>(source, watch, handler)
            }

            /// As [`add`](Self::add), exclusively: of the loops that watch the same target this
            /// way, an event wakes one or more. For input only: output that would block ends the
            /// source with an error, since an exclusive registration cannot be changed to wait for
            /// it.
            ///
            /// # Errors
            ///
            /// As [`add`](Self::add).
            ///
            /// ```
            /// # use std::{net::{TcpListener, TcpStream}, sync::Arc};
            /// # use watchbell::event_loop::EventLoop;
            /// let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
            /// let _client = TcpStream::connect(listener.local_addr()?)?;
            /// // Each worker's loop takes in its own clone of the `Arc`.
            /// let mut events: EventLoop = EventLoop::new()?;
            /// events.add_exclusive(Arc::clone(&listener), |listener, turn| {
            ///     while let Some((_stream, _peer)) = listener.accept()? {
            ///         turn.stop();
            ///     }
            ///     Ok(())
            /// })?;
            /// events.run()?;
            /// # Ok::<(), std::io::Error>(())
            /// ```
            #[doc(alias = "epoll_ctl")]
            #[doc(alias = "EPOLLEXCLUSIVE")]
            pub fn add_exclusive<S, F>(
                &mut self,
                source: S,
                handler: F,
            ) -> Result<Token, Rejected<S>>
            where
                S: Source<Fd = K::Fd> + ExclusiveTarget + 'static,
                F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                let watch = exclusive_watch();
                self.core.insert::<S, Exclusive, F>(source, watch, handler)
            }

            /// As [`add`](Self::add), for an object of this library's on whatever kernel.
            ///
            /// # Errors
            ///
            /// As [`add`](Self::add), except [`Error::Blocking`](crate::Error::Blocking).
            ///
            /// ```
            /// # use watchbell::{epoll::Interest, event_loop::EventLoop, eventfd::Counter};
            /// let mut events: EventLoop = EventLoop::new()?;
            /// events.watch(Counter::new(3)?, Interest::READABLE, |counter, turn| {
            ///     assert_eq!(counter.take()?, Some(3));
            ///     turn.stop();
            ///     Ok(())
            /// })?;
            /// events.run()?;
            /// # Ok::<(), std::io::Error>(())
            /// ```
            pub fn watch<S, F>(
                &mut self,
                source: S,
                interest: Interest,
                handler: F,
            ) -> Result<Token, Rejected<S>>
            where
                S: Source<Fd = K::Fd> + 'static,
                F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                let watch = Watch::new(interest);
                self.core.insert::<S, Edge, F>(source, watch, handler)
            }

            /// As [`add_exclusive`](Self::add_exclusive), for an object of this library's on
            /// whatever kernel.
            ///
            /// # Errors
            ///
            /// As [`watch`](Self::watch), which has an example.
            #[doc(alias = "EPOLLEXCLUSIVE")]
            pub fn watch_exclusive<S, F>(
                &mut self,
                source: S,
                handler: F,
            ) -> Result<Token, Rejected<S>>
            where
                S: Source<Fd = K::Fd> + ExclusiveTarget + 'static,
                F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                let watch = exclusive_watch();
                self.core.insert::<S, Exclusive, F>(source, watch, handler)
            }

            /// Serves a queue: `handler` is given each item that its doorbells push.
            ///
            /// An item is one message of the budget. Its error or panic is reported and ends that
            /// item, which counts as processed; the queue goes on. When the queue is closed it
            /// stays here until it is removed or [taken](Self::take). Removed, it drops what is
            /// left, which counts as returned.
            ///
            /// The slots of a run's items are free at its end: a handler that pushes to its own
            /// queue finds them still taken.
            ///
            /// # Errors
            ///
            /// As [`watch`](Self::watch).
            ///
            /// ```
            /// # use watchbell::{doorbell::doorbell, event_loop::EventLoop};
            /// let (bell, queue) = doorbell::<u32>(8)?;
            /// let mut events: EventLoop<u32> = EventLoop::new()?;
            /// events.serve(queue, |item, turn| {
            ///     *turn.state() += item;
            ///     Ok(())
            /// })?;
            /// bell.push(3)?;
            /// bell.push(4)?;
            /// let mut sum = 0;
            /// events.turn_with(&mut sum, None)?;
            /// assert_eq!(sum, 7);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn serve<T, F>(
                &mut self,
                queue: Queue<T, K>,
                handler: F,
            ) -> Result<Token, Rejected<Queue<T, K>>>
            where
                T: 'static,
                F: FnMut(T, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                self.core.insert_queue(queue, handler)
            }

            /// As [`serve`](Self::serve), for a handler that is a type of its own:
            /// [`QueueHandler`] has an example.
            ///
            /// # Errors
            ///
            /// As [`watch`](Self::watch).
            pub fn serve_handler<T, H>(
                &mut self,
                queue: Queue<T, K>,
                handler: H,
            ) -> Result<Token, Rejected<Queue<T, K>>>
            where
                T: 'static,
                H: QueueHandler<T, D, K> + 'static,
            {
                self.core.insert_queue(queue, handler)
            }

            /// A handle by which other threads run code on this loop: at most `capacity` calls
            /// wait. [`Remote`] has an example.
            ///
            /// # Errors
            ///
            /// As [`doorbell`](crate::doorbell::doorbell) and [`watch`](Self::watch).
            pub fn remote(&mut self, capacity: usize) -> io::Result<Remote<D, K>>
            where
                D: 'static,
            {
                let kernel = self.core.epoll.instance().kernel.clone();
                let (bell, queue) = doorbell_on(kernel, capacity)?;
                self.serve(queue, |task: Task<D, K>, turn| task(turn))?;
                Ok(Remote::new(bell))
            }

            /// Ends a source and gives it back, without its handler. `None`: there is no such
            /// source of type `S`, or its handler is running.
            ///
            /// ```
            /// use watchbell::doorbell::{Queue, doorbell};
            /// use watchbell::event_loop::EventLoop;
            ///
            /// let (bell, queue) = doorbell::<u32>(8)?;
            /// let mut events: EventLoop = EventLoop::new()?;
            /// let jobs = events.serve(queue, |_job, turn| {
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
                self.core.take(token)
            }

            /// Ends a source: it leaves the interest list, then its descriptor is closed. An event
            /// that was fetched for it already is discarded. `false`: there is no such source.
            #[doc(alias = "EPOLL_CTL_DEL")]
            pub fn remove(&mut self, token: Token) -> bool {
                self.core.remove(token)
            }

            /// Stops input or output of a source until it is resumed; edges that come meanwhile are
            /// kept. `false`: there is no such source.
            pub fn pause(&mut self, token: Token, direction: Direction) -> bool {
                self.core.set_paused(token, direction, true)
            }

            /// Takes a pause back. `false`: there is no such source.
            pub fn resume(&mut self, token: Token, direction: Direction) -> bool {
                self.core.set_paused(token, direction, false)
            }

            /// Lets a source's input go on that an output queue holds, by
            /// [`Ready::forward`]: for when that queue is given up before it has come down to its
            /// low-water mark. `false`: there is no such source.
            pub fn release(&mut self, token: Token) -> bool {
                self.core.change(token, |tenant| tenant.directions.release_input())
            }

            /// Has a source run once, with that direction taken for ready, whatever it is
            /// registered for and whether or not it is paused: for one that knows of work by other
            /// means than the kernel. `false`: there is no such source.
            pub fn wake(&mut self, token: Token, direction: Direction) -> bool {
                self.core.wake(token, direction)
            }

            /// Gives a source a budget of its own from its next run on. `false`: there is no such
            /// source.
            pub fn set_budget(&mut self, token: Token, budget: Budget) -> bool {
                self.core.set_budget(token, budget)
            }

            /// Calls `timer` once, at the end of the first turn that ends at `due` or later: never
            /// early. An error or a panic of `timer` is reported.
            ///
            /// ```
            /// # use std::time::{Duration, Instant};
            /// # use watchbell::event_loop::EventLoop;
            /// let mut events: EventLoop = EventLoop::new()?;
            /// let due = Instant::now() + Duration::from_millis(2);
            /// events.at(due, |turn| {
            ///     turn.stop();
            ///     Ok(())
            /// });
            /// events.run()?;
            /// assert!(Instant::now() >= due);
            /// # Ok::<(), std::io::Error>(())
            /// ```
            pub fn at<F>(&mut self, due: Instant, timer: F) -> TimerId
            where
                F: FnOnce(&mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                self.core.set_timer(due, Due::Call(Box::new(timer)))
            }

            /// As [`at`](Self::at), which has an example, `delay` from now.
            pub fn after<F>(&mut self, delay: Duration, timer: F) -> TimerId
            where
                F: FnOnce(&mut Turn<'_, D, K>) -> io::Result<()> + 'static,
            {
                self.at(self.core.due_after(delay), timer)
            }

            /// Takes a timer back. `false`: it has fired, or was cancelled already.
            pub fn cancel(&mut self, timer: TimerId) -> bool {
                self.core.timers.cancel(timer)
            }

            /// The kernel's monotonic clock
            /// ([clock_gettime(2)](https://man7.org/linux/man-pages/man2/clock_gettime.2.html)).
            #[doc(alias = "CLOCK_MONOTONIC")]
            pub fn now(&self) -> Instant {
                self.core.now()
            }

            /// How many sources the loop holds.
            pub fn len(&self) -> usize {
                self.core.slots.len()
            }

            /// Whether the loop holds no source.
            pub fn is_empty(&self) -> bool {
                self.core.slots.len() == 0
            }

            /// The sources of type `S` that the loop holds, found by looking at each source; the
            /// one whose handler is running is not among them.
            pub fn tokens_of<S: 'static>(&self) -> Vec<Token> {
                self.core.tokens_of::<S>().collect()
            }

            /// What the loop has done.
            pub fn stats(&self) -> Stats {
                self.core.stats
            }

            /// A handle that stops the loop, from any thread.
            pub fn stop_handle(&self) -> Stop<K> {
                Stop::new(Arc::clone(self.core.stop.get_ref()))
            }
        }
    };
}

registrations!(EventLoop<D, K>);
registrations!(Turn<'_, D, K>);

/// Exclusive registrations are edge-triggered too: the loop keeps what is left.
fn exclusive_watch() -> Watch {
    let flags = ExclusiveInterest::Readable.flags() | EventFlags::ET;
    Watch::new(Interest::READABLE).with_flags(flags)
}
