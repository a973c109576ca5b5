//! Processes: tables of descriptors, and what duplicates, passes and closes them.
//!
//! [dup(2)](https://man7.org/linux/man-pages/man2/dup.2.html),
//! [close(2)](https://man7.org/linux/man-pages/man2/close.2.html),
//! [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html),
//! [fork(2)](https://man7.org/linux/man-pages/man2/fork.2.html),
//! [execve(2)](https://man7.org/linux/man-pages/man2/execve.2.html)

use crate::arena::Id;
use crate::errno::Errno;
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::rules::Rule;
use crate::task::Task;
use std::collections::BTreeSet;

/// The number of a descriptor.
pub type Fd = i32;

/// `O_NONBLOCK`, also as `EFD_NONBLOCK`, `SOCK_NONBLOCK` and `TFD_NONBLOCK`.
pub const O_NONBLOCK: u32 = 0o4000;
/// `O_APPEND`: kept, and without effect.
pub const O_APPEND: u32 = 0o2000;
/// `O_CLOEXEC`, also as `EFD_CLOEXEC`, `EPOLL_CLOEXEC`, `SOCK_CLOEXEC` and `TFD_CLOEXEC`.
pub const O_CLOEXEC: u32 = 0o2000000;
/// `O_DIRECT`: refused (E022).
pub const O_DIRECT: u32 = 0o40000;
const O_WRONLY: u32 = 1;
const O_RDWR: u32 = 2;

/// A process's descriptors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    table: Vec<Option<Descriptor>>,
    /// Numbers that blocked calls will give to what they make.
    reserved: BTreeSet<usize>,
    /// `RLIMIT_NOFILE`: the lowest number that is too high.
    limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Descriptor {
    file: Id<File>,
    close_on_exec: bool,
    nonblock_of_number: bool,
}

impl Process {
    pub(crate) fn new() -> Process {
        Process { table: Vec::new(), reserved: BTreeSet::new(), limit: 1024 }
    }

    fn entry(&self, fd: Fd) -> Result<Descriptor, Errno> {
        let place = usize::try_from(fd).map_err(|_| Errno::EBADF)?;
        self.table.get(place).copied().flatten().ok_or(Errno::EBADF)
    }

    fn lowest_free(&self) -> Result<usize, Errno> {
        let is_free = |place: &usize| {
            self.table.get(*place).is_none_or(Option::is_none) && !self.reserved.contains(place)
        };
        (0..self.limit).find(is_free).ok_or(Errno::EMFILE)
    }

    fn set(&mut self, place: usize, descriptor: Option<Descriptor>) -> Option<Descriptor> {
        if self.table.len() <= place {
            self.table.resize(place + 1, None);
        }
        std::mem::replace(&mut self.table[place], descriptor)
    }
}

impl Kernel {
    pub(crate) fn process(&mut self, task: Task) -> &mut Process {
        self.processes.get_mut(&task.process).expect("a task's process runs")
    }

    /// The open file behind a number.
    pub(crate) fn file_of(&self, task: Task, fd: Fd) -> Result<Id<File>, Errno> {
        let process = self.processes.get(&task.process).ok_or(Errno::EBADF)?;
        Ok(process.entry(fd)?.file)
    }

    /// Sets the lowest free number aside for what a call will make: accept(2) does so before it
    /// blocks.
    pub(crate) fn reserve(&mut self, task: Task) -> Result<Fd, Errno> {
        let process = self.process(task);
        let place = process.lowest_free()?;
        process.reserved.insert(place);
        Ok(place as Fd)
    }

    pub(crate) fn unreserve(&mut self, task: Task, number: Fd) {
        self.process(task).reserved.remove(&(number as usize));
    }

    /// Gives an open file the number that was set aside for it.
    pub(crate) fn install_reserved(&mut self, task: Task, number: Fd, file: Id<File>, flags: u32) {
        self.unreserve(task, number);
        self.install_at(task, number as usize, file, flags & O_CLOEXEC != 0);
    }

