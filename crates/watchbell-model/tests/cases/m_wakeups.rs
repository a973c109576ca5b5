//! M. Who is woken, how many, in which order.

use crate::compare::call::{Call, Timeout, show};
use crate::compare::system::{System, Thread, both};
use crate::line;
use watchbell_model::{Fd, Mask};

const LEVEL: Mask = Mask::IN;
const EDGE: Mask = Mask(Mask::IN.0 | Mask::ET.0);
const ONE: Mask = Mask(Mask::IN.0 | Mask::ONESHOT.0);
const EXCLUSIVE: Mask = Mask(Mask::IN.0 | Mask::EXCLUSIVE.0);

/// One instance that watches an eventfd, and threads that are blocked in a wait on it.
fn one_instance(s: &mut dyn System, mask: Mask, waiters: usize) -> (Fd, Vec<Thread>) {
    let (e, f) = (s.epoll(), s.eventfd(0));
    s.add(e, f, mask, 1);
    (f, (0..waiters).map(|_| s.waiter(e)).collect())
}

/// An instance a mask, all watching one target, and a thread blocked on each.
fn instances(s: &mut dyn System, target: Fd, masks: &[Mask]) -> Vec<Thread> {
    let watch = |(data, mask): (usize, &Mask)| {
        let e = s.epoll();
        s.add(e, target, *mask, data as u64);
        s.waiter(e)
    };
    masks.iter().enumerate().map(watch).collect()
}

#[test]
fn case_w180_one_write_wakes_every_level_triggered_waiter() {
    both(
        |s| {
            let (f, waiters) = one_instance(s, LEVEL, 4);
            line![s.write(f, 1), s.look(&waiters)]
        },
        "8; [1:IN] [1:IN] [1:IN] [1:IN]",
    );
}

#[test]
fn case_w181_and_one_edge_triggered_waiter_the_last_that_blocked() {
    both(
        |s| {
            let (f, waiters) = one_instance(s, EDGE, 4);
            line![s.write(f, 1), s.look(&waiters)]
        },
        "8; - - - [1:IN]",
    );
}

#[test]
fn case_w182_and_one_for_a_one_shot() {
    both(
        |s| {
            let (f, waiters) = one_instance(s, ONE, 4);
            line![s.write(f, 1), s.look(&waiters)]
        },
        "8; - - - [1:IN]",
    );
}

#[test]
fn case_w184_waiters_of_one_instance_are_served_newest_first() {
    both(
        |s| {
            let (f, waiters) = one_instance(s, EDGE, 4);
            [0; 4]
                .map(|_| {
                    s.write(f, 1);
                    s.look(&waiters)
                })
                .join("; ")
        },
        "- - - [1:IN]; - - [1:IN] -; - [1:IN] - -; [1:IN] - - -",
    );
}

#[test]
fn case_w190_every_plain_instance_is_woken() {
    both(
        |s| {
            let f = s.eventfd(0);
            let level = instances(s, f, &[LEVEL; 3]);
            let woken = line![s.write(f, 1), s.look(&level)];
            let g = s.eventfd(0);
            let edge = instances(s, g, &[EDGE; 3]);
            line![woken, s.write(g, 1), s.look(&edge)]
        },
        "8; [0:IN] [1:IN] [2:IN]; 8; [0:IN] [1:IN] [2:IN]",
    );
}

#[test]
fn case_w191_of_exclusive_instances_one_the_first_registered() {
    both(
        |s| {
            let f = s.eventfd(0);
            let waiters = instances(s, f, &[EXCLUSIVE; 4]);
            let woken = line![s.write(f, 1), s.look(&waiters)];
            let (r, w) = s.pipe();
            let waiters = instances(s, r, &[EXCLUSIVE; 4]);
            line![woken, s.send(w, 1), s.look(&waiters)]
        },
        "8; [0:IN] - - -; 1; [0:IN] - - -",
    );
}

#[test]
fn case_w192_also_edge_triggered() {
    both(
        |s| {
            let f = s.eventfd(0);
            let waiters = instances(s, f, &[EXCLUSIVE | Mask::ET; 4]);
            line![s.write(f, 1), s.look(&waiters)]
        },
        "8; [0:IN] - - -",
    );
}

#[test]
fn case_w193_all_plain_ones_and_one_exclusive() {
    both(
        |s| {
            let f = s.eventfd(0);
            let masks = [EXCLUSIVE, LEVEL, EXCLUSIVE, LEVEL, EXCLUSIVE, EXCLUSIVE];
            let waiters = instances(s, f, &masks);
            line![s.write(f, 1), s.look(&waiters)]
        },
        "8; [0:IN] [1:IN] - [3:IN] - -",
    );
}

#[test]
fn case_w196_the_next_write_goes_to_the_next_that_is_blocked() {
    both(
        |s| {
            let f = s.eventfd(0);
            let waiters = instances(s, f, &[EXCLUSIVE | Mask::ET; 4]);
            [0; 4]
                .map(|_| {
                    s.write(f, 1);
                    let woken = s.look(&waiters);
                    s.read(f);
                    woken
                })
                .join("; ")
        },
        "[0:IN] - - -; - [1:IN] - -; - - [2:IN] -; - - - [3:IN]",
    );
}

