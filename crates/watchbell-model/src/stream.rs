//! The pair of connected Unix stream sockets.
//! ([unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html))
//!
//! Each write is kept as a message (a long one as several), and its memory is charged to the
//! *sender* until the receiver has taken its last byte. So the sender's room depends on how the
//! receiver reads, and three rules follow that a reader of `EPOLLOUT` should know:
//!
//! - a receiver that takes a part of a message is no edge for the sender; one that takes the last
//!   byte is (S133);
//! - the sender is *writable* while less than a quarter of its send buffer is charged, but a write
//!   succeeds while any of it is free;
//! - small messages fill the buffer long before their bytes do.

use crate::arena::Id;
use crate::effects::Effects;
use crate::errno::Errno;
use crate::events::Mask;
use crate::oracle::Question;
use crate::rules::Rule;
use crate::wait_queue::{WaitQueue, Wake};
use std::collections::VecDeque;

/// `SO_SNDBUF` as Linux sets it out.
pub const SEND_BUFFER: usize = 212_992;

const READABLE: Mask = Mask(Mask::IN.0 | Mask::RDNORM.0);
const WRITABLE: Mask = Mask(Mask::OUT.0 | Mask::WRNORM.0 | Mask::WRBAND.0);
/// The key of new data; `PRI` and `RDBAND` are in it although neither is ever ready.
const ARRIVED: Mask = Mask(READABLE.0 | Mask::PRI.0 | Mask::RDBAND.0);

/// Which end of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    A,
    B,
}

/// The halves of a connection that are shut down.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Halves {
    pub(crate) reading: bool,
    pub(crate) writing: bool,
}

/// Two ends, each with what it has received.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    a: End,
    b: End,
}

/// One end of a connection.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct End {
    pub(crate) queue: Id<WaitQueue>,
    received: VecDeque<Message>,
    pub(crate) shut: Halves,
    error: Option<Errno>,
    /// Memory of sent messages that were not taken yet.
    charged: usize,
    open: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Message {
    bytes: VecDeque<u8>,
    charge: usize,
}

impl End {
    pub(crate) fn new(queue: Id<WaitQueue>, shut: Halves) -> End {
        End { queue, received: VecDeque::new(), shut, error: None, charged: 0, open: true }
    }

    fn has_room(&self) -> bool {
        (self.charged + 1) * 4 <= SEND_BUFFER
    }

    /// A message of this end was taken whole: its memory is free, and the end is told if it is
    /// writable now, whether or not it was before.
    fn message_taken(&mut self, charge: usize, fx: &mut Effects) {
        self.charged -= charge;
        if self.open && self.has_room() && fx.keeps(Rule::TakenMessageSignalsOut) {
            fx.wake(Wake::one(self.queue, WRITABLE));
        }
    }
}

