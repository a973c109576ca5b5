//! loom's atomics under the names that the doorbell's files take from their parent, with one
//! operation of the shipped source weakened at a time.
//!
//! An operation is named by the place in the source that makes it. A [`Mutant`] says which place,
//! and what is left out there; everything else is done as it is written. So a model that runs on a
//! mutant runs the file that ships, but for one word of it.
#![allow(dead_code, unreachable_pub, reason = "the shipped files use a part of it")]

pub use loom::cell::UnsafeCell;
pub use loom::sync::atomic::Ordering;
pub use loom::sync::{Condvar, Mutex, MutexGuard};
pub use loom::thread::yield_now;

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::Location;

/// What an operation does less than it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakening {
    /// It acquires nothing.
    NoAcquire,
    /// It releases nothing.
    NoRelease,
    /// A read-modify-write is a load and a store; one that changes nothing is a load.
    Split,
    /// It is not made: a store, an exchange, a lock or a fence is left out.
    Skip,
}

/// One place in the source, and what is weakened there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub file: &'static str,
    pub line: u32,
    pub weakening: Weakening,
}

thread_local! {
    // loom runs all threads of a model on the thread that asked for it.
    static MUTANT: Cell<Option<Mutant>> = const { Cell::new(None) };
    static MET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` on a mutant of the source. Panics where `body` never comes by that place.
pub fn on_mutant<R>(mutant: Mutant, body: impl FnOnce() -> R) -> R {
    MUTANT.set(Some(mutant));
    MET.set(false);
    let result = body();
    MUTANT.set(None);
    assert!(MET.get(), "the model never comes by {mutant:?}");
    result
}

fn weakening(place: &Location<'_>) -> Option<Weakening> {
    let mutant = MUTANT.get()?;
    let here = place.line() == mutant.line && place.file().ends_with(mutant.file);
    here.then(|| MET.set(true));
    here.then_some(mutant.weakening)
}

fn weakened(order: Ordering, weakening: Option<Weakening>) -> Ordering {
    match (weakening, order) {
        (Some(Weakening::NoAcquire), Ordering::Acquire) => Ordering::Relaxed,
        (Some(Weakening::NoAcquire), Ordering::AcqRel) => Ordering::Release,
        (Some(Weakening::NoRelease), Ordering::Release) => Ordering::Relaxed,
        (Some(Weakening::NoRelease), Ordering::AcqRel) => Ordering::Acquire,
        (Some(Weakening::NoAcquire | Weakening::NoRelease), _) => {
            panic!("{order:?} has nothing to lose")
        }
        _ => order,
    }
}

#[track_caller]
pub fn fence(order: Ordering) {
    if weakening(Location::caller()) != Some(Weakening::Skip) {
        loom::sync::atomic::fence(order);
    }
}

macro_rules! weakened_atomic {
    ($name:ident, $value:ty) => {
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            pub fn new(value: $value) -> $name {
                $name(loom::sync::atomic::$name::new(value))
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(weakened(order, weakening(Location::caller())))
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let weakening = weakening(Location::caller());
                if weakening != Some(Weakening::Skip) {
                    self.0.store(value, weakened(order, weakening));
                }
            }

            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                let add = |old: $value| old.wrapping_add(value);
                self.modify(order, add, |order| self.0.fetch_add(value, order))
            }

            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                let subtract = |old: $value| old.wrapping_sub(value);
                self.modify(order, subtract, |order| self.0.fetch_sub(value, order))
            }

            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.modify(order, |old| old | value, |order| self.0.fetch_or(value, order))
            }

            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.modify(order, |_| value, |order| self.0.swap(value, order))
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match weakening(Location::caller()) {
                    Some(Weakening::Split) => {
                        let old = self.0.load(Ordering::Acquire);
                        if old != current {
                            return Err(old);
                        }
                        self.0.store(new, Ordering::Release);
                        Ok(old)
                    }
                    Some(Weakening::Skip) => Err(self.0.load(Ordering::Acquire)),
                    weakening => {
                        let success = weakened(success, weakening);
                        self.0.compare_exchange(current, new, success, failure)
                    }
                }
            }

            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            fn modify(
                &self,
                order: Ordering,
                change: impl Fn($value) -> $value,
                whole: impl FnOnce(Ordering) -> $value,
            ) -> $value {
                match weakening(Location::caller()) {
                    Some(Weakening::Split) => {
                        let old = self.0.load(Ordering::Acquire);
                        if change(old) != old {
                            self.0.store(change(old), Ordering::Release);
                        }
                        old
                    }
                    Some(Weakening::Skip) => self.0.load(Ordering::Acquire),
                    weakening => whole(weakened(order, weakening)),
                }
            }
        }
    };
}

weakened_atomic!(AtomicUsize, usize);
weakened_atomic!(AtomicU64, u64);

/// Locks `mutex`. A lock that is skipped is that of another mutex, which nobody else knows.
#[track_caller]
pub fn lock<T: Default>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let skipped = weakening(Location::caller()) == Some(Weakening::Skip);
    let mutex = if skipped { Box::leak(Box::default()) } else { mutex };
    mutex.lock().unwrap()
}
