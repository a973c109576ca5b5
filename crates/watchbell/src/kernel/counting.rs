//! A decorator that counts the calls of another kernel.

use super::{
    Address, Borrowed, EventBuffer, EventFlags, EventfdFlags, EventfdMode, Kernel, Process,
    Received, Shutdown, Sockets,
};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

/// The calls that [`Counting`] tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the call of its name")]
pub enum Call {
    Eventfd,
    EventfdMode,
    Read,
    Write,
    IsNonblocking,
    SetNonblocking,
    Duplicate,
    EpollCreate,
    EpollAdd,
    EpollModify,
    EpollDelete,
    EpollWait,
    Poll,
    Listen,
    Accept,
    Connect,
    ReportLeft,
    Recv,
    Send,
    Shutdown,
    TakeError,
    SetNodelay,
    SetLinger,
    SetKeepalive,
    LocalAddress,
    PeerAddress,
    BindDatagram,
    RecvFrom,
    SendTo,
}

impl Call {
    const COUNT: usize = Call::SendTo as usize + 1;
}

/// A kernel that counts what is asked of another one.
///
/// Clones share the counts. The clock and the look at the process are not counted: on Linux they
/// make no system call (vdso(7), [`Kernel::process`]).
///
/// ```
/// use watchbell::eventfd::Counter;
/// use watchbell::kernel::{Call, Counting, Linux};
///
/// let kernel = Counting::new(Linux);
/// let counter = Counter::on(kernel.clone(), 0)?;
/// counter.add(1)?;
/// counter.add(2)?;
/// assert_eq!(counter.try_take()?, Some(3));
/// assert_eq!(kernel.calls(Call::Write), 2);
/// assert_eq!(kernel.calls(Call::Read), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counting<K> {
    inner: K,
    counts: Arc<[AtomicU64; Call::COUNT]>,
}

impl<K: Kernel> Counting<K> {
    /// Counts the calls of `inner`, from zero.
    pub fn new(inner: K) -> Counting<K> {
        Counting { inner, counts: Arc::new([const { AtomicU64::new(0) }; Call::COUNT]) }
    }

    /// How often `call` was made.
    pub fn calls(&self, call: Call) -> u64 {
        self.counts[call as usize].load(Ordering::Relaxed)
    }

    /// How many calls were made in all.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Sets every count to zero.
    pub fn reset(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    fn count(&self, call: Call) -> &K {
        self.counts[call as usize].fetch_add(1, Ordering::Relaxed);
        &self.inner
    }
}

impl<K: Kernel> Kernel for Counting<K> {
    type Fd = K::Fd;

    fn eventfd(&self, initval: u32, flags: EventfdFlags) -> io::Result<Self::Fd> {
        self.count(Call::Eventfd).eventfd(initval, flags)
    }

    fn eventfd_mode(&self, fd: Borrowed<'_, Self>) -> io::Result<EventfdMode> {
        self.count(Call::EventfdMode).eventfd_mode(fd)
    }

    fn read(&self, fd: Borrowed<'_, Self>, buf: &mut [u8]) -> io::Result<usize> {
        self.count(Call::Read).read(fd, buf)
    }

    fn write(&self, fd: Borrowed<'_, Self>, buf: &[u8]) -> io::Result<usize> {
        self.count(Call::Write).write(fd, buf)
    }

    fn is_nonblocking(&self, fd: Borrowed<'_, Self>) -> io::Result<bool> {
        self.count(Call::IsNonblocking).is_nonblocking(fd)
    }

    fn set_nonblocking(&self, fd: Borrowed<'_, Self>) -> io::Result<()> {
        self.count(Call::SetNonblocking).set_nonblocking(fd)
    }

    fn duplicate(&self, fd: Borrowed<'_, Self>) -> io::Result<Self::Fd> {
        self.count(Call::Duplicate).duplicate(fd)
    }

    fn epoll_create(&self) -> io::Result<Self::Fd> {
        self.count(Call::EpollCreate).epoll_create()
    }

