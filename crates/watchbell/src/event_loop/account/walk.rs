//! Every state of the account, and every transition between them.
//!
//! Two things are shown over the whole graph. *Canonical*: no two reachable accounts behave alike
//! for ever, by partition refinement on what can be observed. *Nothing is lost*: an edge that was
//! reported is owed, in a reference that knows nothing of the account, until an operation has met
//! the boundary; what is owed is ready, and it is runnable, or stopped, or excused.

#![allow(clippy::print_stdout, reason = "the numbers of states are for people")]

use super::*;
use std::collections::{HashMap, HashSet};

/// The account in its surroundings, and what the reference says is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    account: Account,
    /// During a run.
    runs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Tell(EventFlags),
    Begin,
    End,
    /// An operation, and what it came to where it may be tried.
    Try(Direction, Outcome),
    Pause(Direction),
    Resume(Direction),
    Rest(Direction),
    EndRest(Direction),
    Wake(Direction),
    Hold,
    Release,
    StandDown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outcome {
    Settled(After),
    Blocked,
    /// The budget is spent.
    Refused,
}

/// An error seeded into the transitions, for the walk to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// A resume does not make the input wanted again.
    SleepyResume,
    /// A run takes the wish of a direction that it could not serve.
    GreedyRun,
    /// The kernel's word is taken for the end of the matter though a hang-up is pending.
    TrustedWord,
    /// A pause forgets that the direction was ready.
    ForgetfulPause,
    /// An event of output clears the readiness of input: the second edge of two.
    SingleEdge,
}

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = [
        EventFlags::IN,
        EventFlags::OUT,
        EventFlags::IN | EventFlags::OUT,
        EventFlags::IN | EventFlags::RDHUP,
        EventFlags::PRI,
        EventFlags::HUP,
        EventFlags::ERR,
    ]
    .map(Step::Tell)
    .into();
    steps.extend([Step::Begin, Step::End, Step::Hold, Step::Release, Step::StandDown]);
    let input = [After::More, After::Drained, After::Empty, After::End].map(Outcome::Settled);
    let output = [After::More, After::Short].map(Outcome::Settled);
    for (direction, outcomes) in [(Direction::Input, &input[..]), (Direction::Output, &output)] {
        for outcome in outcomes.iter().chain(&[Outcome::Blocked, Outcome::Refused]) {
            steps.push(Step::Try(direction, *outcome));
        }
        steps.extend([Step::Pause(direction), Step::Resume(direction), Step::Rest(direction)]);
        steps.extend([Step::EndRest(direction), Step::Wake(direction)]);
    }
    steps
}

/// What comes of a step. `None`: it cannot happen in that state.
fn step(state: State, step: Step, mutant: Option<Mutant>) -> Option<State> {
    let State { mut account, mut runs } = state;
    let before = account;
    match (step, runs) {
        (Step::Tell(flags), false) => drop(account.tell(Readiness::new(flags))),
        (Step::Begin, false) => {
            account.begin_run();
            runs = true;
        }
        (Step::End, true) => {
            account.end_run();
            runs = false;
        }
        (Step::Try(direction, outcome), true) => {
            if account.may_try(direction) {
                match outcome {
                    Outcome::Settled(after) => account.settle(direction, after),
                    Outcome::Blocked => account.block(direction),
                    Outcome::Refused => account.want(direction),
                }
            }
        }
        (Step::StandDown, true) => account.stand_down(Direction::Output),
        (Step::Pause(direction), _) => account.pause(direction),
        (Step::Resume(direction), _) => account.resume(direction),
        (Step::Rest(direction), _) => account.rest(direction),
        (Step::EndRest(direction), _) => account.end_rest(direction),
        (Step::Wake(direction), _) => account.wake(direction),
        (Step::Hold, _) => account.hold_input(),
        (Step::Release, _) => account.release_input(),
        _ => return None,
    }
    if let Some(mutant) = mutant {
        spoil(&mut account, before, step, mutant);
    }
    Some(State { account, runs })
}

impl Account {
    fn put(&mut self, fact: Fact, directions: Directions) {
        self.remove(fact, Directions::BOTH);
        self.add(fact, directions);
    }
}

