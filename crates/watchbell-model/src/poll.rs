//! Readiness, and the two older calls that ask for it.
//! ([poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html),
//! [select(2)](https://man7.org/linux/man-pages/man2/select.2.html))
//!
//! Readiness is state of the object, and the same whoever asks: poll, select or epoll. What differs
//! is how the answer is shown, and who is told when it changes.

use crate::arena::Id;
use crate::blocking::{On, Reply, Step, Wait};
use crate::call::Call;
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

    /// `poll(2)`: the readiness of each line, of what was asked and of `ERR`, `HUP`; `NVAL` where
    /// the number is not open (E090, E099). Replies [`Reply::Masks`]; blocks until one is not
    /// empty.
    ///
    /// Looking consumes nothing, on an epoll instance neither (C076).
    ///
    /// A call that blocks waits for the open files that it found at first, but it looks the
    /// *numbers* up again each time that it is woken: one that was closed meanwhile is `NVAL`.
    pub fn poll(&mut self, task: Task, lines: &[PollFd], wait: Wait) -> Step {
        let lines: Vec<(Fd, Mask)> =
            lines.iter().map(|line| (line.fd, line.events | Mask::UNASKED)).collect();
        let watched = self.watched(task, &lines);
        self.start(task, Call::Poll { lines, watched }, wait, On::Readiness)
    }

    /// `select(2)`: which of the descriptors are ready. Replies [`Reply::Sets`].
    ///
    /// # Errors
    ///
    /// `EBADF` where a number is not open at first (E103).
    pub fn select(&mut self, task: Task, sets: &Sets, wait: Wait) -> Step {
        let mut lines: Vec<(Fd, Mask)> = Vec::new();
        for (set, wanted) in [&sets.read, &sets.write, &sets.except].into_iter().zip(SELECTED) {
            lines.extend(set.iter().map(|fd| (*fd, wanted)));
        }
        let watched = self.watched(task, &lines);
        if watched.len() < lines.len() {
            return Step::Done(Err(Errno::EBADF));
        }
        self.start(task, Call::Select { lines, watched }, wait, On::Readiness)
    }

    /// The open files on whose queues a call will stand.
    fn watched(&self, task: Task, lines: &[(Fd, Mask)]) -> Vec<(Id<File>, Mask)> {
        let line = |(fd, wanted): &(Fd, Mask)| Some((self.file_of(task, *fd).ok()?, *wanted));
        lines.iter().filter_map(line).collect()
    }

    /// The readiness behind a number, of what is wanted.
    fn look_up(&mut self, task: Task, fd: Fd, wanted: Mask) -> Mask {
        match self.file_of(task, fd) {
            Ok(file) => self.readiness(file) & wanted,
            Err(_) => Mask::NVAL.when(fd >= 0),
        }
    }

    pub(crate) fn attempt_poll(&mut self, task: Task, lines: &[(Fd, Mask)]) -> Option<Reply> {
        let masks = lines.iter().map(|(fd, wanted)| self.look_up(task, *fd, *wanted));
        let masks: Vec<Mask> = masks.collect();
        masks.iter().any(|mask| !mask.is_empty()).then_some(Reply::Masks(masks))
    }

    pub(crate) fn attempt_select(&mut self, task: Task, lines: &[(Fd, Mask)]) -> Option<Reply> {
        let mut sets = Sets::default();
        for (fd, wanted) in lines {
            if !self.look_up(task, *fd, *wanted).is_empty() {
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
