//! System calls as values, and what comes of them, in the notation of the cases.

use std::fmt;
use watchbell_model::{Errno, Event, Fd, Mask, Name, Op, PollFd, Reply, Sets, Shutdown};

/// A system call that both arms can make.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Eventfd {
        initval: u32,
        flags: u32,
    },
    Pipe {
        flags: u32,
    },
    Socketpair {
        flags: u32,
    },
    Socket {
        flags: u32,
    },
    Timerfd {
        flags: u32,
    },
    EpollCreate {
        flags: u32,
    },
    Null,
    Bind {
        fd: Fd,
        name: Name,
    },
    Listen {
        fd: Fd,
        backlog: usize,
    },
    Connect {
        fd: Fd,
        name: Name,
    },
    Accept {
        fd: Fd,
        flags: u32,
    },
    Shutdown {
        fd: Fd,
        how: Shutdown,
    },
    /// Sets a timer that is due at once, and waits until it has expired.
    Expire {
        fd: Fd,
        periodic: bool,
    },
    /// Sets a timer for a time that is not reached, or stops it.
    SetTimer {
        fd: Fd,
        on: bool,
    },
    GetTimer {
        fd: Fd,
    },
    Dup {
        fd: Fd,
    },
    Dup2 {
        fd: Fd,
        number: Fd,
    },
    Pass {
        fd: Fd,
    },
    Close {
        fd: Fd,
    },
    GetFlags {
        fd: Fd,
    },
    SetFlags {
        fd: Fd,
        flags: u32,
    },
    GetCloexec {
        fd: Fd,
    },
    SetCloexec {
        fd: Fd,
        on: bool,
    },
    Read {
        fd: Fd,
        room: usize,
    },
    Write {
        fd: Fd,
        bytes: Vec<u8>,
    },
    Ctl {
        epoll: Fd,
        op: Op,
        fd: Fd,
        event: Event,
    },
    Wait {
        epoll: Fd,
        max: usize,
        timeout: Timeout,
    },
    Poll {
        lines: Vec<PollFd>,
        timeout: Timeout,
    },
    Select {
        sets: Sets,
        timeout: Timeout,
    },
}

/// How long a wait may last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timeout {
    Zero,
    Millis(u64),
    Never,
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    Unit,
    Number(u64),
    Pair(Fd, Fd),
    Bytes(Vec<u8>),
    Events(Vec<Event>),
    Masks(Vec<Mask>),
    Sets(Sets),
}

/// The errors of both arms, by number.
pub type Outcome = Result<Value, i32>;

impl From<Reply> for Value {
    fn from(reply: Reply) -> Value {
        match reply {
            Reply::Count(count) => Value::Number(count as u64),
            Reply::Fd(fd) => Value::Number(fd as u64),
            Reply::Bytes(bytes) => Value::Bytes(bytes),
            Reply::Events(events) => Value::Events(events),
            Reply::Masks(masks) => Value::Masks(masks),
            Reply::Sets(sets) => Value::Sets(sets),
        }
    }
}

const ERRNOS: [Errno; 21] = [
    Errno::ENOENT,
    Errno::EINTR,
    Errno::ENXIO,
    Errno::EBADF,
    Errno::EAGAIN,
    Errno::ENODEV,
    Errno::EPERM,
    Errno::EBUSY,
    Errno::EEXIST,
    Errno::EINVAL,
    Errno::EMFILE,
    Errno::ESPIPE,
    Errno::EPIPE,
    Errno::ELOOP,
    Errno::ENOTSOCK,
    Errno::EOPNOTSUPP,
    Errno::EADDRINUSE,
    Errno::ECONNRESET,
    Errno::EISCONN,
    Errno::ENOTCONN,
    Errno::ECONNREFUSED,
];

/// In the notation of the cases: `[1:IN|OUT]`, `8:5` for eight bytes read that say 5, `EAGAIN`.
pub fn show(outcome: &Outcome) -> String {
    match outcome {
        Ok(Value::Unit) => "0".into(),
        Ok(Value::Number(number)) => number.to_string(),
        Ok(Value::Pair(a, b)) => format!("{a},{b}"),
        Ok(Value::Bytes(bytes)) => match <[u8; 8]>::try_from(bytes.as_slice()) {
            Ok(value) => format!("8:{}", u64::from_ne_bytes(value)),
            Err(_) => bytes.len().to_string(),
        },
        Ok(Value::Events(events)) => {
            let events: Vec<String> = events.iter().map(Event::to_string).collect();
            format!("[{}]", events.join(","))
        }
        Ok(Value::Masks(masks)) => {
            let ready = masks.iter().filter(|mask| !mask.is_empty()).count();
            let masks: Vec<String> = masks.iter().map(Mask::to_string).collect();
            format!("{ready}:{}", masks.join(","))
        }
        Ok(Value::Sets(sets)) => {
            let Sets { read, write, except } = sets;
            let count = read.len() + write.len() + except.len();
            format!("n={count} r={} w={} x={}", read.len(), write.len(), except.len())
        }
        Err(number) => match ERRNOS.iter().find(|errno| errno.number() == *number) {
            Some(errno) => errno.to_string(),
            None => format!("errno {number}"),
        },
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Write { fd, bytes } => match <[u8; 8]>::try_from(bytes.as_slice()) {
                Ok(value) => write!(f, "write({fd}, 8 bytes: {})", u64::from_ne_bytes(value)),
                Err(_) => write!(f, "write({fd}, {} bytes)", bytes.len()),
            },
            Call::Ctl { epoll, op, fd, event } => {
                let Event { events, data } = event;
                write!(f, "epoll_ctl({epoll}, {op:?}, {fd}, {events}, data {data})")
            }
            other => fmt::Debug::fmt(other, f),
        }
    }
}
