//! One test body for both arms.
//!
//! A case is a function of a [`System`] that returns a line of text in the notation of the cases.
//! It is run on the model and on Linux, and both must say what the case says.

use super::arms::{OnLinux, OnModel};
use super::call::{Call, Outcome, Timeout, Value, show};
use std::fmt::Write as _;
use watchbell_model::{Event, Fd, Mask, O_NONBLOCK, Op, PollFd, Sets};

/// A thread that makes one call.
#[derive(Clone, Copy)]
pub struct Thread(pub usize);

/// What both arms can do.
pub trait System {
    /// A call that does not block.
    fn call(&mut self, call: &Call) -> Outcome;

    /// Has another thread make a call, and returns when that has returned or is blocked.
    fn spawn(&mut self, call: Call) -> Thread;

    /// Waits until every thread has returned or is blocked.
    fn settle(&mut self);

    /// What a thread's call has returned, if it has; tells it once.
    fn returned(&mut self, thread: Thread) -> Option<Outcome>;

    /// Interrupts a blocked thread by a signal.
    fn interrupt(&mut self, thread: Thread);

    /// Lets time pass until the thread's call has returned.
    fn join(&mut self, thread: Thread) -> Outcome;

    /// Forks, runs `body` in the child, and keeps the child until [`System::reap`] where `stays`.
    fn fork(&mut self, stays: bool, body: &dyn Fn(&mut dyn System) -> String) -> String;

    /// Ends the child that stays.
    fn reap(&mut self);

    /// Allows this process so many descriptors. For a forked child.
    fn limit(&mut self, count: usize);

    /// What proc_pid_fdinfo(5) shows of it, a part a line.
    fn fdinfo(&mut self, fd: Fd) -> String;

    /// Which of the numbers are open in a program that this process would execute, and what it
    /// finds waiting on an epoll instance.
    fn exec(&mut self, numbers: &[Fd], epoll: Fd) -> String;
}

