//! Calls that may block.
//!
//! The machine has no threads of its own. A call that may block is a *step*: it is done, or it says
//! on what it blocks, and then the caller has it go on when the machine has named its task among
//! the woken. Being woken promises nothing: the call tests its condition again, and may block
//! again.
//!
//! ```text
//!   read(..) ──► Done(result)
//!        └─────► Blocked(on)  ─ ─ take_woken() names the task ─ ─►  resume(task) ──► Done(..)
//!                                                                        └─────────► Blocked(on)
//! ```
//!
//! A blocked call holds its open file: closing the number does not disturb it (E071, S222). Whether
//! it may block at all was decided when it began (E073); only pipes look at `O_NONBLOCK` again when
//! they are woken.

use crate::arena::Id;
use crate::call::Call;
use crate::epoll::Registration;
use crate::epoll::wait::Scan;
use crate::errno::Errno;
use crate::events::{Event, Mask};
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::oracle::{Level, Question};
use crate::poll::Sets;
use crate::process::Fd;
use crate::task::Task;
use crate::wait_queue::Wake;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// It has returned.
    Done(Result<Reply, Errno>),
    /// It blocks; see [`Kernel::take_woken`].
    Blocked(On),
    /// It has changed something and not yet returned, or is about to look. Only at the permissive
    /// level: [`Kernel::resume`] does the other half, and others may make calls in between.
    Halfway,
}

/// What a call returns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// Bytes written.
    Count(usize),
    /// Bytes read; none at the end of the file.
    Bytes(Vec<u8>),
    /// A descriptor.
    Fd(Fd),
    /// What a wait has brought; none at its deadline.
    Events(Vec<Event>),
    /// The readiness of each line of a poll.
    Masks(Vec<Mask>),
    /// What a select has found.
    Sets(Sets),
}

/// On what a call blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// Something to read from a descriptor.
    Reading(Fd),
    /// Room to write to it.
    Writing(Fd),
    /// A connection to accept.
    Connection(Fd),
    /// An event of an epoll instance.
    Events(Fd),
    /// The readiness of any of several descriptors.
    Readiness,
}

/// How long a call may block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Not at all.
    Not,
    /// Until a moment of [`Kernel::advance`]'s clock, in nanoseconds.
    Until(u64),
    /// For ever.
    Forever,
}

/// A call that has not returned.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pending {
    call: Call,
    wait: Wait,
    on: On,
    stage: Stage,
    /// Whether it has slept before.
    slept: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Stage {
    /// At the permissive level: a wait that has not looked yet.
    Entered,
    /// At the permissive level: a wait that goes through the ready list, an item a step.
    Scanning(Scan),
    /// At the permissive level: done, but for the wakeups that it owes.
    Owing(Result<Reply, Errno>, Vec<Wake>),
    Asleep,
    Woken,
    /// Its deadline has passed.
    Late,
}

