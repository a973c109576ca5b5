//! P. The kernel's own test of who is woken, a line a test. Each says how many events, or how many
//! threads with events, there are.
//!
//! `t0` and `t1` are threads. A thread that polls collects afterwards, with room for one event.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::{System, Thread, both};
use watchbell_model::{Fd, Mask};

const LEVEL: Mask = Mask::IN;
const EDGE: Mask = Mask(Mask::IN.0 | Mask::ET.0);

/// What is built: `e0` watches, directly or through `e1`; `sources` are written to.
struct Built {
    e0: Fd,
    e1: Fd,
    sources: Vec<Fd>,
}

/// `e0` watches so many sockets.
fn flat(s: &mut dyn System, mask: Mask, sockets: usize) -> Built {
    let e0 = s.epoll();
    let source = |_| {
        let (ours, theirs) = s.socketpair();
        s.add(e0, ours, mask, 0);
        theirs
    };
    let sources = (0..sockets).map(source).collect();
    Built { e0, e1: e0, sources }
}

/// `e0` watches so many instances, each of which watches a socket.
fn nested(s: &mut dyn System, outer: Mask, inner: Mask, instances: usize) -> Built {
    let e0 = s.epoll();
    let mut built = Built { e0, e1: e0, sources: Vec::new() };
    for _ in 0..instances {
        let Built { e0: e1, sources, .. } = flat(s, inner, 1);
        s.add(e0, e1, outer, 0);
        built.e1 = e1;
        built.sources.extend(sources);
    }
    built
}

fn write(s: &mut dyn System, built: &Built) {
    for source in &built.sources {
        s.send(*source, 1);
    }
}

/// How many events a wait brings.
fn wait(s: &mut dyn System, e: Fd, max: usize) -> usize {
    s.wait_max(e, max).matches(':').count()
}

fn poll(s: &mut dyn System, e: Fd) -> usize {
    usize::from(s.poll(e, LEVEL).starts_with('1'))
}

/// Writes; waits twice.
fn twice(s: &mut dyn System, built: Built) -> String {
    write(s, &built);
    format!("{}, {}", wait(s, built.e0, 2), wait(s, built.e0, 2))
}

/// Writes; polls and waits in turn.
fn polled(s: &mut dyn System, built: Built) -> String {
    write(s, &built);
    let mut turn = || format!("{}, {}", poll(s, built.e0), wait(s, built.e0, 2));
    format!("{}, {}", turn(), turn())
}

/// Who watches what: a wait with room for so many events, or a poll.
enum Who {
    Waits(usize),
    Polls,
}

use Who::{Polls, Waits};

fn start(s: &mut dyn System, e: Fd, who: &Who) -> Thread {
    match who {
        Waits(max) => s.spawn(Call::Wait { epoll: e, max: *max, timeout: Timeout::Never }),
        Polls => s.poller(e, LEVEL),
    }
}

/// How many events a thread has got; one that polled collects now.
fn collect(s: &mut dyn System, e: Fd, who: &Who, thread: Thread) -> bool {
    match (who, s.returned(thread)) {
        (_, None) => false,
        (Waits(_), Some(outcome)) => show(&outcome).contains(':'),
        (Polls, Some(_)) => wait(s, e, 1) > 0,
    }
}

/// `t0` on `e1` and `t1` on `e0`; how many of them get events after the writes.
fn threads(s: &mut dyn System, built: &Built, on: [Fd; 2], who: [Who; 2]) -> [bool; 2] {
    let started = [start(s, on[0], &who[0]), start(s, on[1], &who[1])];
    write(s, built);
    s.settle();
    let [t0, t1] = started;
    [collect(s, on[0], &who[0], t0), collect(s, on[1], &who[1], t1)]
}

/// Both threads are on `e0`.
fn together(s: &mut dyn System, built: Built, t0: Who, t1: Who) -> String {
    let got = threads(s, &built, [built.e0; 2], [t0, t1]);
    got.iter().filter(|got| **got).count().to_string()
}

