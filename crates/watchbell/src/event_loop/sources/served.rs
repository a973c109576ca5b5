//! A doorbell's queue as a source.

use super::handler::Handler;
use crate::doorbell::{Armed, Queue};
use crate::epoll::Epoll;
use crate::error::Error;
use crate::event_loop::account::{Account, Allowance, Direction};
use crate::event_loop::registry::{Bell, Dispatch, Reason, Registry, Turn};
use crate::event_loop::run::{Notes, Run};
use crate::event_loop::store::Wish;
use crate::kernel::{EventFlags, Kernel};
use crate::sync::thread;
use std::any::{Any, TypeId};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(super) struct Served<T, K: Kernel, H> {
    queue: Queue<T, K>,
    handler: H,
    /// The handler knows that the queue is closed.
    told_closed: bool,
}

impl<T, K: Kernel, H> Served<T, K, H> {
    pub(super) fn new(queue: Queue<T, K>, handler: H) -> Self {
        Served { queue, handler, told_closed: false }
    }

    fn has_news(&self) -> bool {
        self.queue.has_item() || self.queue.has_ended() && !self.told_closed
    }
}

impl<T, D, K, H> Dispatch<D, K> for Served<T, K, H>
where
    T: 'static,
    K: Kernel,
    H: Handler<Queue<T, K>, D, K> + 'static,
{
    /// Handles items within the budget. Each ends by itself: an error or a panic is that item's.
    fn run(&mut self, run: &Run, registry: &mut Registry<D, K>, state: &mut D) -> io::Result<()> {
        // The queue is the authority, not its descriptor, whose edge says only that there is news;
        // the look at it is an operation, whatever it finds.
        run.change(|account| account.block(Direction::Input));
        run.note(Notes::WORKED);
        let mut turn = Turn::new(registry, state, Some(run.token()));
        let mut batch = self.queue.batch();
        while may_go_on(run) && take_share(&run.left) {
            let Some(item) = batch.take() else { break };
            isolate(&mut turn, run, |turn| self.handler.ready(item, turn));
        }
        drop(batch);
        if run.left.is_spent() {
            run.note(Notes::ODD);
        }
        // Closed, it is about to be dropped; paused, the loop looks at it once it is resumed.
        if !may_go_on(run) {
            return Ok(());
        }
        if self.queue.has_item() {
            run.wish(Wish::RunAgain);
        } else if self.queue.has_ended() && !self.told_closed {
            self.told_closed = true;
            isolate(&mut turn, run, |turn| self.handler.closed(turn));
        }
        Ok(())
    }

    fn add(&mut self, epoll: &Epoll<K>, flags: EventFlags, data: u64) -> Result<(), Error> {
        epoll.add(self.queue.bell(), flags, data)
    }

    fn modify(&self, epoll: &Epoll<K>, flags: EventFlags, data: u64) -> Result<(), Error> {
        epoll.modify(self.queue.bell(), flags, data)
    }

    fn delete(&self, epoll: &Epoll<K>) -> thread::Result<()> {
        epoll.delete(self.queue.bell());
        Ok(())
    }

    fn is_reported_ready(&self, _kernel: &K) -> bool {
        self.has_news()
    }

    fn source_type(&self) -> TypeId {
        TypeId::of::<Queue<T, K>>()
    }

    fn into_parts(self: Box<Self>) -> (Box<dyn Any>, Box<dyn Any>) {
        (Box::new(self.queue), Box::new(self.handler))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn entry_type(&self) -> TypeId {
        TypeId::of::<Self>()
    }

    fn bell(&mut self) -> Option<&mut dyn Bell> {
        Some(self)
    }
}

impl<T, K: Kernel, H> Bell for Served<T, K, H> {
    fn arm(&mut self) -> Armed {
        match self.queue.arm() {
            // Nothing will come, so nothing rings.
            Armed::Closed if self.told_closed => Armed::Sleep,
            armed => armed,
        }
    }

    fn look(&mut self) -> bool {
        self.queue.disarm();
        self.has_news()
    }
}

/// Whether the queue was neither closed nor paused meanwhile.
fn may_go_on(run: &Run) -> bool {
    let account: Account = run.account();
    run.notes() & Notes::CLOSE == 0 && !account.is_stopped(Direction::Input)
}

/// One item is one message and one operation of the budget.
fn take_share(left: &Allowance) -> bool {
    let may = !left.messages_are_spent() && left.take_operation(Direction::Input);
    if may {
        left.charge_messages(1);
    }
    may
}

/// Runs a handler; its error or panic is reported and goes no further.
fn isolate<D, K: Kernel>(
    turn: &mut Turn<'_, D, K>,
    run: &Run,
    handle: impl FnOnce(&mut Turn<'_, D, K>) -> io::Result<()>,
) {
    let reason = match catch_unwind(AssertUnwindSafe(|| handle(turn))) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => Reason::Error(error),
        Err(payload) => Reason::Panic(payload),
    };
    turn.fail(Some(run.token()), run.name(), reason);
}
