//! One test body for both arms.
//!
//! A case is a function of a [`System`] that returns a line of text in the notation of the cases. It is
//! run on the model and on Linux, and both must say what the case says.

use super::call::{Call, Outcome, Timeout, Value, show};
use super::linux::Linux;
use super::model::{Made, make, made};
use super::raw;
use std::fmt::Write as _;
use watchbell_model::{Event, Fd, Kernel, Mask, O_NONBLOCK, Op, PollFd, Sets, Task};

/// A thread that makes one call.
#[derive(Clone, Copy)]
pub struct Thread(usize);

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

    /// Which of the numbers are open in a program that this process would execute, and what it finds
    /// waiting on an epoll instance.
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

/// The model as a system.
pub struct OnModel {
    kernel: Kernel,
    now: u64,
    task: Task,
    threads: Vec<Option<Outcome>>,
    child: Option<Task>,
}

impl OnModel {
    pub fn new() -> OnModel {
        let (kernel, task) = (Kernel::default(), Task::MAIN);
        OnModel { kernel, now: 0, task, threads: Vec::new(), child: None }
    }

    fn of(&self, thread: usize) -> Task {
        self.task.thread(thread as u32 + 1)
    }
}

impl System for OnModel {
    fn call(&mut self, call: &Call) -> Outcome {
        match make(&mut self.kernel, &mut self.now, self.task, call) {
            Made::Done(outcome) => outcome,
            Made::Blocked | Made::Halfway => panic!("{call} blocks"),
        }
    }

    fn spawn(&mut self, call: Call) -> Thread {
        let thread = self.threads.len();
        let task = self.of(thread);
        let outcome = match make(&mut self.kernel, &mut self.now, task, &call) {
            Made::Done(outcome) => Some(outcome),
            Made::Blocked | Made::Halfway => None,
        };
        self.threads.push(outcome);
        self.settle();
        Thread(thread)
    }

    fn settle(&mut self) {
        loop {
            let woken = self.kernel.take_woken();
            if woken.is_empty() {
                return;
            }
            for task in woken {
                if let Made::Done(outcome) = made(self.kernel.resume(task)) {
                    self.threads[task.thread as usize - 1] = Some(outcome);
                }
            }
        }
    }

    fn returned(&mut self, thread: Thread) -> Option<Outcome> {
        self.threads[thread.0].take()
    }

    fn interrupt(&mut self, thread: Thread) {
        let task = self.of(thread.0);
        if let Made::Done(outcome) = made(self.kernel.interrupt(task)) {
            self.threads[thread.0] = Some(outcome);
        }
    }

    fn join(&mut self, thread: Thread) -> Outcome {
        self.settle();
        if let Some(deadline) = self.kernel.deadline(self.of(thread.0)) {
            self.now = self.now.max(deadline);
            self.kernel.advance(self.now);
            self.settle();
        }
        self.returned(thread).expect("its call returns in time")
    }

    fn fork(&mut self, stays: bool, body: &dyn Fn(&mut dyn System) -> String) -> String {
        let child = self.kernel.fork(self.task);
        let parent = std::mem::replace(&mut self.task, child);
        let said = body(self);
        self.task = parent;
        if stays { self.child = Some(child) } else { self.kernel.exit(child) }
        said
    }

    fn reap(&mut self) {
        if let Some(child) = self.child.take() {
            self.kernel.exit(child);
        }
    }

    fn limit(&mut self, count: usize) {
        self.kernel.set_descriptor_limit(self.task, count);
    }

    fn fdinfo(&mut self, fd: Fd) -> String {
        let info = self.kernel.fdinfo(self.task, fd).expect("it has one");
        info.lines().collect::<Vec<_>>().join("; ")
    }

    fn exec(&mut self, numbers: &[Fd], epoll: Fd) -> String {
        let child = self.kernel.fork(self.task);
        self.kernel.exec(child);
        let parent = std::mem::replace(&mut self.task, child);
        let said = executed(self, numbers, epoll);
        self.task = parent;
        self.kernel.exit(child);
        said
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

/// Linux as a system.
pub struct OnLinux {
    linux: Linux,
    used: usize,
    child: Option<raw::Child>,
}

impl OnLinux {
    pub fn new() -> OnLinux {
        OnLinux::inherited(Linux::new())
    }

    /// In a program that was executed.
    pub fn inherited(linux: Linux) -> OnLinux {
        OnLinux { linux, used: 0, child: None }
    }
}

impl Drop for OnLinux {
    fn drop(&mut self) {
        self.reap();
        self.linux.threads().0.quiet();
        self.linux.reset(super::linux::NUMBERS);
    }
}

impl System for OnLinux {
    fn call(&mut self, call: &Call) -> Outcome {
        self.linux.make(call)
    }

    fn spawn(&mut self, call: Call) -> Thread {
        let thread = self.used;
        self.used += 1;
        let (threads, calls) = self.linux.threads();
        threads.start(thread, calls, call);
        threads.settle();
        Thread(thread)
    }

    fn settle(&mut self) {
        self.linux.threads().0.settle();
    }

    fn returned(&mut self, thread: Thread) -> Option<Outcome> {
        self.linux.threads().0.returned(thread.0)
    }

    fn interrupt(&mut self, thread: Thread) {
        self.linux.threads().0.interrupt(thread.0);
    }

    fn join(&mut self, thread: Thread) -> Outcome {
        loop {
            if let Some(outcome) = self.returned(thread) {
                return outcome;
            }
            std::thread::yield_now();
        }
    }

    fn fork(&mut self, stays: bool, body: &dyn Fn(&mut dyn System) -> String) -> String {
        let (said, child) = raw::fork(|| body(self));
        match stays {
            true => self.child = Some(child),
            false => child.end(),
        }
        said
    }

    fn reap(&mut self) {
        if let Some(child) = self.child.take() {
            child.end();
        }
    }

    fn limit(&mut self, count: usize) {
        let maximum = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
        let current = Some(self.linux.base() as u64 + count as u64);
        let limit = rustix::process::Rlimit { current, maximum };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("a lower limit");
    }

    fn fdinfo(&mut self, fd: Fd) -> String {
        let path = format!("/proc/self/fdinfo/{}", self.linux.base() + fd);
        let info = std::fs::read_to_string(path).expect("it is open");
        let lines = info.lines().filter_map(|line| match line.split_once("  pos:") {
            Some((row, _)) => {
                let number: Fd = row["tfd:".len()..].split_whitespace().next()?.parse().ok()?;
                let rest = row.find(" events:")?;
                Some(format!("tfd: {:8}{}", number - self.linux.base(), &row[rest..]))
            }
            None => {
                let told = line.starts_with("eventfd-count") || line.starts_with("eventfd-semaphore");
                told.then(|| line.to_owned())
            }
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    fn exec(&mut self, numbers: &[Fd], epoll: Fd) -> String {
        let numbers: Vec<String> = numbers.iter().map(Fd::to_string).collect();
        let said = std::process::Command::new(std::env::current_exe().expect("a test program"))
            .args(["--exact", "--nocapture", "executed_program"])
            .env("EXECUTED_BASE", self.linux.base().to_string())
            .env("EXECUTED_NUMBERS", numbers.join(","))
            .env("EXECUTED_EPOLL", epoll.to_string())
            .output()
            .expect("the test program can be executed");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let line = said.lines().find_map(|line| line.split_once("executed: "));
        line.map(|(_, report)| report.to_owned()).unwrap_or(said)
    }
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