    /// Whether a new descriptor could be made: `EMFILE` at the limit (E009, C004).
    pub(crate) fn check_room(&mut self, task: Task, count: usize) -> Result<(), Errno> {
        let process = self.process(task);
        let used = process.table.iter().flatten().count() + process.reserved.len();
        if used + count <= process.limit { Ok(()) } else { Err(Errno::EMFILE) }
    }

    /// Gives an open file the lowest number that is free.
    pub(crate) fn install(&mut self, task: Task, file: Id<File>, flags: u32) -> Result<Fd, Errno> {
        let lowest = self.fx.keeps(Rule::LowestNumber);
        let process = self.process(task);
        let free = process.lowest_free()?;
        let place = if lowest { free } else { free.max(process.table.len()) };
        self.install_at(task, place, file, flags & O_CLOEXEC != 0);
        Ok(place as Fd)
    }

    fn install_at(&mut self, task: Task, place: usize, file: Id<File>, close_on_exec: bool) {
        self.hold(file);
        let nonblock_of_number = self.files[file].status & O_NONBLOCK != 0;
        let descriptor = Descriptor { file, close_on_exec, nonblock_of_number };
        if let Some(before) = self.process(task).set(place, Some(descriptor)) {
            self.number_closed(place, before.file);
        }
    }

    fn number_closed(&mut self, place: usize, file: Id<File>) {
        if self.number_ends_registrations() {
            self.end_registrations_of(file, place as Fd);
        }
        self.release(file);
    }

    /// `dup(2)`: another number for the same open file, without `FD_CLOEXEC`.
    ///
    /// # Errors
    ///
    /// `EBADF`, `EMFILE`.
    pub fn dup(&mut self, task: Task, fd: Fd) -> Result<Fd, Errno> {
        let file = self.file_of(task, fd)?;
        self.install(task, file, 0)
    }

    /// `dup2(2)`: a number of the caller's choice, closed first if it was open (X011).
    ///
    /// # Errors
    ///
    /// `EBADF`, also for a number beyond the limit; `EBUSY` for one that a blocked accept has set
    /// aside.
    pub fn dup2(&mut self, task: Task, fd: Fd, number: Fd) -> Result<Fd, Errno> {
        let file = self.file_of(task, fd)?;
        let place = usize::try_from(number).map_err(|_| Errno::EBADF)?;
        if place >= self.process(task).limit {
            return Err(Errno::EBADF);
        }
        if self.process(task).reserved.contains(&place) {
            return Err(Errno::EBUSY);
        }
        if fd != number {
            self.install_at(task, place, file, false);
        }
        Ok(number)
    }

