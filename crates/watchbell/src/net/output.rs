//! The bytes that the kernel has not taken yet.

#[cfg(test)]
mod tests;

use crate::epoll::Token;
use crate::event_loop::Flow;
use crate::sync::Arc;
use std::collections::VecDeque;
use std::error;
use std::fmt;
use std::io::{self, IoSlice};

/// An output queue: what [`Ready::send`](crate::event_loop::Ready::send) could not hand to the
/// kernel, in order, within bounds.
///
/// It belongs to one connection, for as long as that lasts: the queue that holds an input is the
/// one that lets it go. The loop writes it out and waits for room only while it holds something. It
/// holds no memory while it is empty.
///
/// # Whose input is held
///
/// The input of whoever fills it, and never another's:
///
/// - [`send`](crate::event_loop::Ready::send) is for a source that answers. It holds *its own*
///   input: it is the one that writes the queue out, too.
/// - [`forward`](crate::event_loop::Ready::forward) is for a relay. It holds the input of the
///   source *that calls it*, which brings the bytes. The input of the connection that writes them
///   out goes on, for it fills another queue.
///
/// A source is held from its first call that leaves the queue at its high-water mark or above. All
/// that are held are let go by the [`flush`](crate::event_loop::Ready::flush) that leaves the queue
/// at its low-water mark or below. A queue that ends for any other reason lets them go as well: it
/// is dropped or replaced, or the source that writes it out is gone. A source that several queues
/// hold goes on when the last has let it go.
///
/// # Example
///
/// ```
/// use watchbell::net::{Marks, Output};
///
/// let output = Output::new(Marks::new(4096, 16 * 1024)?);
/// assert!(output.is_empty() && !output.is_above_high_water());
/// assert_eq!(output.room(), 16 * 1024);
/// # Ok::<(), watchbell::net::MarksError>(())
/// ```
#[derive(Default)]
pub struct Output {
    queue: VecDeque<u8>,
    marks: Marks,
    end: End,
    /// The source that writes it out, once that has been run.
    writer: Option<Token>,
    /// What the sources that fill it and write it out have to know of each other. Made when it is
    /// needed: most queues are filled and written out by one source, and stay below their mark.
    flow: Option<Arc<Flow>>,
}

/// How far the end of the output has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// The output ends once the queue is empty.
    Asked,
    /// The peer has been told (`SHUT_WR`).
    Told,
}

/// The bounds of an [`Output`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    low: usize,
    high: usize,
    limit: usize,
}

impl Default for Marks {
    /// Low 64 KiB, high 256 KiB, limit 1 MiB.
    fn default() -> Marks {
        Marks { low: 64 << 10, high: 256 << 10, limit: 1 << 20 }
    }
}

impl Marks {
    /// The input that fills the queue is [held](Output#whose-input-is-held) when `high` bytes are
    /// queued, and let go when `low` or fewer are. The queue's limit is four times the high-water
    /// mark.
    ///
    /// # Errors
    ///
    /// [`MarksError`] if the high-water mark is not above the low one: a queue of just that length
    /// would have to hold its input and to let it go.
    ///
    /// # Example
    ///
    /// ```
    /// # use watchbell::net::Marks;
    /// let marks = Marks::new(16 << 10, 64 << 10)?.with_limit(128 << 10);
    /// # let _ = marks;
    /// assert!(Marks::new(4096, 4096).is_err());
    /// # Ok::<(), watchbell::net::MarksError>(())
    /// ```
    pub fn new(low: usize, high: usize) -> Result<Marks, MarksError> {
        if high <= low {
            return Err(MarksError { low, high });
        }
        Ok(Marks { low, high, limit: high.saturating_mul(4) })
    }

    /// The most bytes that the queue ever holds: sending more is refused with [`QueueFull`]. At
    /// least the high-water mark. [`new`](Marks::new) has the example.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Marks {
        Marks { limit: limit.max(self.high), ..self }
    }
}

/// Marks that no queue can keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarksError {
    low: usize,
    high: usize,
}

impl fmt::Display for MarksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MarksError { low, high } = self;
        write!(f, "a high-water mark of {high} bytes is not above a low-water mark of {low}")
    }
}

impl error::Error for MarksError {}

