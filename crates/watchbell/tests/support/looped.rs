//! Loops that tests look into: run until they rest, on every kernel, in both modes.
#![allow(dead_code, unused_macros, reason = "each test program uses a part of it")]

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use watchbell::epoll::{Interest, Source, Token};
use watchbell::event_loop::{Builder, EventLoop, Ready, Registration, Stats, Turn};
use watchbell::kernel::{Counting, Kernel, Linux};

/// Makes a test of each function of the module `bodies`, on each kernel that they run on.
macro_rules! on_every_kernel {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            $crate::support::watchdog(|| {
                bodies::$name(watchbell::kernel::Linux);
                bodies::$name(watchbell::kernel::Counting::new(watchbell::kernel::Linux));
            });
        }
    )*};
}

/// Makes a test of each function of the module `modes`, with the source in each mode.
macro_rules! in_both_modes {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            $crate::support::watchdog(|| modes::$name($crate::looped::Trigger::Edge));
            $crate::support::watchdog(|| modes::$name($crate::looped::Trigger::Level));
        }
    )*};
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    Edge,
    Level,
}

impl Trigger {
    /// Adds a source in this mode.
    pub fn add<S, D, K, F>(
        self,
        events: &mut EventLoop<D, K>,
        source: S,
        interest: Interest,
        handler: F,
    ) -> Token
    where
        S: Source<Fd = K::Fd> + 'static,
        K: Kernel,
        F: FnMut(&mut Ready<'_, S>, &mut Turn<'_, D, K>) -> io::Result<()> + 'static,
    {
        let added = match self {
            Trigger::Edge => events.add(source, interest, handler),
            Trigger::Level => events.add(source, Registration::level(interest), handler),
        };
        added.expect("it can be registered")
    }
}

/// A value that handlers and the test share.
pub type Shared<T> = Rc<RefCell<T>>;

pub fn shared<T: Default>() -> Shared<T> {
    Rc::default()
}

pub fn counted() -> Rc<Cell<u64>> {
    Rc::default()
}

pub trait Bump {
    fn bump(&self) -> u64;
}

impl Bump for Cell<u64> {
    fn bump(&self) -> u64 {
        self.set(self.get() + 1);
        self.get()
    }
}

/// What `on_failure` was told.
pub type Failures = Shared<Vec<String>>;

/// The failures that a loop which is built like this reports, each with its reason's name.
pub fn reporting<K: Kernel>(builder: Builder<(), K>) -> (EventLoop<(), K>, Failures) {
    let failures = Failures::default();
    let told = Rc::clone(&failures);
    let events =
        builder.on_failure(move |failure, _turn| told.borrow_mut().push(failure.to_string()));
    (events.build().expect("a loop"), failures)
}

/// A loop on a kernel that counts.
pub fn counting<D: Default>() -> (Counting<Linux>, EventLoop<D, Counting<Linux>>) {
    let kernel = Counting::new(Linux);
    let events = EventLoop::on(kernel.clone(), D::default()).expect("a loop");
    (kernel, events)
}

/// Runs turns that do not wait until one of them has nothing to do. A loop that never rests spins,
/// and fails the test.
pub fn rest<K: Kernel>(events: &mut EventLoop<(), K>) -> u64 {
    let work = |stats: Stats| (stats.events, stats.runs, stats.timers);
    for turns in 0..100_000 {
        let before = events.stats();
        events.turn(Some(Duration::ZERO)).expect("a turn");
        if work(events.stats()) == work(before) {
            return turns;
        }
    }
    panic!("the loop spins: {:?}", events.stats());
}

/// Runs turns, which wait for events, until `done`.
pub fn drive<K: Kernel>(events: &mut EventLoop<(), K>, done: impl Fn() -> bool) {
    while !done() {
        events.turn(None).expect("a turn");
    }
}