    /// `close(2)`: frees the number. The open file goes with its last reference.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn close(&mut self, task: Task, fd: Fd) -> Result<(), Errno> {
        let file = self.file_of(task, fd)?;
        if self.has_waiter(file) && !self.fx.keeps(Rule::CloseWakesNoWaiter) {
            self.end_waits(file);
        }
        self.process(task).set(fd as usize, None);
        self.number_closed(fd as usize, file);
        Ok(())
    }

    /// `fcntl(F_GETFL)`: how it is open, and `O_NONBLOCK` and `O_APPEND`. Nothing of an eventfd's
    /// mode (E001, E002).
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn get_flags(&mut self, task: Task, fd: Fd) -> Result<u32, Errno> {
        let file = &self.files[self.file_of(task, fd)?];
        let access = match file.object {
            Object::PipeReader(_) => 0,
            Object::PipeWriter(_) => O_WRONLY,
            _ => O_RDWR,
        };
        Ok(access | file.status)
    }

    /// `fcntl(F_SETFL)`: sets `O_NONBLOCK` and `O_APPEND` of the open file, for all its numbers;
    /// other flags are dropped silently (E022, E024).
    ///
    /// # Errors
    ///
    /// `EBADF`; `EINVAL` for `O_DIRECT`.
    pub fn set_flags(&mut self, task: Task, fd: Fd, flags: u32) -> Result<(), Errno> {
        let file = self.file_of(task, fd)?;
        if flags & O_DIRECT != 0 {
            return Err(Errno::EINVAL);
        }
        if self.fx.keeps(Rule::NonblockBelongsToFile) {
            self.files[file].status = flags & (O_NONBLOCK | O_APPEND);
        } else if let Some(Some(entry)) = self.process(task).table.get_mut(fd as usize) {
            entry.nonblock_of_number = flags & O_NONBLOCK != 0;
        }
        Ok(())
    }

    /// `fcntl(F_GETFD)`: whether `FD_CLOEXEC` is set on the number.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn get_close_on_exec(&mut self, task: Task, fd: Fd) -> Result<bool, Errno> {
        Ok(self.process(task).entry(fd)?.close_on_exec)
    }

    /// `fcntl(F_SETFD)`: of this number only (E024).
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn set_close_on_exec(&mut self, task: Task, fd: Fd, on: bool) -> Result<(), Errno> {
        let mut descriptor = self.process(task).entry(fd)?;
        descriptor.close_on_exec = on;
        self.process(task).set(fd as usize, Some(descriptor));
        Ok(())
    }

    /// `setrlimit(RLIMIT_NOFILE)`.
    pub fn set_descriptor_limit(&mut self, task: Task, limit: usize) {
        self.process(task).limit = limit;
    }

    /// `fork(2)`: a process with a copy of the table, whose numbers refer to the same open files
    /// (E077, S214, S217). Returns its first thread.
    pub fn fork(&mut self, task: Task) -> Task {
        let mut copy = self.process(task).clone();
        copy.reserved.clear();
        for descriptor in copy.table.iter().flatten() {
            self.hold(descriptor.file);
        }
        let process = self.processes.keys().next_back().map_or(0, |last| last + 1);
        self.processes.insert(process, copy);
        Task { process, thread: 0 }
    }

    /// `execve(2)`: closes the numbers that have `FD_CLOEXEC`. What they registered stays, as long
    /// as another process has the open file (E079, S225).
    pub fn exec(&mut self, task: Task) {
        for place in 0..self.process(task).table.len() {
            let entry = self.process(task).table[place];
            if let Some(descriptor) = entry.filter(|descriptor| descriptor.close_on_exec) {
                self.process(task).set(place, None);
                self.number_closed(place, descriptor.file);
            }
        }
    }

    /// `_exit(2)`: closes all numbers of the process.
    pub fn exit(&mut self, task: Task) {
        let Some(process) = self.processes.remove(&task.process) else { return };
        for (place, descriptor) in process.table.into_iter().enumerate() {
            if let Some(descriptor) = descriptor {
                self.number_closed(place, descriptor.file);
            }
        }
    }

    /// Passes a descriptor to another process, as `SCM_RIGHTS` does (unix(7)): a new number there
    /// for the same open file (E078, S221).
    ///
    /// # Errors
    ///
    /// `EBADF`; `EMFILE` of the receiver.
    pub fn pass(&mut self, from: Task, fd: Fd, to: Task) -> Result<Fd, Errno> {
        let file = self.file_of(from, fd)?;
        self.install(to, file, 0)
    }

    /// Whether a call by this number sleeps where it cannot go on: the open file's `O_NONBLOCK`
    /// decides, as it is at the call's entry (E073).
    pub(crate) fn blocks(&mut self, task: Task, fd: Fd, file: Id<File>) -> bool {
        if self.fx.keeps(Rule::NonblockBelongsToFile) {
            return self.may_block(file);
        }
        !self.process(task).entry(fd).is_ok_and(|descriptor| descriptor.nonblock_of_number)
    }
}
