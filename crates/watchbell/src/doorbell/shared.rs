//! What both ends of a doorbell hold.

use super::account::{Account, Snapshot};
use super::channel::{Channel, Owed};
use super::error::Errno;
use super::ring::Cursor;
use super::room::Room;
use crate::Ledger;
use crate::eventfd::Counter;
use crate::kernel::Kernel;
use std::io;

/// The queue, its account, and the eventfd. The consumer keeps it, so a ring that is followed at
/// once by the end of the last producer is delivered: closing an eventfd would erase its edge.
pub(super) struct Shared<T, K: Kernel> {
    pub(super) channel: Channel<T>,
    pub(super) account: Account,
    pub(super) room: Room,
    pub(super) bell: Counter<K>,
}

impl<T, K: Kernel> Shared<T, K> {
    pub(super) fn new(kernel: K, capacity: usize) -> io::Result<(Shared<T, K>, Cursor)> {
        let (channel, cursor) = Channel::new(capacity)?;
        let bell = Counter::on(kernel, 0)?;
        let (account, room) = (Account::default(), Room::default());
        Ok((Shared { channel, account, room, bell }, cursor))
    }

    /// Makes the write that is owed. Where it fails, the next push will owe it again.
    pub(super) fn ring_if(&self, owed: Owed) -> Result<(), Errno> {
        match owed {
            Owed::Nothing => Ok(()),
            Owed::Ring => self.ring().inspect_err(|_| self.channel.unring()),
        }
    }

    fn ring(&self) -> Result<(), Errno> {
        self.bell.ring().map_err(|refused| {
            let errno = io::Error::from(refused).raw_os_error();
            Errno(errno.unwrap_or(rustix::io::Errno::AGAIN.raw_os_error()))
        })
    }

    /// Refuses further items, and has both ends learn of it.
    pub(super) fn close(&self) {
        // A consumer that could not be rung finds the queue closed at its next look.
        let _ = self.ring_if(self.channel.close());
        self.room.notify();
    }

    pub(super) fn ledger(&self) -> Ledger {
        let Snapshot { accepted, processed, returned, owned } =
            self.account.snapshot(&self.channel.ring);
        Ledger { accepted, processed, returned, owned }
    }
}