fn spoil(account: &mut Account, before: Account, step: Step, mutant: Mutant) {
    match (mutant, step) {
        (Mutant::SleepyResume, Step::Resume(_)) => account.put(WANTED, before.of(WANTED)),
        (Mutant::GreedyRun, Step::Begin) => {
            account.put(WANTED, before.of(WANTED) & !before.of(READY))
        }
        (Mutant::TrustedWord, Step::Try(Direction::Input, Outcome::Settled(After::Drained))) => {
            account.remove(READY, Directions::INPUT);
        }
        (Mutant::ForgetfulPause, Step::Pause(direction)) => {
            account.remove(READY, Directions::of(direction));
        }
        (Mutant::SingleEdge, Step::Tell(flags)) if flags.contains(EventFlags::OUT) => {
            account.remove(READY, Directions::INPUT);
        }
        _ => {}
    }
}

/// Everything that is seen of an account from outside, by the loop or by a handler.
fn seen(state: &State) -> impl Eq + std::hash::Hash + use<> {
    let account = state.account;
    let each = |ask: fn(Account, Direction) -> bool| Direction::BOTH.map(|it| ask(account, it));
    let tries = Direction::BOTH.map(|direction| account.clone().may_try(direction));
    (
        state.runs,
        (account.runnable(), account.armed(), account.flags(account.armed()).bits()),
        (tries, each(Account::is_stopped), each(Account::is_ready), each(Account::is_standing)),
        (account.is_blocked(), account.has_ended(), account.is_held(), each(Account::is_resting)),
    )
}

struct Graph {
    states: Vec<State>,
    /// Of each state, where each step leads.
    next: Vec<Vec<Option<usize>>>,
}

fn walk(start: Account) -> Graph {
    let all = steps();
    let start = State { account: start, runs: false };
    let (mut states, mut next) = (vec![start], Vec::new());
    let mut numbers = HashMap::from([(start, 0)]);
    while next.len() < states.len() {
        let from = states[next.len()];
        let mut row = Vec::with_capacity(all.len());
        for at in &all {
            row.push(step(from, *at, None).map(|to| {
                *numbers.entry(to).or_insert_with(|| {
                    states.push(to);
                    states.len() - 1
                })
            }));
        }
        next.push(row);
    }
    Graph { states, next }
}

/// How many states can be told apart: the coarsest partition that what is seen and every step
/// respect (Moore).
fn distinguishable(graph: &Graph) -> usize {
    let number = |keys: Vec<Vec<usize>>| -> (Vec<usize>, usize) {
        let mut numbers = HashMap::new();
        let class = keys.into_iter().map(|key| {
            let next = numbers.len();
            *numbers.entry(key).or_insert(next)
        });
        (class.collect(), numbers.len())
    };
    let mut views = HashMap::new();
    let view = graph.states.iter().map(|state| {
        let next = views.len();
        vec![*views.entry(seen(state)).or_insert(next)]
    });
    let (mut class, mut count) = number(view.collect());
    loop {
        let key = |at: usize| {
            let next = graph.next[at].iter().map(|to| to.map_or(usize::MAX, |to| class[to]));
            std::iter::once(class[at]).chain(next).collect::<Vec<_>>()
        };
        let (refined, finer) = number((0..class.len()).map(key).collect());
        if finer == count {
            return count;
        }
        (class, count) = (refined, finer);
    }
}

fn starts() -> Vec<(String, Account)> {
    let interests = [
        ("readable", Interest::READABLE),
        ("writable", Interest::WRITABLE),
        ("both", Interest::READABLE | Interest::WRITABLE),
        ("priority", Interest::PRIORITY),
        ("nothing", Interest::NONE),
    ];
    let mut starts = Vec::new();
    for (name, interest) in interests {
        for trigger in [Trigger::Edge, Trigger::Level] {
            starts.push((format!("{trigger:?}, {name}"), Account::new(interest, trigger)));
        }
    }
    starts.push(("Exclusive".into(), Account::new(Interest::READABLE, Trigger::Exclusive)));
    starts
}

#[test]
fn e03_no_two_accounts_behave_alike() {
    let mut total = 0;
    for (name, start) in starts() {
        let graph = walk(start);
        let (reachable, distinguishable) = (graph.states.len(), distinguishable(&graph));
        println!("{name}: {reachable} states, {distinguishable} distinguishable");
        assert_eq!(reachable, distinguishable, "{name}: an account has a synonym");
        total += reachable;
    }
    println!("in all: {total} states of {} bytes", size_of::<Account>());
    assert!(size_of::<Account>() <= 8);
}

/// What the reference knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owed {
    /// The edges that were reported and not answered by a boundary.
    edges: Directions,
    /// The operations that were refused or cut short, and not made since.
    wishes: Directions,
    /// A hang-up was reported, or never is: the kernel's word ends nothing.
    doubt: bool,
}

