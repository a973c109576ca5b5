//! Several threads: some are blocked, in epoll_wait, poll, read, write or accept, while one makes
//! calls.
//!
//! After each call everybody who was woken runs until he has returned or is blocked again. In which
//! order they run is open, so the model tries all orders and keeps every state that agrees with
//! what Linux was seen to do: what the calls returned, and also who was woken for nothing. A
//! mismatch is a call after which no state is left.
//!
//! All threads are on one CPU: a woken thread does not run before the wakeup that woke it has gone
//! through the whole queue. (With several, see `tests/concurrent.rs`.)

use super::call::{Call, Outcome, Timeout, show};
use super::linux::{Linux, NUMBERS};
use super::model::{Made, made, make};
use super::random::{Random, Words, program};
use super::sequence::Tally;
use super::table::Table;
use watchbell_model::{Fd, Kernel, Mask, O_NONBLOCK, PollFd, Rule, Task};

/// Threads that wait.
const WAITERS: usize = 3;
/// How long the programs are.
pub const LONGEST: usize = 40;

/// A state that the model may be in.
#[derive(Clone, PartialEq)]
struct Candidate {
    kernel: Kernel,
    now: u64,
    /// What each thread has done since somebody looked.
    seen: Vec<Seen>,
}

/// What a thread has done.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    /// Nothing.
    Rested,
    /// It was woken, and blocks again.
    Woken,
    Returned(Outcome),
}

/// What is done in one step.
#[derive(Clone, Debug)]
enum Step {
    Call(Call),
    Start(usize, Call),
    /// As `Start`, with `O_NONBLOCK` cleared while the call begins, and set again.
    StartBlocking(usize, Fd, Call),
    Interrupt(usize),
}

/// Where no order of running agrees with Linux.
pub struct Mismatch {
    pub listing: String,
}

impl Candidate {
    fn take(&mut self, step: &Step) -> Option<Outcome> {
        match step {
            Step::Call(call) => {
                Some(match make(&mut self.kernel, &mut self.now, Task::MAIN, call) {
                    Made::Done(outcome) => outcome,
                    Made::Blocked | Made::Halfway => {
                        self.kernel.interrupt(Task::MAIN);
                        Err(0)
                    }
                })
            }
            Step::Start(thread, call) => {
                let task = Task::MAIN.thread(*thread as u32 + 1);
                if let Made::Done(outcome) = make(&mut self.kernel, &mut self.now, task, call) {
                    self.seen[*thread] = Seen::Returned(outcome);
                }
                None
            }
            Step::StartBlocking(thread, fd, call) => {
                self.take(&Step::Call(Call::SetFlags { fd: *fd, flags: 0 }));
                self.take(&Step::Start(*thread, call.clone()));
                self.take(&Step::Call(Call::SetFlags { fd: *fd, flags: O_NONBLOCK }));
                None
            }
            Step::Interrupt(thread) => {
                let task = Task::MAIN.thread(*thread as u32 + 1);
                if self.kernel.is_blocked(task)
                    && let Made::Done(outcome) = made(self.kernel.interrupt(task))
                {
                    self.seen[*thread] = Seen::Returned(outcome);
                }
                None
            }
        }
    }

    /// All states in which it may come to rest. `woken` are those who have yet to run.
    fn settle(mut self, mut woken: Vec<Task>, rests: &mut Vec<Candidate>) {
        woken.extend(self.kernel.take_woken());
        if woken.is_empty() {
            if !rests.contains(&self) {
                rests.push(self);
            }
            return;
        }
        for next in 0..woken.len() {
            let mut other = self.clone();
            let mut rest = woken.clone();
            let task = rest.remove(next);
            other.seen[task.thread as usize - 1] = match made(other.kernel.resume(task)) {
                Made::Done(outcome) => Seen::Returned(outcome),
                Made::Blocked | Made::Halfway => Seen::Woken,
            };
            other.settle(rest, rests);
        }
    }
}

/// Runs a program on both arms.
pub fn run(
    linux: &mut Linux,
    words: &[Words],
    broken: Option<Rule>,
    tally: &mut Tally,
) -> Result<(), Mismatch> {
    let mut kernel = Kernel::default();
    if let Some(rule) = broken {
        kernel.rules().break_one(rule);
    }
    let mut states = vec![Candidate { kernel, now: 0, seen: vec![Seen::Rested; WAITERS] }];
    let mut table = Table::default();
    let mut busy = [false; WAITERS];
    let mut listing = String::new();
    let mut result = Ok(());
    for words in words {
        let Some(step) = resolve(&table, words, &busy) else { continue };
        if let Step::Call(call) = &step
            && (super::sequence::may_block(linux, call) || table.len() + 2 >= NUMBERS)
        {
            continue;
        }
        let before = runs(linux, &busy);
        let outcome = on_linux(linux, &step);
        let seen = settled(linux, &mut busy, &before, &step);
        if let (Step::Call(call), Some(outcome)) = (&step, &outcome) {
            table.learn(call, outcome);
        }
        listing += &describe(&step, outcome.as_ref(), &seen);
        tally.operations += 1;
        let mut rests = Vec::new();
        for mut state in states.clone() {
            if state.take(&step) == outcome {
                state.settle(Vec::new(), &mut rests);
            }
        }
        let agreed = rests.iter().filter(|state| state.seen == seen);
        let agreed: Vec<Candidate> = agreed.cloned().map(Candidate::looked_at).collect();
        if agreed.is_empty() {
            for state in rests.iter().take(3) {
                listing += &format!("    // the model: {}\n", show_all(&state.seen));
            }
            result = Err(Mismatch { listing });
            break;
        }
        states = agreed;
    }
    linux.threads().0.quiet();
    linux.reset(table.len().max(16));
    tally.sequences += 1;
    tally.learn(&mut states[0].kernel);
    result
}

