//! The two systems that a case runs on.

use super::call::{Call, Outcome};
use super::linux::Linux;
use super::model::{Made, made, make};
use super::raw;
use super::system::{System, Thread, executed};
use watchbell_model::{Fd, Kernel, Task};

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
        if stays {
            self.child = Some(child)
        } else {
            self.kernel.exit(child)
        }
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
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)
            .expect("a lower limit");
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
                let told =
                    line.starts_with("eventfd-count") || line.starts_with("eventfd-semaphore");
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
