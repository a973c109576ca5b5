//! The one place where the account of a running source is.
//!
//! There is one for a loop, used again for each run, since one source runs at a time. The handler
//! reaches it by two ways: its [`Ready`](super::Ready), and the token by which anybody may ask
//! something of the source. Both change the same account, in the order of the program.

use crate::epoll::{Readiness, Token};
use crate::event_loop::account::{Account, Allowance, Budget};
use crate::event_loop::store::{Extras, Flow, Follows, Inbox, Letter, Wish};
use crate::sync::Arc;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// The run of one source.
pub struct Run {
    token: Cell<Token>,
    account: Cell<Account>,
    readiness: Cell<Readiness>,
    pub(crate) left: Allowance,
    notes: Cell<u8>,
    extras: Cell<Option<Box<Extras>>>,
    /// What this run says to other sources.
    letters: RefCell<Vec<Letter>>,
    pub(crate) skipped_accepts: Cell<u32>,
    pub(crate) accept_pauses: Cell<u32>,
    pub(crate) accept_pause: Duration,
    inbox: Arc<Inbox>,
}

/// What a run has to remember for its end: a set of bits. A run that notes nothing but `WORKED`
/// takes the short way out.
pub(crate) struct Notes;

impl Notes {
    /// An operation succeeded.
    pub(crate) const WORKED: u8 = 1;
    /// An operation met `EAGAIN`.
    pub(crate) const BOUNDARY: u8 = 2;
    /// Run the source again whatever its readiness.
    pub(crate) const AGAIN: u8 = 4;
    /// The handler had the source itself in its hands, and may have replaced it.
    pub(crate) const TOUCHED: u8 = 8;
    /// The source has another descriptor now than the registered one.
    pub(crate) const REPLACED: u8 = 16;
    /// The end of the source was asked for.
    pub(crate) const CLOSE: u8 = 32;
    /// Something was asked, said or counted that has to be looked at.
    pub(crate) const ODD: u8 = 64;
}

impl Run {
    pub(crate) fn new(inbox: Arc<Inbox>, accept_pause: Duration, none: Token) -> Run {
        Run {
            token: Cell::new(none),
            account: Cell::default(),
            readiness: Cell::default(),
            left: Allowance::default(),
            notes: Cell::new(0),
            extras: Cell::default(),
            letters: RefCell::default(),
            skipped_accepts: Cell::new(0),
            accept_pauses: Cell::new(0),
            accept_pause,
            inbox,
        }
    }

    /// Takes the account of a source over, for one run.
    #[inline]
    pub(crate) fn begin(
        &self,
        token: Token,
        mut account: Account,
        extras: Option<Box<Extras>>,
        readiness: Readiness,
        budget: Budget,
    ) {
        account.begin_run();
        let budget = extras.as_ref().and_then(|extras| extras.budget).unwrap_or(budget);
        self.left.renew(budget);
        self.token.set(token);
        self.account.set(account);
        self.readiness.set(readiness);
        self.notes.set(0);
        if let Some(extras) = extras {
            self.extras.set(Some(extras));
        }
    }

    /// Gives the source's rare things back. The account is [`account`](Run::account).
    #[inline]
    pub(crate) fn end(&self) -> Option<Box<Extras>> {
        self.extras.take()
    }

    #[inline]
    pub(crate) fn token(&self) -> Token {
        self.token.get()
    }

    pub(crate) fn name(&self) -> Option<Cow<'static, str>> {
        self.with_extras(|extras| extras.as_ref().and_then(|extras| extras.name.clone()))
    }

    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness.get()
    }

    #[inline]
    pub(crate) fn account(&self) -> Account {
        self.account.get()
    }

    #[inline]
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Account) -> T) -> T {
        let mut account = self.account.get();
        let result = change(&mut account);
        self.account.set(account);
        result
    }

    #[inline]
    pub(crate) fn notes(&self) -> u8 {
        self.notes.get()
    }

    #[inline]
    pub(crate) fn note(&self, notes: u8) {
        self.notes.set(self.notes.get() | notes);
    }

    /// Grants a wish to the running source.
    pub(crate) fn wish(&self, wish: Wish) {
        let (mut account, mut extras) = (self.account.get(), self.extras.take());
        let follows = wish.grant(&mut account, &mut extras);
        self.account.set(account);
        self.extras.set(extras);
        self.note(match follows {
            // Wakes are passed on between the runs, and a stop by this one passes one on itself.
            Follows::Nothing | Follows::Pass => Notes::ODD,
            Follows::Run => Notes::AGAIN,
            Follows::Close => Notes::CLOSE,
        });
    }

    /// Says something to another source, or to this one at the run's end.
    pub(crate) fn say(&self, to: Token, wish: Wish) {
        self.letters.borrow_mut().push(Letter { to, wish });
        self.note(Notes::ODD);
    }

    pub(crate) fn take_letters(&self) -> Vec<Letter> {
        self.letters.take()
    }

    /// Lets the queue hold this source's input.
    pub(crate) fn hold_input(&self, flow: &Flow) {
        self.with_extras(|extras| {
            flow.hold(extras.get_or_insert_default().address(&self.inbox, self.token()));
        });
        self.look_at_holds();
    }

    /// Whether the input is held is asked of the queues.
    pub(crate) fn look_at_holds(&self) {
        let is_held = self.with_extras(|it| it.as_ref().is_some_and(|extras| extras.is_held()));
        if is_held != self.account().is_held() {
            self.note(Notes::ODD);
            self.change(|account| match is_held {
                true => account.hold_input(),
                false => account.release_input(),
            });
        }
    }

    fn with_extras<T>(&self, look: impl FnOnce(&mut Option<Box<Extras>>) -> T) -> T {
        let mut extras = self.extras.take();
        let result = look(&mut extras);
        self.extras.set(extras);
        result
    }
}
