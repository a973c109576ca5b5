//! What a loop asks of its epoll instance: it keeps its sources and tokens by itself.

use super::{Epoll, Instance, OnBlocking};
use crate::error::Error;
use crate::kernel::{Borrowed, EventFlags, Kernel};
use crate::sync::Arc;
use std::io;

impl<K: Kernel> Epoll<K> {
    pub(crate) fn kernel(&self) -> &K {
        &self.instance.kernel
    }

    pub(crate) fn fd(&self) -> Borrowed<'_, K> {
        self.instance.fd()
    }

    pub(crate) fn check_owner(&self) -> Result<(), Error> {
        self.instance.check_owner()
    }

    /// Another instance with the same home: the tokens of this one's registrations go on.
    pub(crate) fn successor(&self) -> io::Result<Epoll<K>> {
        let Instance { kernel, home, .. } = &*self.instance;
        Ok(Epoll { instance: Arc::new(Instance::on(kernel.clone(), *home)?) })
    }

    /// `EPOLL_CTL_ADD`; of a descriptor that must not block, `on_blocking` says what to do if it
    /// would. The process is looked at first: `O_NONBLOCK` of an inherited descriptor is the
    /// parent's too.
    pub(crate) fn register(
        &self,
        target: Borrowed<'_, K>,
        flags: EventFlags,
        data: u64,
        on_blocking: Option<OnBlocking>,
    ) -> Result<(), Error> {
        self.check_owner()?;
        if let Some(on_blocking) = on_blocking {
            self.instance.ensure_nonblocking(target, on_blocking)?;
        }
        self.add(target, flags, data)
    }

    /// `EPOLL_CTL_ADD`.
    pub(crate) fn add(
        &self,
        target: Borrowed<'_, K>,
        flags: EventFlags,
        data: u64,
    ) -> Result<(), Error> {
        self.check_owner()?;
        Ok(self.kernel().epoll_add(self.fd(), target, flags, data)?)
    }

    /// `EPOLL_CTL_MOD`.
    pub(crate) fn modify(
        &self,
        target: Borrowed<'_, K>,
        flags: EventFlags,
        data: u64,
    ) -> Result<(), Error> {
        self.check_owner()?;
        Ok(self.kernel().epoll_modify(self.fd(), target, flags, data)?)
    }

    /// `EPOLL_CTL_DEL`. What it does not reach is counted as a ghost; in a forked child nothing is
    /// done.
    pub(crate) fn delete(&self, target: Borrowed<'_, K>) {
        let _ = self.instance.delete(target);
    }

    /// Counts a registration that nothing can name any more.
    pub(crate) fn count_ghost(&self) {
        self.instance.count_ghost();
    }
}
