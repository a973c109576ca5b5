//! A source together with its handler, whatever their types.

use super::ready::Run;
use super::served::Bell;
use super::{Ready, Turn};
use crate::epoll::{Edge, Exclusive, Instance, Interest, Level, Mode, Registered, Source};
use crate::error::Error;
use crate::kernel::{EventFlags, Kernel, Linux};
use crate::sync::Arc;
use std::any::{Any, TypeId};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is done when a source is ready: for handlers that are types of their own.
///
/// Closures are handlers too; [`EventLoop::add`](super::EventLoop::add) takes those and
/// [`EventLoop::add_handler`](super::EventLoop::add_handler) takes these.
pub trait Handler<S, D = (), K: Kernel = Linux> {
    /// The source is ready. `Ok` keeps it, with whatever readiness is left; `Err` closes and
    /// reports it.
    ///
    /// # Errors
    ///
    /// Whatever is terminal for this source; the loop goes on with the others.
    fn ready(&mut self, source: &mut Ready<'_, S>, turn: &mut Turn<'_, D, K>) -> io::Result<()>;
}

impl<S, D, K, F> Handler<S, D, K> for F
where
    K: Kernel,
    F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()>,
{
    fn ready(&mut self, source: &mut Ready<'_, S>, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        self(source, turn)
    }
}

/// How the loop handles a source whose type it does not know.
pub(crate) trait Dispatch<D, K: Kernel> {
    fn run(&mut self, run: &mut Run, turn: &mut Turn<'_, D, K>) -> io::Result<()>;

    /// Whether the source has another descriptor now than the registered one.
    fn is_replaced(&self) -> bool;

    /// Watches for `interest` from now on.
    fn rearm(&self, interest: Interest) -> Result<(), Error>;

    /// Registers the source with another epoll instance, beside its own.
    fn add_to(&self, instance: &Arc<Instance<K>>, flags: EventFlags) -> Result<(), Error>;

    /// Takes the other instance for its own, which is about to end.
    fn adopt(&mut self, instance: &Arc<Instance<K>>);

    fn is_level(&self) -> bool;

    /// The type of the source, so that the ones of a kind can be counted.
    fn source_type(&self) -> TypeId;

    /// Leaves the interest list and gives the source back.
    fn into_source(self: Box<Self>) -> Box<dyn Any>;

    /// The source as a queue that has to be armed before the loop sleeps, if it is one.
    fn bell(&mut self) -> Option<&mut dyn Bell> {
        None
    }
}

/// A registered source and its handler.
pub(crate) struct Entry<S: Source<Fd = K::Fd>, M: Mode, K: Kernel, H> {
    pub(crate) registered: Registered<S, M, K>,
    pub(crate) handler: H,
}

impl<S, M, D, K, H> Dispatch<D, K> for Entry<S, M, K, H>
where
    S: Source<Fd = K::Fd> + 'static,
    M: LoopMode,
    K: Kernel,
    H: Handler<S, D, K>,
{
    fn run(&mut self, run: &mut Run, turn: &mut Turn<'_, D, K>) -> io::Result<()> {
        self.handler.ready(&mut Ready::new(self.registered.get_mut(), run), turn)
    }

    fn is_replaced(&self) -> bool {
        self.registered.is_replaced()
    }

    fn rearm(&self, interest: Interest) -> Result<(), Error> {
        guarded(|| M::rearm(&self.registered, interest))
    }

    fn add_to(&self, instance: &Arc<Instance<K>>, flags: EventFlags) -> Result<(), Error> {
        guarded(|| self.registered.add_to(instance, flags))
    }

    fn adopt(&mut self, instance: &Arc<Instance<K>>) {
        self.registered.adopt(instance);
    }

    fn is_level(&self) -> bool {
        M::IS_LEVEL
    }

    fn source_type(&self) -> TypeId {
        TypeId::of::<S>()
    }

    fn into_source(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.registered.into_inner())
    }
}

/// A source may panic when it is asked for its descriptor; that is an error of this source alone.
fn guarded(change: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    catch_unwind(AssertUnwindSafe(change)).unwrap_or_else(|panic| {
        std::mem::forget(panic); // its destructor could panic again
        Err(io::Error::other("the source panicked when it was asked for its descriptor").into())
    })
}

/// What the loop may do with a registration of each mode.
pub(crate) trait LoopMode: Mode + Sized {
    const IS_LEVEL: bool = false;

    fn rearm<S: Source<Fd = K::Fd>, K: Kernel>(
        registered: &Registered<S, Self, K>,
        interest: Interest,
    ) -> Result<(), Error>;
}

impl LoopMode for Edge {
    fn rearm<S: Source<Fd = K::Fd>, K: Kernel>(
        registered: &Registered<S, Edge, K>,
        interest: Interest,
    ) -> Result<(), Error> {
        registered.modify(interest)
    }
}

/// With nothing to watch for it is silenced: errors and hang-ups cannot be masked, and would be
/// told at each wait.
impl LoopMode for Level {
    const IS_LEVEL: bool = true;

    fn rearm<S: Source<Fd = K::Fd>, K: Kernel>(
        registered: &Registered<S, Level, K>,
        interest: Interest,
    ) -> Result<(), Error> {
        match interest {
            Interest::NONE => registered.silence(),
            interest => registered.modify(interest),
        }
    }
}

/// An exclusive registration cannot be modified: it watches for input, and nobody would tell it of
/// room for output.
impl LoopMode for Exclusive {
    fn rearm<S: Source<Fd = K::Fd>, K: Kernel>(
        _: &Registered<S, Exclusive, K>,
        _: Interest,
    ) -> Result<(), Error> {
        let message = "an exclusive registration cannot wait for room for output";
        Err(io::Error::new(ErrorKind::Unsupported, message).into())
    }
}
