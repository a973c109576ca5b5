//! A doorbell's queue as a source.

use super::budget::Allowance;
use super::failure::Reason;
use super::handler::Dispatch;
use super::ready::Run;
use super::{Direction, Turn};
use crate::doorbell::{Armed, Queue};
use crate::epoll::{Edge, Instance, Interest, Registered, Source, Token};
use crate::error::{Error, Rejected};
use crate::kernel::{Borrowed, EventFlags, Kernel, Linux};
use crate::sync::Arc;
use std::any::{Any, TypeId};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is done with the items of a [`Queue`]: for handlers that want to know of its end.
///
/// Closures are handlers of items too; [`EventLoop::serve`](super::EventLoop::serve) takes those
/// and [`EventLoop::serve_handler`](super::EventLoop::serve_handler) takes these.
///
/// ```
/// # use std::io;
/// # use watchbell::doorbell::doorbell;
/// use watchbell::event_loop::{EventLoop, QueueHandler, Turn};
///
/// struct Sum(u32);
/// impl QueueHandler<u32> for Sum {
///     fn item(&mut self, item: u32, _turn: &mut Turn) -> io::Result<()> {
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
/// let mut events: EventLoop = EventLoop::new()?;
/// events.serve_handler(queue, Sum(0))?;
/// bell.push(3)?;
/// bell.push(4)?;
/// bell.close();
/// events.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait QueueHandler<T, D = (), K: Kernel = Linux> {
    /// An item has come.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with this item. It counts as processed, the failure is reported, and the
    /// queue goes on; so it does after a panic.
    fn item(&mut self, item: T, turn: &mut Turn<'_, D, K>) -> io::Result<()>;

    /// The queue is closed, and every item has been handled. Called once. By default nothing is
    /// done: the queue stays in the loop, from where it can be [taken](super::EventLoop::take).
    ///
    /// # Errors
    ///
    /// Whatever went wrong at the end. The failure is reported, and so is a panic; the queue stays.
    fn closed(&mut self, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        let _ = turn;
        Ok(())
    }
}

impl<T, D, K, F> QueueHandler<T, D, K> for F
where
    K: Kernel,
    F: FnMut(T, &mut Turn<'_, D, K>) -> io::Result<()>,
{
    fn item(&mut self, item: T, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        self(item, turn)
    }
}

/// What the loop asks of a queue around its waits.
pub(crate) trait Bell {
    /// As [`Queue::arm`]; [`Armed::Closed`] only until its handler knows.
    fn arm(&mut self) -> Armed;

    /// The loop is awake, and looks by itself. Whether there is something to handle.
    fn look(&mut self) -> bool;
}

/// A queue as a source, for this loop alone: whoever watches one has to arm it.
struct Watched<T, K: Kernel>(Queue<T, K>);

impl<T, K: Kernel> Source for Watched<T, K> {
    type Fd = K::Fd;

    const IS_NONBLOCKING: bool = true;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.0.bell()
    }
}

/// A registered queue and what is done with its items.
pub(crate) struct Served<T, K: Kernel, H> {
    registered: Registered<Watched<T, K>, Edge, K>,
    handler: H,
    /// The handler knows that the queue is closed.
    told_closed: bool,
}

impl<T, K: Kernel, H> Served<T, K, H> {
    /// Registers a queue. Its bell is non-blocking.
    pub(super) fn add(
        instance: &Arc<Instance<K>>,
        queue: Queue<T, K>,
        token: Token,
        flags: EventFlags,
        handler: H,
    ) -> Result<Self, Rejected<Queue<T, K>>> {
        match Registered::add(instance, Watched(queue), token, flags, None) {
            Ok(registered) => Ok(Served { registered, handler, told_closed: false }),
            Err(Rejected { source, error }) => Err(Rejected { source: source.0, error }),
        }
    }

    fn has_news(&self) -> bool {
        let Watched(queue) = self.registered.get_ref();
        queue.has_item() || queue.has_ended() && !self.told_closed
    }
}

impl<T, D, K, H> Dispatch<D, K> for Served<T, K, H>
where
    T: 'static,
    K: Kernel,
    H: QueueHandler<T, D, K>,
{
    /// Handles items within the budget. Each ends by itself: an error or a panic is that item's.
    fn run(&mut self, run: &mut Run, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        // The queue is the authority, not its descriptor, whose edge says only that there is news;
        // the look at it is an operation, whatever it finds.
        run.directions.block(Direction::Input);
        run.operations += 1;
        if run.directions.is_paused(Direction::Input) {
            return Ok(());
        }
        let Watched(queue) = self.registered.get_mut();
        let mut batch = queue.batch();
        while !turn.is_interrupted() && take_share(&mut run.left) {
            let Some(item) = batch.take() else { break };
            isolate(turn, |turn| self.handler.item(item, turn));
        }
        drop(batch);
        // Closed, it is about to be dropped; paused, the loop looks at it once it is resumed.
        if turn.is_interrupted() {
            return Ok(());
        }
        if queue.has_item() {
            run.again = true;
        } else if queue.has_ended() && !self.told_closed {
            self.told_closed = true;
            isolate(turn, |turn| self.handler.closed(turn));
        }
        Ok(())
    }

    fn is_replaced(&self) -> bool {
        false
    }

    fn rearm(&self, interest: Interest) -> Result<(), Error> {
        self.registered.modify(interest)
    }

    fn add_to(&self, instance: &Arc<Instance<K>>, flags: EventFlags) -> Result<(), Error> {
        self.registered.add_to(instance, flags)
    }

    fn adopt(&mut self, instance: &Arc<Instance<K>>) {
        self.registered.adopt(instance);
    }

    fn is_level(&self) -> bool {
        false
    }

    fn source_type(&self) -> TypeId {
        TypeId::of::<Queue<T, K>>()
    }

    fn into_source(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.registered.into_inner().0)
    }

    fn bell(&mut self) -> Option<&mut dyn Bell> {
        Some(self)
    }
}

impl<T, K: Kernel, H> Bell for Served<T, K, H> {
    fn arm(&mut self) -> Armed {
        match self.registered.get_mut().0.arm() {
            // Nothing will come, so nothing rings.
            Armed::Closed if self.told_closed => Armed::Sleep,
            armed => armed,
        }
    }

    fn look(&mut self) -> bool {
        self.registered.get_mut().0.disarm();
        self.has_news()
    }
}

/// One item is one message and one operation of the budget.
fn take_share(left: &mut Allowance) -> bool {
    let may = !left.messages_are_spent() && left.take_operation(Direction::Input);
    if may {
        left.charge_messages(1);
    }
    may
}

/// Runs a handler; its error or panic is reported and goes no further.
fn isolate<D, K: Kernel>(
    turn: &mut Turn<'_, D, K>,
    handle: impl FnOnce(&mut Turn<'_, D, K>) -> io::Result<()>,
) {
    match catch_unwind(AssertUnwindSafe(|| handle(turn))) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => turn.report(Reason::Error(error)),
        Err(payload) => turn.report(Reason::Panic(payload)),
    }
}
