//! What an operation on an object has for consequences outside the object.

use crate::oracle::{Oracle, Question};
use crate::rules::{Rule, Rules};
use crate::wait_queue::Wake;

/// Handed to each operation of an object: there it leaves the wakeups that it owes.
///
/// An object changes its own state and nothing else. Whom the change concerns is on a wait queue,
/// and the machine walks that queue after the change: in the same step at the strict level, in a
/// later one at the permissive level.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Effects {
    pub(crate) wakes: Vec<Wake>,
    pub(crate) rules: Rules,
    pub(crate) oracle: Oracle,
}

impl Effects {
    /// Owes a wakeup.
    pub(crate) fn wake(&mut self, wake: Wake) {
        self.wakes.push(wake);
    }

    /// Marks the place that keeps `rule`; see [`Rules::keeps`].
    pub(crate) fn keeps(&mut self, rule: Rule) -> bool {
        self.rules.keeps(rule)
    }
    /// How many bytes a transfer of `count` moves: fewer, where the oracle wants it so, but never
    /// none.
    pub(crate) fn shorten(&mut self, question: Question, count: usize) -> usize {
        count - self.oracle.choose(question, count)
    }
}
