//! Forked children and interrupted threads: the two things that tests need and std has no safe call
//! for.
#![allow(
    unsafe_code,
    dead_code,
    unreachable_pub,
    reason = "fork(2) and tgkill(2); each test program uses a part"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body` in a forked child that ends with the code that it returns, and returns that code.
///
/// A panic of the child is code 101; a child that is killed by a signal fails the test. The child
/// has copies of everything, so that what `body` takes out of a `&mut Option` is still there here.
pub fn in_child(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs on this thread's copy of the stack, with this thread alone. It takes
    // no lock that another thread can have held (glibc's allocator is made usable after fork), and
    // it leaves by `_exit`, so that no destructor or exit handler of the parent's runs in it.
    let pid = unsafe { libc::fork() };
    as_child(pid, body)
}

/// As [`in_child`], by the bare system call, of which the C library does not know. `body` must not
/// allocate, and must not panic.
pub fn in_raw_child(body: impl FnOnce() -> i32) -> i32 {
    const NONE: libc::c_long = 0;
    let flags = libc::c_long::from(libc::SIGCHLD);
    // SAFETY: as above; what the C library keeps of threads and locks is the parent's, and `body`
    // does without.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, NONE, NONE, NONE, NONE) };
    as_child(i32::try_from(pid).unwrap_or(-1), body)
}

/// What fork(2) returned, seen from both sides.
fn as_child(pid: i32, body: impl FnOnce() -> i32) -> i32 {
    if pid == 0 {
        let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
        // SAFETY: `_exit` is async-signal-safe and does not return.
        unsafe { libc::_exit(code) };
    }
    assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for one int, and `pid` is a child of this process that
        // nobody else waits for.
        let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if waited == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "waitpid: {error}");
    }
    assert!(libc::WIFEXITED(status), "the child was killed: status {status:#x}");
    libc::WEXITSTATUS(status)
}

/// The calling thread's id, for [`interrupt`].
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Sends `signal` to the thread of this process whose id is `tid`.
pub fn interrupt(tid: i32, signal: i32) {
    let pid = std::process::id();
    // SAFETY: tgkill(2) takes three integers and touches no memory of ours.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signal) };
    assert_eq!(sent, 0, "tgkill: {}", std::io::Error::last_os_error());
}
