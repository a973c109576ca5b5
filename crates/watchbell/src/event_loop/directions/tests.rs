//! Every sequence of operations on the account, to its last reachable state.
//!
//! The account is small enough to be explored whole: from each state that can be reached, each
//! operation is applied, until no new state appears. A witness beside it keeps what the kernel and
//! the handler did, in the plainest terms, and each state is held against the rule.

use super::Direction::{Input, Output};
use super::*;
use crate::kernel::EventFlags;
use std::collections::HashSet;

const DIRECTIONS: [Direction; 2] = [Input, Output];

/// What happens to a source.
#[derive(Clone, Copy, Debug)]
enum Step {
    Event(EventFlags),
    /// The loop runs the handler, if the account says so; until `RunEnds`.
    RunBegins,
    RunEnds,
    /// In a run: an operation is tried, and if the account lets it, ends so.
    Try(Direction, Outcome),
    Pause(Direction),
    Resume(Direction),
    Rest(Direction),
    EndRest(Direction),
    Wake(Direction),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    After(After),
    WouldBlock,
    NoBudget,
    Failed,
}

/// What the account is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Witness {
    running: bool,
    /// An operation of this run came to something.
    worked: bool,
    /// An edge was told, and no operation has met the boundary since.
    owed: [bool; 2],
    /// End of file was read.
    ended: bool,
    hangup: bool,
    paused: [bool; 2],
    rests: [bool; 2],
    /// An operation was refused or cut short and no later one has succeeded.
    wishes: [bool; 2],
    /// A direction's readiness that an idle run has made no use of.
    declined: [bool; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    is_level: bool,
    account: Directions,
    witness: Witness,
}

fn steps() -> Vec<Step> {
    let (input, output) = (EventFlags::IN, EventFlags::OUT);
    let mut steps = vec![
        Step::Event(input),
        Step::Event(output),
        Step::Event(input | output),
        Step::Event(input | EventFlags::RDHUP),
        Step::Event(EventFlags::PRI),
        Step::Event(EventFlags::HUP),
        Step::Event(EventFlags::ERR),
        Step::RunBegins,
        Step::RunEnds,
    ];
    for direction in DIRECTIONS {
        let outcomes = [
            Outcome::After(After::More),
            Outcome::After(After::Boundary),
            Outcome::After(if direction == Input { After::End } else { After::Short }),
            Outcome::WouldBlock,
            Outcome::NoBudget,
            Outcome::Failed,
        ];
        steps.extend(outcomes.map(|outcome| Step::Try(direction, outcome)));
        steps.extend([Step::Pause(direction), Step::Resume(direction), Step::Wake(direction)]);
        steps.extend([Step::Rest(direction), Step::EndRest(direction)]);
    }
    steps
}

impl State {
    fn new(interest: Interest, is_level: bool) -> State {
        State { is_level, account: Directions::new(interest), witness: Witness::default() }
    }