impl From<MarksError> for io::Error {
    fn from(error: MarksError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}

/// The queue has no room for these bytes within its limit; none of them was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull {
    /// How many bytes it holds.
    pub queued: usize,
    /// How many it was to take.
    pub refused: usize,
}

impl fmt::Display for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueueFull { queued, refused } = self;
        write!(f, "an output queue of {queued} bytes has no room for {refused} more")
    }
}

impl error::Error for QueueFull {}

impl From<QueueFull> for io::Error {
    fn from(error: QueueFull) -> io::Error {
        io::Error::new(io::ErrorKind::StorageFull, error)
    }
}

impl Output {
    /// An empty queue.
    pub fn new(marks: Marks) -> Output {
        Output { marks, ..Output::default() }
    }

    /// How many bytes the kernel has not taken.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether the kernel has taken all.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the queue has reached its high-water mark and not yet come down to the low one: the
    /// input that fills it is [held](Output#whose-input-is-held).
    pub fn is_above_high_water(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.holds_any())
    }

    /// Names the source that writes it out, for whoever
    /// [forwards](crate::event_loop::Ready::forward) to it. A source that has sent or flushed is
    /// known already.
    pub fn written_by(&mut self, source: Token) {
        self.writer = Some(source);
    }

    /// Throws away what is queued, and returns how many bytes that was. The input that it held goes
    /// on.
    pub fn discard(&mut self) -> usize {
        let bytes = self.len();
        self.consume(bytes);
        self.release();
        bytes
    }

    /// How many bytes more bring the queue to its high-water mark: what may be read for it, so that
    /// it never passes the mark.
    pub fn room(&self) -> usize {
        self.marks.high.saturating_sub(self.queue.len())
    }

    /// Ends the output after what is queued: the next [`flush`](crate::event_loop::Ready::flush)
    /// that leaves the queue empty tells the peer (`SHUT_WR`). So flush after it: with the queue
    /// empty already, nothing else would run the source again.
    #[doc(alias = "SHUT_WR")]
    pub fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Asked;
        }
    }

    /// Whether all was written and the peer was told of the end.
    pub fn is_finished(&self) -> bool {
        self.end == End::Told
    }

    /// Whether the end was asked for: nothing more may be sent.
    pub(super) fn is_ending(&self) -> bool {
        self.end != End::Open
    }

    pub(super) fn has_end_due(&self) -> bool {
        self.end == End::Asked && self.queue.is_empty()
    }

    pub(super) fn set_finished(&mut self) {
        self.end = End::Told;
    }

    /// Whether `bytes` more are within the limit.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), QueueFull> {
        let length = self.queue.len().checked_add(bytes);
        if length.is_some_and(|length| length <= self.marks.limit) {
            Ok(())
        } else {
            Err(QueueFull { queued: self.queue.len(), refused: bytes })
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.queue.extend(bytes);
    }

    /// The queued bytes, which wrap around at most once.
    pub(super) fn slices(&self) -> [IoSlice<'_>; 2] {
        let (front, back) = self.queue.as_slices();
        [IoSlice::new(front), IoSlice::new(back)]
    }

    /// Forgets the first `bytes`, which the kernel has taken.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.queue.drain(..bytes);
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    pub(super) fn writer(&self) -> Option<Token> {
        self.writer
    }

    pub(super) fn flow(&mut self) -> &Arc<Flow> {
        self.flow.get_or_insert_default()
    }

    /// Whether the input that fills it is to be held.
    pub(super) fn is_at_high_water(&self) -> bool {
        self.queue.len() >= self.marks.high
    }

    /// Whether the source that wrote it out is gone.
    pub(super) fn has_lost_its_writer(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.has_ended())
    }

    /// At its low-water mark, lets go whom it holds. `true`: it was at the mark, and has held some.
    pub(super) fn release(&mut self) -> bool {
        let flow = self.flow.as_ref().filter(|_| self.queue.len() <= self.marks.low);
        let flow = flow.filter(|flow| flow.holds_any());
        flow.inspect(|flow| flow.release()).is_some()
    }
}

/// How much is queued, not what.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("len", &self.len())
            .field("marks", &self.marks)
            .field("end", &self.end)
            .field("above_high_water", &self.is_above_high_water())
            .finish()
    }
}
