//! Serving: the workers, from the first accept to the ledger.

use crate::args::Settings;
use crate::bind::Listener;
use crate::report::Summary;
use anyhow::{Result, bail};

/// Serves on `listeners` until a signal ends it, and calls `ready` once signals are heard and
/// connections are accepted.
///
/// # Errors
///
/// What kept the server from starting; nothing was accepted then.
pub fn serve(_: &Settings, _: Vec<Listener>, _ready: impl FnOnce()) -> Result<Summary> {
    bail!("no service is built in")
}
