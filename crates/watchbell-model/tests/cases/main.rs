//! The cases: facts that were observed on Linux 6.18, each run on the model and on Linux.
//!
//! A test's name begins with the id of its case, and its expected line is what Linux was seen to
//! do: `[1:IN]` is one event whose data is 1, `[]` none; `8:5` is eight bytes read that say 5; a
//! poll is `count:masks`; a name in capitals is an error; `-` is a thread that is blocked. One file
//! a section. docs/semantics.md names the cases that are left out, and why.

#[path = "../compare/mod.rs"]
mod compare;

mod a_eventfd_descriptor;
mod b_eventfd_values;
mod c_eventfd_blocking;
mod d_eventfd_polled;
mod e_epoll_descriptor;
mod f_ctl_errors;
mod g_ctl_masks;
mod h_nested;
mod i_wait_arguments;
mod j_edges;
mod j_rearming;
mod k_oneshot;
mod l_order;
mod m_wakeups;
mod n_lifetime;
mod o_targets;
mod p_selftests;
mod q_found;
mod semantics;

use compare::arms::OnLinux;
use compare::linux::Linux;
use compare::system::executed;

/// What [`OnLinux`] executes; by itself it does nothing.
#[test]
fn executed_program() {
    let variable = |name| std::env::var(name).ok();
    let (Some(base), Some(numbers), Some(epoll)) =
        (variable("EXECUTED_BASE"), variable("EXECUTED_NUMBERS"), variable("EXECUTED_EPOLL"))
    else {
        return;
    };
    let number = |text: &str| text.parse::<i32>().expect("a number");
    let numbers: Vec<i32> = numbers.split(',').map(number).collect();
    let linux = Linux::at(number(&base));
    eprintln!("the numbers start at {}", linux.base());
    let report = executed(&mut OnLinux::inherited(linux), &numbers, number(&epoll));
    #[allow(clippy::print_stdout, reason = "its output is what the test reads")]
    {
        println!("executed: {report}");
    }
}