impl Pair {
    pub(crate) fn new(a: End, b: End) -> Pair {
        Pair { a, b }
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// This end and its peer.
    fn ends(&mut self, side: Side) -> (&mut End, &mut End) {
        match side {
            Side::A => (&mut self.a, &mut self.b),
            Side::B => (&mut self.b, &mut self.a),
        }
    }

    /// Takes up to `room` bytes, across messages.
    ///
    /// # Errors
    ///
    /// With nothing received: the pending error, once (`ECONNRESET`, S241); else no bytes where the
    /// reading half is shut, the end of the file; else `EAGAIN`.
    pub(crate) fn read(
        &mut self,
        side: Side,
        room: usize,
        fx: &mut Effects,
    ) -> Result<Vec<u8>, Errno> {
        if room == 0 {
            return Ok(Vec::new());
        }
        let (own, peer) = self.ends(side);
        if own.received.is_empty() {
            return match own.error.take() {
                Some(error) => Err(error),
                None if own.shut.reading => Ok(Vec::new()),
                None => Err(Errno::EAGAIN),
            };
        }
        let available = own.received.iter().map(|message| message.bytes.len()).sum::<usize>();
        let room = fx.shorten(Question::ShortRead, room.min(available));
        let mut taken = Vec::new();
        while taken.len() < room {
            let Some(message) = own.received.front_mut() else { break };
            let count = message.bytes.len().min(room - taken.len());
            taken.extend(message.bytes.drain(..count));
            if message.bytes.is_empty() {
                peer.message_taken(message.charge, fx);
                own.received.pop_front();
            }
        }
        Ok(taken)
    }

    /// Sends the bytes, as many as there is room for. The peer is told of every message, also where
    /// it had unread ones (S132).
    ///
    /// # Errors
    ///
    /// `EPIPE` where the writing half is shut, as it is once the peer is closed, or the peer's
    /// reading half, as it may have been before it was connected; `EAGAIN` without room.
    pub(crate) fn write(
        &mut self,
        side: Side,
        bytes: &[u8],
        fx: &mut Effects,
    ) -> Result<usize, Errno> {
        let (own, peer) = self.ends(side);
        if own.shut.writing {
            return Err(Errno::EPIPE);
        }
        if !bytes.is_empty() && own.charged > 0 && fx.oracle.choose(Question::SocketFull, 2) == 1 {
            return Err(Errno::EAGAIN);
        }
        let mut rest = &bytes[..fx.shorten(Question::ShortWrite, bytes.len())];
        let whole = rest.len();
        while !rest.is_empty() {
            let refused = match () {
                () if own.charged >= SEND_BUFFER => Some(Errno::EAGAIN),
                () if peer.shut.reading => Some(Errno::EPIPE),
                () => None,
            };
            if let Some(error) = refused {
                let sent = whole - rest.len();
                return if sent == 0 { Err(error) } else { Ok(sent) };
            }
            let (message, beyond) = rest.split_at(rest.len().min(LONGEST_MESSAGE));
            let charge = charge(message.len());
            own.charged += charge;
            peer.received.push_back(Message { bytes: message.iter().copied().collect(), charge });
            rest = beyond;
            if fx.keeps(Rule::MessageSignalsIn) {
                fx.wake(Wake::one(peer.queue, ARRIVED));
            }
        }
        Ok(whole)
    }

    /// Shuts halves down, and the opposite halves of the peer; everybody at both ends is told.
    pub(crate) fn shutdown(&mut self, side: Side, halves: Halves, fx: &mut Effects) {
        let (own, peer) = self.ends(side);
        own.shut.reading |= halves.reading;
        own.shut.writing |= halves.writing;
        fx.wake(Wake::everybody(own.queue));
        if peer.open && fx.keeps(Rule::ShutdownReachesPeer) {
            peer.shut.reading |= halves.writing;
            peer.shut.writing |= halves.reading;
            fx.wake(Wake::everybody(peer.queue));
        }
    }

    /// Closes an end. The peer is shut both ways, and learns of a reset if bytes were not read
    /// (S241), or if the connection was never accepted. Then the memory of what it had sent is
    /// free.
    pub(crate) fn close(&mut self, side: Side, unaccepted: bool, fx: &mut Effects) {
        let (own, peer) = self.ends(side);
        own.open = false;
        if !peer.open {
            return;
        }
        peer.shut = Halves { reading: true, writing: true };
        let unread = !own.received.is_empty() && fx.keeps(Rule::UnreadBytesResetPeer);
        if unread || unaccepted {
            peer.error = Some(Errno::ECONNRESET);
        }
        fx.wake(Wake::everybody(peer.queue));
        for message in std::mem::take(&mut own.received) {
            peer.message_taken(message.charge, fx);
        }
    }

    pub(crate) fn both_closed(&self) -> bool {
        !self.a.open && !self.b.open
    }

    /// A half that is shut for reading is readable (the end of the file can be read) and `RDHUP`;
    /// `HUP` takes both halves (S240).
    pub(crate) fn readiness(&self, side: Side) -> Mask {
        let end = self.end(side);
        Mask::ERR.when(end.error.is_some())
            | shut_readiness(end.shut)
            | READABLE.when(!end.received.is_empty())
            | WRITABLE.when(end.has_room())
    }

    /// Whether this end is open.
    pub(crate) fn end_is_open(&self, side: Side) -> bool {
        self.end(side).open
    }
}

/// What the halves that are shut make a socket ready for.
pub(crate) fn shut_readiness(shut: Halves) -> Mask {
    (READABLE | Mask::RDHUP).when(shut.reading) | Mask::HUP.when(shut.reading && shut.writing)
}

/// A longer write becomes several messages.
const LONGEST_MESSAGE: usize = LINEAR + 32_768;
/// Bytes that a message holds beside its head; more are kept in pages.
const LINEAR: usize = 3776;
const PAGE: usize = 4096;

/// The memory that a message is charged with: its bytes in blocks of the allocator, and its head.
/// Measured on Linux; with 8-byte messages 277 fit.
fn charge(length: usize) -> usize {
    const HEAD: usize = 256;
    const TAIL: usize = 320;
    let paged = if length > LINEAR { (length - LINEAR).next_multiple_of(PAGE) } else { 0 };
    let linear = length - paged.min(length);
    HEAD + (linear + TAIL).next_power_of_two().max(512) + paged
}
