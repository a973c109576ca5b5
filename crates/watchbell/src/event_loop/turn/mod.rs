//! One turn, from top to bottom.
//!
//! A turn waits, harvests the events into the accounts, runs every source that has a turn once, in
//! order, fires the timers that are due, and heals the interest list. A source that becomes
//! runnable during the turn joins it, unless it has been run in it already: then it waits for the
//! next, behind the others. So a source that floods cannot keep a quiet one waiting longer than one
//! run of each runnable source, and no wait stands between two pieces of work that are both there.
//!
//! | file | what it does |
//! | --- | --- |
//! | `wait.rs` | waits for events, no longer than the timers allow; arms and looks at the queues |
//! | `harvest.rs` | moves the events into the accounts |
//! | `runs.rs` | runs the sources |
//! | `after.rs` | what a run has left: the short way out, and the long one |
//! | `fire.rs` | fires the timers |
//! | `heal.rs` | leaves ghosts behind |

mod after;
mod fire;
mod harvest;
mod heal;
mod runs;
mod wait;

use super::registry::Registry;
use crate::error::Error;
use crate::kernel::Kernel;
use std::time::Duration;

impl<D, K: Kernel> Registry<D, K> {
    pub(super) fn turn(&mut self, state: &mut D, longest: Option<Duration>) -> Result<(), Error> {
        self.stats.turns += 1;
        self.wait(longest)?;
        self.harvest();
        self.look_at_bells();
        self.read_inbox();
        self.run_sources(state);
        self.fire_timers(state);
        self.read_inbox();
        self.report_failures(state);
        self.heal();
        Ok(())
    }
}
