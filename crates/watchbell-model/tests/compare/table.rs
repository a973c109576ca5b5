//! What is open, and so what a step of a random program means.

use super::call::{Call, Outcome, Timeout, Value};
use super::random::Words;
use watchbell_model::{
    EFD_SEMAPHORE, Event, Fd, Mask, O_APPEND, O_CLOEXEC, O_DIRECT, O_NONBLOCK, Op, PollFd, Sets,
    Shutdown,
};

/// What a number refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Closed,
    Eventfd,
    Reader,
    Writer,
    Socket,
    Timer,
    Epoll,
    Null,
}

use Kind::{Closed, Epoll, Eventfd, Null, Reader, Socket, Timer, Writer};

const OPEN: &[Kind] = &[Eventfd, Reader, Writer, Socket, Timer, Epoll, Null];
const WATCHABLE: &[Kind] = &[Eventfd, Eventfd, Reader, Writer, Socket, Timer, Epoll, Null];

/// What is open, by number.
#[derive(Clone, Default)]
pub struct Table {
    kinds: Vec<Kind>,
}

impl Table {
    /// One more than the highest number that was ever open.
    pub fn len(&self) -> Fd {
        self.kinds.len() as Fd
    }

    /// One of the open descriptors of those kinds; now and then any number at all.
    fn pick(&self, word: u32, kinds: &[Kind]) -> Fd {
        if word % 41 == 40 {
            return (word / 41 % 12) as Fd;
        }
        let open: Vec<usize> =
            (0..self.kinds.len()).filter(|fd| kinds.contains(&self.kinds[*fd])).collect();
        match open.len() {
            0 => (word % 8) as Fd,
            count => open[word as usize % count] as Fd,
        }
    }

    /// An epoll instance.
    pub fn epoll(&self, word: u32) -> Fd {
        self.pick(word, &[Epoll])
    }

    /// A call that may block on the descriptor that comes with it.
    pub fn blocking(&self, words: &Words) -> (Fd, Call) {
        match words.second % 8 {
            0 => {
                let fd = self.pick(words.first, &[Eventfd]);
                (fd, Call::Write { fd, bytes: (u64::MAX - 1).to_ne_bytes().to_vec() })
            }
            1 => {
                let fd = self.pick(words.first, &[Writer, Socket]);
                (fd, Call::Write { fd, bytes: vec![7; 70_000] })
            }
            2 => {
                let fd = self.pick(words.first, &[Socket]);
                (fd, Call::Accept { fd, flags: O_NONBLOCK })
            }
            _ => {
                let fd = self.pick(words.first, &[Eventfd, Eventfd, Reader, Socket, Timer]);
                (fd, Call::Read { fd, room: [8, 8, 3, 200][words.third as usize % 4] })
            }
        }
    }

    /// Anything that is open.
    pub fn any(&self, word: u32) -> Fd {
        self.pick(word, OPEN)
    }

    fn set(&mut self, fd: Fd, kind: Kind) {
        let place = fd as usize;
        if self.kinds.len() <= place {
            self.kinds.resize(place + 1, Closed);
        }
        self.kinds[place] = kind;
    }

    fn kind(&self, fd: Fd) -> Kind {
        self.kinds.get(fd as usize).copied().unwrap_or(Closed)
    }

    /// Learns what a call has opened or closed.
    pub fn learn(&mut self, call: &Call, outcome: &Outcome) {
        let made = match call {
            Call::Eventfd { .. } => Eventfd,
            Call::EpollCreate { .. } => Epoll,
            Call::Timerfd { .. } => Timer,
            Call::Null => Null,
            Call::Socket { .. } | Call::Socketpair { .. } | Call::Accept { .. } => Socket,
            Call::Dup { fd } | Call::Dup2 { fd, .. } | Call::Pass { fd } => self.kind(*fd),
            _ => Closed,
        };
        match (call, outcome) {
            (Call::Close { fd }, Ok(_)) => self.set(*fd, Closed),
            (Call::Pipe { .. }, Ok(Value::Pair(reader, writer))) => {
                self.set(*reader, Reader);
                self.set(*writer, Writer);
            }
            (Call::Socketpair { .. }, Ok(Value::Pair(a, b))) => {
                self.set(*a, Socket);
                self.set(*b, Socket);
            }
            (_, Ok(Value::Number(fd))) if made != Closed => self.set(*fd as Fd, made),
            _ => {}
        }
    }

