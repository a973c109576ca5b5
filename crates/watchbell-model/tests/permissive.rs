//! What the permissive level allows and the strict level does not, one by one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use watchbell_model::{
    Errno, Event, Fd, Kernel, Mask, O_NONBLOCK, Op, Oracle, Question, Reply, Step, Task, Wait,
};

const A: Task = Task { process: 0, thread: 1 };
const B: Task = Task { process: 0, thread: 2 };

/// A machine at the permissive level with an instance that watches two eventfds by edges.
fn watched(answers: &[usize]) -> (Kernel, Fd, [Fd; 2]) {
    let mut kernel = Kernel::default();
    let epoll = kernel.epoll_create(A, 0).unwrap();
    let fds = [1, 2].map(|data| {
        let fd = kernel.eventfd(A, 0, O_NONBLOCK).unwrap();
        let event = Event { events: Mask::IN | Mask::ET, data };
        kernel.epoll_ctl(A, epoll, Op::Add, fd, event).unwrap();
        fd
    });
    *kernel.oracle() = Oracle::permissive(answers.iter().copied());
    (kernel, epoll, fds)
}

/// Both halves of a call, with nobody in between.
fn whole(kernel: &mut Kernel, task: Task, mut step: Step) -> Result<Reply, Errno> {
    while step == Step::Halfway {
        step = kernel.resume(task);
    }
    match step {
        Step::Done(result) => result,
        other => panic!("it blocks: {other:?}"),
    }
}

fn write(kernel: &mut Kernel, fd: Fd) {
    let step = kernel.write(A, fd, &1_u64.to_ne_bytes());
    whole(kernel, A, step).unwrap();
}

fn told(events: &[u64]) -> Result<Reply, Errno> {
    let event = |data: &u64| Event { events: Mask::IN, data: *data };
    Ok(Reply::Events(events.iter().map(event).collect()))
}

/// W203, W204 and Y001 show it: who runs between the two halves may take what the wakeup tells of.
#[test]
fn a_change_is_visible_before_its_wake() {
    let (mut kernel, epoll, [f, _]) = watched(&[]);
    assert_eq!(kernel.write(A, f, &1_u64.to_ne_bytes()), Step::Halfway);
    let waited = kernel.epoll_wait(B, epoll, 8, Wait::Not);
    assert_eq!(whole(&mut kernel, B, waited), told(&[]), "the wakeup has not come yet");
    let read = kernel.read(B, f, 8);
    let read = whole(&mut kernel, B, read);
    assert_eq!(read, Ok(Reply::Bytes(1_u64.to_ne_bytes().to_vec())), "the count has");
    assert!(matches!(kernel.resume(A), Step::Done(Ok(_))));
    let waited = kernel.epoll_wait(B, epoll, 8, Wait::Not);
    assert_eq!(whole(&mut kernel, B, waited), told(&[]), "it was drained meanwhile");
}

/// What threads A and B do with an instance that watches three eventfds by level: A scans the first
/// two of them, and is left between the two.
fn scanned() -> (Kernel, Fd, Fd) {
    let mut kernel = Kernel::default();
    let epoll = kernel.epoll_create(A, 0).unwrap();
    let fds = [1, 2, 3].map(|data| {
        let fd = kernel.eventfd(A, u32::from(data < 3), O_NONBLOCK).unwrap();
        let event = Event { events: Mask::IN, data };
        kernel.epoll_ctl(A, epoll, Op::Add, fd, event).unwrap();
        fd
    });
    *kernel.oracle() = Oracle::permissive([]);
    assert_eq!(kernel.epoll_wait(A, epoll, 8, Wait::Not), Step::Halfway, "it has not looked");
    assert_eq!(kernel.resume(A), Step::Halfway, "it has taken the list");
    assert_eq!(kernel.resume(A), Step::Halfway, "it has looked at the first");
    (kernel, epoll, fds[2])
}

#[test]
fn what_is_queued_during_a_scan_may_come_in_another_order() {
    for (answer, expected) in [(0, [1, 3, 2]), (1, [3, 1, 2])] {
        let (mut kernel, epoll, third) = scanned();
        kernel.oracle().answer([answer]);
        let wrote = kernel.write(B, third, &1_u64.to_ne_bytes());
        whole(&mut kernel, B, wrote).unwrap();
        assert!(kernel.oracle().take_asked().contains(&(Question::ReadyOrder, 2)));
        assert_eq!(kernel.resume(A), Step::Done(told(&[1, 2])));
        let waited = kernel.epoll_wait(B, epoll, 8, Wait::Not);
        assert_eq!(whole(&mut kernel, B, waited), told(&expected));
    }
}