/// The calls by name, each with its result as text.
impl dyn System + '_ {
    pub fn say(&mut self, call: &Call) -> String {
        show(&self.call(call))
    }

    fn fd(&mut self, call: &Call) -> Fd {
        match self.call(call) {
            Ok(Value::Number(fd)) => fd as Fd,
            other => panic!("{call}: {}", show(&other)),
        }
    }

    fn pair(&mut self, call: &Call) -> (Fd, Fd) {
        match self.call(call) {
            Ok(Value::Pair(a, b)) => (a, b),
            other => panic!("{call}: {}", show(&other)),
        }
    }

    /// A non-blocking eventfd in drain mode.
    pub fn eventfd(&mut self, initval: u32) -> Fd {
        self.fd(&Call::Eventfd { initval, flags: O_NONBLOCK })
    }

    pub fn eventfd_with(&mut self, initval: u32, flags: u32) -> Fd {
        self.fd(&Call::Eventfd { initval, flags })
    }

    /// A non-blocking semaphore.
    pub fn semaphore(&mut self, initval: u32) -> Fd {
        self.fd(&Call::Eventfd { initval, flags: O_NONBLOCK | watchbell_model::EFD_SEMAPHORE })
    }

    pub fn epoll(&mut self) -> Fd {
        self.fd(&Call::EpollCreate { flags: 0 })
    }

    pub fn pipe(&mut self) -> (Fd, Fd) {
        self.pair(&Call::Pipe { flags: O_NONBLOCK })
    }

    pub fn socketpair(&mut self) -> (Fd, Fd) {
        self.pair(&Call::Socketpair { flags: O_NONBLOCK })
    }

    pub fn socket(&mut self) -> Fd {
        self.fd(&Call::Socket { flags: O_NONBLOCK })
    }

    pub fn dup(&mut self, fd: Fd) -> Fd {
        self.fd(&Call::Dup { fd })
    }

    pub fn close(&mut self, fd: Fd) -> String {
        self.say(&Call::Close { fd })
    }

    /// Adds `value` to an eventfd.
    pub fn write(&mut self, fd: Fd, value: u64) -> String {
        self.say(&Call::Write { fd, bytes: value.to_ne_bytes().to_vec() })
    }

    /// Writes so many bytes.
    pub fn send(&mut self, fd: Fd, count: usize) -> String {
        self.say(&Call::Write { fd, bytes: vec![b'x'; count] })
    }

    /// Reads eight bytes.
    pub fn read(&mut self, fd: Fd) -> String {
        self.receive(fd, 8)
    }

    pub fn receive(&mut self, fd: Fd, room: usize) -> String {
        self.say(&Call::Read { fd, room })
    }

    pub fn ctl(&mut self, epoll: Fd, op: Op, fd: Fd, events: Mask, data: u64) -> String {
        self.say(&Call::Ctl { epoll, op, fd, event: Event { events, data } })
    }

    pub fn add(&mut self, epoll: Fd, fd: Fd, events: Mask, data: u64) -> String {
        self.ctl(epoll, Op::Add, fd, events, data)
    }

    pub fn modify(&mut self, epoll: Fd, fd: Fd, events: Mask, data: u64) -> String {
        self.ctl(epoll, Op::Mod, fd, events, data)
    }

    pub fn delete(&mut self, epoll: Fd, fd: Fd) -> String {
        self.ctl(epoll, Op::Del, fd, Mask::NONE, 0)
    }

    /// What is there, without waiting.
    pub fn wait(&mut self, epoll: Fd) -> String {
        self.wait_max(epoll, 16)
    }

    pub fn wait_max(&mut self, epoll: Fd, max: usize) -> String {
        self.say(&Call::Wait { epoll, max, timeout: Timeout::Zero })
    }

    pub fn poll(&mut self, fd: Fd, events: Mask) -> String {
        let lines = vec![PollFd { fd, events }];
        self.say(&Call::Poll { lines, timeout: Timeout::Zero })
    }

    /// select(2) with the descriptor in all three sets.
    pub fn select(&mut self, fd: Fd) -> String {
        let sets = Sets { read: vec![fd], write: vec![fd], except: vec![fd] };
        self.say(&Call::Select { sets, timeout: Timeout::Zero })
    }

    pub fn flags(&mut self, fd: Fd) -> String {
        match self.call(&Call::GetFlags { fd }) {
            Ok(Value::Number(flags)) => format!("0{flags:o}"),
            other => show(&other),
        }
    }

    pub fn set_flags(&mut self, fd: Fd, flags: u32) -> String {
        self.say(&Call::SetFlags { fd, flags })
    }

    /// A thread that is blocked in epoll_wait.
    pub fn waiter(&mut self, epoll: Fd) -> Thread {
        self.spawn(Call::Wait { epoll, max: 16, timeout: Timeout::Never })
    }

    /// A thread that is blocked in read.
    pub fn reader(&mut self, fd: Fd) -> Thread {
        self.spawn(Call::Read { fd, room: 8 })
    }

    /// A thread that is blocked in poll.
    pub fn poller(&mut self, fd: Fd, events: Mask) -> Thread {
        self.spawn(Call::Poll { lines: vec![PollFd { fd, events }], timeout: Timeout::Never })
    }

    /// What threads have returned by now: `-` for one that is blocked.
    pub fn look(&mut self, threads: &[Thread]) -> String {
        self.settle();
        let mut line = String::new();
        for thread in threads {
            let seen = self.returned(*thread).map_or("-".into(), |outcome| show(&outcome));
            let _ = write!(line, "{}{seen}", if line.is_empty() { "" } else { " " });
        }
        line
    }

    /// How many of the threads have returned by now.
    pub fn count(&mut self, threads: &[Thread]) -> usize {
        self.settle();
        threads.iter().filter(|thread| self.returned(**thread).is_some()).count()
    }
}

/// What an executed program reports.
pub fn executed(system: &mut dyn System, numbers: &[Fd], epoll: Fd) -> String {
    let open = numbers.iter().map(|fd| match system.call(&Call::GetCloexec { fd: *fd }) {
        Ok(_) => "open",
        Err(_) => "gone",
    });
    let open = open.collect::<Vec<_>>().join(" ");
    format!("{open}; {}", system.wait(epoll))
}

/// Runs a case on both arms.
pub fn both(case: impl Fn(&mut dyn System) -> String, expected: &str) {
    assert_eq!(case(&mut OnModel::new()), expected, "the model");
    assert_eq!(case(&mut OnLinux::new()), expected, "Linux");
}

/// `a; b; c`
#[macro_export]
macro_rules! line {
    ($($said:expr),+ $(,)?) => { [$($said.to_string()),+].join("; ") };
}
