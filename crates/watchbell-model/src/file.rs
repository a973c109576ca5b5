//! Open files: what descriptors refer to.
//!
//! A descriptor is a number in a process's table; several numbers, in several processes, may refer
//! to one *open file*, which open(2) calls an open file description. The distinction decides most
//! questions about lifetime:
//!
//! - `O_NONBLOCK` belongs to the open file, so that a duplicate shares it (E024, E077);
//!   `FD_CLOEXEC` belongs to the number;
//! - an epoll registration names a number *and* an open file. It ends with the open file: as long
//!   as any duplicate is open the registration reports, even where its own number is closed and can
//!   no longer be used to remove it (S211);
//! - a call that is blocked holds the open file, so that closing the number does not disturb it
//!   (E071).

use crate::arena::Id;
use crate::epoll::{Epoll, Registration};
use crate::errno::Errno;
use crate::eventfd::Eventfd;
use crate::kernel::Kernel;
use crate::listener::{Socket, State};
use crate::pipe::Pipe;
use crate::rules::Rule;
use crate::timer::Timer;
use crate::wait_queue::WaitQueue;

/// What an open file is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    Eventfd(Eventfd),
    PipeReader(Id<Pipe>),
    PipeWriter(Id<Pipe>),
    Socket(Socket),
    Timer(Timer),
    Epoll(Epoll),
    /// A file without readiness, such as `/dev/null`: it cannot be watched (C021).
    Null,
}

/// An open file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct File {
    pub(crate) object: Object,
    /// Numbers that refer to it, and calls that are under way.
    references: usize,
    /// The flags of `F_GETFL` that can be changed: `O_NONBLOCK` and `O_APPEND`.
    pub(crate) status: u32,
    /// The registrations that watch it, in whatever instance.
    pub(crate) watchers: Vec<Id<Registration>>,
}

impl File {
    pub(crate) fn is_epoll(&self) -> bool {
        matches!(self.object, Object::Epoll(_))
    }
}

impl Kernel {
    /// A new open file, to which nothing refers yet.
    pub(crate) fn open(&mut self, object: Object, status: u32) -> Id<File> {
        self.files.insert(File { object, references: 0, status, watchers: Vec::new() })
    }

    pub(crate) fn hold(&mut self, file: Id<File>) {
        self.files[file].references += 1;
    }

    /// Lets a reference go. With the last one the registrations that watch the file end, silently
    /// (S210, C070), and then the object.
    pub(crate) fn release(&mut self, file: Id<File>) {
        self.files[file].references -= 1;
        if self.files[file].references > 0 {
            return;
        }
        for registration in std::mem::take(&mut self.files[file].watchers) {
            self.end_registration(registration);
        }
        let object = std::mem::replace(&mut self.files[file].object, Object::Null);
        self.destroy(file, object);
        self.files.remove(file);
    }

    fn destroy(&mut self, file: Id<File>, object: Object) {
        match object {
            Object::Null => {}
            Object::Eventfd(eventfd) => self.drop_queue(eventfd.queue),
            Object::Timer(timer) => {
                self.timers.retain(|other| *other != file);
                self.drop_queue(timer.queue);
            }
            Object::Epoll(epoll) => self.destroy_epoll(epoll),
            Object::PipeReader(pipe) => {
                self.pipes[pipe].readers -= 1;
                self.pipe_end_closed(pipe);
            }
            Object::PipeWriter(pipe) => {
                self.pipes[pipe].writers -= 1;
                self.pipe_end_closed(pipe);
            }
            Object::Socket(socket) => self.destroy_socket(file, socket),
        }
    }

    fn pipe_end_closed(&mut self, id: Id<Pipe>) {
        self.pipes[id].end_closed(&mut self.fx);
        self.deliver();
        let pipe = &self.pipes[id];
        if pipe.readers == 0 && pipe.writers == 0 {
            let pipe = self.pipes.remove(id);
            self.drop_queue(pipe.reading);
            self.drop_queue(pipe.writing);
        }
    }

    fn destroy_socket(&mut self, file: Id<File>, socket: Socket) {
        if socket.name.is_some() {
            self.names.retain(|_, bound| *bound != file);
        }
        match socket.state {
            State::Fresh(_) => {}
            State::Listening(listener) => {
                for unaccepted in listener.pending {
                    if let Object::Socket(Socket { state: State::Connected(pair, side), .. }) =
                        self.files[unaccepted].object
                    {
                        self.pairs[pair].close(side, true, &mut self.fx);
                        self.deliver();
                    }
                    self.release(unaccepted);
                }
            }
            State::Connected(pair, side) => {
                if self.pairs[pair].end_is_open(side) {
                    self.pairs[pair].close(side, false, &mut self.fx);
                    self.deliver();
                }
                if self.pairs[pair].both_closed() {
                    self.pairs.remove(pair);
                }
            }
        }
        self.drop_queue(socket.queue);
    }

    /// The queue of an object that is gone. Nobody is on it but registrations that have ended.
    pub(crate) fn drop_queue(&mut self, queue: Id<WaitQueue>) {
        self.fx.wakes.retain(|wake| wake.queue != queue);
        self.queues.remove(queue);
    }

    /// Whether a call on the file sleeps where it cannot go on.
    pub(crate) fn may_block(&mut self, file: Id<File>) -> bool {
        use crate::process::O_NONBLOCK;
        self.files[file].status & O_NONBLOCK == 0
    }

    /// The open file is one that can be read; `EBADF` for the writing end of a pipe.
    pub(crate) fn check_readable(&self, file: Id<File>) -> Result<(), Errno> {
        match self.files[file].object {
            Object::PipeWriter(_) => Err(Errno::EBADF),
            _ => Ok(()),
        }
    }

    /// The open file is one that can be written.
    pub(crate) fn check_writable(&self, file: Id<File>) -> Result<(), Errno> {
        match self.files[file].object {
            Object::PipeReader(_) => Err(Errno::EBADF),
            _ => Ok(()),
        }
    }
}

impl Kernel {
    /// Whether a number's close ends the registrations made by it: only a test that breaks the rule
    /// says yes.
    pub(crate) fn number_ends_registrations(&mut self) -> bool {
        !self.fx.keeps(Rule::EndsWithOpenFile)
    }
}