#[test]
fn a_wait_of_no_time_may_pass_by_while_another_thread_scans() {
    let (mut kernel, epoll, _) = scanned();
    assert_eq!(kernel.epoll_wait(B, epoll, 8, Wait::Not), Step::Halfway);
    assert_eq!(kernel.resume(B), Step::Halfway, "one scan at a time");
    assert!(kernel.oracle().take_asked().contains(&(Question::FalseEmpty, 2)));
    kernel.oracle().answer([1]);
    assert_eq!(kernel.resume(B), Step::Done(told(&[])), "although two are ready");
}

/// Each event was true when the scan came to it.
#[test]
fn what_a_wait_brings_need_not_be_true_at_any_one_moment() {
    let (mut kernel, epoll, third) = scanned();
    let second = third - 1;
    for fd in [second - 1, second] {
        let read = kernel.read(B, fd, 8);
        whole(&mut kernel, B, read).unwrap();
    }
    assert_eq!(
        kernel.resume(A),
        Step::Done(told(&[1])),
        "the first was ready, the second not any more"
    );
    assert_eq!(epoll, 0);
}

/// Reads and writes of streams, each with its open question answered by `answer`.
fn streams(answer: usize, socket: bool) -> (Result<Reply, Errno>, Result<Reply, Errno>) {
    let mut kernel = Kernel::default();
    let (a, b) = if socket {
        kernel.socketpair(A, O_NONBLOCK).unwrap()
    } else {
        let (reading, writing) = kernel.pipe(A, O_NONBLOCK).unwrap();
        (writing, reading)
    };
    *kernel.oracle() = Oracle::permissive([answer]);
    let wrote = kernel.write(A, a, &[7; 5000]);
    let wrote = whole(&mut kernel, A, wrote);
    *kernel.oracle() = Oracle::permissive([answer]);
    let read = kernel.read(A, b, 100);
    (wrote, whole(&mut kernel, A, read))
}

#[test]
fn reads_and_writes_of_streams_may_be_short() {
    for socket in [false, true] {
        let full = (Ok(Reply::Count(5000)), Ok(Reply::Bytes(vec![7; 100])));
        assert_eq!(streams(0, socket), full);
        let short = (Ok(Reply::Count(4990)), Ok(Reply::Bytes(vec![7; 90])));
        assert_eq!(streams(10, socket), short);
    }
}

#[test]
fn a_short_transfer_moves_at_least_a_byte() {
    assert_eq!(streams(4999, true).0, Ok(Reply::Count(1)));
    assert_eq!(streams(99, true).1, Ok(Reply::Bytes(vec![7])));
}

/// E069, C102.
#[test]
fn a_call_that_blocks_may_be_interrupted() {
    let (mut kernel, epoll, _) = watched(&[1]);
    assert_eq!(kernel.epoll_wait(A, epoll, 8, Wait::Forever), Step::Halfway);
    assert_eq!(kernel.resume(A), Step::Halfway, "it scans");
    assert_eq!(kernel.resume(A), Step::Done(Err(Errno::EINTR)));
    let (mut kernel, epoll, _) = watched(&[0]);
    assert_eq!(kernel.epoll_wait(A, epoll, 8, Wait::Forever), Step::Halfway);
    assert_eq!(kernel.resume(A), Step::Halfway);
    assert!(matches!(kernel.resume(A), Step::Blocked(_)));
}

#[test]
fn a_socket_may_have_no_room_for_a_moment() {
    let mut kernel = Kernel::default();
    let (a, _b) = kernel.socketpair(A, O_NONBLOCK).unwrap();
    kernel.write(A, a, b"first");
    *kernel.oracle() = Oracle::permissive([1]);
    assert_eq!(kernel.write(A, a, b"second"), Step::Done(Err(Errno::EAGAIN)));
    assert_eq!(kernel.oracle().take_asked(), [(Question::SocketFull, 2)]);
}

/// Not Linux: a switch for programs that must not rely on S122.
#[test]
fn on_other_systems_an_edge_may_not_repeat_while_it_is_readable() {
    let (mut kernel, epoll, [f, _]) = watched(&[]);
    kernel.oracle().level = watchbell_model::Level::Strict;
    kernel.oracle().quiet_while_readable = true;
    let mut write_and_wait = || {
        write(&mut kernel, f);
        let waited = kernel.epoll_wait(A, epoll, 8, Wait::Not);
        whole(&mut kernel, A, waited)
    };
    assert_eq!(write_and_wait(), told(&[1]));
    assert_eq!(write_and_wait(), told(&[]), "Linux tells of it again");
}