impl Candidate {
    fn looked_at(mut self) -> Candidate {
        self.seen.fill(Seen::Rested);
        self
    }
}

fn on_linux(linux: &mut Linux, step: &Step) -> Option<Outcome> {
    match step {
        Step::Call(call) => return Some(linux.make(call)),
        Step::Start(thread, call) => {
            let (threads, calls) = linux.threads();
            threads.start(*thread, calls, call.clone());
        }
        Step::StartBlocking(thread, fd, call) => {
            let _ = linux.make(&Call::SetFlags { fd: *fd, flags: 0 });
            let (threads, calls) = linux.threads();
            threads.start(*thread, calls, call.clone());
            threads.settle();
            let _ = linux.make(&Call::SetFlags { fd: *fd, flags: O_NONBLOCK });
        }
        Step::Interrupt(thread) => linux.threads().0.interrupt(*thread),
    }
    None
}

/// How often the threads that are blocked have run.
fn runs(linux: &mut Linux, busy: &[bool; WAITERS]) -> Vec<u64> {
    let threads = linux.threads().0;
    (0..WAITERS).map(|thread| if busy[thread] { threads.runs(thread) } else { 0 }).collect()
}

/// What the threads have done once all have come to rest.
fn settled(
    linux: &mut Linux,
    busy: &mut [bool; WAITERS],
    before: &[u64],
    step: &Step,
) -> Vec<Seen> {
    let started = match step {
        Step::Start(thread, _) | Step::StartBlocking(thread, ..) => Some(*thread),
        _ => None,
    };
    if let Some(thread) = started {
        busy[thread] = true;
    }
    if busy.contains(&true) {
        linux.threads().0.settle();
    }
    let mut seen = vec![Seen::Rested; WAITERS];
    let threads = linux.threads().0;
    for thread in (0..WAITERS).filter(|thread| busy[*thread]).collect::<Vec<_>>() {
        if let Some(outcome) = threads.returned(thread) {
            seen[thread] = Seen::Returned(outcome);
            busy[thread] = false;
        } else if started != Some(thread) && threads.runs(thread) > before[thread] {
            seen[thread] = Seen::Woken;
        }
    }
    seen
}

/// Half of the steps are about the waiters.
fn resolve(table: &Table, words: &Words, busy: &[bool; WAITERS]) -> Option<Step> {
    let idle = busy.iter().position(|busy| !busy);
    match words.kind % 16 {
        kind if words.fixed || kind >= 8 => Some(Step::Call(table.resolve(words))),
        0 => {
            let blocked: Vec<usize> = (0..WAITERS).filter(|thread| busy[*thread]).collect();
            let thread = *blocked.get(words.first as usize % blocked.len().max(1))?;
            Some(Step::Interrupt(thread))
        }
        1 => {
            let lines = vec![PollFd { fd: table.any(words.first), events: Mask::IN }];
            Some(Step::Start(idle?, Call::Poll { lines, timeout: Timeout::Never }))
        }
        6 | 7 => {
            let (fd, call) = table.blocking(words);
            Some(Step::StartBlocking(idle?, fd, call))
        }
        _ => {
            let max = [16, 16, 1][words.second as usize % 3];
            let epoll = table.epoll(words.first);
            Some(Step::Start(idle?, Call::Wait { epoll, max, timeout: Timeout::Never }))
        }
    }
}

fn describe(step: &Step, outcome: Option<&Outcome>, seen: &[Seen]) -> String {
    let seen = show_all(seen);
    match step {
        Step::Call(call) => {
            let outcome = outcome.map(show).unwrap_or_default();
            format!("    {call} = {outcome}  {seen}\n")
        }
        Step::Start(thread, call) => format!("    thread {thread}: {call}  {seen}\n"),
        Step::StartBlocking(thread, _, call) => {
            format!("    thread {thread}, blocking: {call}  {seen}\n")
        }
        Step::Interrupt(thread) => format!("    interrupt thread {thread}  {seen}\n"),
    }
}

fn show_all(seen: &[Seen]) -> String {
    let each = seen.iter().map(|seen| match seen {
        Seen::Rested => "-".into(),
        Seen::Woken => "woken".into(),
        Seen::Returned(outcome) => show(outcome),
    });
    each.collect::<Vec<_>>().join(" ")
}

/// Runs `sequences` random programs; the first mismatch is made small before it is returned.
pub fn compare(
    linux: &mut Linux,
    sequences: u64,
    seed: u64,
    broken: Option<Rule>,
    tally: &mut Tally,
) -> Result<(), Mismatch> {
    let mut random = Random(seed);
    for _ in 0..sequences {
        let words = program(&mut random, LONGEST);
        if run(linux, &words, broken, tally).is_err() {
            return Err(smallest(linux, words, broken));
        }
    }
    Ok(())
}

fn smallest(linux: &mut Linux, words: Vec<Words>, broken: Option<Rule>) -> Mismatch {
    let mut fails = |words: &[Words]| run(linux, words, broken, &mut Tally::default()).is_err();
    let words = super::random::smallest(words, &mut fails);
    match run(linux, &words, broken, &mut Tally::default()) {
        Err(mismatch) => mismatch,
        Ok(()) => Mismatch { listing: "    // it was seen once, and not again\n".into() },
    }
}

/// Puts this thread, and those that it makes from now on, on one CPU.
pub fn one_cpu() {
    let mut one = rustix::thread::CpuSet::new();
    let all = rustix::thread::sched_getaffinity(None).expect("this thread's CPUs");
    let first = (0..1024).find(|cpu| all.is_set(*cpu)).expect("it has one");
    one.set(first);
    rustix::thread::sched_setaffinity(None, &one).expect("a CPU of this thread's");
}
