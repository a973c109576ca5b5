//! The machine: its state, and the calls that make and use objects.

use crate::arena::{Arena, Id};
use crate::blocking::{On, Pending, Step, Wait};
use crate::call::Call;
use crate::effects::Effects;
use crate::epoll::Registration;
use crate::errno::Errno;
use crate::eventfd::Eventfd;
use crate::file::{File, Object};
use crate::listener::Name;
use crate::oracle::Oracle;
use crate::pipe::{Attempt, Pipe};
use crate::process::{Fd, O_CLOEXEC, O_NONBLOCK, Process};
use crate::rules::Rules;
use crate::stream::Pair;
use crate::task::Task;
use crate::timer::{Timer, TimerSpec};
use crate::wait_queue::WaitQueue;
use std::collections::BTreeMap;

/// `EFD_SEMAPHORE`
pub const EFD_SEMAPHORE: u32 = 1;

/// A system with its processes, open files and blocked calls. Copy it, and there are two; they are
/// equal until they were used differently.
///
/// A system call is a method. The caller says who makes the call ([`Task`]), and gets the result,
/// or, of a call that may block, a [`Step`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Kernel {
    pub(crate) processes: BTreeMap<u32, Process>,
    pub(crate) files: Arena<File>,
    pub(crate) pipes: Arena<Pipe>,
    pub(crate) pairs: Arena<Pair>,
    pub(crate) registrations: Arena<Registration>,
    pub(crate) queues: Arena<WaitQueue>,
    /// The queue of files that never change.
    pub(crate) nobody: Id<WaitQueue>,
    /// Sockets that have a name.
    pub(crate) names: BTreeMap<Name, Id<File>>,
    /// Timers, in the order in which they were made.
    pub(crate) timers: Vec<Id<File>>,
    pub(crate) pending: BTreeMap<Task, Pending>,
    pub(crate) woken: Vec<Task>,
    pub(crate) now: u64,
    pub(crate) fx: Effects,
}

impl Default for Kernel {
    fn default() -> Kernel {
        Kernel::new(Oracle::strict())
    }
}

impl Kernel {
    /// A system with one process, number 0, that has no descriptors.
    pub fn new(oracle: Oracle) -> Kernel {
        let mut queues = Arena::new();
        let nobody = queues.insert(WaitQueue::default());
        Kernel {
            processes: BTreeMap::from([(0, Process::new())]),
            files: Arena::new(),
            pipes: Arena::new(),
            pairs: Arena::new(),
            registrations: Arena::new(),
            queues,
            nobody,
            names: BTreeMap::new(),
            timers: Vec::new(),
            pending: BTreeMap::new(),
            woken: Vec::new(),
            now: 0,
            fx: Effects { oracle, ..Effects::default() },
        }
    }

    /// The oracle, to give it answers and to see what was asked.
    pub fn oracle(&mut self) -> &mut Oracle {
        &mut self.fx.oracle
    }

    /// The rules, to see which were kept how often.
    pub fn rules(&mut self) -> &mut Rules {
        &mut self.fx.rules
    }

    /// `eventfd2(2)`: a counter that starts at `initval`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any flag but `EFD_SEMAPHORE`, `EFD_NONBLOCK` and `EFD_CLOEXEC` (E005); `EMFILE`
    /// (E009).
    pub fn eventfd(&mut self, task: Task, initval: u32, flags: u32) -> Result<Fd, Errno> {
        if flags & !(EFD_SEMAPHORE | O_NONBLOCK | O_CLOEXEC) != 0 {
            return Err(Errno::EINVAL);
        }
        self.check_room(task, 1)?;
        let queue = self.new_queue();
        let eventfd = Eventfd::new(initval, flags & EFD_SEMAPHORE != 0, queue);
        let file = self.open(Object::Eventfd(eventfd), flags & O_NONBLOCK);
        self.install(task, file, flags)
    }

    /// `pipe2(2)`: the reading end and the writing end.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any flag but `O_NONBLOCK` and `O_CLOEXEC` (`O_DIRECT` is left out); `EMFILE`.
    pub fn pipe(&mut self, task: Task, flags: u32) -> Result<(Fd, Fd), Errno> {
        if flags & !(O_NONBLOCK | O_CLOEXEC) != 0 {
            return Err(Errno::EINVAL);
        }
        self.check_room(task, 2)?;
        let (reading, writing) = (self.new_queue(), self.new_queue());
        let pipe = self.pipes.insert(Pipe::new(reading, writing));
        let reader = self.open(Object::PipeReader(pipe), flags & O_NONBLOCK);
        let writer = self.open(Object::PipeWriter(pipe), flags & O_NONBLOCK);
        Ok((self.install(task, reader, flags)?, self.install(task, writer, flags)?))
    }

