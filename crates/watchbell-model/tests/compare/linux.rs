//! The arm that is the running kernel.

use super::call::{Call, Outcome, Timeout, Value};
use super::raw::{self, borrow};
use super::threads::Threads;
use rustix::event::epoll::{EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFlags, epoll};
use rustix::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{self, Errno, FdFlags};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use rustix::pipe::PipeFlags;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_gettime, timerfd_settime,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use watchbell_model::{Event, Fd, Mask, Name, Op, PollFd, Sets, Shutdown};

/// The running kernel, with a part of this process's descriptor table to itself: from the lowest
/// number up from which all are free. Number 0 of a test is that number.
pub struct Linux {
    calls: Calls,
    alone: MutexGuard<'static, Option<Threads>>,
}

/// What a thread of a test needs to make calls.
#[derive(Clone)]
pub struct Calls {
    base: RawFd,
    /// Names of sockets are of the whole machine: this makes them of one test.
    names: u64,
    /// A pair of sockets by which this process passes descriptors to itself.
    passage: Arc<(OwnedFd, OwnedFd)>,
}

impl std::ops::Deref for Linux {
    type Target = Calls;
    fn deref(&self) -> &Calls {
        &self.calls
    }
}

/// One test at a time opens descriptors, since their numbers are compared; and has the threads.
static ALONE: Mutex<Option<Threads>> = Mutex::new(None);

/// How many threads a test can use.
pub const THREADS: usize = 8;

/// How many numbers a test can use.
pub const NUMBERS: Fd = 200;

impl Linux {
    /// Waits until no other test of this process runs on Linux.
    pub fn new() -> Linux {
        Linux::from(None)
    }

    /// With the numbers from `base` up, which another program has left open for this one.
    pub fn at(base: RawFd) -> Linux {
        Linux::from(Some(base))
    }

    fn from(base: Option<RawFd>) -> Linux {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let mut alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        alone.get_or_insert_with(|| Threads::new(THREADS)).quiet();
        let names = NAMES.fetch_add(1, Ordering::Relaxed);
        let passage =
            net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .expect("a pair of sockets");
        let passage = Arc::new(passage);
        Linux { calls: Calls { base: base.unwrap_or_else(first_free), names, passage }, alone }
    }

    /// Closes what a test has left open, and begins anew.
    pub fn reset(&mut self, used: Fd) {
        for fd in 0..used {
            let _ = raw::close(self.base + fd);
        }
        self.calls.names += 1 << 32;
    }

    /// The threads, and what they need to make calls.
    pub fn threads(&mut self) -> (&mut Threads, &Calls) {
        (self.alone.as_mut().expect("made with the first `Linux`"), &self.calls)
    }
}

impl Calls {
    fn name(&self, name: Name) -> SocketAddrUnix {
        let name = format!("watchbell-model-{}-{}-{name}", std::process::id(), self.names);
        SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a short name")
    }

    fn number(&self, made: Result<OwnedFd, Errno>) -> Outcome {
        made.map(|fd| Value::Number((fd.into_raw_fd() - self.base) as u64)).map_err(number)
    }

    fn pair(&self, made: Result<(OwnedFd, OwnedFd), Errno>) -> Outcome {
        let own = |fd: OwnedFd| fd.into_raw_fd() - self.base;
        made.map(|(a, b)| Value::Pair(own(a), own(b))).map_err(number)
    }

