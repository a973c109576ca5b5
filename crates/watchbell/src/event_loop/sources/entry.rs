//! A source with a descriptor, together with its handler.

use super::handler::Handler;
use crate::epoll::{Epoll, Source};
use crate::error::Error;
use crate::event_loop::registry::{Dispatch, Registry, Turn};
use crate::event_loop::run::{Notes, Ready, Run};
use crate::kernel::{Descriptor, EventFlags, Kernel};
use crate::sync::thread;
use std::any::{Any, TypeId};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub(in crate::event_loop) struct Entry<S, H> {
    pub(super) source: S,
    pub(super) handler: H,
    /// The descriptor that is registered.
    number: i32,
}

impl<S: Source, H> Entry<S, H> {
    pub(super) fn new(source: S, handler: H, number: i32) -> Entry<S, H> {
        Entry { source, handler, number }
    }

    pub(super) fn set_number(&mut self, number: i32) {
        self.number = number;
    }

    /// Whether the source has another descriptor now than the registered one.
    #[inline]
    fn is_replaced(&self) -> bool {
        S::Fd::number(self.source.descriptor()) != self.number
    }
}

impl<S, D, K, H> Dispatch<D, K> for Entry<S, H>
where
    S: Source<Fd = K::Fd> + 'static,
    K: Kernel,
    H: Handler<S, D, K> + 'static,
{
    fn run(&mut self, run: &Run, registry: &mut Registry<D, K>, state: &mut D) -> io::Result<()> {
        let mut turn = Turn::new(registry, state, Some(run.token()));
        self.handler.ready(&mut Ready::new(&mut self.source, run), &mut turn)?;
        if self.is_replaced() {
            run.note(Notes::REPLACED);
        }
        Ok(())
    }

    fn add(&mut self, epoll: &Epoll<K>, flags: EventFlags, data: u64) -> Result<(), Error> {
        guarded(|| epoll.add(self.source.descriptor(), flags, data))?;
        self.number = S::Fd::number(self.source.descriptor());
        Ok(())
    }

    fn modify(&self, epoll: &Epoll<K>, flags: EventFlags, data: u64) -> Result<(), Error> {
        guarded(|| epoll.modify(self.source.descriptor(), flags, data))
    }

    fn delete(&self, epoll: &Epoll<K>) -> thread::Result<()> {
        // A descriptor of another number may have a registration of its own, not ours to end.
        let deleted = catch_unwind(AssertUnwindSafe(|| match self.is_replaced() {
            true => epoll.count_ghost(),
            false => epoll.delete(self.source.descriptor()),
        }));
        if deleted.is_err() {
            epoll.count_ghost();
        }
        deleted
    }

    fn is_reported_ready(&self, kernel: &K) -> bool {
        let looked =
            guarded(|| Ok(kernel.poll_readable(self.source.descriptor(), Some(Duration::ZERO))?));
        looked.unwrap_or(true)
    }

    fn source_type(&self) -> TypeId {
        TypeId::of::<S>()
    }

    fn into_parts(self: Box<Self>) -> (Box<dyn Any>, Box<dyn Any>) {
        (Box::new(self.source), Box::new(self.handler))
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn entry_type(&self) -> TypeId {
        TypeId::of::<Entry<S, H>>()
    }
}

/// A source may panic when it is asked for its descriptor; that is an error of this source alone.
fn guarded<T>(ask: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| {
        std::mem::forget(panic); // its destructor could panic again
        Err(io::Error::other("the source panicked when it was asked for its descriptor").into())
    })
}
