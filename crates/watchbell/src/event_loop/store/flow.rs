//! What an output queue shares with the sources around it.
//!
//! A queue is written out by one source and filled by others. It outlives both, since handlers
//! share it as they like. So what has to be known on either side when the other ends stands here:
//! whose input the queue holds, and whether somebody still writes it out.

use super::address::{Address, Hold};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, lock};

#[derive(Default)]
pub(crate) struct Flow {
    /// The source that wrote the queue out is gone.
    ended: AtomicBool,
    /// The sources whose input is held until the queue is at its low-water mark.
    holds: Mutex<Vec<Hold>>,
}

impl Flow {
    /// Holds the input of the source at `address`, unless it is held already.
    pub(crate) fn hold(&self, address: &Arc<Address>) {
        let mut holds = lock(&self.holds);
        if self.has_ended() || holds.iter().any(|hold| hold.is_of(address)) {
            return;
        }
        holds.retain(Hold::is_living);
        holds.push(address.hold());
    }

    pub(crate) fn holds_any(&self) -> bool {
        !lock(&self.holds).is_empty()
    }

    /// Lets all go that are held.
    pub(crate) fn release(&self) {
        // Outside the lock: each hold that ends asks its source to go on.
        let holds = std::mem::take(&mut *lock(&self.holds));
        drop(holds);
    }

    /// Nobody writes the queue out any more: who fills it goes on, and finds that out.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.release();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}
