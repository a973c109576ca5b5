//! What several test programs need: a watchdog, and proof that a thread is blocked.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

pub mod altered;
pub mod eventfd;
pub mod habits;
pub mod sockets;

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Runs `body` on a thread of its own and ends the whole test program if it hangs.
///
/// The limit is no measure of speed: it is there so that a lost wake fails the test instead of
/// stopping the suite.
pub fn watchdog<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let name = thread::current().name().unwrap_or("test").to_owned();
    let (done, outcome) = mpsc::channel();
    let thread = thread::spawn(move || {
        let value = body();
        let _ = done.send(());
        value
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = outcome.recv_timeout(Duration::from_secs(120)) {
        eprintln!("watchdog: {name} hangs");
        std::process::abort();
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A thread whose kernel id is known, so that one can see it block.
pub struct Observed<T> {
    tid: i32,
    handle: JoinHandle<T>,
}

/// Runs `body` on a thread that [`Observed::wait_until_blocked`] can watch.
pub fn observe<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Observed<T> {
    let (send, receive) = mpsc::channel();
    let handle = thread::spawn(move || {
        send.send(thread_id()).expect("the test waits for it");
        body()
    });
    Observed { tid: receive.recv().expect("the thread starts with it"), handle }
}

impl<T> Observed<T> {
    /// As [`wait_until_blocked`], for this thread.
    pub fn wait_until_blocked(&self) {
        assert!(wait_until_blocked(self.tid), "the thread is alive: it is being watched");
    }

    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    pub fn join(self) -> T {
        self.handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The kernel's id of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Returns once the thread `tid` sleeps in the kernel and stays there for a while. `false`: it has
/// ended instead.
///
/// A thread sleeps for moments in other places too (a lock, a page fault), so it has to be seen
/// asleep in many looks in a row, in a wait, without having run between them.
pub fn wait_until_blocked(tid: i32) -> bool {
    let mut asleep = 0;
    let mut before = None;
    while asleep < 20 {
        thread::sleep(Duration::from_millis(1));
        let (Some(state), Some(switches)) = (state(tid), switches(tid)) else { return false };
        let switches = Some(switches);
        asleep = if state == 'S' && switches == before { asleep + 1 } else { 0 };
        before = switches;
    }
    true
}

/// The state letter of proc_pid_stat(5).
fn state(tid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).ok()?;
    let after_name = stat.rsplit(") ").next().expect("the name ends with a parenthesis");
    Some(after_name.chars().next().expect("the state follows the name"))
}

/// How often the thread was switched out, of its own accord or not.
fn switches(tid: i32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()?;
    Some(status.lines().filter(|line| line.contains("ctxt_switches")).collect())
}
