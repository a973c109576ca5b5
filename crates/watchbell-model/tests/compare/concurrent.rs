//! Several threads that make calls at the same time.
//!
//! What comes of a small program depends on how its threads interleave. The model tries every
//! interleaving at its permissive level and gets a set of outcomes; Linux runs the program many
//! times. Every outcome that Linux was seen to have must be in the set.

use super::call::{Call, Outcome, Timeout, show};
use super::linux::Linux;
use super::model::{Made, made, make};
use super::random::Random;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use watchbell_model::{
    EFD_SEMAPHORE, Event, Fd, Kernel, Mask, O_NONBLOCK, Op, Oracle, Question, Task,
};

/// What is there before the threads begin, and what each of them does.
#[derive(Clone, Debug)]
pub struct Program {
    pub setup: Vec<Call>,
    pub threads: Vec<Vec<Call>>,
}

/// What the calls of each thread returned. The last of a thread is `EINTR` if it was blocked in the
/// end.
pub type Outcomes = Vec<Vec<Outcome>>;

const MASKS: [Mask; 7] = [
    Mask::IN,
    Mask(Mask::IN.0 | Mask::ET.0),
    Mask(Mask::IN.0 | Mask::OUT.0 | Mask::ET.0),
    Mask(Mask::IN.0 | Mask::ET.0 | Mask::ONESHOT.0),
    Mask(Mask::IN.0 | Mask::ONESHOT.0),
    Mask(Mask::IN.0 | Mask::EXCLUSIVE.0),
    Mask(Mask::IN.0 | Mask::EXCLUSIVE.0 | Mask::ET.0),
];

/// Two eventfds, one or two instances that watch them, and threads that use all of these.
pub fn program(random: &mut Random, threads: usize, length: usize) -> Program {
    let mut setup = Vec::new();
    for _ in 0..2 {
        let mode = if random.below(10) < 3 { EFD_SEMAPHORE } else { 0 };
        let initval = random.below(2) as u32;
        setup.push(Call::Eventfd { initval, flags: O_NONBLOCK | mode });
    }
    let instances = 1 + random.below(2);
    setup.extend((0..instances).map(|_| Call::EpollCreate { flags: 0 }));
    for epoll in 2..2 + instances as Fd {
        for fd in 0..2 {
            if random.below(10) < 7 {
                setup.push(ctl(epoll, Op::Add, fd, MASKS[random.below(7)]));
            }
        }
    }
    let step = |random: &mut Random| {
        let fd = random.below(2) as Fd;
        let epoll = 2 + random.below(instances) as Fd;
        let max = 1 + random.below(2);
        match random.below(10) {
            0..=2 => Call::Write { fd, bytes: (random.below(3) as u64).to_ne_bytes().to_vec() },
            3 | 4 => Call::Read { fd, room: 8 },
            5 | 6 => Call::Wait { epoll, max, timeout: Timeout::Never },
            7 => Call::Wait { epoll, max, timeout: Timeout::Zero },
            8 => ctl(epoll, Op::Mod, fd, MASKS[random.below(5)]),
            _ => ctl(epoll, Op::Del, fd, Mask::NONE),
        }
    };
    let mut thread = |_| (0..length).map(|_| step(random)).collect();
    let threads = (0..threads).map(&mut thread).collect();
    Program { setup, threads }
}

fn ctl(epoll: Fd, op: Op, fd: Fd, events: Mask) -> Call {
    Call::Ctl { epoll, op, fd, event: Event { events, data: fd as u64 } }
}

/// How far the threads have come, in one interleaving.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Node {
    kernel: Kernel,
    threads: Vec<Progress>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Progress {
    outcomes: Vec<Outcome>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    /// Between calls.
    Free,
    /// In a call that can go on.
    Going,
    /// In a call that is blocked.
    Blocked,
}

impl Node {
    fn begin(program: &Program) -> Node {
        let mut kernel = Kernel::new(Oracle::strict());
        for call in &program.setup {
            make(&mut kernel, &mut 0, Task::MAIN, call);
        }
        *kernel.oracle() = Oracle::permissive([]);
        let progress = Progress { outcomes: Vec::new(), state: State::Free };
        Node { kernel, threads: vec![progress; program.threads.len()] }
    }

