//! The calls on sockets: making, naming, connecting, accepting, shutting down.

use crate::arena::Id;
use crate::blocking::{On, Step, Wait};
use crate::call::Call;
use crate::errno::Errno;
use crate::events::Mask;
use crate::file::{File, Object};
use crate::kernel::Kernel;
use crate::listener::{Listener, Name, Socket, State};
use crate::process::{Fd, O_CLOEXEC, O_NONBLOCK};
use crate::rules::Rule;
use crate::stream::{End, Halves, Pair, Side};
use crate::task::Task;
use crate::wait_queue::Wake;
use std::collections::VecDeque;

const ARRIVED: Mask = Mask(Mask::IN.0 | Mask::PRI.0 | Mask::RDNORM.0 | Mask::RDBAND.0);

impl Kernel {
    /// `socket(AF_UNIX, SOCK_STREAM)`: neither connected nor listening.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any flag but `SOCK_NONBLOCK` and `SOCK_CLOEXEC`; `EMFILE`.
    pub fn socket(&mut self, task: Task, flags: u32) -> Result<Fd, Errno> {
        check_flags(flags)?;
        self.check_room(task, 1)?;
        let file = self.open_socket(State::Fresh(Halves::default()), flags);
        self.install(task, file, flags)
    }

    /// `socketpair(AF_UNIX, SOCK_STREAM)`: two that are connected to each other.
    ///
    /// # Errors
    ///
    /// As [`Kernel::socket`].
    pub fn socketpair(&mut self, task: Task, flags: u32) -> Result<(Fd, Fd), Errno> {
        check_flags(flags)?;
        self.check_room(task, 2)?;
        let a = self.open_socket(State::Fresh(Halves::default()), flags);
        let b = self.open_socket(State::Fresh(Halves::default()), flags);
        self.join(a, b);
        Ok((self.install(task, a, flags)?, self.install(task, b, flags)?))
    }

    fn open_socket(&mut self, state: State, flags: u32) -> Id<File> {
        let queue = self.new_queue();
        self.open(Object::Socket(Socket { queue, name: None, state }), flags & O_NONBLOCK)
    }

    fn socket_mut(&mut self, file: Id<File>) -> Result<&mut Socket, Errno> {
        match &mut self.files[file].object {
            Object::Socket(socket) => Ok(socket),
            _ => Err(Errno::ENOTSOCK),
        }
    }

    /// Makes the two ends of a pair out of two fresh sockets; those who watch them keep watching.
    fn join(&mut self, a: Id<File>, b: Id<File>) {
        let [end_a, end_b] = [a, b].map(|file| match self.socket_mut(file) {
            Ok(Socket { queue, state: State::Fresh(shut), .. }) => End::new(*queue, *shut),
            _ => unreachable!("both were made as fresh sockets"),
        });
        let pair = self.pairs.insert(Pair::new(end_a, end_b));
        for (file, side) in [(a, Side::A), (b, Side::B)] {
            if let Ok(socket) = self.socket_mut(file) {
                socket.state = State::Connected(pair, side);
            }
        }
    }

    /// `bind(2)` to an abstract name, here a number.
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTSOCK`; `EINVAL` where the socket has a name already; `EADDRINUSE`.
    pub fn bind(&mut self, task: Task, fd: Fd, name: Name) -> Result<(), Errno> {
        let file = self.file_of(task, fd)?;
        if self.socket_mut(file)?.name.is_some() {
            return Err(Errno::EINVAL);
        }
        if self.names.contains_key(&name) {
            return Err(Errno::EADDRINUSE);
        }
        self.socket_mut(file)?.name = Some(name);
        self.names.insert(name, file);
        Ok(())
    }

    /// `listen(2)`: one connection more than `backlog` can wait to be accepted.
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTSOCK`; `EINVAL` without a name, or where the socket is connected.
    pub fn listen(&mut self, task: Task, fd: Fd, backlog: usize) -> Result<(), Errno> {
        let file = self.file_of(task, fd)?;
        let socket = self.socket_mut(file)?;
        if socket.name.is_none() {
            return Err(Errno::EINVAL);
        }
        match &mut socket.state {
            State::Fresh(shut) => {
                let listener = Listener { backlog, pending: VecDeque::new(), shut: *shut };
                socket.state = State::Listening(listener);
            }
            State::Listening(listener) => listener.backlog = backlog,
            State::Connected(..) => return Err(Errno::EINVAL),
        }
        Ok(())
    }

