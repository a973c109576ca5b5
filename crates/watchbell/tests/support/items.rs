//! Items that can be told apart, and are seen to end exactly once.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use watchbell::Ledger;

/// One item of several, which says when it is dropped.
#[derive(Debug)]
pub struct Item {
    pub id: usize,
    ends: Arc<[AtomicU32]>,
}

impl Drop for Item {
    fn drop(&mut self) {
        self.ends[self.id].fetch_add(1, Ordering::Relaxed);
    }
}

/// What became of some items.
#[derive(Clone, Debug)]
pub struct Items {
    ends: Arc<[AtomicU32]>,
}

impl Items {
    /// Watches over `count` items.
    pub fn new(count: usize) -> Items {
        Items { ends: (0..count).map(|_| AtomicU32::new(0)).collect() }
    }

    /// The item of that number, which is to be made once.
    pub fn make(&self, id: usize) -> Item {
        Item { id, ends: Arc::clone(&self.ends) }
    }

    pub fn make_all(&self) -> impl Iterator<Item = Item> + '_ {
        (0..self.ends.len()).map(|id| self.make(id))
    }

    /// Asserts that each has been dropped, once.
    #[track_caller]
    pub fn assert_all_ended_once(&self) {
        for (id, ends) in self.ends.iter().enumerate() {
            assert_eq!(ends.load(Ordering::Relaxed), 1, "the ends of item {id}");
        }
    }

    /// How many have been dropped.
    pub fn ended(&self) -> usize {
        self.ends.iter().filter(|ends| ends.load(Ordering::Relaxed) > 0).count()
    }
}

/// Asserts where everything has gone: accepted, processed, returned, owned.
#[track_caller]
pub fn assert_ledger(ledger: Ledger, [accepted, processed, returned, owned]: [u64; 4]) {
    assert!(ledger.balances(), "{ledger}");
    assert_eq!(ledger, Ledger { accepted, processed, returned, owned });
}

/// Asserts that `came` has each of `expected` once.
#[track_caller]
pub fn assert_same_items(came: &[usize], expected: impl IntoIterator<Item = usize>) {
    let (mut came, mut expected) = (came.to_vec(), expected.into_iter().collect::<Vec<_>>());
    came.sort_unstable();
    expected.sort_unstable();
    assert!(came == expected, "lost or doubled: {came:?} for {expected:?}");
}
