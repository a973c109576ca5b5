//! What is done when a source is ready.

use super::entry::Entry;
use super::registration::LoopMode;
use super::served::Served;
use crate::doorbell::Queue;
use crate::epoll::{Edge, Exclusive, Level, Source};
use crate::event_loop::registry::{Dispatch, Turn};
use crate::event_loop::run::Ready;
use crate::event_loop::store::{Group, Shared};
use crate::kernel::{Borrowed, Kernel, Linux};
use crate::sync::Arc;
use std::io;

/// What is done when a source is ready: for handlers that are types of their own.
///
/// Closures are taken by [`add`](crate::event_loop::Registry::add), these by
/// [`add_handler`](crate::event_loop::Registry::add_handler).
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
/// let mut events = EventLoop::new()?;
/// events.add_handler(Counter::new(7)?, Interest::READABLE, Sum(0))?;
/// events.turn(None)?;
/// assert!(events.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Of a queue, it is given each item, and knows of the end:
///
/// ```
/// # use std::io;
/// # use watchbell::doorbell::{Queue, doorbell};
/// use watchbell::event_loop::{EventLoop, Handler, Registration, Turn};
///
/// struct Sum(u32);
/// impl Handler<Queue<u32>> for Sum {
///     fn ready(&mut self, item: u32, _turn: &mut Turn) -> io::Result<()> {
///         self.0 += item;
///         Ok(())
///     }
///     fn closed(&mut self, turn: &mut Turn) -> io::Result<()> {
///         assert_eq!(self.0, 7);
///         turn.stop();
///         turn.close()
///     }
/// }
/// let (bell, queue) = doorbell(8)?;
/// let mut events = EventLoop::new()?;
/// events.add_handler(queue, Registration::default(), Sum(0))?;
/// bell.push(3)?;
/// bell.push(4)?;
/// bell.close();
/// events.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Handler<S: Handled<K>, D = (), K: Kernel = Linux> {
    /// The source is ready, or an item has come. `Ok` keeps the source, with whatever readiness is
    /// left.
    ///
    /// # Errors
    ///
    /// Whatever is terminal for this source: it is closed and reported, and the loop goes on with
    /// the others. Of a queue, whatever is wrong with this item: it counts as processed, the
    /// failure is reported, and the queue goes on. So it is with a panic.
    fn ready(&mut self, given: S::Given<'_>, turn: &mut Turn<'_, D, K>) -> io::Result<()>;

    /// The queue is closed, and every item has been handled. Called once, and of queues only. By
    /// default nothing is done: the queue stays in the loop, from where it can be
    /// [taken](crate::event_loop::Registry::take).
    ///
    /// # Errors
    ///
    /// Whatever went wrong at the end. The failure is reported, and so is a panic; the queue stays.
    fn closed(&mut self, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        let _ = turn;
        Ok(())
    }
}

/// What a loop takes in, and what the handler of such a source is given.
///
/// A source with a descriptor ([`Source`]) gives its [`Ready`]; a [`Queue`] gives its items. There
/// are no others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source of a loop on `{K}`",
    note = "a type with a descriptor is one by `epoll::Source`; wrap any other `AsFd` in \
            `epoll::AnyFd`"
)]
pub trait Handled<K: Kernel>: sealed::Enter<K> {
    /// What the handler is given.
    type Given<'run>
    where
        Self: 'run;
}

/// Whether a source may be watched in the mode `M`: [`Edge`], [`Level`] or [`Exclusive`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be watched in the mode `{M}`",
    note = "an exclusive registration is for an `event_loop::Shared` source; a queue is \
            edge-triggered"
)]
pub trait Watched<M: LoopMode> {
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "asked by the loop alone")]
    fn group(&self) -> Option<&Arc<Group>> {
        None
    }
}

impl<S: Source> Watched<Edge> for S {}
impl<S: Source> Watched<Level> for S {}
impl<T, K: Kernel> Watched<Edge> for Queue<T, K> {}

impl<S: Source> Watched<Exclusive> for Shared<S> {
    #[expect(private_interfaces, reason = "as above")]
    fn group(&self) -> Option<&Arc<Group>> {
        Some(Shared::group(self))
    }
}

impl<S: Source<Fd = K::Fd> + 'static, K: Kernel> Handled<K> for S {
    type Given<'run> = &'run mut Ready<'run, S>;
}

impl<T: 'static, K: Kernel> Handled<K> for Queue<T, K> {
    type Given<'run> = T;
}

pub(super) mod sealed {
    use super::*;

    /// How a source is registered and joined with its handler.
    #[expect(unnameable_types, reason = "sealed on purpose")]
    pub trait Enter<K: Kernel>: Sized + 'static {
        const NEVER_BLOCKS: bool;

        fn entry_descriptor(&self) -> Borrowed<'_, K>;

        fn enter<D, H>(self, handler: H, number: i32) -> Box<dyn Dispatch<D, K>>
        where
            Self: Handled<K>,
            H: Handler<Self, D, K> + 'static;
    }

    impl<S: Source<Fd = K::Fd> + 'static, K: Kernel> Enter<K> for S {
        const NEVER_BLOCKS: bool = S::IS_NONBLOCKING;

        fn entry_descriptor(&self) -> Borrowed<'_, K> {
            self.descriptor()
        }

        fn enter<D, H>(self, handler: H, number: i32) -> Box<dyn Dispatch<D, K>>
        where
            H: Handler<S, D, K> + 'static,
        {
            Box::new(Entry::new(self, handler, number))
        }
    }

    impl<T: 'static, K: Kernel> Enter<K> for Queue<T, K> {
        const NEVER_BLOCKS: bool = true;

        fn entry_descriptor(&self) -> Borrowed<'_, K> {
            self.bell()
        }

        fn enter<D, H>(self, handler: H, number: i32) -> Box<dyn Dispatch<D, K>>
        where
            H: Handler<Queue<T, K>, D, K> + 'static,
        {
            let _ = number; // a queue keeps its descriptor
            Box::new(Served::new(self, handler))
        }
    }
}

/// A closure as a handler.
pub(super) struct Call<F>(pub(super) F);

impl<S, D, K, F> Handler<S, D, K> for Call<F>
where
    S: Handled<K>,
    K: Kernel,
    F: for<'run> FnMut(S::Given<'run>, &mut Turn<'_, D, K>) -> io::Result<()>,
{
    #[inline]
    fn ready(&mut self, given: S::Given<'_>, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        (self.0)(given, turn)
    }
}
