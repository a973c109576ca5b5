//! J. Level-triggered and edge-triggered delivery.

use crate::compare::system::both;
use crate::line;
use watchbell_model::Mask;

const MAX: u64 = u64::MAX - 1;
const LEVEL: Mask = Mask::IN;
const EDGE: Mask = Mask(Mask::IN.0 | Mask::ET.0);
const BOTH: Mask = Mask(Mask::IN.0 | Mask::OUT.0);
const BOTH_EDGE: Mask = Mask(BOTH.0 | Mask::ET.0);

#[test]
fn case_s120_level_triggered_tells_again_until_it_is_drained() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, LEVEL, 1);
            let empty = s.wait(e);
            s.write(f, 1);
            let ready = line![s.wait(e), s.wait(e)];
            s.read(f);
            line![empty, ready, s.wait(e)]
        },
        "[]; [1:IN]; [1:IN]; []",
    );
}

#[test]
fn case_s121_the_mask_follows_the_count() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, BOTH, 1);
            let small = [0, 1, 1].map(|more| {
                s.write(f, more);
                s.wait(e)
            });
            s.read(f);
            let drained = s.wait(e);
            let large = [MAX - 1, 1].map(|more| {
                s.write(f, more);
                s.wait(e)
            });
            s.read(f);
            line![small.join(" "), drained, large.join(" "), s.wait(e)]
        },
        "[1:OUT] [1:IN|OUT] [1:IN|OUT]; [1:OUT]; [1:IN|OUT] [1:IN]; [1:OUT]",
    );
}

#[test]
fn case_s122_every_write_is_an_edge() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, EDGE, 1);
            s.write(f, 1);
            let first = line![s.wait(e), s.wait(e)];
            s.write(f, 1);
            line![first, s.wait(e), s.wait(e)]
        },
        "[1:IN]; []; [1:IN]; []",
    );
}

#[test]
fn case_s124_edges_before_a_wait_are_one_event_or_none() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, EDGE, 1);
            s.write(f, 1);
            s.write(f, 1);
            let two = line![s.wait(e), s.wait(e)];
            s.write(f, 1);
            s.read(f);
            let drained = s.wait(e);
            s.write(f, 1);
            s.read(f);
            s.write(f, 1);
            line![two, drained, s.wait(e)]
        },
        "[1:IN]; []; []; [1:IN]",
    );
}

#[test]
fn case_s126_a_read_is_an_edge_for_out_and_a_refusal_is_none() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, BOTH_EDGE, 1);
            let added = line![s.wait(e), s.wait(e)];
            s.write(f, 1);
            let written = line![s.wait(e), s.wait(e)];
            s.read(f);
            let read = line![s.wait(e), s.wait(e)];
            s.write(f, MAX);
            let full = line![s.wait(e), s.write(f, 1), s.wait(e)];
            s.read(f);
            line![added, written, read, full, s.wait(e), s.read(f), s.wait(e)]
        },
        "[1:OUT]; []; [1:IN|OUT]; []; [1:OUT]; []; [1:IN]; EAGAIN; []; [1:OUT]; EAGAIN; []",
    );
}

#[test]
fn case_s131_a_partial_read_of_a_pipe_is_no_edge() {
    both(
        |s| {
            let (e, (r, w)) = (s.epoll(), s.pipe());
            s.add(e, r, EDGE, 1);
            s.send(w, 2);
            let two = s.wait(e);
            s.receive(r, 1);
            let partial = s.wait(e);
            s.send(w, 1);
            let more = line![s.wait(e), s.wait(e)];
            s.receive(r, 8);
            let drained = s.wait(e);
            s.send(w, 1);
            line![two, partial, more, drained, s.wait(e)]
        },
        "[1:IN]; []; [1:IN]; []; []; [1:IN]",
    );
}

#[test]
fn case_s132_nor_is_one_of_a_socket() {
    both(
        |s| {
            let (e, (a, b)) = (s.epoll(), s.socketpair());
            s.add(e, a, EDGE, 1);
            s.send(b, 2);
            let two = s.wait(e);
            s.receive(a, 1);
            let partial = s.wait(e);
            s.send(b, 1);
            let more = line![s.wait(e), s.wait(e)];
            s.receive(a, 8);
            line![two, partial, more, s.wait(e)]
        },
        "[1:IN]; []; [1:IN]; []; []",
    );
}

