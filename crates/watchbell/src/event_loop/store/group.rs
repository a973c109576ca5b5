//! The loops that watch one target exclusively.
//!
//! One wake goes to one exclusive waiter, however much work it brings (contract X11). So the
//! members of a group know each other. One that cannot take (its input is stopped) leaves the
//! interest list, so that the kernel wakes another; and since a wake may have been on its way to
//! it, it passes one on. A wake too many costs one `EAGAIN`; a wake too few is a connection that
//! nobody accepts.

use super::{Inbox, Letter, Wish};
use crate::epoll::{ExclusiveTarget, Source, Token};
use crate::kernel::Descriptor;
use crate::sync::{Arc, Mutex, lock};
use std::fmt;
use std::ops::Deref;

/// A source that several loops watch exclusively: of them, an event wakes one or a few.
///
/// Each loop takes in a clone, by [`Registration::exclusive`]. The clones know each other: a loop
/// that was woken and cannot take what there is wakes another.
///
/// ```
/// # use std::net::{TcpListener, TcpStream};
/// use watchbell::event_loop::{EventLoop, Registration, Shared};
///
/// let listener = Shared::new(TcpListener::bind("127.0.0.1:0")?);
/// let _client = TcpStream::connect(listener.local_addr()?)?;
/// // Each worker's loop takes in its own clone.
/// let mut events = EventLoop::new()?;
/// events.add(listener.clone(), Registration::exclusive(), |listener, turn| {
///     while let Some((_stream, _peer)) = listener.accept()? {
///         turn.stop();
///     }
///     Ok(())
/// })?;
/// events.run()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// [`Registration::exclusive`]: crate::event_loop::Registration::exclusive
#[doc(alias = "EPOLLEXCLUSIVE")]
pub struct Shared<S> {
    shared: Arc<(S, Arc<Group>)>,
}

/// The members of a group.
#[derive(Default)]
pub(crate) struct Group {
    members: Mutex<Vec<Member>>,
}

struct Member {
    inbox: Arc<Inbox>,
    token: Token,
    /// It is in the interest list.
    is_able: bool,
}

impl<S: ExclusiveTarget> Shared<S> {
    /// Shares a source.
    pub fn new(source: S) -> Shared<S> {
        Shared { shared: Arc::new((source, Arc::default())) }
    }
}

impl<S> Shared<S> {
    pub(crate) fn group(&self) -> &Arc<Group> {
        &self.shared.1
    }
}

impl Group {
    pub(crate) fn join(&self, inbox: &Arc<Inbox>, token: Token, is_able: bool) {
        lock(&self.members).push(Member { inbox: Arc::clone(inbox), token, is_able });
    }

    /// The member is gone, and with it any wake that it had.
    pub(crate) fn leave(&self, token: Token) {
        lock(&self.members).retain(|member| member.token != token);
        self.pass(token);
    }

    pub(crate) fn set_able(&self, token: Token, is_able: bool) {
        let mut members = lock(&self.members);
        for member in members.iter_mut().filter(|member| member.token == token) {
            member.is_able = is_able;
        }
    }

    /// Passes a wake on to the next member that can take it. With none there is nobody to lose it:
    /// whoever comes back to the interest list is told what is there.
    pub(crate) fn pass(&self, from: Token) {
        let members = lock(&self.members);
        let after = members.iter().position(|member| member.token == from).map_or(0, |at| at + 1);
        let (before, behind) = members.split_at(after);
        let able = |member: &&Member| member.is_able && member.token != from;
        if let Some(member) = behind.iter().chain(before).find(able) {
            member.inbox.post(Letter { to: member.token, wish: Wish::TakeWake });
        }
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared { shared: Arc::clone(&self.shared) }
    }
}

impl<S> Deref for Shared<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.shared.0
    }
}

impl<S: Source> Source for Shared<S> {
    type Fd = S::Fd;
    const IS_NONBLOCKING: bool = S::IS_NONBLOCKING;

    fn descriptor(&self) -> <S::Fd as Descriptor>::Borrowed<'_> {
        (**self).descriptor()
    }
}

impl<S: fmt::Debug> fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&**self).finish()
    }
}
