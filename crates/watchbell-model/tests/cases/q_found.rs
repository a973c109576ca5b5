//! Q. Facts that the comparison found, and no list of cases had.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::both;
use crate::line;
use watchbell_model::{Mask, O_NONBLOCK, PollFd};

#[test]
fn case_z001_poll_looks_the_numbers_up_again_when_it_is_woken() {
    both(
        |s| {
            let (f, g) = (s.eventfd(0), s.eventfd(0));
            let line = |fd| PollFd { fd, events: Mask::IN };
            let lines = vec![line(f), line(g)];
            let poller = s.spawn(Call::Poll { lines, timeout: Timeout::Never });
            let closed = line![s.close(f), s.look(&[poller])];
            line![closed, s.write(g, 1), s.look(&[poller])]
        },
        "0; -; 8; 2:NVAL,IN",
    );
}

#[test]
fn case_z002_a_pipe_looks_at_nonblock_again_when_it_is_woken() {
    both(
        |s| {
            let (r, w) = s.pipe();
            s.set_flags(w, 0);
            let writer = s.spawn(Call::Write { fd: w, bytes: vec![7; 70_000] });
            let set = line![s.set_flags(w, O_NONBLOCK), s.look(&[writer])];
            line![set, s.receive(r, 4096), s.look(&[writer])]
        },
        "0; -; 4096; 69632",
    );
}

#[test]
fn case_z003_a_blocked_accept_has_set_its_number_aside() {
    both(
        |s| {
            let listener = s.socket();
            s.say(&Call::Bind { fd: listener, name: 1 });
            s.say(&Call::Listen { fd: listener, backlog: 1 });
            s.set_flags(listener, 0);
            let accepting = s.spawn(Call::Accept { fd: listener, flags: 0 });
            let next = s.dup(listener);
            let number = next - listener;
            let onto = s.say(&Call::Dup2 { fd: listener, number: listener + 1 });
            s.interrupt(accepting);
            line![number, onto, show(&s.join(accepting)), s.dup(listener) - listener]
        },
        "2; EBUSY; EINTR; 1",
    );
}

#[test]
fn case_z004_a_write_that_finds_a_watched_pipe_full_is_an_edge_for_the_reader() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, r, Mask::IN | Mask::ET, 1);
            s.send(w, 65_536);
            let full = s.wait(e);
            line![full, s.wait(e), s.send(w, 1), s.wait(e)]
        },
        "[1:IN]; []; EAGAIN; [1:IN]",
    );
}

#[test]
fn case_z005_a_signal_finds_what_has_become_ready_unnoticed() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::IN, 1);
            let poller = s.poller(f, Mask::OUT | Mask::IN);
            let ready = s.look(&[poller]);
            let closing = s.eventfd(0);
            let poller = s.poller(closing, Mask::IN);
            s.close(closing);
            s.interrupt(poller);
            line![ready, show(&s.join(poller))]
        },
        "1:OUT; 1:NVAL",
    );
}

/// Of the timer's rules: what was not read is one expiration, however long it was not read.
#[test]
fn case_z006_a_timer_signals_once_until_it_is_read() {
    both(
        |s| {
            let (e, timer) = (s.epoll(), 1);
            s.say(&Call::Timerfd { flags: O_NONBLOCK });
            s.add(e, timer, Mask::IN | Mask::ET, 1);
            let idle = line![s.read(timer), s.wait(e), s.send(timer, 8)];
            s.say(&Call::Expire { fd: timer, periodic: true });
            let told = line![s.wait(e), s.wait(e), s.poll(timer, Mask::IN | Mask::OUT)];
            line![idle, told, s.receive(timer, 7), s.read(timer), s.read(timer)]
        },
        "EAGAIN; []; EINVAL; [1:IN]; []; 1:IN; EINVAL; 8:1; EAGAIN",
    );
}
