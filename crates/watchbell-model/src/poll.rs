//! Readiness, and the two older calls that ask for it.
//! ([poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html),
//! [select(2)](https://man7.org/linux/man-pages/man2/select.2.html))
//!
//! Readiness is state of the object, and the same whoever asks: poll, select or epoll. What differs
//! is how the answer is shown, and who is told when it changes.

use crate::arena::Id;
use crate::blocking::{Call, On, Reply, Step, Wait};
use crate::errno::Errno;
use crate::events::Mask;
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::listener::{Socket, State, fresh_readiness};
use crate::process::Fd;
use crate::task::Task;
use crate::wait_queue::WaitQueue;

/// One line of a [`Kernel::poll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PollFd {
    /// Which descriptor; a negative one is passed over.
    pub fd: Fd,
    /// What is asked.
    pub events: Mask,
}

/// The sets of a [`Kernel::select`], by descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sets {
    /// Watched for reading.
    pub read: Vec<Fd>,
    /// Watched for writing.
    pub write: Vec<Fd>,
    /// Watched for exceptional conditions: urgent data, and nothing else.
    pub except: Vec<Fd>,
}

/// What select calls readable, writable and exceptional (E096, E104).
const SELECT_READ: Mask =
    Mask(Mask::RDNORM.0 | Mask::RDBAND.0 | Mask::IN.0 | Mask::HUP.0 | Mask::ERR.0);
const SELECT_WRITE: Mask = Mask(Mask::WRBAND.0 | Mask::WRNORM.0 | Mask::OUT.0 | Mask::ERR.0);
const SELECT_EXCEPT: Mask = Mask::PRI;

impl Kernel {
    /// What an open file is ready for, of everything.
    pub(crate) fn readiness(&mut self, file: Id<File>) -> Mask {
        match &self.files[file].object {
            Object::Eventfd(eventfd) => eventfd.readiness(),
            Object::Timer(timer) => timer.readiness(),
            Object::PipeReader(pipe) => self.pipes[*pipe].readiness_to_read(),
            Object::PipeWriter(pipe) => self.pipes[*pipe].readiness_to_write(),
            Object::Socket(Socket { state, .. }) => match state {
                State::Fresh(shut) => fresh_readiness(*shut),
                State::Listening(listener) => listener.readiness(),
                State::Connected(pair, side) => self.pairs[*pair].readiness(*side),
            },
            Object::Epoll(_) => self.epoll_readiness(file),
            Object::Null => Mask::IN | Mask::OUT | Mask::RDNORM | Mask::WRNORM,
        }
    }

    /// The queue on which those stand who watch an open file.
    pub(crate) fn poll_queue(&self, file: Id<File>) -> Id<WaitQueue> {
        match &self.files[file].object {
            Object::Eventfd(eventfd) => eventfd.queue,
            Object::Timer(timer) => timer.queue,
            Object::PipeReader(pipe) => self.pipes[*pipe].reading,
            Object::PipeWriter(pipe) => self.pipes[*pipe].writing,
            Object::Socket(socket) => socket.queue,
            Object::Epoll(epoll) => epoll.pollers,
            Object::Null => self.nobody,
        }
    }

    /// `poll(2)`: the readiness of each line, of what was asked and of `ERR`, `HUP`; `NVAL` where the
    /// number is not open (E090, E099). Replies [`Reply::Masks`]; blocks until one is not empty.
    ///
    /// Looking consumes nothing, on an epoll instance neither (C076).
    pub fn poll(&mut self, task: Task, lines: &[PollFd], wait: Wait) -> Step {
        let lines = lines.iter().map(|line| {
            let file = self.file_of(task, line.fd).map_err(|_| line.fd >= 0);
            (file, line.events | Mask::UNASKED)
        });
        let call = Call::Poll { lines: lines.collect() };
        self.start(task, call, wait, On::Readiness)
    }

    /// `select(2)`: which of the descriptors are ready. Replies [`Reply::Sets`].
    ///
    /// # Errors
    ///
    /// `EBADF` where a number is not open (E103).
    pub fn select(&mut self, task: Task, sets: &Sets, wait: Wait) -> Step {
        match self.select_call(task, sets) {
            Ok(call) => self.start(task, call, wait, On::Readiness),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn select_call(&mut self, task: Task, sets: &Sets) -> Result<Call, Errno> {
        let mut lines = Vec::new();
        for (set, wanted) in [&sets.read, &sets.write, &sets.except].into_iter().zip(SELECTED) {
            for fd in set {
                lines.push((*fd, self.file_of(task, *fd)?, wanted));
            }
        }
        Ok(Call::Select { lines })
    }

    pub(crate) fn attempt_poll(&mut self, lines: &[(Result<Id<File>, bool>, Mask)]) -> Option<Reply> {
        let masks: Vec<Mask> = lines
            .iter()
            .map(|(file, wanted)| match file {
                Ok(file) => self.readiness(*file) & *wanted,
                Err(named) => Mask::NVAL.when(*named),
            })
            .collect();
        masks.iter().any(|mask| !mask.is_empty()).then_some(Reply::Masks(masks))
    }

    pub(crate) fn attempt_select(&mut self, lines: &[(Fd, Id<File>, Mask)]) -> Option<Reply> {
        let mut sets = Sets::default();
        for (fd, file, wanted) in lines {
            if self.readiness(*file).has(*wanted) {
                match *wanted {
                    SELECT_READ => sets.read.push(*fd),
                    SELECT_WRITE => sets.write.push(*fd),
                    _ => sets.except.push(*fd),
                }
            }
        }
        (sets != Sets::default()).then_some(Reply::Sets(sets))
    }
}

const SELECTED: [Mask; 3] = [SELECT_READ, SELECT_WRITE, SELECT_EXCEPT];