    /// Whether calls on it can block.
    pub fn is_blocking(&self, fd: Fd) -> bool {
        fs::fcntl_getfl(borrow(self.base + fd)).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK))
    }

    /// The number in this process's table.
    pub fn base(&self) -> RawFd {
        self.base
    }

    /// Makes a call. One that blocks, blocks.
    pub fn make(&self, call: &Call) -> Outcome {
        let at = |fd: Fd| borrow(self.base + fd);
        match call {
            Call::Eventfd { initval, flags } => {
                let flags = EventfdFlags::from_bits_retain(*flags);
                self.number(rustix::event::eventfd(*initval, flags))
            }
            Call::Pipe { flags } => {
                self.pair(rustix::pipe::pipe_with(PipeFlags::from_bits_retain(*flags)))
            }
            Call::Socketpair { flags } => {
                let flags = SocketFlags::from_bits_retain(*flags);
                self.pair(net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None))
            }
            Call::Socket { flags } => {
                let flags = SocketFlags::from_bits_retain(*flags);
                let made = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
                self.number(made)
            }
            Call::Timerfd { flags } => {
                let flags = TimerfdFlags::from_bits_retain(*flags);
                self.number(timerfd_create(TimerfdClockId::Monotonic, flags))
            }
            Call::EpollCreate { flags } => {
                self.number(epoll::create(epoll::CreateFlags::from_bits_retain(*flags)))
            }
            Call::Null => self.number(fs::open("/dev/null", OFlags::RDWR, Mode::empty())),
            Call::Bind { fd, name } => unit(net::bind(at(*fd), &self.name(*name))),
            Call::Listen { fd, backlog } => unit(net::listen(at(*fd), *backlog as i32)),
            Call::Connect { fd, name } => unit(net::connect(at(*fd), &self.name(*name))),
            Call::Accept { fd, flags } => {
                self.number(net::accept_with(at(*fd), SocketFlags::from_bits_retain(*flags)))
            }
            Call::Shutdown { fd, how } => unit(net::shutdown(at(*fd), shutdown(*how))),
            Call::Expire { fd, periodic } => self.expire(*fd, *periodic),
            Call::SetTimer { fd, on } => {
                let spec = Itimerspec { it_interval: nanos(0), it_value: hour(*on) };
                unit(timerfd_settime(at(*fd), TimerfdTimerFlags::empty(), &spec).map(|_| ()))
            }
            Call::GetTimer { fd } => {
                let set = |time: Timespec| u64::from(time.tv_sec != 0 || time.tv_nsec != 0);
                let got = timerfd_gettime(at(*fd));
                got.map(|spec| Value::Number(set(spec.it_value) + 2 * set(spec.it_interval)))
                    .map_err(number)
            }
            Call::Dup { fd } => self.number(io::dup(at(*fd))),
            Call::Dup2 { fd, number: to } => {
                let made = raw::dup2(self.base + fd, self.base + to);
                made.map(|to| Value::Number((to - self.base) as u64)).map_err(number)
            }
            Call::Pass { fd } => self.number(self.pass(at(*fd))),
            Call::Close { fd } => unit(raw::close(self.base + fd)),
            Call::GetFlags { fd } => {
                let flags = fs::fcntl_getfl(at(*fd));
                // O_LARGEFILE is a matter of the C library.
                flags.map(|flags| Value::Number(u64::from(flags.bits() & 0o77777))).map_err(number)
            }
            Call::SetFlags { fd, flags } => {
                unit(fs::fcntl_setfl(at(*fd), OFlags::from_bits_retain(*flags)))
            }
            Call::GetCloexec { fd } => {
                io::fcntl_getfd(at(*fd)).map(|f| Value::Number(u64::from(f.bits()))).map_err(number)
            }
            Call::SetCloexec { fd, on } => {
                let flags = if *on { FdFlags::CLOEXEC } else { FdFlags::empty() };
                unit(io::fcntl_setfd(at(*fd), flags))
            }
            Call::Read { fd, room } => {
                let mut bytes = vec![0; *room];
                let read = io::read(at(*fd), &mut bytes[..]);
                read.map(|count| Value::Bytes(bytes[..count].to_vec())).map_err(number)
            }
            Call::Write { fd, bytes } => {
                io::write(at(*fd), bytes).map(|count| Value::Number(count as u64)).map_err(number)
            }
            Call::Ctl { epoll, op, fd, event } => self.ctl(*epoll, *op, *fd, *event),
            Call::Wait { epoll, max, timeout } => self.wait(*epoll, *max, *timeout),
            Call::Poll { lines, timeout } => self.poll(lines, *timeout),
            Call::Select { sets, timeout } => self.select(sets, *timeout),
        }
    }

    /// Sends a descriptor through a socket, and receives it.
    fn pass(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        let fds = [fd];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut room);
        message.push(SendAncillaryMessage::ScmRights(&fds));
        let byte = [IoSlice::new(&[0])];
        net::sendmsg(&self.passage.0, &byte, &mut message, SendFlags::empty())?;
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut room);
        let mut byte = [0];
        let mut byte = [IoSliceMut::new(&mut byte)];
        net::recvmsg(&self.passage.1, &mut byte, &mut message, RecvFlags::empty())?;
        let received = message.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        Ok(received.expect("what was sent arrives"))
    }

    /// A thread that is blocked in a read may take the expiration before it is seen here; it does
    /// not take long.
    fn expire(&self, fd: Fd, periodic: bool) -> Outcome {
        let timer = borrow(self.base + fd);
        let spec = Itimerspec { it_interval: hour(periodic), it_value: nanos(1) };
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &spec).map_err(number)?;
        let line = PollFd { fd, events: Mask::IN };
        let set = Instant::now();
        while self.poll(&[line], Timeout::Zero) == Ok(Value::Masks(vec![Mask::NONE]))
            && set.elapsed() < Duration::from_millis(20)
        {
            std::thread::yield_now();
        }
        Ok(Value::Unit)
    }

    fn ctl(&self, epoll: Fd, op: Op, fd: Fd, event: Event) -> Outcome {
        let (epoll, target) = (borrow(self.base + epoll), borrow(self.base + fd));
        let data = EventData::new_u64(event.data);
        let flags = EventFlags::from_bits_retain(event.events.0);
        unit(match op {
            Op::Add => epoll::add(epoll, target, data, flags),
            Op::Mod => epoll::modify(epoll, target, data, flags),
            Op::Del => epoll::delete(epoll, target),
        })
    }

    fn wait(&self, epoll: Fd, max: usize, timeout: Timeout) -> Outcome {
        let mut room = [const { MaybeUninit::<epoll::Event>::uninit() }; 64];
        let (timeout, max) = (timespec(timeout), max.min(64));
        let waited = epoll::wait(borrow(self.base + epoll), &mut room[..max], timeout.as_ref());
        let (events, _) = waited.map_err(number)?;
        let events = events.iter().map(|event| {
            let flags = event.flags;
            Event { events: Mask(flags.bits()), data: event.data.u64() }
        });
        Ok(Value::Events(events.collect()))
    }

    fn poll(&self, lines: &[PollFd], timeout: Timeout) -> Outcome {
        let fds: Vec<_> = lines.iter().map(|line| borrow(self.base + line.fd)).collect();
        let line = |(fd, line): (_, &PollFd)| {
            let flags = PollFlags::from_bits_retain(line.events.0 as u16);
            rustix::event::PollFd::from_borrowed_fd(fd, flags)
        };
        let mut polled: Vec<_> = fds.iter().copied().zip(lines).map(line).collect();
        rustix::event::poll(&mut polled, timespec(timeout).as_ref()).map_err(number)?;
        let masks = polled.iter().map(|line| Mask(u32::from(line.revents().bits())));
        Ok(Value::Masks(masks.collect()))
    }

    fn select(&self, sets: &Sets, timeout: Timeout) -> Outcome {
        let selected = raw::select(self.base, sets, timespec(timeout).as_ref());
        selected.map(Value::Sets).map_err(number)
    }
}