    /// What a step means.
    pub fn resolve(&self, step: &Words) -> Call {
        let Words { kind, what, first, second, third, .. } = *step;
        let nonblock = if what % 13 == 0 { 0 } else { O_NONBLOCK };
        let flags = nonblock | if what % 5 == 0 { O_CLOEXEC } else { 0 };
        let any = || self.pick(first, OPEN);
        match kind % 120 {
            0..=3 => Call::Eventfd {
                initval: one_of(second, &[0, 0, 0, 1, 3, u32::MAX]),
                flags: flags | one_of(third, &[0, 0, 0, EFD_SEMAPHORE, EFD_SEMAPHORE, 0, 0, 0x100]),
            },
            4 => Call::Pipe { flags },
            5 => Call::Socketpair { flags },
            6 => Call::Socket { flags },
            7 => Call::Timerfd { flags },
            8..=10 => Call::EpollCreate { flags: one_of(third, &[0, 0, 0, O_CLOEXEC, 1]) },
            11 if what % 5 == 0 => Call::Null,
            11 => Call::Pass { fd: any() },
            12 => Call::Bind { fd: self.pick(first, &[Socket]), name: u64::from(second % 2) },
            13 => Call::Listen { fd: self.pick(first, &[Socket]), backlog: second as usize % 2 },
            14 | 15 => {
                Call::Connect { fd: self.pick(first, &[Socket]), name: u64::from(second % 2) }
            }
            16 => Call::Accept { fd: self.pick(first, &[Socket]), flags },
            17 => Call::Shutdown { fd: self.pick(first, &[Socket]), how: how(second) },
            18 => Call::Expire { fd: self.pick(first, &[Timer]), periodic: second % 2 == 0 },
            19 if what % 3 == 0 => Call::GetTimer { fd: self.pick(first, &[Timer]) },
            19 => Call::SetTimer { fd: self.pick(first, &[Timer]), on: second % 2 == 0 },
            20 | 21 => Call::Dup { fd: any() },
            22 => Call::Dup2 { fd: any(), number: (second % 12) as Fd },
            23 | 24 => Call::Close { fd: any() },
            25 | 26 => match what % 4 {
                0 => Call::GetFlags { fd: any() },
                1 => self.set_flags(any(), one_of(second, STATUS)),
                2 => Call::GetCloexec { fd: any() },
                _ => Call::SetCloexec { fd: any(), on: second % 2 == 0 },
            },
            27..=38 => self.write_value(first, second),
            39..=43 => self.write_bytes(first, second, third),
            44 => Call::Write { fd: self.pick(first, &[Writer]), bytes: vec![0; 65_536] },
            45..=55 => Call::Read {
                fd: self.pick(first, &[Eventfd, Eventfd, Reader, Socket, Timer]),
                room: one_of(second, &[8, 8, 8, 8, 0, 1, 7, 16, 200, 4096, 8192, 65_000]),
            },
            56..=85 => self.ctl(step),
            86..=89 => self.poll(step),
            90 => self.select(step),
            _ => Call::Wait {
                epoll: self.pick(first, &[Epoll]),
                max: one_of(second, &[16, 16, 16, 16, 1, 1, 2, 3, 0]),
                timeout: Timeout::Zero,
            },
        }
    }

    /// A pipe with O_DIRECT keeps packets apart, which the model leaves out.
    fn set_flags(&self, fd: Fd, flags: u32) -> Call {
        let pipe = matches!(self.kind(fd), Reader | Writer);
        Call::SetFlags { fd, flags: if pipe { flags & !O_DIRECT } else { flags } }
    }

