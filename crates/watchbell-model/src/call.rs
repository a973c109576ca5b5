//! A call that is under way: what it does each time that it is tried, where it stands while it is
//! blocked, and what it returns when it may not block any longer.

use crate::arena::Id;
use crate::blocking::{Reply, Wait};
use crate::errno::Errno;
use crate::events::Mask;
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::pipe::Attempt;
use crate::poll::Sets;
use crate::process::Fd;
use crate::rules::Rule;
use crate::task::Task;
use crate::wait_queue::{Entry, Place, WaitQueue, Waiter};

/// A call that is under way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Read { file: Id<File>, room: usize },
    Write { file: Id<File>, bytes: Vec<u8>, written: usize },
    Accept { file: Id<File>, flags: u32, number: Fd, task: Task },
    EpollWait { file: Id<File>, max: usize },
    Poll { lines: Vec<(Fd, Mask)>, watched: Vec<(Id<File>, Mask)> },
    Select { lines: Vec<(Fd, Mask)>, watched: Vec<(Id<File>, Mask)> },
}

impl Call {
    /// The open files that it holds.
    pub(crate) fn files(&self) -> Vec<Id<File>> {
        match self {
            Call::Read { file, .. }
            | Call::Write { file, .. }
            | Call::Accept { file, .. }
            | Call::EpollWait { file, .. } => vec![*file],
            Call::Poll { watched, .. } | Call::Select { watched, .. } => {
                watched.iter().map(|(file, _)| *file).collect()
            }
        }
    }

    /// Whether it stays on its queues from the time it first blocks until it returns. Others leave
    /// a queue by being woken, and enter it anew.
    pub(crate) fn polls(&self) -> bool {
        matches!(self, Call::Poll { .. } | Call::Select { .. })
    }

    /// What it returns where it may not block any longer.
    pub(crate) fn at_deadline(&self) -> Result<Reply, Errno> {
        match self {
            Call::Write { written, .. } if *written > 0 => Ok(Reply::Count(*written)),
            Call::Read { .. } | Call::Write { .. } | Call::Accept { .. } => Err(Errno::EAGAIN),
            Call::EpollWait { .. } => Ok(Reply::Events(Vec::new())),
            Call::Poll { lines, .. } => Ok(Reply::Masks(vec![Mask::NONE; lines.len()])),
            Call::Select { .. } => Ok(Reply::Sets(Sets::default())),
        }
    }

    /// What it returns where a signal interrupts it: what it has done so far, if anything (E069,
    /// E070).
    pub(crate) fn interrupted(&self) -> Result<Reply, Errno> {
        match self {
            Call::Write { written, .. } if *written > 0 => Ok(Reply::Count(*written)),
            _ => Err(Errno::EINTR),
        }
    }
}

impl Kernel {
    /// Tries the call once; nothing where it would block.
    pub(crate) fn attempt(
        &mut self,
        task: Task,
        call: &mut Call,
        wait: Wait,
        slept: bool,
    ) -> Option<Result<Reply, Errno>> {
        let attempt = Attempt { first: !slept, sleeps: wait != Wait::Not };
        let result = match call {
            Call::Read { file, room } => self.read_once(*file, *room).map(Reply::Bytes),
            Call::Write { file, bytes, written } => {
                match self.write_once(*file, &bytes[*written..], attempt) {
                    Ok(count) => {
                        *written += count;
                        if *written < bytes.len() && wait != Wait::Not {
                            return None;
                        }
                        Ok(Reply::Count(*written))
                    }
                    Err(error) if error != Errno::EAGAIN && *written > 0 => {
                        Ok(Reply::Count(*written))
                    }
                    Err(error) => Err(error),
                }
            }
            Call::Accept { file, flags, number, .. } => {
                let (flags, number) = (*flags, *number);
                self.accept_once(*file, flags, wait).map(|connection| {
                    self.accepted(task, number, connection, flags);
                    Reply::Fd(number)
                })
            }
            Call::EpollWait { file, max } => {
                let events = self.scan(*file, *max);
                return (!events.is_empty()).then_some(Ok(Reply::Events(events)));
            }
            Call::Poll { lines, .. } => return self.attempt_poll(task, lines).map(Ok),
            Call::Select { lines, .. } => return self.attempt_select(task, lines).map(Ok),
        };
        if result == Err(Errno::EAGAIN) { None } else { Some(result) }
    }

    /// Where a blocked call stands; see [`wait_queue`](crate::wait_queue).
    pub(crate) fn entries(
        &mut self,
        task: Task,
        call: &Call,
    ) -> Vec<(Id<WaitQueue>, Place, Entry)> {
        let sleeper = Waiter::Sleeper(task);
        match call {
            Call::Read { file, .. } | Call::Write { file, .. } => {
                let queue = self.poll_queue(*file);
                let (place, entry) = match self.files[*file].object {
                    Object::PipeReader(_) | Object::PipeWriter(_) => {
                        (Place::Tail, Entry::exclusive(sleeper))
                    }
                    Object::Socket(_) => (Place::Head, Entry::plain(sleeper)),
                    _ => (Place::Tail, Entry::plain(sleeper)),
                };
                vec![(queue, place, entry)]
            }
            Call::Accept { file, .. } => {
                vec![(self.poll_queue(*file), Place::Tail, Entry::exclusive(sleeper))]
            }
            Call::EpollWait { file, .. } => {
                let newest_first = self.fx.keeps(Rule::WaitersNewestFirst);
                let place = if newest_first { Place::Head } else { Place::Tail };
                vec![(self.epoll_mut(*file).waiters, place, Entry::exclusive(sleeper))]
            }
            Call::Poll { watched, .. } | Call::Select { watched, .. } => watched
                .iter()
                .map(|(file, wanted)| {
                    let entry = Entry::plain(Waiter::Poller(task, *wanted));
                    (self.poll_queue(*file), Place::Head, entry)
                })
                .collect(),
        }
    }

    /// Whether the call may not block any longer, now that it was woken: a pipe alone looks at
    /// `O_NONBLOCK` again.
    pub(crate) fn looks_again(&mut self, call: &Call) -> bool {
        let (Call::Read { file, .. } | Call::Write { file, .. }) = call else { return false };
        if self.may_block(*file) {
            return false;
        }
        let object = &self.files[*file].object;
        matches!(object, Object::PipeReader(_) | Object::PipeWriter(_))
            || !self.fx.keeps(Rule::NonblockReadAtEntry)
    }

    /// A write to a pipe that was interrupted before it had written everything returns now.
    pub(crate) fn interrupted_write(&mut self, call: &Call) {
        if let Call::Write { file, bytes, written } = call
            && *written < bytes.len()
            && let Object::PipeWriter(pipe) = self.files[*file].object
        {
            self.pipes[pipe].write_returns(&mut self.fx);
        }
    }

    /// A reader or writer of a pipe that has slept passes the wakeup on, if there is something
    /// left.
    pub(crate) fn pass_on(&mut self, call: &Call) {
        let (Call::Read { file, .. } | Call::Write { file, .. }) = call else { return };
        let pipe = match self.files[*file].object {
            Object::PipeReader(pipe) | Object::PipeWriter(pipe) => pipe,
            _ => return,
        };
        let reads = matches!(call, Call::Read { .. });
        self.pipes[pipe].pass_on(reads, &mut self.fx);
    }
}
