//! The pipe: bytes from one end to the other, in slots of a page.
//! ([pipe(7)](https://man7.org/linux/man-pages/man7/pipe.7.html))
//!
//! A pipe has 16 slots of one page each. That it counts slots and not bytes can be seen from
//! outside: a pipe of 16 slots with one byte each is full (S139), and it has room again when a slot
//! is empty, not when a byte was read.

use crate::arena::Id;
use crate::effects::Effects;
use crate::errno::Errno;
use crate::events::Mask;
use crate::oracle::Question;
use crate::rules::Rule;
use crate::wait_queue::{WaitQueue, Wake};
use std::collections::VecDeque;

/// Bytes in a slot.
pub const PAGE: usize = 4096;
/// Slots in a pipe.
pub const SLOTS: usize = 16;

/// Up to so many bytes are written whole or not at all.
const PIPE_BUF: usize = 4096;

const READABLE: Mask = Mask(Mask::IN.0 | Mask::RDNORM.0);
const WRITABLE: Mask = Mask(Mask::OUT.0 | Mask::WRNORM.0);

/// How a write is tried.
#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    /// It has just begun, and not slept yet.
    pub(crate) first: bool,
    /// It sleeps where it cannot go on.
    pub(crate) sleeps: bool,
}

/// A pipe with the ends that are open.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pipe {
    slots: VecDeque<Slot>,
    /// Open files of the reading end: one, or none.
    pub(crate) readers: usize,
    /// Open files of the writing end.
    pub(crate) writers: usize,
    /// Set by the first look at either end's readiness, and never cleared.
    watched: bool,
    pub(crate) reading: Id<WaitQueue>,
    pub(crate) writing: Id<WaitQueue>,
}

/// A page: what was read of it is not used again.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Slot {
    read: usize,
    bytes: VecDeque<u8>,
}

impl Slot {
    fn room(&self) -> usize {
        PAGE - self.read - self.bytes.len()
    }
}

impl Pipe {
    pub(crate) fn new(reading: Id<WaitQueue>, writing: Id<WaitQueue>) -> Pipe {
        let slots = VecDeque::new();
        Pipe { slots, readers: 1, writers: 1, watched: false, reading, writing }
    }

    fn is_full(&self) -> bool {
        self.slots.len() >= SLOTS
    }

    /// Takes up to `room` bytes.
    ///
    /// The writing end is signalled if the pipe was full and a slot has become empty: reading a
    /// part of a slot, or of a pipe that had room, is no edge for the writer.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where there is nothing and somebody can still write. With no writer left, no bytes:
    /// the end of the file.
    pub(crate) fn read(&mut self, room: usize, fx: &mut Effects) -> Result<Vec<u8>, Errno> {
        if room == 0 {
            return Ok(Vec::new());
        }
        let available = self.slots.iter().map(|slot| slot.bytes.len()).sum::<usize>();
        let room = fx.shorten(Question::ShortRead, room.min(available));
        let mut taken = Vec::new();
        let mut made_room = false;
        while taken.len() < room {
            let full = self.is_full();
            let Some(slot) = self.slots.front_mut() else { break };
            let count = slot.bytes.len().min(room - taken.len());
            taken.extend(slot.bytes.drain(..count));
            slot.read += count;
            if slot.bytes.is_empty() {
                made_room |= full;
                self.slots.pop_front();
            }
        }
        if taken.is_empty() && self.writers > 0 {
            return Err(Errno::EAGAIN);
        }
        if made_room && fx.keeps(Rule::FreedSlotSignalsOut) {
            fx.wake(Wake::one(self.writing, WRITABLE));
        }
        Ok(taken)
    }

    /// Takes as many of the bytes as there is room for.
    ///
    /// The reading end is signalled if the pipe was empty. Once somebody has looked at its
    /// readiness it is signalled by **every** write as it returns, so that an edge repeats here as
    /// well (S131); even by one that finds the pipe full and fails. One that goes to sleep has not
    /// returned.
    ///
    /// # Errors
    ///
    /// `EPIPE` with no reader left; `EAGAIN` where no byte fits.
    pub(crate) fn write(
        &mut self,
        bytes: &[u8],
        attempt: Attempt,
        fx: &mut Effects,
    ) -> Result<usize, Errno> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.readers == 0 {
            return Err(Errno::EPIPE);
        }
        let bytes = match bytes.len() {
            0..=PIPE_BUF => bytes,
            long => &bytes[..fx.shorten(Question::ShortWrite, long)],
        };
        let was_empty = self.slots.is_empty();
        let written = self.fill(bytes, attempt.first);
        let returns = written == bytes.len() || !attempt.sleeps;
        if was_empty {
            fx.wake(Wake::one(self.reading, READABLE));
        } else if returns {
            self.write_returns(fx);
        }
        if written == 0 { Err(Errno::EAGAIN) } else { Ok(written) }
    }

    /// A write returns, or was interrupted.
    pub(crate) fn write_returns(&self, fx: &mut Effects) {
        if self.watched && fx.keeps(Rule::WatchedPipeSignalsEveryWrite) {
            fx.wake(Wake::one(self.reading, READABLE));
        }
    }

    /// When a write begins, the part beyond whole pages goes into the last slot if all of it fits
    /// there; the rest takes slots of its own, a page each.
    fn fill(&mut self, bytes: &[u8], begins: bool) -> usize {
        let mut rest = bytes;
        let odd = bytes.len() % PAGE;
        if let Some(last) = self.slots.back_mut()
            && begins
            && odd > 0
            && odd <= last.room()
        {
            last.bytes.extend(&rest[..odd]);
            rest = &rest[odd..];
        }
        while !rest.is_empty() && !self.is_full() {
            let (page, beyond) = rest.split_at(rest.len().min(PAGE));
            self.slots.push_back(Slot { read: 0, bytes: page.iter().copied().collect() });
            rest = beyond;
        }
        bytes.len() - rest.len()
    }

    /// The reading end: readable with bytes in it, hung up with no writer. At the end of the file
    /// it is hung up and *not* readable, and never `RDHUP` (S230).
    pub(crate) fn readiness_to_read(&mut self) -> Mask {
        self.watched = true;
        READABLE.when(!self.slots.is_empty()) | Mask::HUP.when(self.writers == 0)
    }

    /// The writing end: writable with a slot free, in error with no reader (S232).
    pub(crate) fn readiness_to_write(&mut self) -> Mask {
        self.watched = true;
        WRITABLE.when(!self.is_full()) | Mask::ERR.when(self.readers == 0)
    }

    /// A reader or writer that had slept has what it wanted, and passes its wakeup on if there is
    /// more.
    pub(crate) fn pass_on(&self, reads: bool, fx: &mut Effects) {
        if reads && !self.slots.is_empty() {
            fx.wake(Wake::one(self.reading, READABLE));
        }
        if !reads && !self.is_full() {
            fx.wake(Wake::one(self.writing, WRITABLE));
        }
    }

    /// One end was closed: everybody at both ends is told, while there is another end.
    pub(crate) fn end_closed(&mut self, fx: &mut Effects) {
        if (self.readers == 0) != (self.writers == 0) && fx.keeps(Rule::ClosedEndSignalsAll) {
            fx.wake(Wake::everybody(self.reading));
            fx.wake(Wake::everybody(self.writing));
        }
    }
}