    fn write_value(&self, first: u32, second: u32) -> Call {
        let value = one_of(
            second,
            &[1, 1, 1, 1, 1, 1, 2, 2, 0, 0, u64::MAX, u64::MAX - 1, u64::MAX - 1, u64::MAX - 2],
        );
        let fd = self.pick(first, &[Eventfd]);
        Call::Write { fd, bytes: value.to_ne_bytes().to_vec() }
    }

    fn write_bytes(&self, first: u32, second: u32, third: u32) -> Call {
        let fd = self.pick(first, &[Writer, Socket, Eventfd]);
        let length = one_of(
            second,
            &[1, 1, 1, 8, 100, 0, 7, 500, 2000, 4095, 4096, 5000, 65_000, 65_536, 70_000, 120_000],
        );
        Call::Write { fd, bytes: (0..length).map(|i| third.wrapping_add(i as u32) as u8).collect() }
    }

    fn ctl(&self, step: &Words) -> Call {
        let Words { what, first, second, third, .. } = *step;
        let fd = self.pick(second, WATCHABLE);
        Call::Ctl {
            epoll: self.pick(first, &[Epoll]),
            op: one_of(
                what,
                &[Op::Add, Op::Add, Op::Add, Op::Add, Op::Add, Op::Mod, Op::Mod, Op::Mod, Op::Del],
            ),
            fd,
            event: Event { events: asked(third), data: u64::from(what % 100) << 8 | fd as u64 },
        }
    }

    fn poll(&self, step: &Words) -> Call {
        let Words { what, first, second, third, .. } = *step;
        let line = |word, events| PollFd { fd: self.pick(word, OPEN), events };
        let all = Mask(0xffff);
        let mut lines = vec![line(first, if what % 3 == 0 { Mask(third % 0x400) } else { all })];
        if what % 2 == 0 {
            lines.push(line(second, all));
        }
        Call::Poll { lines, timeout: Timeout::Zero }
    }

    fn select(&self, step: &Words) -> Call {
        let fds = vec![self.pick(step.first, OPEN)];
        let both = vec![self.pick(step.first, OPEN), self.pick(step.second, OPEN)];
        let sets = Sets { read: both, write: fds.clone(), except: fds };
        Call::Select { sets, timeout: Timeout::Zero }
    }
}

fn one_of<T: Copy>(word: u32, of: &[T]) -> T {
    of[word as usize % of.len()]
}

fn how(word: u32) -> Shutdown {
    one_of(word, &[Shutdown::Read, Shutdown::Write, Shutdown::Both])
}

const STATUS: &[u32] = &[O_NONBLOCK, O_NONBLOCK, O_NONBLOCK, O_NONBLOCK | O_APPEND, 0, O_DIRECT];

/// A mask for a registration.
fn asked(word: u32) -> Mask {
    let readiness = one_of(
        word,
        &[
            Mask::IN,
            Mask::IN,
            Mask::IN,
            Mask::OUT,
            Mask::OUT,
            Mask::IN | Mask::OUT,
            Mask::IN | Mask::OUT,
            Mask::IN | Mask::RDHUP,
            Mask::NONE,
            Mask::RDNORM,
            Mask::PRI,
            Mask(0x00ff_ffff),
        ],
    );
    let mode = one_of(
        word / 12,
        &[
            Mask::NONE,
            Mask::NONE,
            Mask::NONE,
            Mask::ET,
            Mask::ET,
            Mask::ET,
            Mask::ET,
            Mask::ONESHOT,
            Mask::ONESHOT | Mask::ET,
            Mask::EXCLUSIVE,
            Mask::EXCLUSIVE,
            Mask::EXCLUSIVE | Mask::ET,
            Mask::EXCLUSIVE | Mask::ONESHOT,
            Mask::WAKEUP,
        ],
    );
    readiness | mode
}