    /// `open("/dev/null", O_RDWR)`: a file that is always ready and cannot be watched by epoll.
    ///
    /// # Errors
    ///
    /// `EMFILE`.
    pub fn open_null(&mut self, task: Task, flags: u32) -> Result<Fd, Errno> {
        self.check_room(task, 1)?;
        let file = self.open(Object::Null, flags & O_NONBLOCK);
        self.install(task, file, flags)
    }

    /// `timerfd_create(CLOCK_MONOTONIC)`: a timer that is not set.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any flag but `TFD_NONBLOCK` and `TFD_CLOEXEC`; `EMFILE`.
    pub fn timerfd(&mut self, task: Task, flags: u32) -> Result<Fd, Errno> {
        if flags & !(O_NONBLOCK | O_CLOEXEC) != 0 {
            return Err(Errno::EINVAL);
        }
        self.check_room(task, 1)?;
        let timer = Timer::new(self.new_queue());
        let file = self.open(Object::Timer(timer), flags & O_NONBLOCK);
        self.timers.push(file);
        self.install(task, file, flags)
    }

    /// `timerfd_settime(2)`, relative: sets the timer and tells what was left of the time before.
    ///
    /// # Errors
    ///
    /// `EBADF`; `EINVAL` where it is no timer.
    pub fn timerfd_settime(
        &mut self,
        task: Task,
        fd: Fd,
        spec: TimerSpec,
    ) -> Result<TimerSpec, Errno> {
        let now = self.now;
        Ok(self.timer(task, fd)?.set(spec, now))
    }

    /// `timerfd_gettime(2)`: what is left.
    ///
    /// # Errors
    ///
    /// `EBADF`; `EINVAL` where it is no timer.
    pub fn timerfd_gettime(&mut self, task: Task, fd: Fd) -> Result<TimerSpec, Errno> {
        let now = self.now;
        Ok(self.timer(task, fd)?.get(now))
    }

    fn timer(&mut self, task: Task, fd: Fd) -> Result<&mut Timer, Errno> {
        let file = self.file_of(task, fd)?;
        match &mut self.files[file].object {
            Object::Timer(timer) => Ok(timer),
            _ => Err(Errno::EINVAL),
        }
    }

    /// When the next timer expires, on [`Kernel::advance`]'s clock.
    pub fn next_expiration(&self) -> Option<u64> {
        let next = |file: &Id<File>| match &self.files[*file].object {
            Object::Timer(timer) => timer.next(),
            _ => None,
        };
        self.timers.iter().filter_map(next).min()
    }

    /// Timers that are due expire in the order of their time.
    pub(crate) fn expire_timers(&mut self) {
        let mut due: Vec<(u64, Id<File>)> = Vec::new();
        for file in &self.timers {
            if let Object::Timer(timer) = &self.files[*file].object
                && let Some(at) = timer.next().filter(|at| *at <= self.now)
            {
                due.push((at, *file));
            }
        }
        due.sort_by_key(|(at, _)| *at);
        for (_, file) in due {
            if let Object::Timer(timer) = &mut self.files[file].object {
                timer.advance(self.now, &mut self.fx);
                self.deliver();
            }
        }
    }

    /// A unit posted to an eventfd by the kernel itself (E104).
    ///
    /// # Errors
    ///
    /// `EBADF`; `EINVAL` where it is no eventfd.
    pub fn eventfd_post(&mut self, task: Task, fd: Fd) -> Result<(), Errno> {
        let file = self.file_of(task, fd)?;
        let Object::Eventfd(eventfd) = &mut self.files[file].object else {
            return Err(Errno::EINVAL);
        };
        eventfd.post(&mut self.fx);
        self.deliver();
        Ok(())
    }

    /// `read(2)`: replies [`Reply::Bytes`](crate::Reply::Bytes).
    pub fn read(&mut self, task: Task, fd: Fd, room: usize) -> Step {
        let file = match self
            .file_of(task, fd)
            .and_then(|file| self.check_readable(file).map(|()| file))
        {
            Ok(file) => file,
            Err(error) => return Step::Done(Err(error)),
        };
        let wait = self.patience(task, fd, file);
        self.start(task, Call::Read { file, room }, wait, On::Reading(fd))
    }