    fn epoll_add(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        self.count(Call::EpollAdd).epoll_add(epoll, target, flags, data)
    }

    fn epoll_modify(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
        flags: EventFlags,
        data: u64,
    ) -> io::Result<()> {
        self.count(Call::EpollModify).epoll_modify(epoll, target, flags, data)
    }

    fn epoll_delete(
        &self,
        epoll: Borrowed<'_, Self>,
        target: Borrowed<'_, Self>,
    ) -> io::Result<()> {
        self.count(Call::EpollDelete).epoll_delete(epoll, target)
    }

    fn epoll_wait(
        &self,
        epoll: Borrowed<'_, Self>,
        events: &mut EventBuffer,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        self.count(Call::EpollWait).epoll_wait(epoll, events, timeout)
    }

    fn poll_readable(&self, fd: Borrowed<'_, Self>, timeout: Option<Duration>) -> io::Result<bool> {
        self.count(Call::Poll).poll_readable(fd, timeout)
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn process(&self) -> Process {
        self.inner.process()
    }
}

impl<K: Sockets> Sockets for Counting<K> {
    fn listen(&self, address: &Address, backlog: u32) -> io::Result<Self::Fd> {
        self.count(Call::Listen).listen(address, backlog)
    }

    fn accept(&self, listener: Borrowed<'_, Self>) -> io::Result<(Self::Fd, Address)> {
        self.count(Call::Accept).accept(listener)
    }

    fn connect(&self, address: &Address) -> io::Result<(Self::Fd, bool)> {
        self.count(Call::Connect).connect(address)
    }

    fn report_left(&self, socket: Borrowed<'_, Self>, address: &Address) -> io::Result<bool> {
        self.count(Call::ReportLeft).report_left(socket, address)
    }

    fn recv(&self, socket: Borrowed<'_, Self>, buf: &mut [u8]) -> io::Result<Received> {
        self.count(Call::Recv).recv(socket, buf)
    }

    fn send(&self, socket: Borrowed<'_, Self>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.count(Call::Send).send(socket, bufs)
    }

    fn shutdown(&self, socket: Borrowed<'_, Self>, how: Shutdown) -> io::Result<()> {
        self.count(Call::Shutdown).shutdown(socket, how)
    }

    fn take_error(&self, socket: Borrowed<'_, Self>) -> io::Result<Option<io::Error>> {
        self.count(Call::TakeError).take_error(socket)
    }

    fn set_nodelay(&self, socket: Borrowed<'_, Self>, at_once: bool) -> io::Result<()> {
        self.count(Call::SetNodelay).set_nodelay(socket, at_once)
    }

    fn set_linger(&self, socket: Borrowed<'_, Self>, linger: Option<Duration>) -> io::Result<()> {
        self.count(Call::SetLinger).set_linger(socket, linger)
    }

    fn set_keepalive(&self, socket: Borrowed<'_, Self>, idle: Option<Duration>) -> io::Result<()> {
        self.count(Call::SetKeepalive).set_keepalive(socket, idle)
    }

    fn local_address(&self, socket: Borrowed<'_, Self>) -> io::Result<Address> {
        self.count(Call::LocalAddress).local_address(socket)
    }

    fn peer_address(&self, socket: Borrowed<'_, Self>) -> io::Result<Address> {
        self.count(Call::PeerAddress).peer_address(socket)
    }

    fn bind_datagram(&self, address: &Address) -> io::Result<Self::Fd> {
        self.count(Call::BindDatagram).bind_datagram(address)
    }

    fn recv_from(
        &self,
        socket: Borrowed<'_, Self>,
        buf: &mut [u8],
    ) -> io::Result<(usize, Address)> {
        self.count(Call::RecvFrom).recv_from(socket, buf)
    }

    fn send_to(
        &self,
        socket: Borrowed<'_, Self>,
        buf: &[u8],
        address: &Address,
    ) -> io::Result<usize> {
        self.count(Call::SendTo).send_to(socket, buf, address)
    }
}