impl Owed {
    /// What a step from `state` does to what is owed.
    fn step(mut self, step: Step, state: State) -> Owed {
        match step {
            Step::Tell(flags) => {
                let end = flags.intersects(EventFlags::ERR | EventFlags::HUP);
                let input = EventFlags::IN | EventFlags::PRI | EventFlags::RDHUP;
                self.edges |= Directions::INPUT.when(end || flags.intersects(input))
                    | Directions::OUTPUT.when(end || flags.contains(EventFlags::OUT));
                self.doubt |= end || flags.contains(EventFlags::RDHUP);
            }
            // The wishes that this run is for are granted by it.
            Step::Begin => self.wishes &= !state.account.runnable(),
            Step::Try(direction, outcome) => self.attempt(direction, outcome, state.account),
            // The kernel reports again, and the account says what it is asked for.
            Step::End if state.account.is_level() => self.edges = Directions::NONE,
            Step::StandDown => self.wishes &= !Directions::OUTPUT,
            _ => {}
        }
        self
    }

    fn attempt(&mut self, direction: Direction, outcome: Outcome, mut account: Account) {
        let set = Directions::of(direction);
        if !account.may_try(direction) {
            self.wishes |= set & !account.of(ENDED); // what has ended is not waited for
            return;
        }
        let (is_met, is_short) = match outcome {
            Outcome::Settled(After::Drained) => (!self.doubt, false),
            Outcome::Settled(After::Empty | After::End) => (true, false),
            Outcome::Settled(After::More) => (false, false),
            Outcome::Settled(After::Short) | Outcome::Refused => (false, true),
            Outcome::Blocked => (true, true),
        };
        self.edges &= !set.when(is_met);
        self.wishes = self.wishes & !set | set.when(is_short);
    }
}

/// What is wrong after a step, if anything is.
fn wrong(state: State, step: Step, to: State, owed: Owed) -> Option<String> {
    let account = to.account;
    let lost = owed.edges & !account.of(READY) & !account.of(ENDED);
    if !lost.is_empty() {
        return Some(format!("{step:?} loses {lost:?}: {state:?} to {to:?}"));
    }
    if to.runs {
        return None;
    }
    let asleep = account.of(READY) & !account.stopped() & !account.of(ENDED) & !account.runnable();
    if !(asleep & owed.wishes).is_empty() {
        return Some(format!("{step:?} forgets a wish: {state:?} to {to:?}"));
    }
    let waits_for_room = account.is_blocked() || account.is_stopped(Direction::Output);
    if !(asleep & owed.edges & account.of(STANDING) & Directions::INPUT).is_empty()
        && !waits_for_room
    {
        return Some(format!("after {step:?} nobody runs for the input: {state:?} to {to:?}"));
    }
    None
}

/// Walks the account together with the reference, with an error seeded or without.
fn check(start: Account, mutant: Option<Mutant>) -> Result<usize, String> {
    let (edges, wishes) = (Directions::NONE, Directions::NONE);
    let owed = Owed { edges, wishes, doubt: start.has(DOUBT) };
    let start = (State { account: start, runs: false }, owed);
    let (mut seen, mut open) = (HashSet::from([start]), vec![start]);
    while let Some((state, owed)) = open.pop() {
        for at in steps() {
            let Some(to) = step(state, at, mutant) else { continue };
            let owed = owed.step(at, state);
            if let Some(wrong) = wrong(state, at, to, owed) {
                return Err(wrong);
            }
            if seen.insert((to, owed)) {
                open.push((to, owed));
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn e03_no_transition_loses_readiness() {
    for (name, start) in starts() {
        let checked = check(start, None).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        println!("{name}: {checked} states with what is owed");
    }
}

#[test]
fn e03_an_error_seeded_into_a_transition_is_found() {
    let both = Account::new(Interest::READABLE | Interest::WRITABLE, Trigger::Edge);
    let writable = Account::new(Interest::WRITABLE, Trigger::Edge);
    for (mutant, start) in [
        (Mutant::SleepyResume, both),
        (Mutant::GreedyRun, writable),
        (Mutant::TrustedWord, both),
        (Mutant::ForgetfulPause, both),
        (Mutant::SingleEdge, both),
    ] {
        let found = check(start, Some(mutant)).expect_err("the walk finds it");
        println!("{mutant:?}: {found}");
    }
}
