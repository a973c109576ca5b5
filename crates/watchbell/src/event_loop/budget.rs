//! How much one source may do in one turn.

use super::Direction;

/// What a source may spend in one turn, before the others that are runnable have theirs.
///
/// Operations count system calls, the bytes count what they moved, each way for itself, and
/// messages are what the handler charges by [`Ready::charge`](super::Ready::charge). A source that
/// has spent any of them is run again in a later turn, with no new edge from the kernel.
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
    ///
    /// # Panics
    ///
    /// If it is zero: such a source could never do anything.
    #[must_use]
    pub fn operations(self, operations: u32) -> Budget {
        assert!(operations > 0, "a budget of no operations");
        Budget { operations, ..self }
    }

    /// At most `bytes` read and `bytes` written a turn.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn bytes(self, bytes: usize) -> Budget {
        assert!(bytes > 0, "a budget of no bytes");
        Budget { bytes, ..self }
    }

    /// At most `messages` charged by the handler a turn.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn messages(self, messages: u32) -> Budget {
        assert!(messages > 0, "a budget of no messages");
        Budget { messages, ..self }
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

/// What is left of a [`Budget`] in the current turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    operations: u32,
    input: usize,
    output: usize,
    messages: u32,
    spent: bool,
}

impl Allowance {
    pub(crate) fn new(budget: Budget) -> Allowance {
        let Budget { operations, bytes, messages } = budget;
        Allowance { operations, input: bytes, output: bytes, messages, spent: false }
    }

    /// Takes one operation that way. Refused once any part of the budget is spent.
    pub(crate) fn take_operation(&mut self, direction: Direction) -> bool {
        // The message that spends the budget may still be answered.
        let messages = direction == Direction::Output || self.messages > 0;
        let left = self.operations > 0 && messages && self.bytes_left(direction) > 0;
        if left {
            self.operations -= 1;
        } else {
            self.spent = true;
        }
        left
    }

    pub(crate) fn bytes_left(&self, direction: Direction) -> usize {
        match direction {
            Direction::Input => self.input,
            Direction::Output => self.output,
        }
    }

    /// A datagram can be longer than what is left; it ends the turn and is not owed.
    pub(crate) fn charge_bytes(&mut self, direction: Direction, bytes: usize) {
        let left = match direction {
            Direction::Input => &mut self.input,
            Direction::Output => &mut self.output,
        };
        *left = left.saturating_sub(bytes);
    }

    /// Whether messages are left after these.
    pub(crate) fn charge_messages(&mut self, messages: u32) -> bool {
        self.messages = self.messages.saturating_sub(messages);
        self.spent |= self.messages == 0;
        self.messages > 0
    }

    pub(crate) fn messages_are_spent(&self) -> bool {
        self.messages == 0
    }

    /// Whether something was refused, or the messages ended.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }
}