    /// The state after `step`; `None` where it cannot happen.
    fn after(mut self, step: Step) -> Option<State> {
        let State { is_level, account, witness } = &mut self;
        match step {
            Step::Event(_) | Step::RunBegins if witness.running => return None,
            Step::Try(..) | Step::RunEnds if !witness.running => return None,
            Step::Event(flags) => {
                account.tell(Readiness::new(flags));
                witness.tell(flags);
            }
            Step::RunBegins => {
                if !account.is_runnable() {
                    return None;
                }
                account.begin_run();
                (witness.running, witness.worked) = (true, false);
            }
            Step::RunEnds => {
                account.end_run(witness.worked);
                let no_room = !account.is_ready(Output) || account.is_paused(Output);
                let is_blocked = witness.wishes[Output as usize] && no_room;
                witness.declined[Input as usize] = !witness.worked && is_blocked;
                witness.declined[Output as usize] |= !witness.worked;
                if *is_level {
                    account.end_level_run();
                }
                witness.running = false;
            }
            Step::Try(direction, outcome) => {
                let may = account.may_try(direction);
                witness.tried(direction, may.then_some(outcome));
                match outcome {
                    _ if !may => {}
                    Outcome::After(after) => account.settle(direction, after),
                    Outcome::WouldBlock => account.block(direction),
                    Outcome::NoBudget => account.want(direction),
                    Outcome::Failed => {}
                }
            }
            Step::Pause(direction) => {
                account.pause(direction);
                witness.paused[direction as usize] = true;
            }
            Step::Rest(direction) => {
                account.rest(direction);
                witness.rests[direction as usize] = true;
            }
            Step::Resume(direction) => {
                account.resume(direction);
                witness.paused[direction as usize] = false;
                witness.rests[direction as usize] = false;
                witness.declined[direction as usize] = false;
                witness.declined[Input as usize] = false;
            }
            Step::EndRest(direction) => {
                account.end_rest(direction);
                witness.rests[direction as usize] = false;
                witness.declined[direction as usize] = false;
                witness.declined[Input as usize] = false;
            }
            Step::Wake(direction) => {
                account.wake(direction);
                witness.owed[direction as usize] = true;
                witness.declined[direction as usize] = false;
                witness.declined[Input as usize] = false;
            }
        }
        Some(self)
    }

    fn check(&self, asked: Interest) {
        if self.is_level { self.check_level(asked) } else { self.check_edge(asked) }
    }

    /// What is wanted is runnable or watched for; what is paused or has ended is not watched for,
    /// or the kernel would tell of it for ever.
    fn check_level(&self, asked: Interest) {
        let State { account, witness, .. } = self;
        for (direction, interest) in
            DIRECTIONS.into_iter().zip([Interest::READABLE, Interest::WRITABLE])
        {
            let index = direction as usize;
            let stopped = witness.paused[index]
                || witness.rests[index]
                || direction == Input && witness.ended;
            let declined = witness.declined[index];
            let wanted = asked.contains(interest) && !declined || witness.wishes[index];
            let watched = account.armed_level(asked).contains(interest);
            assert!(!watched || !stopped && wanted, "watched for nothing: {self:?}");
            if wanted && !stopped && !witness.running {
                assert!(watched || account.is_runnable(), "nobody will tell: {self:?}");
            }
        }
        assert_eq!(account.has_ended(), witness.ended, "{self:?}");
    }

    /// E03: after an edge, the boundary was reached, the source is terminal, or it is runnable or
    /// explicitly paused. And what is not ready is watched for.
    fn check_edge(&self, asked: Interest) {
        let State { account, witness, .. } = self;
        for direction in DIRECTIONS {
            let index = direction as usize;
            let ready = account.is_ready(direction);
            let ended = direction == Input && witness.ended;
            let paused = witness.paused[index] || witness.rests[index];
            let standing = match direction {
                Input => asked.contains(Interest::READABLE),
                Output => asked.contains(Interest::WRITABLE),
            };
            let declined = witness.declined[index];
            let wanted = standing && !declined || witness.wishes[index];

            assert!(ready || ended || !witness.owed[index], "an edge was forgotten: {self:?}");
            assert_eq!(account.is_paused(direction), paused, "{self:?}");
            if witness.owed[index] && wanted && !paused && !ended {
                assert!(account.is_runnable(), "nobody will run it: {self:?}");
            }
            if !ready && !ended && (standing || witness.wishes[index]) {
                let armed = account.armed(asked);
                let watched = match direction {
                    Input => armed.contains(Interest::READABLE),
                    Output => armed.contains(Interest::WRITABLE),
                };
                assert!(watched, "nobody will tell: {self:?}");
            }
            if direction == Input && declined {
                let watched = account.armed(asked).contains(Interest::WRITABLE);
                let waits = watched || account.is_paused(Output);
                assert!(waits, "it waits for nothing: {self:?}");
            }
            if direction == Output && !standing && !witness.wishes[index] {
                let armed = account.armed(asked);
                assert!(!armed.contains(Interest::WRITABLE), "watched for nothing: {self:?}");
            }
        }
        assert_eq!(account.has_ended(), witness.ended, "{self:?}");
    }

