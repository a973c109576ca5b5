//! Random programs.
//!
//! A step of a program is a handful of random words. What they mean depends on what is open when
//! the step is taken: "a write to the third eventfd", "an addition to the first epoll instance". So
//! a program still makes sense when steps are left out of it, and can be made smaller until only
//! those are left that a failure needs.

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