    /// `write(2)`: replies [`Reply::Count`](crate::Reply::Count).
    pub fn write(&mut self, task: Task, fd: Fd, bytes: &[u8]) -> Step {
        let file = match self
            .file_of(task, fd)
            .and_then(|file| self.check_writable(file).map(|()| file))
        {
            Ok(file) => file,
            Err(error) => return Step::Done(Err(error)),
        };
        let wait = self.patience(task, fd, file);
        let call = Call::Write { file, bytes: bytes.to_vec(), written: 0 };
        self.start(task, call, wait, On::Writing(fd))
    }

    pub(crate) fn patience(&mut self, task: Task, fd: Fd, file: Id<File>) -> Wait {
        if self.blocks(task, fd, file) { Wait::Forever } else { Wait::Not }
    }

    pub(crate) fn read_once(&mut self, file: Id<File>, room: usize) -> Result<Vec<u8>, Errno> {
        match &mut self.files[file].object {
            Object::Eventfd(eventfd) => eventfd.read(room, &mut self.fx),
            Object::Timer(timer) => timer.read(room, self.now),
            Object::PipeReader(pipe) => self.pipes[*pipe].read(room, &mut self.fx),
            Object::Socket(_) => self.socket_read(file, room),
            Object::Null => Ok(Vec::new()),
            Object::PipeWriter(_) => Err(Errno::EBADF),
            Object::Epoll(_) => Err(Errno::EINVAL),
        }
    }

    pub(crate) fn write_once(
        &mut self,
        file: Id<File>,
        bytes: &[u8],
        attempt: Attempt,
    ) -> Result<usize, Errno> {
        match &mut self.files[file].object {
            Object::Eventfd(eventfd) => eventfd.write(bytes, &mut self.fx),
            Object::PipeWriter(pipe) => self.pipes[*pipe].write(bytes, attempt, &mut self.fx),
            Object::Socket(_) => self.socket_write(file, bytes),
            Object::Null => Ok(bytes.len()),
            Object::PipeReader(_) => Err(Errno::EBADF),
            Object::Timer(_) | Object::Epoll(_) => Err(Errno::EINVAL),
        }
    }

    /// `epoll_wait(2)`: replies [`Reply::Events`](crate::Reply::Events), at most `max`.
    ///
    /// `O_NONBLOCK` on the instance means nothing: only the time-out decides (C009).
    ///
    /// # Errors
    ///
    /// `EBADF`, then `EINVAL` for no room, then `EINVAL` where it is no instance (C091).
    pub fn epoll_wait(&mut self, task: Task, epoll: Fd, max: usize, wait: Wait) -> Step {
        let checked = self.file_of(task, epoll).and_then(|file| match max {
            0 => Err(Errno::EINVAL),
            _ => self.epoll(file).map(|_| file),
        });
        match checked {
            Err(error) => Step::Done(Err(error)),
            Ok(file) => {
                let wait = self.patience_of_epoll(file, wait);
                self.start(task, Call::EpollWait { file, max }, wait, On::Events(epoll))
            }
        }
    }

    fn patience_of_epoll(&mut self, file: Id<File>, wait: Wait) -> Wait {
        use crate::rules::Rule::NonblockMeansNothingToEpoll;
        let nonblocking = !self.may_block(file);
        if nonblocking && !self.fx.keeps(NonblockMeansNothingToEpoll) { Wait::Not } else { wait }
    }

    /// What proc_pid_fdinfo(5) shows of an eventfd, its count and its mode (E004, E010), and of an
    /// epoll instance, a line a registration (C007, C052).
    ///
    /// # Errors
    ///
    /// `EBADF`; `EINVAL` where it is neither.
    pub fn fdinfo(&mut self, task: Task, fd: Fd) -> Result<String, Errno> {
        match &self.files[self.file_of(task, fd)?].object {
            Object::Eventfd(eventfd) => Ok(eventfd.fdinfo()),
            Object::Epoll(epoll) => {
                let rows = epoll.interest.values().map(|id| self.registrations[*id].fdinfo());
                Ok(rows.collect())
            }
            _ => Err(Errno::EINVAL),
        }
    }
}
