//! Waiting on a kernel that has no epoll_pwait2(2): one before Linux 5.11, or an emulator.
//!
//! [epoll_wait(2)](https://man7.org/linux/man-pages/man2/epoll_wait.2.html) takes whole
//! milliseconds, in an `int`. A time-out is rounded up, so that no wait ends early and none that is
//! short becomes a look that does not wait; one beyond the `int` is several calls. rustix makes
//! either the one call or the other, as it was built, so this module calls the C library itself,
//! with `unsafe`.
#![allow(unsafe_code)]

use crate::sync::atomic::{AtomicBool, Ordering};
use rustix::event::epoll::{Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The longest wait of one call.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// The kernel was asked for epoll_pwait2(2) and does not have it.
static IS_NEEDED: AtomicBool = AtomicBool::new(false);

/// Whether the kernel is known to have no other call than this one.
pub(super) fn is_needed() -> bool {
    IS_NEEDED.load(Ordering::Relaxed)
}

/// Whether `errno`, of epoll_pwait2(2), says that the kernel does not have it. That is kept.
///
/// `EPERM` is no error of that call's own: it comes from filters of system calls that are older
/// than the call.
pub(super) fn is_for(errno: Errno) -> bool {
    let is_missing = matches!(errno, Errno::NOSYS | Errno::PERM);
    if is_missing {
        IS_NEEDED.store(true, Ordering::Relaxed);
    }
    is_missing
}

/// Appends at most as many events as `events` has room for.
pub(super) fn wait(
    epoll: BorrowedFd<'_>,
    events: &mut Vec<Event>,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let room = events.capacity() - events.len();
    let mut found = vec![libc::epoll_event { events: 0, u64: 0 }; room];
    let mut left = timeout;
    let count = loop {
        let count = wait_once(epoll, &mut found, millis(left))?;
        left = left.map(|left| left.saturating_sub(LONGEST));
        if count > 0 || left == Some(Duration::ZERO) {
            break count;
        }
    };
    events.extend(found.into_iter().take(count).map(|event| Event {
        flags: EventFlags::from_bits_retain(event.events),
        data: EventData::new_u64(event.u64),
    }));
    Ok(())
}

fn wait_once(
    epoll: BorrowedFd<'_>,
    found: &mut [libc::epoll_event],
    millis: libc::c_int,
) -> io::Result<usize> {
    let room = libc::c_int::try_from(found.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open for the borrow, and `found` has place for `room` events.
    let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), found.as_mut_ptr(), room, millis) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// The time-out of one call: rounded up to the next millisecond, and cut to the longest; -1 waits
/// for ever.
fn millis(timeout: Option<Duration>) -> libc::c_int {
    let Some(timeout) = timeout else { return -1 };
    let up = timeout.as_nanos().div_ceil(1_000_000);
    libc::c_int::try_from(up).unwrap_or(libc::c_int::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, epoll, eventfd};
    use std::os::fd::{AsFd, OwnedFd};
    use std::time::Instant;

    const MILLISECOND: Duration = Duration::from_millis(1);
    const NANOSECOND: Duration = Duration::from_nanos(1);

    #[test]
    fn e14_a_timeout_is_rounded_up_to_whole_milliseconds() {
        assert_eq!(millis(None), -1);
        assert_eq!(millis(Some(Duration::ZERO)), 0);
        assert_eq!(millis(Some(NANOSECOND)), 1);
        assert_eq!(millis(Some(MILLISECOND)), 1);
        assert_eq!(millis(Some(MILLISECOND + NANOSECOND)), 2);
        assert_eq!(millis(Some(LONGEST - NANOSECOND)), i32::MAX);
        assert_eq!(millis(Some(LONGEST)), i32::MAX);
        assert_eq!(millis(Some(Duration::MAX)), i32::MAX);
    }

    fn instance(count: u32) -> (OwnedFd, OwnedFd) {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("descriptors are left");
        let bell = eventfd(count, EventfdFlags::NONBLOCK).expect("descriptors are left");
        let data = EventData::new_u64(7 << 40);
        epoll::add(&epoll, &bell, data, EventFlags::IN).expect("it can be watched");
        (epoll, bell)
    }

    #[test]
    fn e14_a_wait_tells_what_is_ready_and_never_ends_early() {
        let (epoll, bell) = instance(1);
        let mut events = Vec::with_capacity(4);
        wait(epoll.as_fd(), &mut events, None).expect("nothing fails");
        let told: Vec<_> = events.iter().map(|event| (event.data.u64(), event.flags)).collect();
        assert_eq!(told, [(7 << 40, EventFlags::IN)]);

        rustix::io::read(&bell, &mut [0; 8]).expect("it is readable");
        events.clear();
        let timeout = 2 * MILLISECOND + NANOSECOND;
        let start = Instant::now();
        wait(epoll.as_fd(), &mut events, Some(timeout)).expect("nothing fails");
        assert!(start.elapsed() >= timeout);
        assert!(events.is_empty());
    }

    #[test]
    fn e14_it_is_waited_like_this_only_where_the_call_is_missing() {
        let was_needed = is_needed();
        assert!(!is_for(Errno::INTR) && !is_for(Errno::INVAL) && !is_for(Errno::BADF));
        assert_eq!(is_needed(), was_needed);
    }
}