/// `t0` is on `e1`, `t1` on `e0`.
fn apart(s: &mut dyn System, built: Built, t0: Who, t1: Who) -> String {
    let got = threads(s, &built, [built.e1, built.e0], [t0, t1]);
    got.iter().filter(|got| **got).count().to_string()
}

macro_rules! selftests {
    ($($name:ident: |$s:ident| $run:expr => $expected:literal;)+) => {
        $(#[test]
        fn $name() {
            both(|$s| $run, $expected);
        })+
    };
}

selftests! {
    case_kw1_level: |s| { let b = flat(s, LEVEL, 1); twice(s, b) } => "1, 1";
    case_kw2_edge: |s| { let b = flat(s, EDGE, 1); twice(s, b) } => "1, 0";
    case_kw3_two_level: |s| { let b = flat(s, LEVEL, 2); twice(s, b) } => "2, 2";
    case_kw4_two_edge: |s| { let b = flat(s, EDGE, 2); twice(s, b) } => "2, 0";
    case_kw5_level_polled: |s| { let b = flat(s, LEVEL, 1); polled(s, b) } => "1, 1, 1, 1";
    case_kw6_edge_polled: |s| { let b = flat(s, EDGE, 1); polled(s, b) } => "1, 1, 0, 0";
    case_kw7_two_level_polled: |s| { let b = flat(s, LEVEL, 2); polled(s, b) } => "1, 2, 1, 2";
    case_kw8_two_edge_polled: |s| { let b = flat(s, EDGE, 2); polled(s, b) } => "1, 2, 0, 0";
    case_kw9_level_waiters: |s| {
        let b = flat(s, LEVEL, 1);
        together(s, b, Waits(1), Waits(1))
    } => "2";
    case_kw10_edge_waiters: |s| {
        let b = flat(s, EDGE, 1);
        together(s, b, Waits(1), Waits(1))
    } => "1";
    case_kw11_two_level_waiters: |s| {
        let b = flat(s, LEVEL, 2);
        together(s, b, Waits(2), Waits(2))
    } => "2";
    case_kw12_two_edge_waiters: |s| {
        let b = flat(s, EDGE, 2);
        together(s, b, Waits(1), Waits(1))
    } => "2";
    case_kw13_level_poller: |s| {
        let b = flat(s, LEVEL, 1);
        together(s, b, Waits(1), Polls)
    } => "2";
    case_kw14_edge_poller: |s| { let b = flat(s, EDGE, 1); together(s, b, Waits(1), Polls) } => "1";
    case_kw15_two_level_poller: |s| {
        let b = flat(s, LEVEL, 2);
        together(s, b, Waits(2), Polls)
    } => "2";
    case_kw16_two_edge_poller: |s| {
        let b = flat(s, EDGE, 2);
        together(s, b, Waits(1), Polls)
    } => "2";
    case_kw17_level_level: |s| { let b = nested(s, LEVEL, LEVEL, 1); twice(s, b) } => "1, 1";
    case_kw18_level_edge: |s| { let b = nested(s, LEVEL, EDGE, 1); twice(s, b) } => "1, 1";
    case_kw19_edge_level: |s| { let b = nested(s, EDGE, LEVEL, 1); twice(s, b) } => "1, 0";
    case_kw20_edge_edge: |s| { let b = nested(s, EDGE, EDGE, 1); twice(s, b) } => "1, 0";
    case_kw21_level_level_polled: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        polled(s, b)
    } => "1, 1, 1, 1";
    case_kw22_level_edge_polled: |s| {
        let b = nested(s, LEVEL, EDGE, 1);
        polled(s, b)
    } => "1, 1, 1, 1";
    case_kw23_edge_level_polled: |s| {
        let b = nested(s, EDGE, LEVEL, 1);
        polled(s, b)
    } => "1, 1, 0, 0";
    case_kw24_edge_edge_polled: |s| {
        let b = nested(s, EDGE, EDGE, 1);
        polled(s, b)
    } => "1, 1, 0, 0";
    case_kw25_level_level_waiters: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        together(s, b, Waits(1), Waits(1))
    } => "2";
    case_kw28_edge_edge_waiters: |s| {
        let b = nested(s, EDGE, EDGE, 1);
        together(s, b, Waits(1), Waits(1))
    } => "1";
    case_kw29_level_level_poller: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        together(s, b, Waits(1), Polls)
    } => "2";
    case_kw32_edge_edge_poller: |s| {
        let b = nested(s, EDGE, EDGE, 1);
        together(s, b, Waits(1), Polls)
    } => "1";
    case_kw33_a_waiter_a_level: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        apart(s, b, Waits(1), Waits(1))
    } => "2";
    case_kw37_a_poller_below: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        apart(s, b, Polls, Waits(1))
    } => "2";
    case_kw39_a_poller_below_an_edge: |s| {
        let b = nested(s, EDGE, LEVEL, 1);
        apart(s, b, Polls, Waits(1))
    } => "2";
    case_kw41_a_poller_above: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        apart(s, b, Waits(1), Polls)
    } => "2";
    // The poller above may find it taken; the waiter below always gets it.
    case_kw42_a_poller_above_an_edge: |s| {
        let b = nested(s, LEVEL, EDGE, 1);
        threads(s, &b, [b.e1, b.e0], [Waits(1), Polls])[0].to_string()
    } => "true";
    case_kw45_two_pollers_a_level: |s| {
        let b = nested(s, LEVEL, LEVEL, 1);
        apart(s, b, Polls, Polls)
    } => "2";
    case_kw47_two_pollers_and_an_edge: |s| {
        let b = nested(s, EDGE, LEVEL, 1);
        apart(s, b, Polls, Polls)
    } => "2";
    case_kw49_two_inner: |s| { let b = nested(s, LEVEL, LEVEL, 2); twice(s, b) } => "2, 2";
    case_kw51_two_inner_polled: |s| {
        let b = nested(s, LEVEL, LEVEL, 2);
        polled(s, b)
    } => "1, 2, 1, 2";
    case_kw52_two_inner_edge_polled: |s| {
        let b = nested(s, EDGE, LEVEL, 2);
        polled(s, b)
    } => "1, 2, 0, 0";
    case_kw53_two_inner_waiters: |s| {
        let b = nested(s, LEVEL, LEVEL, 2);
        together(s, b, Waits(1), Waits(1))
    } => "2";
    case_kw55_two_inner_poller: |s| {
        let b = nested(s, LEVEL, LEVEL, 2);
        together(s, b, Waits(1), Polls)
    } => "2";
    case_kw56_two_inner_edge_poller: |s| {
        let b = nested(s, EDGE, LEVEL, 2);
        together(s, b, Waits(1), Polls)
    } => "2";
    case_kw57_two_inner_two_pollers: |s| {
        let b = nested(s, LEVEL, LEVEL, 2);
        together(s, b, Polls, Polls)
    } => "2";
    case_kw58_two_inner_edge_two_pollers: |s| {
        let b = nested(s, EDGE, LEVEL, 2);
        together(s, b, Polls, Polls)
    } => "2";
    case_kw62_no_timeout: |s| { let b = flat(s, LEVEL, 1); twice(s, b) } => "1, 1";
    case_kw63_ten_milliseconds: |s| {
        let b = flat(s, LEVEL, 1);
        let timeout = Timeout::Millis(10);
        let waiter = s.spawn(Call::Wait { epoll: b.e0, max: 1, timeout });
        show(&s.join(waiter))
    } => "[]";
    case_kw64_level_waiters_blocked_before: |s| {
        let b = flat(s, LEVEL, 1);
        together(s, b, Waits(1), Waits(1))
    } => "2";
}
