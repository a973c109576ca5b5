//! Where everything that was accepted has gone.

use std::fmt;

/// The account of what was accepted: the items of a [`doorbell`](crate::doorbell), or the
/// connections of [`workers`](crate::workers).
///
/// `owned` is counted from what is held, never computed as the difference of the others, so that
/// something which got lost on the way unbalances the account.
///
/// ```
/// use watchbell::Ledger;
///
/// let ledger = Ledger { accepted: 12, processed: 10, returned: 1, owned: 1 };
/// assert!(ledger.balances());
/// assert_eq!(ledger.to_string(), "accepted=12 processed=10 returned=1 owned=1");
/// assert!(!Ledger { owned: 0, ..ledger }.balances());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// What was accepted.
    pub accepted: u64,
    /// What has ended by itself: items that were handled, connections that finished, failed, or
    /// were refused by the service.
    pub processed: u64,
    /// What was handed back or given up: items that were reclaimed or dropped with their queue,
    /// connections that were closed by the end of the service.
    pub returned: u64,
    /// What is held: items in the queue or in hand, connections that are open.
    pub owned: u64,
}

impl Ledger {
    /// Whether everything that was accepted is in exactly one of the other three.
    pub fn balances(&self) -> bool {
        let processed_and_returned = self.processed.checked_add(self.returned);
        let all = processed_and_returned.and_then(|sum| sum.checked_add(self.owned));
        all == Some(self.accepted)
    }

    pub(crate) fn sum(mut ledgers: impl Iterator<Item = Ledger>) -> Ledger {
        ledgers.try_fold(Ledger::default(), Ledger::checked_add).expect("fewer than 2^64")
    }

    /// The account of two together. `None`: a count would pass 2^64.
    pub fn checked_add(self, other: Ledger) -> Option<Ledger> {
        Some(Ledger {
            accepted: self.accepted.checked_add(other.accepted)?,
            processed: self.processed.checked_add(other.processed)?,
            returned: self.returned.checked_add(other.returned)?,
            owned: self.owned.checked_add(other.owned)?,
        })
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ledger { accepted, processed, returned, owned } = self;
        write!(f, "accepted={accepted} processed={processed} returned={returned} owned={owned}")
    }
}
