//! B. eventfd: the values of reads and writes.

use crate::compare::system::both;
use crate::line;
use watchbell_model::EFD_SEMAPHORE;

const MAX: u64 = u64::MAX - 1;

#[test]
fn case_e030_writes_add_up_and_a_read_takes_all() {
    both(
        |s| {
            let f = s.eventfd(0);
            let first = line![s.write(f, 2), s.write(f, 3), s.read(f), s.read(f)];
            line![first, s.write(f, 2), s.write(f, 4), s.write(f, 1), s.read(f)]
        },
        "8; 8; 8:5; EAGAIN; 8; 8; 8; 8:7",
    );
}

#[test]
fn case_e031_a_semaphore_is_read_one_by_one() {
    both(
        |s| {
            let f = s.semaphore(3);
            line![s.read(f), s.read(f), s.read(f), s.read(f)]
        },
        "8:1; 8:1; 8:1; EAGAIN",
    );
}

#[test]
fn case_e032_posts_of_two_and_three_feed_five() {
    both(
        |s| {
            let f = s.semaphore(2);
            let first = line![s.read(f), s.read(f), s.read(f), s.write(f, 2), s.write(f, 3)];
            let ones = [0; 5].map(|_| s.read(f)).join(" ");
            line![first, ones, s.read(f)]
        },
        "8:1; 8:1; EAGAIN; 8; 8; 8:1 8:1 8:1 8:1 8:1; EAGAIN",
    );
}

#[test]
fn case_e033_a_short_buffer_is_einval() {
    both(
        |s| {
            let f = s.eventfd(5);
            let short = (0..8).map(|room| s.receive(f, room)).collect::<Vec<_>>().join(" ");
            line![short, s.read(f)]
        },
        "EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL; 8:5",
    );
}

#[test]
fn case_e034_a_long_buffer_gets_eight_bytes() {
    both(
        |s| {
            let long = [9, 16, 128].map(|room| {
                let f = s.eventfd(5);
                s.receive(f, room)
            });
            long.join(" ")
        },
        "8:5 8:5 8:5",
    );
}

#[test]
fn case_e035_a_short_write_is_einval() {
    both(
        |s| {
            let f = s.eventfd(0);
            let short = (0..8).map(|count| s.send(f, count)).collect::<Vec<_>>().join(" ");
            line![short, s.read(f)]
        },
        "EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL; EAGAIN",
    );
}

#[test]
fn case_e036_a_long_write_is_einval_too() {
    both(
        |s| {
            let f = s.eventfd(0);
            let long = [9, 16, 24, 128].map(|count| s.send(f, count));
            line![long.join(" "), s.read(f)]
        },
        "EINVAL EINVAL EINVAL EINVAL; EAGAIN",
    );
}

#[test]
fn case_e037_u64_max_is_einval_even_where_a_write_could_block() {
    both(
        |s| {
            let (nonblocking, blocking) = (s.eventfd(0), s.eventfd_with(0, 0));
            let (semaphore, five) = (s.eventfd_with(0, EFD_SEMAPHORE), s.eventfd(5));
            let refused = [nonblocking, blocking, semaphore, five].map(|f| s.write(f, u64::MAX));
            line![refused.join(" "), s.read(five)]
        },
        "EINVAL EINVAL EINVAL EINVAL; 8:5",
    );
}

#[test]
fn case_e038_the_largest_count() {
    both(
        |s| {
            let f = s.eventfd(0);
            line![s.write(f, MAX), s.read(f), s.read(f)]
        },
        "8; 8:18446744073709551614; EAGAIN",
    );
}

#[test]
fn case_e039_what_would_pass_it_is_refused_and_adds_nothing() {
    both(
        |s| {
            let f = s.eventfd(0);
            let full = line![s.write(f, MAX), s.write(f, 1), s.write(f, 1), s.write(f, MAX)];
            line![full, s.read(f), s.write(f, 1)]
        },
        "8; EAGAIN; EAGAIN; EAGAIN; 8:18446744073709551614; 8",
    );
}

#[test]
fn case_e040_a_write_of_zero_makes_nothing_readable() {
    use watchbell_model::Mask;
    both(
        |s| {
            let f = s.eventfd(0);
            let zero = line![s.write(f, 0), s.poll(f, Mask::IN), s.read(f)];
            line![zero, s.write(f, 1), s.write(f, 0), s.read(f)]
        },
        "8; 0:0; EAGAIN; 8; 8; 8:1",
    );
}

#[test]
fn case_e041_zero_always_fits() {
    both(
        |s| {
            let f = s.eventfd(0);
            line![s.write(f, MAX), s.write(f, 0), s.write(f, 0), s.read(f)]
        },
        "8; 8; 8; 8:18446744073709551614",
    );
}

#[test]
fn case_e042_the_boundary_from_one() {
    use watchbell_model::Mask;
    both(
        |s| {
            let f = s.eventfd(1);
            line![s.write(f, MAX), s.write(f, MAX - 1), s.poll(f, Mask::IN | Mask::OUT), s.read(f)]
        },
        "EAGAIN; 8; 1:IN; 8:18446744073709551614",
    );
}

#[test]
fn case_e054_a_semaphore_read_frees_exactly_one_unit() {
    both(
        |s| {
            let f = s.semaphore(0);
            let full = line![s.write(f, MAX), s.write(f, 1), s.read(f), s.write(f, 2)];
            line![full, s.write(f, 1), s.write(f, 1)]
        },
        "8; EAGAIN; 8:1; EAGAIN; 8; EAGAIN",
    );
}

#[test]
fn case_e056_a_closed_number_is_ebadf() {
    both(
        |s| {
            let f = s.eventfd(0);
            line![s.close(f), s.read(f), s.write(f, 1)]
        },
        "0; EBADF; EBADF",
    );
}