    /// Whether the thread can do something.
    fn can_go(&self, program: &Program, thread: usize) -> bool {
        let Progress { outcomes, state } = &self.threads[thread];
        match state {
            State::Free => outcomes.len() < program.threads[thread].len(),
            State::Going => true,
            State::Blocked => false,
        }
    }

    /// The thread takes a step, once for each way in which open questions can be answered.
    fn step(&self, program: &Program, thread: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut open = vec![Vec::new()];
        while let Some(answers) = open.pop() {
            let mut node = self.clone();
            *node.kernel.oracle() = Oracle::permissive(answers.iter().copied());
            node.take(program, thread);
            let asked = node.kernel.oracle().take_asked();
            for (place, (question, count)) in asked.iter().enumerate().skip(answers.len()) {
                let explored = matches!(question, Question::FalseEmpty | Question::ReadyOrder);
                for answer in 1..if explored { *count } else { 1 } {
                    let mut other = answers.clone();
                    other.resize(place, 0);
                    other.push(answer);
                    open.push(other);
                }
            }
            *node.kernel.oracle() = Oracle::permissive([]);
            nodes.push(node);
        }
        nodes
    }

    fn take(&mut self, program: &Program, thread: usize) {
        let task = Task::MAIN.thread(thread as u32 + 1);
        let made = match self.threads[thread].state {
            State::Free => {
                let call = &program.threads[thread][self.threads[thread].outcomes.len()];
                make(&mut self.kernel, &mut 0, task, call)
            }
            _ => made(self.kernel.resume(task)),
        };
        self.threads[thread].state = match made {
            Made::Blocked => State::Blocked,
            Made::Halfway => State::Going,
            Made::Done(outcome) => {
                self.threads[thread].outcomes.push(outcome);
                State::Free
            }
        };
        for woken in self.kernel.take_woken() {
            self.threads[woken.thread as usize - 1].state = State::Going;
        }
    }

    /// Nobody can go on: those who are blocked are interrupted.
    fn outcomes(&self) -> Outcomes {
        let ends = self.threads.iter().map(|Progress { outcomes, state }| {
            let mut outcomes = outcomes.clone();
            if *state == State::Blocked {
                outcomes.push(Err(libc::EINTR));
            }
            outcomes
        });
        ends.collect()
    }
}

/// Everything that may come of a program; nothing where that is too much to try.
pub fn allowed(program: &Program, most: usize) -> Option<BTreeSet<Outcomes>> {
    let mut allowed = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut open = vec![Node::begin(program)];
    while let Some(node) = open.pop() {
        let mut hasher = DefaultHasher::new();
        node.hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        let going: Vec<usize> =
            (0..node.threads.len()).filter(|thread| node.can_go(program, *thread)).collect();
        if going.is_empty() {
            allowed.insert(node.outcomes());
        }
        open.extend(going.iter().flat_map(|thread| node.step(program, *thread)));
    }
    Some(allowed)
}

/// What Linux was seen to do in so many runs, and how often.
pub fn observed(
    linux: &mut Linux,
    program: &Program,
    runs: usize,
    random: &mut Random,
) -> BTreeMap<Outcomes, usize> {
    let mut observed = BTreeMap::new();
    for _ in 0..runs {
        program.setup.iter().for_each(|call| drop(linux.make(call)));
        let (threads, calls) = linux.threads();
        threads.race(calls, &program.threads, random.clone());
        random.next();
        threads.settle();
        let ends = (0..program.threads.len()).map(|thread| {
            loop {
                if let Some(outcomes) = threads.all_returned(thread) {
                    return outcomes;
                }
                threads.interrupt(thread);
                std::thread::yield_now();
            }
        });
        *observed.entry(ends.collect()).or_default() += 1;
        linux.reset(8);
    }
    observed
}

/// A program and an outcome, to be read.
pub fn listing(program: &Program, outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for call in &program.setup {
        text += &format!("    {call}\n");
    }
    for (thread, (calls, outcomes)) in program.threads.iter().zip(outcomes).enumerate() {
        text += &format!("    thread {thread}:\n");
        for (call, outcome) in calls.iter().zip(outcomes) {
            text += &format!("        {call} = {}\n", show(outcome));
        }
    }
    text
}
