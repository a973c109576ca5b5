//! How much one source may do in one turn.

use super::Direction;
use std::cell::Cell;
use std::io::{self, ErrorKind};

/// What a source may spend in one turn, before the others that are runnable have theirs.
///
/// Operations count system calls, the bytes count what they moved, each way for itself, and
/// messages are what the handler charges by
/// [`Ready::charge`](crate::event_loop::Ready::charge). A source that
/// has spent any of them is run again in a later turn, with no new edge from the kernel. A budget
/// ends a turn; it never shortens an operation.
///
/// A part of zero is refused where the budget is given.
///
/// ```
/// use watchbell::event_loop::Budget;
///
/// let budget = Budget::default().bytes(4096);
/// assert_eq!(budget.operations_a_turn(), Budget::default().operations_a_turn());
/// assert_eq!(budget.bytes_a_turn(), 4096);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    operations: u32,
    bytes: usize,
    messages: u32,
}

impl Default for Budget {
    /// 128 operations, 64 KiB each way and 1,024 messages.
    fn default() -> Budget {
        Budget { operations: 128, bytes: 64 * 1024, messages: 1024 }
    }
}

impl Budget {
    /// At most `operations` input and output operations a turn.
    #[must_use]
    pub const fn operations(self, operations: u32) -> Budget {
        Budget { operations, ..self }
    }

    /// At most `bytes` read and `bytes` written a turn.
    #[must_use]
    pub const fn bytes(self, bytes: usize) -> Budget {
        Budget { bytes, ..self }
    }

    /// At most `messages` charged by the handler a turn.
    #[must_use]
    pub const fn messages(self, messages: u32) -> Budget {
        Budget { messages, ..self }
    }

    /// Refuses a budget with a part of zero: its source could never do anything.
    pub(crate) fn check(self) -> io::Result<()> {
        let Budget { operations, bytes, messages } = self;
        let part = match (operations, bytes, messages) {
            (0, _, _) => "operations",
            (_, 0, _) => "bytes",
            (_, _, 0) => "messages",
            _ => return Ok(()),
        };
        let problem = format!("a budget of no {part}: its source could never do anything");
        Err(io::Error::new(ErrorKind::InvalidInput, problem))
    }

    /// How many operations a turn.
    pub fn operations_a_turn(self) -> u32 {
        self.operations
    }

    /// How many bytes a turn, each way.
    pub fn bytes_a_turn(self) -> usize {
        self.bytes
    }

    /// How many messages a turn.
    pub fn messages_a_turn(self) -> u32 {
        self.messages
    }
}

/// What is left of a [`Budget`] in the current run.
///
/// A budget ends a turn; it never changes an operation. A read or a datagram can be longer than
/// what is left: it is charged, and it is the last one.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    operations: Cell<u32>,
    messages: Cell<u32>,
    input: Cell<usize>,
    output: Cell<usize>,
    spent: Cell<bool>,
}

impl Allowance {
    #[inline]
    pub(crate) fn renew(&self, budget: Budget) {
        self.operations.set(budget.operations);
        self.messages.set(budget.messages);
        self.input.set(budget.bytes);
        self.output.set(budget.bytes);
        self.spent.set(false);
    }

    /// Takes one operation that way. Refused once any part of the budget is spent.
    #[inline]
    pub(crate) fn take_operation(&self, direction: Direction) -> bool {
        let operations = self.operations.get();
        // The message that spends the budget may still be answered.
        let messages = direction == Direction::Output || self.messages.get() > 0;
        let left = operations > 0 && messages && self.bytes_left(direction) > 0;
        if left {
            self.operations.set(operations - 1);
        } else {
            self.spent.set(true);
        }
        left
    }

    #[inline]
    pub(crate) fn bytes_left(&self, direction: Direction) -> usize {
        self.bytes(direction).get()
    }

    #[inline]
    pub(crate) fn charge_bytes(&self, direction: Direction, bytes: usize) {
        let left = self.bytes(direction);
        left.set(left.get().saturating_sub(bytes));
    }

    #[inline]
    fn bytes(&self, direction: Direction) -> &Cell<usize> {
        match direction {
            Direction::Input => &self.input,
            Direction::Output => &self.output,
        }
    }

    /// Whether messages are left after these.
    pub(crate) fn charge_messages(&self, messages: u32) -> bool {
        let left = self.messages.get().saturating_sub(messages);
        self.messages.set(left);
        if left == 0 {
            self.spent.set(true);
        }
        left > 0
    }

    #[inline]
    pub(crate) fn messages_are_spent(&self) -> bool {
        self.messages.get() == 0
    }

    /// Whether something was refused, or the messages ended.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.get()
    }
}