#[test]
fn case_w198_with_nobody_blocked_every_exclusive_instance_is_told() {
    both(
        |s| {
            let f = s.eventfd(0);
            let epolls: [Fd; 4] = std::array::from_fn(|data| {
                let e = s.epoll();
                s.add(e, f, EXCLUSIVE, data as u64);
                e
            });
            line![s.write(f, 1), epolls.map(|e| s.wait(e)).join(" ")]
        },
        "8; [0:IN] [1:IN] [2:IN] [3:IN]",
    );
}

/// What the epoll side gets is a race; that the reader returns is not.
#[test]
fn case_w203_a_blocked_reader_in_front_is_served() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            let reader = s.reader(f);
            instances(s, f, &[EXCLUSIVE]);
            line![s.write(f, 1), s.look(&[reader])]
        },
        "8; 8:1",
    );
}

#[test]
fn case_w204_a_blocked_reader_behind_a_plain_registration_is_served() {
    both(
        |s| {
            let f = s.eventfd_with(0, 0);
            instances(s, f, &[LEVEL]);
            let reader = s.reader(f);
            line![s.write(f, 1), s.look(&[reader])]
        },
        "8; 8:1",
    );
}

/// The poller collects afterwards, if there is something left.
#[test]
fn case_w207_a_waiter_and_a_poller_of_one_instance() {
    let case = |mask: Mask| {
        move |s: &mut dyn System| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, mask, 1);
            let threads = [s.waiter(e), s.poller(e, Mask::IN)];
            s.write(f, 1);
            let returned = s.look(&threads[..1]);
            line![returned, s.wait(e)]
        }
    };
    both(case(LEVEL), "[1:IN]; [1:IN]");
    both(case(EDGE), "[1:IN]; []");
}

#[test]
fn case_w208_all_pollers_of_an_instance_are_woken_and_the_edge_stays() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, EDGE, 1);
            let pollers = [0; 3].map(|_| s.poller(e, Mask::IN));
            s.write(f, 1);
            line![s.look(&pollers), s.wait(e)]
        },
        "1:IN 1:IN 1:IN; [1:IN]",
    );
}

#[test]
fn case_w212_one_arming_is_one_delivery() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, ONE, 1);
            let workers: Vec<Thread> = (0..6).map(|_| s.waiter(e)).collect();
            let mut deliveries = Vec::new();
            for _ in 0..6 {
                s.write(f, 1);
                s.write(f, 1);
                deliveries.push(s.count(&workers));
                s.modify(e, f, ONE, 1);
                deliveries.push(s.count(&workers));
                s.read(f);
            }
            format!("{:?}", deliveries.iter().sum::<usize>())
        },
        "6",
    );
}

#[test]
fn case_s222_closing_under_a_blocked_wait_wakes_nobody() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, LEVEL, 3);
            let waiter = s.waiter(e);
            let closed = line![s.close(e), s.look(&[waiter]), s.write(f, 1), s.look(&[waiter])];
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, LEVEL, 4);
            let timed = s.spawn(Call::Wait { epoll: e, max: 1, timeout: Timeout::Millis(60) });
            s.close(f);
            line![closed, show(&s.join(timed))]
        },
        "0; -; 8; [3:IN]; []",
    );
}

#[test]
fn case_y002_closing_the_instance_leaves_the_wait_its_timeout() {
    both(
        |s| {
            let e = s.epoll();
            let timed = s.spawn(Call::Wait { epoll: e, max: 1, timeout: Timeout::Millis(120) });
            line![s.close(e), show(&s.join(timed))]
        },
        "0; []",
    );
}

#[test]
fn case_s223_adding_and_modifying_wake_a_waiter() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(1));
            let first = s.waiter(e);
            let added = line![s.add(e, f, EDGE, 1), s.look(&[first])];
            let second = s.waiter(e);
            let same = line![s.look(&[second]), s.modify(e, f, EDGE, 2), s.look(&[second])];
            s.modify(e, f, Mask::NONE, 0);
            let third = s.waiter(e);
            line![added, same, s.modify(e, f, LEVEL, 9), s.look(&[third])]
        },
        "0; [1:IN]; -; 0; [2:IN]; 0; [9:IN]",
    );
}

/// Of this case, a few turns instead of a loop.
#[test]
fn case_s224_wakeups_for_nothing_do_not_prolong_a_wait() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            s.add(e, f, Mask::OUT, 1);
            s.write(f, u64::MAX - 1);
            let waiter = s.spawn(Call::Wait { epoll: e, max: 1, timeout: Timeout::Millis(150) });
            let refused = [0; 20].map(|_| s.write(f, 1))[19].clone();
            line![refused, show(&s.join(waiter))]
        },
        "EAGAIN; []",
    );
}

/// Of this case, a few turns by one thread.
#[test]
fn case_w221_what_was_deleted_is_not_told() {
    both(
        |s| {
            let (e, f) = (s.epoll(), s.eventfd(0));
            let stale = (0..1000).filter(|_| {
                s.add(e, f, LEVEL, 1);
                s.write(f, 1);
                s.delete(e, f);
                s.wait(e) != "[]"
            });
            stale.count().to_string()
        },
        "0",
    );
}
