//! One conversation, several kernels: byte-exact on all of them, whatever their habits.

mod support;

use support::habits::{Habitual, Interrupting, Silent, Trickling};
use support::sockets::{Conversation, any_name, any_port};
use support::watchdog;
use watchbell::event_loop::Budget;
use watchbell::kernel::{Linux, Sockets};

/// On TCP and on Unix-domain sockets, with the default budget and with a tight one.
fn e08_body<K: Sockets>(kernel: K, bytes: usize) {
    watchdog(move || {
        let tight = Budget::default().operations(3).bytes(1000);
        for budget in [Budget::default(), tight] {
            let conversation = Conversation { bytes, budget, ..Conversation::default() };
            conversation.hold(kernel.clone(), &any_port());
            conversation.hold(kernel.clone(), &any_name());
        }
    });
}

#[test]
fn e08_an_echo_is_byte_exact_and_ends_on_linux() {
    e08_body(Linux, 300_000);
}

#[test]
fn e08_an_echo_is_byte_exact_where_the_kernel_does_not_say_what_is_left() {
    e08_body(Habitual::new(Linux, Silent), 300_000);
}

#[test]
fn e04_an_echo_is_byte_exact_where_every_second_call_is_interrupted() {
    e08_body(Habitual::new(Linux, Interrupting::default()), 300_000);
}

#[test]
fn e08_an_echo_is_byte_exact_where_a_call_moves_seven_bytes_at_most() {
    e08_body(Habitual::new(Linux, Trickling::default()), 20_000);
}

#[test]
fn e08_an_echo_is_byte_exact_with_all_bad_habits_at_once() {
    let trickling = Habitual::new(Linux, Trickling::default());
    let silent = Habitual::new(trickling, Silent);
    e08_body(Habitual::new(silent, Interrupting::default()), 20_000);
}
