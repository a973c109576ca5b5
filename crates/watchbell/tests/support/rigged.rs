//! A kernel that asks the test before it accepts and after it has waited.
#![allow(unreachable_pub)]

use std::fmt;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};
use watchbell::kernel::{
    Address, Borrowed, Call, EventBuffer, EventFlags, EventfdFlags, EventfdMode, Kernel, Process,
    Received, Shutdown, Sockets,
};

/// `K`, with a hook that can act, fail, panic or keep the calling thread, at three points: before
/// [`Call::Accept`] and [`Call::EpollCreate`], and after a [`Call::EpollWait`] that brought events.
#[derive(Clone)]
pub struct Rigged<K> {
    inner: K,
    hook: Arc<dyn Fn(Call) -> io::Result<()> + Send + Sync>,
}

impl<K: Sockets> Rigged<K> {
    pub fn new(
        inner: K,
        hook: impl Fn(Call) -> io::Result<()> + Send + Sync + 'static,
    ) -> Rigged<K> {
        Rigged { inner, hook: Arc::new(hook) }
    }
}

impl<K> fmt::Debug for Rigged<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rigged")
    }
}

impl<K: Kernel> Kernel for Rigged<K> {
    type Fd = K::Fd;

    fn epoll_create(&self) -> io::Result<Self::Fd> {
        (self.hook)(Call::EpollCreate)?;
        self.inner.epoll_create()
    }

    fn epoll_wait(
        &self,
        epoll: Borrowed<'_, Self>,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        self.inner.epoll_wait(epoll, events, timeout)?;
        if events.is_empty() { Ok(()) } else { (self.hook)(Call::EpollWait) }
    }

    fn eventfd(&self, initval: u32, flags: EventfdFlags) -> io::Result<Self::Fd> {
        self.inner.eventfd(initval, flags)
    }

    fn eventfd_mode(&self, fd: Borrowed<'_, Self>) -> io::Result<EventfdMode> {
        self.inner.eventfd_mode(fd)
    }

    fn read(&self, fd: Borrowed<'_, Self>, buf: &mut [u8]) -> io::Result<usize> {
        self.inner.read(fd, buf)
    }

    fn write(&self, fd: Borrowed<'_, Self>, buf: &[u8]) -> io::Result<usize> {
        self.inner.write(fd, buf)
    }

    fn is_nonblocking(&self, fd: Borrowed<'_, Self>) -> io::Result<bool> {
        self.inner.is_nonblocking(fd)
    }

    fn set_nonblocking(&self, fd: Borrowed<'_, Self>) -> io::Result<()> {
        self.inner.set_nonblocking(fd)
    }

    fn duplicate(&self, fd: Borrowed<'_, Self>) -> io::Result<Self::Fd> {
        self.inner.duplicate(fd)
    }

    fn epoll_add(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        self.inner.epoll_add(epoll, target, flags, data)
    }

    fn epoll_modify(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        self.inner.epoll_modify(epoll, target, flags, data)
    }

    fn epoll_delete(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
    ) -> io::Result<()> {
        self.inner.epoll_delete(epoll, target)
    }

    fn poll_readable(&self, fd: Borrowed<'_, Self>, timeout: Option<Duration>) -> io::Result<bool> {
        self.inner.poll_readable(fd, timeout)
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn process(&self) -> Process {
        self.inner.process()
    }
}

impl<K: Sockets> Sockets for Rigged<K> {
    fn accept(&self, listener: Borrowed<'_, Self>) -> io::Result<(Self::Fd, Address)> {
        (self.hook)(Call::Accept)?;
        self.inner.accept(listener)
    }

    fn listen(&self, address: &Address, backlog: u32) -> io::Result<Self::Fd> {
        self.inner.listen(address, backlog)
    }

    fn connect(&self, address: &Address) -> io::Result<(Self::Fd, bool)> {
        self.inner.connect(address)
    }

    fn report_left(&self, socket: Borrowed<'_, Self>, address: &Address) -> io::Result<bool> {
        self.inner.report_left(socket, address)
    }

    fn recv(&self, socket: Borrowed<'_, Self>, buf: &mut [u8]) -> io::Result<Received> {
        self.inner.recv(socket, buf)
    }

    fn send(&self, socket: Borrowed<'_, Self>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.inner.send(socket, bufs)
    }

    fn shutdown(&self, socket: Borrowed<'_, Self>, how: Shutdown) -> io::Result<()> {
        self.inner.shutdown(socket, how)
    }

    fn take_error(&self, socket: Borrowed<'_, Self>) -> io::Result<Option<io::Error>> {
        self.inner.take_error(socket)
    }

    fn set_nodelay(&self, socket: Borrowed<'_, Self>, at_once: bool) -> io::Result<()> {
        self.inner.set_nodelay(socket, at_once)
    }

    fn set_linger(&self, socket: Borrowed<'_, Self>, linger: Option<Duration>) -> io::Result<()> {
        self.inner.set_linger(socket, linger)
    }

    fn set_keepalive(&self, socket: Borrowed<'_, Self>, idle: Option<Duration>) -> io::Result<()> {
        self.inner.set_keepalive(socket, idle)
    }

    fn local_address(&self, socket: Borrowed<'_, Self>) -> io::Result<Address> {
        self.inner.local_address(socket)
    }

    fn peer_address(&self, socket: Borrowed<'_, Self>) -> io::Result<Address> {
        self.inner.peer_address(socket)
    }

    fn bind_datagram(&self, address: &Address) -> io::Result<Self::Fd> {
        self.inner.bind_datagram(address)
    }

    fn recv_from(
        &self,
        socket: Borrowed<'_, Self>,
        buf: &mut [u8],
    ) -> io::Result<(usize, Address)> {
        self.inner.recv_from(socket, buf)
    }

    fn send_to(
        &self,
        socket: Borrowed<'_, Self>,
        buf: &[u8],
        address: &Address,
    ) -> io::Result<usize> {
        self.inner.send_to(socket, buf, address)
    }
}
