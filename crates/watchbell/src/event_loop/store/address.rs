//! Where a source is now.

use super::{Inbox, Letter, Wish};
use crate::epoll::Token;
use crate::sync::{Arc, Mutex, Weak, lock};

/// The address of a source, which moves with it from loop to loop.
///
/// Those that hold the source's input keep weak references, one each: so the count of these is the
/// count of the holds, and no second one can disagree with it.
pub(crate) struct Address {
    home: Mutex<(Arc<Inbox>, Token)>,
}

/// An output queue's hold of the input that fills it. Dropping it ends the hold, on whatever
/// thread, and the source is asked to go on.
pub(crate) struct Hold(Weak<Address>);

impl Address {
    pub(crate) fn new(inbox: &Arc<Inbox>, token: Token) -> Address {
        Address { home: Mutex::new((Arc::clone(inbox), token)) }
    }

    pub(crate) fn set(&self, inbox: &Arc<Inbox>, token: Token) {
        *lock(&self.home) = (Arc::clone(inbox), token);
    }

    pub(crate) fn is_held(self: &Arc<Self>) -> bool {
        Arc::weak_count(self) > 0
    }

    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        Hold(Arc::downgrade(self))
    }
}

impl Hold {
    pub(crate) fn is_of(&self, address: &Arc<Address>) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(address))
    }

    /// Whether the source is still there.
    pub(crate) fn is_living(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Drop for Hold {
    /// The count falls first, then the source is asked to look at it.
    fn drop(&mut self) {
        let Some(address) = std::mem::take(&mut self.0).upgrade() else { return };
        let (inbox, token) = lock(&address.home).clone();
        drop(address);
        inbox.post(Letter { to: token, wish: Wish::LetGo });
    }
}
