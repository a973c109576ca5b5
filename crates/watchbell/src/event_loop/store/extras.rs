//! What few sources have. It is kept apart so that the others need no memory for it.

use super::{Address, Flow, Group, Inbox};
use crate::epoll::Token;
use crate::event_loop::account::Budget;
use crate::event_loop::time::TimerId;
use crate::sync::{Arc, Weak};
use std::borrow::Cow;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) budget: Option<Budget>,
    /// Of each direction.
    pub(crate) rests: [Rest; 2],
    /// Where the source is, for the queues that hold it.
    pub(crate) address: Option<Arc<Address>>,
    /// The queues that other sources fill and this one writes out.
    pub(crate) flows: Vec<Weak<Flow>>,
    /// The loops that watch the same target exclusively.
    pub(crate) group: Option<Arc<Group>>,
}

/// The rest of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    /// A rest of this length was asked for, and no timer has been set for it.
    pub(crate) asked: Option<Duration>,
    /// The timer that ends it.
    pub(crate) timer: Option<TimerId>,
}

impl Extras {
    pub(crate) fn address(&mut self, inbox: &Arc<Inbox>, token: Token) -> &Arc<Address> {
        self.address.get_or_insert_with(|| Arc::new(Address::new(inbox, token)))
    }

    /// Whether a queue above its high-water mark holds the input. It is asked of the queues, not
    /// counted beside.
    pub(crate) fn is_held(&self) -> bool {
        self.address.as_ref().is_some_and(Address::is_held)
    }

    /// The source writes this queue out from now on.
    pub(crate) fn writes(&mut self, flow: &Arc<Flow>) {
        let flow = Arc::downgrade(flow);
        self.flows.retain(|other| other.strong_count() > 0);
        if !self.flows.iter().any(|other| other.ptr_eq(&flow)) {
            self.flows.push(flow);
        }
    }

    /// The source is gone: what it wrote out has no writer.
    pub(crate) fn end_flows(&mut self) {
        self.flows.drain(..).filter_map(|flow| flow.upgrade()).for_each(|flow| flow.end());
    }
}