    /// `connect(2)` to a name. The connection is there at once: the client can write before anybody
    /// accepts. (A blocking connect to a full backlog is left out; it is refused as a non-blocking
    /// one.)
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTSOCK`; `ECONNREFUSED` where nobody listens; `EAGAIN` with the backlog full;
    /// `EISCONN` where the socket is connected, `EINVAL` where it listens.
    pub fn connect(&mut self, task: Task, fd: Fd, name: Name) -> Result<(), Errno> {
        let client = self.file_of(task, fd)?;
        self.socket_mut(client)?;
        let listening = *self.names.get(&name).ok_or(Errno::ECONNREFUSED)?;
        match &self.socket_mut(listening)?.state {
            State::Listening(listener) if listener.shut.reading => return Err(Errno::ECONNREFUSED),
            State::Listening(listener) if listener.is_full() => return Err(Errno::EAGAIN),
            State::Listening(_) => {}
            _ => return Err(Errno::ECONNREFUSED),
        }
        match self.socket_mut(client)?.state {
            State::Fresh(_) => {}
            State::Connected(..) => return Err(Errno::EISCONN),
            State::Listening(_) => return Err(Errno::EINVAL),
        }
        let server = self.open_socket(State::Fresh(Halves::default()), 0);
        self.join(client, server);
        self.hold(server);
        self.socket_mut(server)?.name = Some(name);
        let socket = self.socket_mut(listening)?;
        let queue = socket.queue;
        if let State::Listening(listener) = &mut socket.state {
            listener.pending.push_back(server);
        }
        if self.fx.keeps(Rule::ConnectionSignalsIn) {
            self.fx.wake(Wake::one(queue, ARRIVED));
        }
        self.deliver();
        Ok(())
    }

    /// `accept4(2)`: the oldest connection. The number that it will have is set aside before the
    /// call blocks: others get the next. Replies [`Reply::Fd`](crate::Reply::Fd).
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTSOCK`; `EINVAL` where the socket does not listen, or would block although its
    /// reading half is shut; `EAGAIN`.
    pub fn accept(&mut self, task: Task, fd: Fd, flags: u32) -> Step {
        let checked = check_flags(flags)
            .and_then(|()| self.file_of(task, fd))
            .and_then(|file| self.socket_mut(file).map(|_| file));
        let reserved = checked.and_then(|file| Ok((file, self.reserve(task)?)));
        match reserved {
            Err(error) => Step::Done(Err(error)),
            Ok((file, number)) => {
                let wait = self.patience(task, fd, file);
                let call = Call::Accept { file, flags, number, task };
                self.start(task, call, wait, On::Connection(fd))
            }
        }
    }

    /// Takes the oldest connection, if there is one.
    pub(crate) fn accept_once(
        &mut self,
        file: Id<File>,
        flags: u32,
        wait: Wait,
    ) -> Result<Id<File>, Errno> {
        let State::Listening(listener) = &mut self.socket_mut(file)?.state else {
            return Err(Errno::EINVAL);
        };
        let shut = listener.shut.reading;
        let Some(connection) = listener.pending.pop_front() else {
            return Err(if shut && wait != Wait::Not { Errno::EINVAL } else { Errno::EAGAIN });
        };
        self.files[connection].status = flags & O_NONBLOCK;
        Ok(connection)
    }

    /// Gives a connection that was taken the number that was set aside for it.
    pub(crate) fn accepted(&mut self, task: Task, number: Fd, connection: Id<File>, flags: u32) {
        self.install_reserved(task, number, connection, flags);
        self.release(connection);
    }

    /// `shutdown(2)`: shuts halves of the connection, and the opposite halves of the peer (S240).
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTSOCK`.
    pub fn shutdown(&mut self, task: Task, fd: Fd, how: Shutdown) -> Result<(), Errno> {
        let file = self.file_of(task, fd)?;
        let halves = Halves { reading: how != Shutdown::Write, writing: how != Shutdown::Read };
        let socket = match &mut self.files[file].object {
            Object::Socket(socket) => socket,
            _ => return Err(Errno::ENOTSOCK),
        };
        match &mut socket.state {
            State::Fresh(shut) | State::Listening(Listener { shut, .. }) => {
                shut.reading |= halves.reading;
                shut.writing |= halves.writing;
                self.fx.wake(Wake::everybody(socket.queue));
            }
            State::Connected(pair, side) => {
                self.pairs[*pair].shutdown(*side, halves, &mut self.fx);
            }
        }
        self.deliver();
        Ok(())
    }

    pub(crate) fn socket_read(&mut self, file: Id<File>, room: usize) -> Result<Vec<u8>, Errno> {
        match self.socket_mut(file)?.state {
            State::Connected(pair, side) => self.pairs[pair].read(side, room, &mut self.fx),
            State::Fresh(_) | State::Listening(_) if room == 0 => Ok(Vec::new()),
            State::Fresh(_) | State::Listening(_) => Err(Errno::EINVAL),
        }
    }

    pub(crate) fn socket_write(&mut self, file: Id<File>, bytes: &[u8]) -> Result<usize, Errno> {
        match self.socket_mut(file)?.state {
            State::Connected(pair, side) => self.pairs[pair].write(side, bytes, &mut self.fx),
            State::Fresh(_) | State::Listening(_) => Err(Errno::ENOTCONN),
        }
    }
}

/// The halves that [`Kernel::shutdown`] shuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// `SHUT_RD`
    Read,
    /// `SHUT_WR`
    Write,
    /// `SHUT_RDWR`
    Both,
}

fn check_flags(flags: u32) -> Result<(), Errno> {
    if flags & !(O_NONBLOCK | O_CLOEXEC) == 0 { Ok(()) } else { Err(Errno::EINVAL) }
}