#[test]
fn case_s133_taking_a_message_whole_is_an_edge_for_the_sender() {
    both(
        |s| {
            let (e, (a, b)) = (s.epoll(), s.socketpair());
            s.add(e, a, BOTH_EDGE, 0);
            s.add(e, b, BOTH_EDGE, 1);
            let added = s.wait(e);
            s.send(b, 1024);
            let sent = s.wait(e);
            s.receive(a, 512);
            let half = s.wait(e);
            s.receive(a, 512);
            line![added, sent, half, s.wait(e), s.wait(e)]
        },
        "[0:OUT,1:OUT]; [0:IN|OUT]; []; [1:OUT]; []",
    );
}

#[test]
fn case_s134_the_close_of_the_peer_is_an_edge() {
    both(
        |s| {
            let (e, (a, b)) = (s.epoll(), s.socketpair());
            s.send(b, 1);
            s.add(e, a, BOTH_EDGE | Mask::RDHUP, 1);
            let added = line![s.wait(e), s.wait(e)];
            s.send(b, 1);
            let more = s.wait(e);
            s.close(b);
            line![added, more, s.wait(e), s.wait(e)]
        },
        "[1:IN|OUT]; []; [1:IN|OUT]; [1:IN|OUT|HUP|RDHUP]; []",
    );
}

#[test]
fn case_s139_a_pipe_counts_slots_and_not_bytes() {
    both(
        |s| {
            let (r, w) = s.pipe();
            s.send(w, 65_536);
            let full = line![s.poll(w, Mask::OUT), s.receive(r, 1)];
            let one = line![s.poll(w, Mask::OUT), s.send(w, 1), s.receive(r, 4095)];
            line![full, one, s.poll(w, Mask::OUT), s.send(w, 1), s.poll(w, Mask::OUT)]
        },
        "0:0; 1; 0:0; EAGAIN; 4095; 1:OUT; 1; 0:0",
    );
}

#[test]
fn case_x015_in_the_order_of_becoming_ready() {
    both(
        |s| {
            let (e, (r, w), f) = (s.epoll(), s.pipe(), s.eventfd(0));
            s.add(e, r, EDGE, 1);
            s.add(e, f, EDGE, 2);
            s.write(f, 1);
            s.write(f, 1);
            s.send(w, 2);
            let told = s.wait(e);
            s.read(f);
            s.receive(r, 1);
            line![told, s.wait(e)]
        },
        "[2:IN,1:IN]; []",
    );
}

#[test]
fn case_x021_a_semaphore_with_a_unit_left_is_no_edge() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.semaphore(0));
            s.add(e, f, EDGE, 1);
            s.write(f, 3);
            let told = s.wait(e);
            s.read(f);
            s.read(f);
            let left = s.wait(e);
            s.read(f);
            let empty = s.wait(e);
            s.write(f, 1);
            line![told, left, empty, s.wait(e)]
        },
        "[1:IN]; []; []; [1:IN]",
    );
}

#[test]
fn case_x029_neither_err_nor_hup_comes_of_counting() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(5));
            s.add(e, f, Mask::ERR | Mask::HUP, 1);
            let five = s.wait(e);
            s.write(f, MAX - 5);
            line![five, s.wait(e)]
        },
        "[]; []",
    );
}

#[test]
fn case_x030_data_comes_back_bit_for_bit() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            s.add(e, f, LEVEL, 0x1234_5678_9abc_def0);
            s.wait(e)
        },
        "[1311768467463790320:IN]",
    );
}

#[test]
fn case_y006_each_semaphore_read_is_an_edge_for_out() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.semaphore(3));
            s.add(e, f, BOTH_EDGE, 1);
            let added = s.wait(e);
            let reads = [0; 3].map(|_| {
                s.read(f);
                s.wait(e)
            });
            line![added, reads.join(" "), s.read(f), s.wait(e)]
        },
        "[1:IN|OUT]; [1:IN|OUT] [1:IN|OUT] [1:OUT]; EAGAIN; []",
    );
}
