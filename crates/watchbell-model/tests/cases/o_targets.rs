//! O. The readiness of pipes and stream sockets.

use crate::compare::call::Call;
use crate::compare::system::{System, both};
use crate::line;
use watchbell_model::{Fd, Mask, Shutdown};

const ALL: Mask = Mask(0xffff);
/// What the cases of sockets ask for.
const COMMON: Mask = Mask(Mask::IN.0 | Mask::OUT.0 | Mask::PRI.0 | Mask::RDHUP.0);
const EDGE: Mask = Mask::ET;

fn shut(s: &mut dyn System, fd: Fd, how: Shutdown) {
    s.say(&Call::Shutdown { fd, how });
}

#[test]
fn case_s230_a_pipe_at_its_end_is_hung_up_and_not_readable() {
    both(
        |s| {
            let (r, w) = s.pipe();
            let fresh = line![s.poll(r, ALL), s.poll(w, ALL)];
            s.send(w, 1);
            let data = s.poll(r, ALL);
            s.close(w);
            let closed = line![s.poll(r, Mask::IN), s.receive(r, 8), s.poll(r, ALL)];
            line![fresh, data, closed, s.receive(r, 8), s.poll(r, ALL)]
        },
        "0:0; 1:OUT|WRNORM; 1:IN|RDNORM; 1:IN|HUP; 1; 1:HUP; 0; 1:HUP",
    );
}

#[test]
fn case_s231_the_close_of_the_writer_is_one_edge() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, r, Mask::IN | EDGE, 1);
            s.close(w);
            let edge = line![s.wait(e), s.wait(e), s.receive(r, 8), s.wait(e)];
            s.modify(e, r, Mask::HUP, 2);
            let level = line![s.wait(e), s.wait(e)];
            s.delete(e, r);
            let (r, w) = s.pipe();
            s.add(e, r, Mask::IN | EDGE, 3);
            s.send(w, 1);
            s.close(w);
            line![edge, level, s.wait(e)]
        },
        "[1:HUP]; []; 0; []; [2:HUP]; [2:HUP]; [3:IN|HUP]",
    );
}

#[test]
fn case_s232_a_writer_without_a_reader_is_in_error() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, w, Mask::NONE, 1);
            let idle = s.wait(e);
            s.close(r);
            let closed = s.wait(e);
            s.modify(e, w, Mask::OUT, 2);
            let out = s.wait(e);
            s.close(w);
            let (r, w) = s.pipe();
            s.send(w, 65_536);
            s.add(e, w, Mask::OUT, 3);
            let full = s.wait(e);
            s.close(r);
            line![idle, closed, out, full, s.wait(e)]
        },
        "[]; [1:ERR]; [2:OUT|ERR]; []; [3:ERR]",
    );
}

#[test]
fn case_s240_halves_that_are_shut_down() {
    let pair = |how: &'static [(usize, Shutdown)]| {
        move |s: &mut dyn System| {
            let (a, b) = s.socketpair();
            how.iter().for_each(|(end, how)| shut(s, [a, b][*end], *how));
            line![s.poll(a, COMMON), s.poll(b, COMMON)]
        }
    };
    both(pair(&[]), "1:OUT; 1:OUT");
    both(pair(&[(1, Shutdown::Write)]), "1:IN|OUT|RDHUP; 1:OUT");
    let hung_up = "1:IN|OUT|HUP|RDHUP; 1:IN|OUT|HUP|RDHUP";
    both(pair(&[(1, Shutdown::Write), (0, Shutdown::Write)]), hung_up);
    both(pair(&[(0, Shutdown::Read)]), "1:IN|OUT|RDHUP; 1:OUT");
    both(pair(&[(0, Shutdown::Both)]), hung_up);
}