    /// An account that is run, and whose handler meets every boundary, comes to rest.
    fn check_rest(self) {
        let mut state = self;
        for _ in 0..3 {
            if state.witness.running {
                for direction in DIRECTIONS {
                    let drained = Step::Try(direction, Outcome::WouldBlock);
                    state = state.after(drained).expect("it runs");
                }
                state = state.after(Step::RunEnds).expect("it runs");
            }
            match state.after(Step::RunBegins) {
                Some(next) => state = next,
                None => return,
            }
        }
        panic!("it spins: {self:?}");
    }
}

impl Witness {
    fn tell(&mut self, flags: EventFlags) {
        let ends = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let input = EventFlags::IN | EventFlags::PRI | EventFlags::RDHUP;
        if ends || flags.intersects(input) {
            self.owed[Input as usize] = true;
        }
        if ends || flags.contains(EventFlags::OUT) {
            self.owed[Output as usize] = true;
            self.declined[Output as usize] = false;
        }
        self.declined[Input as usize] = false;
        self.hangup |= ends || flags.contains(EventFlags::RDHUP);
    }

    fn tried(&mut self, direction: Direction, outcome: Option<Outcome>) {
        let index = direction as usize;
        self.declined[index] = false;
        match outcome {
            None | Some(Outcome::NoBudget) => self.wishes[index] = true,
            Some(Outcome::Failed) => {}
            Some(Outcome::WouldBlock) => {
                self.worked = true;
                self.owed[index] = false;
                self.wishes[index] = true;
            }
            Some(Outcome::After(after)) => {
                self.worked = true;
                self.wishes[index] = after == After::Short;
                match after {
                    After::More | After::Short => {}
                    // The kernel's word does not count once a hang-up was told.
                    After::Boundary if direction == Input && self.hangup => {}
                    After::Boundary => self.owed[index] = false,
                    After::End => self.ended = true,
                }
            }
        }
    }
}

/// Explores every state that can be reached with `asked` and returns how many there are.
fn explore(asked: Interest, is_level: bool) -> usize {
    let steps = steps();
    let start = State::new(asked, is_level);
    let mut seen = HashSet::from([start]);
    let mut next = vec![start];
    while let Some(state) = next.pop() {
        state.check(asked);
        state.check_rest();
        for step in &steps {
            let Some(after) = state.after(*step) else { continue };
            if seen.insert(after) {
                next.push(after);
            }
        }
    }
    seen.len()
}

#[test]
fn e03_an_edge_is_never_in_a_fourth_state() {
    let interests =
        [Interest::READABLE, Interest::WRITABLE, Interest::READABLE | Interest::WRITABLE];
    for asked in interests {
        let states = explore(asked, false);
        assert!(states > 1000, "{states} states of {asked:?}: the steps reach too little");
    }
}

#[test]
fn e03_what_a_level_triggered_source_wants_is_runnable_or_watched_for() {
    let interests =
        [Interest::READABLE, Interest::WRITABLE, Interest::READABLE | Interest::WRITABLE];
    for asked in interests {
        let states = explore(asked, true);
        assert!(states > 1000, "{states} states of {asked:?}: the steps reach too little");
    }
}

/// The witness can tell: an account that takes a short read for the boundary is caught.
#[test]
#[should_panic(expected = "an edge was forgotten")]
fn e03_an_account_that_forgets_an_edge_is_caught() {
    let mut state = State::new(Interest::READABLE, false);
    for step in [
        Step::Event(EventFlags::IN),
        Step::RunBegins,
        Step::Try(Input, Outcome::After(After::More)),
        Step::RunEnds,
    ] {
        state = state.after(step).expect("it can happen");
    }
    state.account.input.ready = false;
    state.check(Interest::READABLE);
}
