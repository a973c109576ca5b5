//! What the comparison needs and safe Rust has no word for: numbers that may not be open, forked
//! processes, and signals.
#![allow(unsafe_code, reason = "a closed descriptor's number, fork(2) and tgkill(2)")]

use rustix::event::{FdSetElement, FdSetIter, fd_set_insert, fd_set_num_elements};
use rustix::fd::{BorrowedFd, RawFd};
use rustix::io::Errno;
use rustix::time::Timespec;
use watchbell_model::{Fd, Sets};

/// A descriptor by its number, open or not: calls on a closed one answer `EBADF`, which is what a
/// test wants to see.
pub fn borrow(number: RawFd) -> BorrowedFd<'static> {
    assert!(number >= 0, "descriptors have numbers from 0 up");
    // SAFETY: the value is handed to system calls only, and at once. They check the number against
    // this process's table; nothing is read or written through it in this process. The numbers come
    // from a part of the table that one test at a time has for itself (`Linux::new`).
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// close(2), which unlike a drop tells what came of it.
pub fn close(number: RawFd) -> Result<(), Errno> {
    // SAFETY: the number is of the part of the table that the running test has for itself, so that
    // no `OwnedFd` of anybody else's is closed behind its back.
    match unsafe { libc::close(number) } {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// dup2(2) onto a number of the test's own part of the table.
pub fn dup2(from: RawFd, to: RawFd) -> Result<RawFd, Errno> {
    // SAFETY: as for `close`: what was open at `to` is the running test's.
    match unsafe { libc::dup2(from, to) } {
        -1 => Err(last_error()),
        number => Ok(number),
    }
}

/// select(2) of numbers that may not be open (`EBADF`).
pub fn select(base: RawFd, sets: &Sets, timeout: Option<&Timespec>) -> Result<Sets, Errno> {
    let highest = sets.read.iter().chain(&sets.write).chain(&sets.except).max();
    let bound = highest.map_or(0, |highest| base + highest + 1);
    let words = fd_set_num_elements(sets.read.len() + sets.write.len(), bound);
    let mut read = vec![FdSetElement::default(); words];
    let (mut write, mut except) = (read.clone(), read.clone());
    for (fds, words) in
        [(&sets.read, &mut read), (&sets.write, &mut write), (&sets.except, &mut except)]
    {
        fds.iter().for_each(|fd| fd_set_insert(words, base + fd));
    }
    // SAFETY: the three sets have room for `bound` descriptors, and the numbers in them are of the
    // running test's part of the table; select(2) does no I/O on them.
    unsafe {
        let sets = (Some(&mut read[..]), Some(&mut write[..]), Some(&mut except[..]));
        rustix::event::select(bound, sets.0, sets.1, sets.2, timeout)?;
    }
    let ready = |asked: &[Fd], words: &[FdSetElement]| {
        let set: Vec<RawFd> = FdSetIter::new(words).collect();
        asked.iter().copied().filter(|fd| set.contains(&(base + fd))).collect()
    };
    Ok(Sets {
        read: ready(&sets.read, &read),
        write: ready(&sets.write, &write),
        except: ready(&sets.except, &except),
    })
}

/// Lets SIGUSR1 interrupt system calls, and do nothing else.
pub fn catch_signal() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: all zeroes is a valid `sigaction`: no flags (so that a call that is interrupted
    // fails), an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: `action` is valid for the call, and its handler does nothing, so that it may run at
    // any moment.
    unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) };
}

/// Sends SIGUSR1 to a thread of this process.
pub fn signal(thread: i32) {
    let process = std::process::id();
    // SAFETY: tgkill(2) takes three integers and touches no memory.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
}

/// A forked child that waits for its end.
pub struct Child {
    process: i32,
    leave: std::io::PipeWriter,
}

/// Runs `body` in a forked child. Returns what it returned, sent through a pipe, and the child,
/// which stays until it is [ended](Child::end).
pub fn fork(body: impl FnOnce() -> String) -> (String, Child) {
    use std::io::{Read, Write};
    let (mut said, mut saying) = std::io::pipe().expect("a pipe");
    let (mut left, leave) = std::io::pipe().expect("a pipe");
    // SAFETY: the child has this thread alone. It takes no lock that another thread can hold (glibc
    // makes its allocator usable after fork) and leaves by `_exit`.
    let process = unsafe { libc::fork() };
    if process == 0 {
        drop(leave);
        let text = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        let text = text.unwrap_or_else(|_| "the child panicked".into());
        let _ = saying.write_all(text.as_bytes());
        drop(saying);
        let _ = left.read(&mut [0]);
        // SAFETY: `_exit` does not return and runs no handler of the parent's.
        unsafe { libc::_exit(0) };
    }
    assert!(process > 0, "fork: {}", std::io::Error::last_os_error());
    drop(saying);
    let mut text = String::new();
    said.read_to_string(&mut text).expect("what the child says");
    (text, Child { process, leave })
}

impl Child {
    /// Lets the child leave, and waits until it has.
    pub fn end(self) {
        drop(self.leave);
        // SAFETY: it is a child of this process that nobody else waits for; no status is asked.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).expect("a call that failed says why")
}