#[test]
fn case_s241_the_close_of_the_peer_and_a_reset() {
    both(
        |s| {
            let (a, b) = s.socketpair();
            s.close(b);
            let closed = line![s.poll(a, COMMON), s.poll(a, Mask::IN | Mask::OUT)];
            let (a, b) = s.socketpair();
            s.send(a, 1);
            s.close(b);
            let reset = line![s.poll(a, COMMON), s.receive(a, 8), s.poll(a, COMMON)];
            let (a, b) = s.socketpair();
            s.send(b, 1);
            s.close(b);
            line![closed, reset, s.poll(a, COMMON)]
        },
        "1:IN|OUT|HUP|RDHUP; 1:IN|OUT|HUP; 1:IN|OUT|ERR|HUP|RDHUP; ECONNRESET; \
         1:IN|OUT|HUP|RDHUP; 1:IN|OUT|HUP|RDHUP",
    );
}

#[test]
fn case_s242_each_change_of_the_peer_is_an_edge() {
    both(
        |s| {
            let (e, (a, b)) = (s.epoll(), s.socketpair());
            s.add(e, a, Mask::IN | Mask::RDHUP | EDGE, 1);
            s.send(b, 1);
            let data = s.wait(e);
            shut(s, b, Shutdown::Write);
            let shut_down = line![s.wait(e), s.wait(e)];
            s.receive(a, 8);
            let drained = line![s.wait(e), s.receive(a, 8), s.wait(e)];
            s.close(b);
            line![data, shut_down, drained, s.wait(e)]
        },
        "[1:IN]; [1:IN|RDHUP]; []; []; 0; []; [1:IN|HUP|RDHUP]",
    );
}

/// Of this case, the Unix stream socket.
#[test]
fn case_s243_a_fresh_socket_is_writable_and_hung_up() {
    both(
        |s| {
            let (e, fresh) = (s.epoll(), s.socket());
            s.add(e, fresh, Mask::IN | EDGE, 1);
            line![s.poll(fresh, COMMON), s.wait(e), s.wait(e)]
        },
        "1:OUT|HUP; [1:HUP]; []",
    );
}

/// Of this case, the listener, by Unix sockets.
#[test]
fn case_s244_a_listener_is_readable_with_a_connection_to_accept() {
    both(
        |s| {
            let (e, listener, client) = (s.epoll(), s.socket(), s.socket());
            s.say(&Call::Bind { fd: listener, name: 1 });
            s.say(&Call::Listen { fd: listener, backlog: 4 });
            s.add(e, listener, Mask::IN, 1);
            let listening = s.wait(e);
            let connected = s.say(&Call::Connect { fd: client, name: 1 });
            let pending = s.wait(e);
            s.say(&Call::Accept { fd: listener, flags: 0 });
            line![listening, connected, pending, s.wait(e)]
        },
        "[]; 0; [1:IN]; []",
    );
}

#[test]
fn case_x017_rdhup_stays_and_is_its_own_bit() {
    both(
        |s| {
            let (e, (a, b)) = (s.epoll(), s.socketpair());
            s.add(e, a, Mask::IN | Mask::OUT | Mask::RDHUP, 1);
            s.send(b, 1);
            shut(s, b, Shutdown::Write);
            let level = s.wait(e);
            s.modify(e, a, Mask::RDHUP, 1);
            let alone = s.wait(e);
            s.modify(e, a, Mask::RDHUP | EDGE, 1);
            let edge = line![s.wait(e), s.wait(e)];
            s.receive(a, 8);
            line![level, alone, edge, s.wait(e)]
        },
        "[1:IN|OUT|RDHUP]; [1:RDHUP]; [1:RDHUP]; []; []",
    );
}

/// With a pipe of 16 slots instead of one.
#[test]
fn case_x020_draining_a_full_pipe_is_an_edge_for_the_writer() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, w, Mask::OUT | EDGE, 1);
            let added = line![s.wait(e), s.send(w, 65_536), s.wait(e)];
            s.receive(r, 65_536);
            line![added, s.wait(e), s.wait(e)]
        },
        "[1:OUT]; 65536; []; [1:OUT]; []",
    );
}
