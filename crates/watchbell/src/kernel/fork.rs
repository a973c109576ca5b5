//! Which process this is, known without a system call.
//!
//! One page of memory is marked `MADV_WIPEONFORK`
//! ([madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html), from Linux 4.14 on): the
//! kernel fills it with zeroes in a forked child. It holds this process's number. Whoever finds
//! zero there is in a child that has not been asked yet, and gives it the next number. The last
//! number given is kept in ordinary memory, which a child inherits, so that a child's number is
//! higher than that of every ancestor of whom it has inherited anything.
//!
//! A child of vfork(2), or of clone(2) with `CLONE_VM`, shares its parent's memory, this page with
//! it, and is not told from its parent. It may do nothing but exec or end, as vfork(2) says.
//!
//! The page is mapped, marked and read by `unsafe` code, which no other part of this file needs.
#![allow(unsafe_code)]

use super::Process;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::mem;
use std::ptr;

/// What no madvise(2) knows.
const NO_ADVICE: libc::c_int = -1;

/// The page; null until it was asked for, and [`NONE`] where it cannot be had.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Stands for the page where there is none. It is never read.
static NONE: AtomicU64 = AtomicU64::new(0);

/// The last number that this process or an ancestor of it was given.
static LAST: AtomicU64 = AtomicU64::new(0);

/// This process.
pub(super) fn process() -> Process {
    process_by(page())
}

/// By the page's word, or without a page by getpid(2).
fn process_by(page: Option<&AtomicU64>) -> Process {
    Process::new(match page {
        Some(page) => match page.load(Ordering::Relaxed) {
            0 => number(page),
            number => number,
        },
        None => std::process::id().into(),
    })
}

/// Gives this process a number. Of several threads that do, the first one's number stays; what the
/// others took is nobody's.
#[cold]
fn number(page: &AtomicU64) -> u64 {
    let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let set = page.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
    set.map_or_else(|first| first, |_| next)
}

fn page() -> Option<&'static AtomicU64> {
    let page = PAGE.load(Ordering::Acquire);
    let page = if page.is_null() { make_page() } else { page };
    if ptr::eq(page, &NONE) {
        return None;
    }
    // SAFETY: `make_page` stores nothing but `NONE` and pages that hold an atomic and stay mapped.
    Some(unsafe { &*page })
}

/// Makes the page for the whole process. Two threads may both do so: the second one's is unmapped.
///
/// There is no lock, which another thread could hold while this one forks.
#[cold]
fn make_page() -> *mut AtomicU64 {
    let none = ptr::from_ref(&NONE).cast_mut();
    let made = wiped_page(libc::MADV_WIPEONFORK).unwrap_or(none);
    let stored = PAGE.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    match stored {
        Ok(_) => made,
        Err(first) => {
            if made != none {
                unmap(made);
            }
            first
        }
    }
}

/// A page of zeroes that `advice` has been given for. `None`: it was refused.
fn wiped_page(advice: libc::c_int) -> Option<*mut AtomicU64> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let length = mem::size_of::<AtomicU64>(); // the kernel rounds it up to a page
    // SAFETY: a new mapping, where the kernel likes, is in nobody's way.
    let page = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // An emulator that takes any advice, as qemu's did until version 8, does not follow this one.
    let is_taken = advise(page.cast(), advice) && !advise(page.cast(), NO_ADVICE);
    if !is_taken {
        unmap(page.cast());
    }
    is_taken.then_some(page.cast())
}

fn advise(page: *mut AtomicU64, advice: libc::c_int) -> bool {
    // SAFETY: the page is a private mapping of ours that holds nothing yet, so whatever the advice
    // does to it is well.
    unsafe { libc::madvise(page.cast(), mem::size_of::<AtomicU64>(), advice) == 0 }
}

/// Gives back a page that nobody else has seen.
fn unmap(page: *mut AtomicU64) {
    // SAFETY: the page was mapped here, with this length, and nobody has a reference into it.
    unsafe { libc::munmap(page.cast(), mem::size_of::<AtomicU64>()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a forked child finds that `process` says something else there.
    fn child_differs(process: impl Fn() -> Process) -> bool {
        let parent = process();
        // SAFETY: the child calls `process`, which takes no lock, and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = i32::from(process() != parent);
            // SAFETY: `_exit` is async-signal-safe and does not return.
            unsafe { libc::_exit(code) };
        }
        assert!(child > 0, "fork: {}", std::io::Error::last_os_error());
        let mut status = 0;
        // SAFETY: `status` is a valid place for one int.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(waited, child);
        assert!(libc::WIFEXITED(status));
        assert_eq!(process(), parent, "the parent stays who it is");
        libc::WEXITSTATUS(status) == 1
    }

    #[test]
    fn c13_a_child_is_known_by_the_page() {
        assert!(page().is_some(), "this kernel is not older than Linux 4.14");
        assert!(child_differs(process));
    }

    #[test]
    fn c13_a_child_is_known_without_a_page() {
        assert_eq!(process_by(None), Process::new(std::process::id().into()));
        assert!(child_differs(|| process_by(None)));
    }

    /// The wrong twin, which shows that it is the wiping that tells.
    #[test]
    fn c13_a_page_that_is_not_wiped_does_not_know_a_child() {
        let page = wiped_page(libc::MADV_NORMAL).expect("the advice is taken");
        // SAFETY: it holds an atomic, and stays mapped.
        let page = unsafe { &*page };
        assert!(!child_differs(|| process_by(Some(page))));
    }

    #[test]
    fn c13_a_page_that_is_refused_is_given_back() {
        assert_eq!(wiped_page(NO_ADVICE), None);
    }

    /// Threads that ask at the same time agree.
    #[test]
    fn c13_the_first_number_stays() {
        let page = AtomicU64::new(0);
        let first = number(&page);
        assert_eq!((number(&page), page.load(Ordering::Relaxed)), (first, first));
        assert_eq!(process_by(Some(&page)), Process::new(first));
    }
}
