//! Taking over descriptors that somebody else made.
#![allow(clippy::unwrap_used)]

mod support;

use rustix::event::{EventfdFlags, eventfd};
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use support::altered::Altered;
use support::eventfd::object_id;
use watchbell::epoll::OnBlocking;
use watchbell::eventfd::{
    Adopt, AdoptError, AdoptRefusal, Counter, NotSemaphore, OnUntold, Semaphore,
};
use watchbell::kernel::{Call, Counting, Kernel, Linux};

const SET_NONBLOCKING: Adopt =
    Adopt { on_blocking: OnBlocking::SetNonblocking, on_untold: OnUntold::Refuse };
const TRUST: Adopt = Adopt { on_blocking: OnBlocking::Refuse, on_untold: OnUntold::Trust };

fn made(flags: EventfdFlags) -> OwnedFd {
    eventfd(3, flags | EventfdFlags::CLOEXEC).unwrap()
}

fn is_nonblocking(fd: impl AsFd) -> bool {
    Linux.is_nonblocking(fd.as_fd()).unwrap()
}

/// Asserts that the very descriptor comes back, open and as it was.
#[track_caller]
fn refused<T: Debug>(number: i32, outcome: Result<T, AdoptError<OwnedFd>>) -> AdoptRefusal {
    let AdoptError { fd, reason } = outcome.expect_err("it is refused");
    assert_eq!(fd.as_raw_fd(), number);
    rustix::io::fcntl_getfd(&fd).expect("it is open");
    reason
}

#[test]
fn d01_a_descriptor_of_the_other_mode_is_refused_by_name_and_handed_back() {
    let nonblocking = EventfdFlags::NONBLOCK;
    let drain = made(nonblocking);
    let reason = refused(drain.as_raw_fd(), Semaphore::adopt(drain, Adopt::default()));
    assert!(matches!(reason, AdoptRefusal::WrongMode));
    let semaphore = made(nonblocking | EventfdFlags::SEMAPHORE);
    let reason = refused(semaphore.as_raw_fd(), Counter::adopt(semaphore, Adopt::default()));
    assert!(matches!(reason, AdoptRefusal::WrongMode));
}

#[test]
fn d01_what_is_no_eventfd_is_refused_by_name_and_handed_back() {
    let others: [OwnedFd; 3] = [
        File::open("/dev/null").unwrap().into(),
        UnixStream::pair().unwrap().0.into(),
        Linux.epoll_create().unwrap(),
    ];
    for fd in others {
        let reason = refused(fd.as_raw_fd(), Counter::adopt(fd, SET_NONBLOCKING));
        assert!(matches!(reason, AdoptRefusal::NotEventfd));
    }
}

#[test]
fn c19_a_blocking_descriptor_is_refused_unless_the_caller_sets_the_flag() {
    let duplicate = made(EventfdFlags::SEMAPHORE);
    let fd = duplicate.try_clone().unwrap();
    let outcome = Semaphore::adopt(fd.try_clone().unwrap(), Adopt::default());
    let AdoptError { reason, .. } = outcome.unwrap_err();
    assert!(matches!(reason, AdoptRefusal::Blocking));
    assert!(!is_nonblocking(&duplicate), "a refusal changes nothing");

    let semaphore = Semaphore::adopt(fd, SET_NONBLOCKING).unwrap();
    assert!(is_nonblocking(&semaphore));
    assert!(is_nonblocking(&duplicate), "the flag belongs to the open file");
    assert!(semaphore.try_wait().unwrap());
}

#[test]
fn c19_a_refusal_for_the_mode_does_not_set_the_flag() {
    let duplicate = made(EventfdFlags::empty());
    let outcome = Semaphore::adopt(duplicate.try_clone().unwrap(), SET_NONBLOCKING);
    assert!(matches!(outcome.unwrap_err().reason, AdoptRefusal::WrongMode));
    assert!(!is_nonblocking(&duplicate));
}

#[test]
fn c19_a_nonblocking_descriptor_is_adopted_with_its_count() {
    let kernel = Counting::new(Linux);
    let fd = made(EventfdFlags::NONBLOCK);
    let id = object_id(&fd);
    let counter = Counter::adopt_on(kernel.clone(), fd, Adopt::default()).unwrap();
    assert_eq!(object_id(counter.as_fd()), id, "it is the same object");
    assert_eq!(kernel.calls(Call::SetNonblocking), 0);
    assert_eq!(counter.try_take().unwrap(), Some(3));
    assert_eq!(counter.try_take().unwrap(), None);
}

#[test]
fn case_e024_nonblocking_is_shared_by_duplicates_and_close_on_exec_is_not() {
    let fd = eventfd(0, EventfdFlags::empty()).unwrap();
    let duplicate = Linux.duplicate(fd.as_fd()).unwrap();
    assert_eq!(rustix::io::fcntl_getfd(&fd).unwrap(), rustix::io::FdFlags::empty());
    assert_eq!(rustix::io::fcntl_getfd(&duplicate).unwrap(), rustix::io::FdFlags::CLOEXEC);
    let counter = Counter::adopt(duplicate, SET_NONBLOCKING).unwrap();
    let error = Linux.read(fd.as_fd(), &mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    counter.add(4).unwrap();
    let mut bytes = [0; 8];
    assert_eq!(Linux.read(fd.as_fd(), &mut bytes).unwrap(), 8);
    assert_eq!(u64::from_ne_bytes(bytes), 4);
}

#[test]
fn d01_an_untold_mode_is_refused_unless_the_caller_trusts() {
    let fd = made(EventfdFlags::NONBLOCK);
    let number = fd.as_raw_fd();
    let outcome = Counter::adopt_on(Altered::Untelling, fd, Adopt::default());
    let AdoptError { fd, reason } = outcome.unwrap_err();
    assert!(matches!(reason, AdoptRefusal::ModeUntold));
    assert_eq!(fd.as_raw_fd(), number);
    let counter = Counter::adopt_on(Altered::Untelling, fd, TRUST).unwrap();
    assert_eq!(counter.try_take().unwrap(), Some(3));
}

#[test]
fn d01_a_counter_that_was_trusted_to_be_a_semaphore_is_found_out_and_no_unit_is_lost() {
    let semaphore =
        Semaphore::adopt_on(Altered::Untelling, made(EventfdFlags::NONBLOCK), TRUST).unwrap();
    let error = semaphore.try_wait().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<NotSemaphore>());
    assert_eq!(inner.expect("a named error").units, 3);
}

#[test]
fn d01_where_the_system_refuses_the_descriptor_comes_back_as_it_was() {
    let fd = made(EventfdFlags::empty());
    let outcome = Counter::adopt_on(Altered::OutOfDescriptors, fd, SET_NONBLOCKING);
    let AdoptError { fd, reason } = outcome.unwrap_err();
    assert!(!is_nonblocking(&fd));
    let error = io::Error::from(AdoptError { fd, reason });
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
}