impl Kernel {
    /// The tasks whose calls may go on, in the order in which they were woken. Each is to be
    /// [resumed](Kernel::resume).
    pub fn take_woken(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.woken)
    }

    /// The deadline of the call in which `task` sleeps, if it sleeps and has one.
    pub fn deadline(&self, task: Task) -> Option<u64> {
        match self.pending.get(&task)? {
            Pending { stage: Stage::Asleep, wait: Wait::Until(deadline), .. } => Some(*deadline),
            _ => None,
        }
    }

    pub(crate) fn start(&mut self, task: Task, call: Call, wait: Wait, on: On) -> Step {
        for file in call.files() {
            self.hold(file);
        }
        let pending = Pending { call, wait, on, stage: Stage::Entered, slept: false };
        self.try_or_enter(task, pending)
    }

    /// A wait of the permissive level takes several steps; all other calls are tried at once.
    fn try_or_enter(&mut self, task: Task, mut pending: Pending) -> Step {
        match (self.fx.oracle.level, &pending.call) {
            (Level::Permissive, Call::EpollWait { .. }) => {
                pending.stage = Stage::Entered;
                self.pending.insert(task, pending);
                Step::Halfway
            }
            _ => self.go_on(task, pending),
        }
    }

    /// Has the call of `task` go on: it was woken, it was halfway, or its deadline has passed. One
    /// that still sleeps goes on sleeping.
    ///
    /// # Panics
    ///
    /// If the task is in no call.
    pub fn resume(&mut self, task: Task) -> Step {
        let mut pending = self.pending.remove(&task).expect("the task is in a call");
        match std::mem::replace(&mut pending.stage, Stage::Woken) {
            Stage::Asleep => {
                let on = pending.on;
                self.pending.insert(task, Pending { stage: Stage::Asleep, ..pending });
                Step::Blocked(on)
            }
            Stage::Owing(result, wakes) => {
                self.fx.wakes = wakes;
                self.deliver();
                self.finish(pending.call, result)
            }
            Stage::Entered => self.begin_to_scan(task, pending),
            Stage::Scanning(scan) => self.scan_on(task, pending, scan),
            Stage::Woken => self.try_or_enter(task, pending),
            Stage::Late => {
                self.leave_queues(task, &pending.call);
                pending.wait = Wait::Not;
                self.try_or_enter(task, pending)
            }
        }
    }

    fn begin_to_scan(&mut self, task: Task, mut pending: Pending) -> Step {
        let Call::EpollWait { file, .. } = pending.call else {
            unreachable!("only waits scan");
        };
        if self.epoll_mut(file).scanned {
            let passes_by =
                pending.wait == Wait::Not && self.fx.oracle.choose(Question::FalseEmpty, 2) == 1;
            if passes_by {
                return self.finish(pending.call, Ok(Reply::Events(Vec::new())));
            }
            // One scan at a time: this one waits for the other to end.
            pending.stage = Stage::Entered;
        } else {
            self.epoll_mut(file).scanned = true;
            pending.stage = Stage::Scanning(self.begin_scan(file));
        }
        self.pending.insert(task, pending);
        Step::Halfway
    }

    /// Others may change what is watched between two items: what a wait brings need not have been
    /// true at any one moment.
    fn scan_on(&mut self, task: Task, mut pending: Pending, mut scan: Scan) -> Step {
        let Call::EpollWait { file, max } = pending.call else {
            unreachable!("only waits scan");
        };
        if self.scan_one(&mut scan, max) {
            pending.stage = Stage::Scanning(scan);
            self.pending.insert(task, pending);
            return Step::Halfway;
        }
        self.epoll_mut(file).scanned = false;
        let events = self.end_scan(file, scan);
        if !events.is_empty() || pending.wait == Wait::Not {
            self.leave_queues(task, &pending.call);
            return self.finish(pending.call, Ok(Reply::Events(events)));
        }
        match self.epoll_mut(file).ready.is_empty() {
            true => self.sleep(task, pending),
            false => self.try_or_enter(task, pending),
        }
    }

    /// A registration has ended: no scan will come to it.
    pub(crate) fn leave_scans(&mut self, id: Id<Registration>) {
        for pending in self.pending.values_mut() {
            if let Stage::Scanning(scan) = &mut pending.stage {
                scan.list.retain(|other| *other != id);
            }
        }
    }

    /// A signal interrupts the call in which `task` is blocked: it looks once more, and fails with
    /// `EINTR` if there is still nothing (E069, E070). Whether it is made again (`SA_RESTART`) is
    /// for the caller to decide; waits of epoll and poll never are (C102, E101).
    ///
    /// # Panics
    ///
    /// If the task is in no call.
    pub fn interrupt(&mut self, task: Task) -> Step {
        let mut pending = self.pending.remove(&task).expect("the task is in a call");
        self.leave_queues(task, &pending.call);
        self.woken.retain(|woken| *woken != task);
        let result = self.attempt(task, &mut pending.call, pending.wait, pending.slept);
        let result = match result {
            Some(result) => result,
            // The writing end of a pipe looks at O_NONBLOCK before it looks for signals.
            None if matches!(pending.call, Call::Write { .. })
                && self.looks_again(&pending.call) =>
            {
                pending.call.at_deadline()
            }
            None => pending.call.interrupted(),
        };
        self.interrupted_write(&pending.call);
        self.deliver();
        self.finish(pending.call, result)
    }

    /// Whether `task` is in a call that has not returned.
    pub fn is_blocked(&self, task: Task) -> bool {
        self.pending.contains_key(&task)
    }

    fn go_on(&mut self, task: Task, mut pending: Pending) -> Step {
        if pending.slept && self.looks_again(&pending.call) {
            pending.wait = Wait::Not;
        }
        let result = self.attempt(task, &mut pending.call, pending.wait, pending.slept);
        let result = match (result, pending.wait) {
            (Some(result), _) => result,
            (None, Wait::Not) => pending.call.at_deadline(),
            (None, Wait::Until(deadline)) if deadline <= self.now => pending.call.at_deadline(),
            (None, _) => return self.sleep(task, pending),
        };
        if pending.slept {
            self.leave_queues(task, &pending.call);
            self.pass_on(&pending.call);
        }
        if self.fx.oracle.level == Level::Permissive && !self.fx.wakes.is_empty() {
            pending.stage = Stage::Owing(result, std::mem::take(&mut self.fx.wakes));
            self.pending.insert(task, pending);
            return Step::Halfway;
        }
        self.deliver();
        self.finish(pending.call, result)
    }

    fn finish(&mut self, call: Call, result: Result<Reply, Errno>) -> Step {
        if let Call::Accept { number, task, .. } = call
            && result.is_err()
        {
            self.unreserve(task, number);
        }
        for file in call.files() {
            self.release(file);
        }
        Step::Done(result)
    }

    fn sleep(&mut self, task: Task, mut pending: Pending) -> Step {
        self.deliver();
        if self.fx.oracle.choose(Question::Interrupted, 2) == 1 {
            let result = pending.call.interrupted();
            return self.finish(pending.call, result);
        }
        let stays_on = pending.slept && pending.call.polls();
        if !stays_on {
            for (queue, place, entry) in self.entries(task, &pending.call) {
                self.queues[queue].enter(place, entry);
            }
        }
        let on = pending.on;
        pending.stage = Stage::Asleep;
        pending.slept = true;
        self.pending.insert(task, pending);
        Step::Blocked(on)
    }

    fn leave_queues(&mut self, task: Task, call: &Call) {
        for file in call.files() {
            let queue = match &self.files[file].object {
                Object::Epoll(epoll) if matches!(call, Call::EpollWait { .. }) => epoll.waiters,
                _ => self.poll_queue(file),
            };
            self.queues[queue].leave(task);
        }
    }

    /// A thread that slept is woken: it is to be resumed.
    pub(crate) fn rouse(&mut self, task: Task) {
        if let Some(pending) = self.pending.get_mut(&task)
            && matches!(pending.stage, Stage::Asleep)
        {
            pending.stage = Stage::Woken;
            self.woken.push(task);
        }
    }

    /// It is `now`, in nanoseconds of a clock that only goes forward. Timers expire, in order, and
    /// calls whose deadline has passed are to be resumed: never early, and at no other time (C096).
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.expire_timers();
        for (task, pending) in &mut self.pending {
            if let (Wait::Until(deadline), Stage::Asleep) = (pending.wait, &pending.stage)
                && deadline <= self.now
            {
                pending.stage = Stage::Late;
                self.woken.push(*task);
            }
        }
    }

    /// Ends the waits on an instance: what Linux does *not* do when its number is closed.
    pub(crate) fn end_waits(&mut self, instance: Id<File>) {
        for (task, pending) in &mut self.pending {
            if matches!(&pending.call, Call::EpollWait { file, .. } if *file == instance)
                && matches!(pending.stage, Stage::Asleep)
            {
                pending.stage = Stage::Late;
                self.woken.push(*task);
            }
        }
    }

    /// Whether somebody sleeps in a wait on an instance.
    pub(crate) fn has_waiter(&self, instance: Id<File>) -> bool {
        self.pending.values().any(
            |pending| matches!(&pending.call, Call::EpollWait { file, .. } if *file == instance),
        )
    }
}
