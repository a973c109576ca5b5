//! Random programs.
//!
//! A step of a program is a handful of random words. What they mean depends on what is open when the
//! step is taken: "a write to the third eventfd", "an addition to the first epoll instance". So a
//! program still makes sense when steps are left out of it, and can be made smaller until only those
//! are left that a failure needs.

use super::call::{Call, Outcome, Timeout, Value};
use watchbell_model::{
    EFD_SEMAPHORE, Event, Fd, Mask, O_APPEND, O_CLOEXEC, O_DIRECT, O_NONBLOCK, Op, PollFd, Sets,
    Shutdown,
};

/// SplitMix64: good enough to choose, and the same everywhere.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// One step of a program, before it is known what is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Words {
    pub kind: u32,
    pub what: u32,
    pub first: u32,
    pub second: u32,
    pub third: u32,
    /// It makes something to work with, at the beginning of a program.
    pub fixed: bool,
}

impl Words {
    fn fixed(kind: u32, first: u32, second: u32, third: u32) -> Words {
        Words { kind, what: 1, first, second, third, fixed: true }
    }

    fn random(random: &mut Random) -> Words {
        let [a, b, c] = [random.next(), random.next(), random.next()];
        Words {
            kind: a as u32,
            what: (a >> 32) as u32,
            first: b as u32,
            second: (b >> 32) as u32,
            third: c as u32,
            fixed: false,
        }
    }
}

/// A random program of up to `longest` steps. Most begin by making something to work with.
pub fn program(random: &mut Random, longest: usize) -> Vec<Words> {
    let mut steps = beginning(random.below(12));
    let count = 1 + random.below(longest);
    steps.extend((0..count).map(|_| Words::random(random)));
    steps
}

/// Steps that are the same each time. The numbers are those of [`Table::resolve`].
fn beginning(which: usize) -> Vec<Words> {
    let make = |kinds: &[u32]| kinds.iter().map(|kind| Words::fixed(*kind, 0, 0, 0)).collect();
    let watch = |epoll, target, mask| Words::fixed(CTL, epoll, target, mask);
    let mut steps: Vec<Words> = match which {
        0 => make(&[]),
        1 => make(&[EPOLL, EVENTFD]),
        2 => make(&[EPOLL, EVENTFD, EVENTFD, EVENTFD]),
        3 => make(&[EPOLL, EPOLL, EVENTFD, PIPE]),
        4 => make(&[EPOLL, PAIR, EVENTFD]),
        5 => make(&[EPOLL, TIMER, EVENTFD]),
        6 => make(&[EPOLL, EPOLL, EPOLL, EVENTFD, EVENTFD]),
        7 => make(&[EPOLL, PIPE]),
        8 => make(&[EPOLL; 6]),
        9 => make(&[EPOLL, SOCKET, SOCKET, SOCKET, BIND, LISTEN]),
        10 => make(&[EPOLL, EPOLL, EPOLL, EVENTFD]),
        _ => make(&[EPOLL, EVENTFD, PIPE, PAIR]),
    };
    match which {
        2 => steps.push(watch(0, 1, MASK_EDGE)),
        5 => steps.push(watch(0, 1, 0)),
        7 => steps.extend([watch(0, 2, MASK_EDGE_OUT), Words::fixed(FILL, 0, 0, 0)]),
        8 => steps.extend((0..5).map(|outer| watch(outer, outer + 1, 0))),
        9 => steps.push(watch(0, 1, MASK_EDGE)),
        10 => steps.extend((0..3).map(|epoll| watch(epoll, 3, MASK_EXCLUSIVE))),
        _ => {}
    }
    steps
}

const EVENTFD: u32 = 0;
const PIPE: u32 = 4;
const PAIR: u32 = 5;
const SOCKET: u32 = 6;
const TIMER: u32 = 7;
const EPOLL: u32 = 8;
const BIND: u32 = 12;
const LISTEN: u32 = 13;
const FILL: u32 = 44;
const CTL: u32 = 56;
const MASK_EDGE: u32 = 12 * 3;
const MASK_EDGE_OUT: u32 = 12 * 3 + 3;
const MASK_EXCLUSIVE: u32 = 12 * 9;

/// Leaves steps out of a failing program for as long as it fails.
pub fn smallest(mut steps: Vec<Words>, fails: &mut dyn FnMut(&[Words]) -> bool) -> Vec<Words> {
    let mut span = steps.len() / 2;
    while span > 0 {
        let mut from = 0;
        while from < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(from..(from + span).min(steps.len()));
            if fails(&fewer) {
                steps = fewer;
            } else {
                from += span;
            }
        }
        span /= 2;
    }
    steps
}

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
            14 | 15 => Call::Connect { fd: self.pick(first, &[Socket]), name: u64::from(second % 2) },
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
            op: one_of(what, &[Op::Add, Op::Add, Op::Add, Op::Add, Op::Add, Op::Mod, Op::Mod, Op::Mod, Op::Del]),
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
