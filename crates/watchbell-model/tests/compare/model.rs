//! The arm that is the model.

use super::call::{Call, Outcome, Timeout, Value};
use watchbell_model::{Errno, Fd, Kernel, Step, Task, TimerSpec, Wait};

/// Nanoseconds; a timer that is set for as long does not expire during a test.
pub const FAR: u64 = 3_600_000_000_000;

/// What came of a call: an outcome, unless it blocks.
pub enum Made {
    Done(Outcome),
    Blocked,
    /// At the permissive level.
    Halfway,
}

fn outcome<T>(result: Result<T, Errno>, value: impl FnOnce(T) -> Value) -> Made {
    Made::Done(result.map(value).map_err(Errno::number))
}

fn number(result: Result<Fd, Errno>) -> Made {
    outcome(result, |fd| Value::Number(fd as u64))
}

fn unit(result: Result<(), Errno>) -> Made {
    outcome(result, |()| Value::Unit)
}

/// What a step comes to.
pub fn made(step: Step) -> Made {
    match step {
        Step::Done(result) => outcome(result, Value::from),
        Step::Blocked(_) => Made::Blocked,
        Step::Halfway => Made::Halfway,
    }
}

/// Makes a call on the model.
pub fn make(kernel: &mut Kernel, now: &mut u64, task: Task, call: &Call) -> Made {
    let wait = |now: u64, timeout: &Timeout| match timeout {
        Timeout::Zero => Wait::Not,
        Timeout::Millis(millis) => Wait::Until(now + millis * 1_000_000),
        Timeout::Never => Wait::Forever,
    };
    let pair = |result| outcome(result, |(a, b)| Value::Pair(a, b));
    match call {
        Call::Eventfd { initval, flags } => number(kernel.eventfd(task, *initval, *flags)),
        Call::Pipe { flags } => pair(kernel.pipe(task, *flags)),
        Call::Socketpair { flags } => pair(kernel.socketpair(task, *flags)),
        Call::Socket { flags } => number(kernel.socket(task, *flags)),
        Call::Timerfd { flags } => number(kernel.timerfd(task, *flags)),
        Call::EpollCreate { flags } => number(kernel.epoll_create(task, *flags)),
        Call::Null => number(kernel.open_null(task, 0)),
        Call::Bind { fd, name } => unit(kernel.bind(task, *fd, *name)),
        Call::Listen { fd, backlog } => unit(kernel.listen(task, *fd, *backlog)),
        Call::Connect { fd, name } => unit(kernel.connect(task, *fd, *name)),
        Call::Accept { fd, flags } => made(kernel.accept(task, *fd, *flags)),
        Call::Shutdown { fd, how } => unit(kernel.shutdown(task, *fd, *how)),
        Call::Expire { fd, periodic } => {
            let interval = if *periodic { FAR } else { 0 };
            let set = kernel.timerfd_settime(task, *fd, TimerSpec { value: 1, interval });
            if set.is_ok() {
                *now += 1;
                kernel.advance(*now);
            }
            unit(set.map(|_| ()))
        }
        Call::SetTimer { fd, on } => {
            let spec = TimerSpec { value: if *on { FAR } else { 0 }, interval: 0 };
            unit(kernel.timerfd_settime(task, *fd, spec).map(|_| ()))
        }
        Call::GetTimer { fd } => outcome(kernel.timerfd_gettime(task, *fd), |spec| {
            Value::Number(u64::from(spec.value > 0) + 2 * u64::from(spec.interval > 0))
        }),
        Call::Dup { fd } => number(kernel.dup(task, *fd)),
        Call::Dup2 { fd, number: to } => number(kernel.dup2(task, *fd, *to)),
        Call::Pass { fd } => number(kernel.pass(task, *fd, task)),
        Call::Close { fd } => unit(kernel.close(task, *fd)),
        Call::GetFlags { fd } => {
            outcome(kernel.get_flags(task, *fd), |flags| Value::Number(u64::from(flags)))
        }
        Call::SetFlags { fd, flags } => unit(kernel.set_flags(task, *fd, *flags)),
        Call::GetCloexec { fd } => {
            outcome(kernel.get_close_on_exec(task, *fd), |on| Value::Number(u64::from(on)))
        }
        Call::SetCloexec { fd, on } => unit(kernel.set_close_on_exec(task, *fd, *on)),
        Call::Read { fd, room } => made(kernel.read(task, *fd, *room)),
        Call::Write { fd, bytes } => made(kernel.write(task, *fd, bytes)),
        Call::Ctl { epoll, op, fd, event } => {
            unit(kernel.epoll_ctl(task, *epoll, *op, *fd, *event))
        }
        Call::Wait { epoll, max, timeout } => {
            made(kernel.epoll_wait(task, *epoll, *max, wait(*now, timeout)))
        }
        Call::Poll { lines, timeout } => made(kernel.poll(task, lines, wait(*now, timeout))),
        Call::Select { sets, timeout } => made(kernel.select(task, sets, wait(*now, timeout))),
    }
}
