//! Kernels with bad habits, within what the man pages allow: what a service must survive.

use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use watchbell::kernel::{
    Address, Borrowed, Call, EventBuffer, EventFlags, EventfdFlags, EventfdMode, Kernel, Process,
    Received, Shutdown, Sockets,
};

/// What a kernel does worse than the one that it wraps.
pub trait Habit: Clone + Send + Sync + 'static {
    /// An error in place of the call, which is then not made.
    fn refuses(&self, _call: Call) -> Option<io::Error> {
        None
    }

    /// The most bytes that one receive or send of `length` moves.
    fn moves(&self, length: usize) -> usize {
        length
    }

    /// Whether it says what is left to read.
    fn says_what_is_left(&self) -> bool {
        true
    }
}

/// Never says what is left to read: Linux before `TCP_INQ` and `SO_INQ`.
#[derive(Clone, Default)]
pub struct Silent;

impl Habit for Silent {
    fn says_what_is_left(&self) -> bool {
        false
    }
}

/// Is interrupted by a signal in every second call that may be.
#[derive(Clone, Default)]
pub struct Interrupting(Arc<AtomicU64>);

impl Habit for Interrupting {
    fn refuses(&self, call: Call) -> Option<io::Error> {
        let may_be = matches!(call, Call::Accept | Call::Recv | Call::Send | Call::EpollWait);
        let interrupted = may_be && self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        interrupted.then(|| ErrorKind::Interrupted.into())
    }
}

/// Moves one to seven bytes a call.
#[derive(Clone, Default)]
pub struct Trickling(Arc<AtomicU64>);

impl Habit for Trickling {
    fn moves(&self, length: usize) -> usize {
        length.min(1 + (self.0.fetch_add(1, Ordering::Relaxed) % 7) as usize)
    }
}

/// Moves so many bytes a call at the most.
#[derive(Clone)]
pub struct Slicing(pub usize);

impl Habit for Slicing {
    fn moves(&self, length: usize) -> usize {
        length.min(self.0)
    }
}

/// Answers the next calls of one kind with these errors, in order, then behaves.
#[derive(Clone)]
pub struct Failing {
    call: Call,
    errors: Arc<std::sync::Mutex<Vec<rustix::io::Errno>>>,
}

impl Failing {
    pub fn new(call: Call, errors: &[rustix::io::Errno]) -> Failing {
        let errors = errors.iter().rev().copied().collect();
        Failing { call, errors: Arc::new(std::sync::Mutex::new(errors)) }
    }
}

impl Habit for Failing {
    fn refuses(&self, call: Call) -> Option<io::Error> {
        let errno =
            (call == self.call).then(|| self.errors.lock().expect("no panic holds it").pop());
        errno.flatten().map(io::Error::from)
    }
}

/// A kernel with a bad habit.
#[derive(Clone)]
pub struct Habitual<K, H> {
    inner: K,
    habit: H,
}

impl<K: Kernel, H: Habit> Habitual<K, H> {
    pub fn new(inner: K, habit: H) -> Habitual<K, H> {
        Habitual { inner, habit }
    }

    fn refusing(&self, call: Call) -> io::Result<&K> {
        self.habit.refuses(call).map_or(Ok(&self.inner), Err)
    }
}

/// Methods that only pass the call on, unless it is refused.
macro_rules! pass_on {
    ($($call:ident: $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> io::Result<$result> {
            self.refusing(Call::$call)?.$name($($argument),*)
        })*
    };
}

impl<K: Kernel, H: Habit> Kernel for Habitual<K, H> {
    type Fd = K::Fd;

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn process(&self) -> Process {
        self.inner.process()
    }

    pass_on! {
        Eventfd: eventfd(initval: u32, flags: EventfdFlags) -> K::Fd;
        EventfdMode: eventfd_mode(fd: Borrowed<'_, K>) -> EventfdMode;
        Read: read(fd: Borrowed<'_, K>, buf: &mut [u8]) -> usize;
        Write: write(fd: Borrowed<'_, K>, buf: &[u8]) -> usize;
        IsNonblocking: is_nonblocking(fd: Borrowed<'_, K>) -> bool;
        SetNonblocking: set_nonblocking(fd: Borrowed<'_, K>) -> ();
        Duplicate: duplicate(fd: Borrowed<'_, K>) -> K::Fd;
        EpollCreate: epoll_create() -> K::Fd;
        EpollAdd: epoll_add(
            epoll: Borrowed<'_, K>,
            target: Borrowed<'_, K>,
            flags: EventFlags,
            data: u64
        ) -> ();
        EpollModify: epoll_modify(
            epoll: Borrowed<'_, K>,
            target: Borrowed<'_, K>,
            flags: EventFlags,
            data: u64
        ) -> ();
        EpollDelete: epoll_delete(epoll: Borrowed<'_, K>, target: Borrowed<'_, K>) -> ();
        EpollWait: epoll_wait(
            epoll: Borrowed<'_, K>,
            events: &mut EventBuffer,
            timeout: Option<Duration>
        ) -> ();
        Poll: poll_readable(fd: Borrowed<'_, K>, timeout: Option<Duration>) -> bool;
    }
}

impl<K: Sockets, H: Habit> Sockets for Habitual<K, H> {
    fn report_left(&self, socket: Borrowed<'_, K>, address: &Address) -> io::Result<bool> {
        let inner = self.refusing(Call::ReportLeft)?;
        Ok(self.habit.says_what_is_left() && inner.report_left(socket, address)?)
    }

    fn recv(&self, socket: Borrowed<'_, K>, buf: &mut [u8]) -> io::Result<Received> {
        let inner = self.refusing(Call::Recv)?;
        let most = self.habit.moves(buf.len());
        let received = inner.recv(socket, &mut buf[..most])?;
        Ok(Received { left: received.left.filter(|_| self.habit.says_what_is_left()), ..received })
    }

    fn send(&self, socket: Borrowed<'_, K>, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let inner = self.refusing(Call::Send)?;
        let whole = bufs.iter().map(|buf| buf.len()).sum();
        let most = self.habit.moves(whole);
        if most == whole {
            return inner.send(socket, bufs);
        }
        let first = bufs.iter().find(|buf| !buf.is_empty()).expect("not all of them are empty");
        inner.send(socket, &[IoSlice::new(&first[..first.len().min(most)])])
    }

    pass_on! {
        Listen: listen(address: &Address, backlog: u32) -> K::Fd;
        Accept: accept(listener: Borrowed<'_, K>) -> (K::Fd, Address);
        Connect: connect(address: &Address) -> (K::Fd, bool);
        Shutdown: shutdown(socket: Borrowed<'_, K>, how: Shutdown) -> ();
        TakeError: take_error(socket: Borrowed<'_, K>) -> Option<io::Error>;
        SetNodelay: set_nodelay(socket: Borrowed<'_, K>, at_once: bool) -> ();
        SetLinger: set_linger(socket: Borrowed<'_, K>, linger: Option<Duration>) -> ();
        SetKeepalive: set_keepalive(socket: Borrowed<'_, K>, idle: Option<Duration>) -> ();
        LocalAddress: local_address(socket: Borrowed<'_, K>) -> Address;
        PeerAddress: peer_address(socket: Borrowed<'_, K>) -> Address;
        BindDatagram: bind_datagram(address: &Address) -> K::Fd;
        RecvFrom: recv_from(socket: Borrowed<'_, K>, buf: &mut [u8]) -> (usize, Address);
        SendTo: send_to(socket: Borrowed<'_, K>, buf: &[u8], address: &Address) -> usize;
    }
}
