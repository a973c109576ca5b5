//! The last answers of an account, kept.
//!
//! Most events of a loop are alike: the same account hears the same of the kernel, and a run leaves
//! it the same. What an account becomes is a function of what it is, so the last answer serves the
//! next event, whichever source that is of. It saves a sixth of what an event costs.

use super::{Account, Directions};
use crate::epoll::Readiness;

#[derive(Debug, Default)]
pub(crate) struct Memo {
    told: ((Account, Readiness), Told),
    ended: (Account, Ended),
}

/// What an event makes of an account at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) account: Account,
    /// One run is due, whatever the account says.
    pub(crate) is_due: bool,
    /// There is a reason to run: the event, or the account.
    pub(crate) has_turn: bool,
}

/// What the end of a run makes of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) account: Account,
    pub(crate) armed: Directions,
    pub(crate) is_runnable: bool,
}

impl Memo {
    #[inline]
    pub(crate) fn tell(&mut self, account: Account, event: Readiness) -> Told {
        if self.told.0 != (account, event) {
            self.told = ((account, event), Told::new(account, event));
        }
        self.told.1
    }

    #[inline]
    pub(crate) fn end_run(&mut self, account: Account) -> Ended {
        if self.ended.0 != account {
            self.ended = (account, Ended::new(account));
        }
        self.ended.1
    }
}

impl Told {
    fn new(mut account: Account, event: Readiness) -> Told {
        let is_due = account.tell(event);
        Told { account, is_due, has_turn: is_due || account.is_runnable() }
    }
}

impl Ended {
    fn new(mut account: Account) -> Ended {
        account.end_run();
        Ended { account, armed: account.armed(), is_runnable: account.is_runnable() }
    }
}