fn first_free() -> RawFd {
    // Fills the holes below, and keeps them filled: from there on, the table is the test's.
    loop {
        let probe = io::dup(std::io::stdin()).expect("room for a descriptor");
        let lowest = probe.as_raw_fd();
        let above = (lowest + 1..lowest + NUMBERS).any(|fd| io::fcntl_getfd(borrow(fd)).is_ok());
        if !above {
            return lowest;
        }
        std::mem::forget(probe);
    }
}

fn number(error: Errno) -> i32 {
    error.raw_os_error()
}

fn unit(result: Result<(), Errno>) -> Outcome {
    result.map(|()| Value::Unit).map_err(number)
}

fn shutdown(how: Shutdown) -> net::Shutdown {
    match how {
        Shutdown::Read => net::Shutdown::Read,
        Shutdown::Write => net::Shutdown::Write,
        Shutdown::Both => net::Shutdown::Both,
    }
}

fn nanos(nanos: i64) -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: nanos }
}

fn hour(on: bool) -> Timespec {
    Timespec { tv_sec: if on { 3600 } else { 0 }, tv_nsec: 0 }
}

fn timespec(timeout: Timeout) -> Option<Timespec> {
    match timeout {
        Timeout::Zero => Some(nanos(0)),
        Timeout::Millis(millis) => Some(Timespec {
            tv_sec: (millis / 1000) as i64,
            tv_nsec: (millis % 1000 * 1_000_000) as i64,
        }),
        Timeout::Never => None,
    }
}
