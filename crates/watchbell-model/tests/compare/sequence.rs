//! One thread: every call is made on both arms, and the results must be equal.

use super::call::{Call, Outcome, show};
use super::linux::{Linux, NUMBERS};
use super::model::{Made, make};
use super::random::{Random, Words, program};
use super::table::Table;
use watchbell_model::{Kernel, Rule, Task};

/// How long the programs are.
pub const LONGEST: usize = 60;

/// What was compared so far.
#[derive(Clone, Default)]
pub struct Tally {
    pub sequences: u64,
    pub operations: u64,
    pub events: u64,
    /// How often each rule was kept.
    pub kept: Vec<u64>,
}

impl Tally {
    /// Adds what a machine has done.
    pub fn learn(&mut self, kernel: &mut Kernel) {
        self.kept.resize(Rule::ALL.len(), 0);
        for (rule, kept) in Rule::ALL.iter().zip(&mut self.kept) {
            *kept += kernel.rules().times_kept(*rule);
        }
    }
}

/// Where the arms differ.
pub struct Mismatch {
    /// The calls, with Linux's results, up to the one in question.
    pub calls: Vec<(Call, Outcome)>,
    pub model: Outcome,
}

impl Mismatch {
    /// A small program, a line a call.
    pub fn listing(&self) -> String {
        let mut text = String::new();
        for (call, outcome) in &self.calls {
            text += &format!("    {call} = {}\n", show(outcome));
        }
        text + &format!("    // the model says {}\n", show(&self.model))
    }
}

/// Runs a program on both arms, with one rule of the model broken if a test asks for it.
pub fn run(
    linux: &mut Linux,
    steps: &[Words],
    broken: Option<Rule>,
    tally: &mut Tally,
) -> Result<(), Mismatch> {
    let mut kernel = Kernel::default();
    if let Some(rule) = broken {
        kernel.rules().break_one(rule);
    }
    let mut table = Table::default();
    let mut calls = Vec::new();
    let mut now = 0;
    let mut result = Ok(());
    for step in steps {
        let call = table.resolve(step);
        if may_block(linux, &call) || table.len() + 2 >= NUMBERS {
            continue;
        }
        let on_linux = linux.make(&call);
        let on_model = match make(&mut kernel, &mut now, Task::MAIN, &call) {
            Made::Done(outcome) => outcome,
            Made::Blocked | Made::Halfway => {
                kernel.interrupt(Task::MAIN);
                Err(0)
            }
        };
        table.learn(&call, &on_linux);
        tally.operations += 1;
        if let Ok(super::call::Value::Events(events)) = &on_linux {
            tally.events += events.len() as u64;
        }
        calls.push((call, on_linux.clone()));
        if on_linux != on_model {
            result = Err(Mismatch { calls, model: on_model });
            break;
        }
    }
    linux.reset(table.len().max(16));
    tally.sequences += 1;
    tally.learn(&mut kernel);
    result
}

/// Calls on blocking descriptors are for tests with several threads.
pub fn may_block(linux: &Linux, call: &Call) -> bool {
    match call {
        Call::Read { fd, .. } | Call::Write { fd, .. } | Call::Accept { fd, .. } => {
            linux.is_blocking(*fd)
        }
        Call::Connect { fd, .. } => linux.is_blocking(*fd),
        _ => false,
    }
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
        let steps = program(&mut random, LONGEST);
        if run(linux, &steps, broken, tally).is_err() {
            return Err(smallest(linux, steps, broken));
        }
    }
    Ok(())
}

fn smallest(linux: &mut Linux, steps: Vec<Words>, broken: Option<Rule>) -> Mismatch {
    let mut fails = |steps: &[Words]| run(linux, steps, broken, &mut Tally::default()).is_err();
    let steps = super::random::smallest(steps, &mut fails);
    match run(linux, &steps, broken, &mut Tally::default()) {
        Err(mismatch) => mismatch,
        Ok(()) => unreachable!("a program of one thread that fails, fails"),
    }
}
