//! What a pool's connections are for.

use super::{Connection, Worker};
use crate::event_loop::Turn;
use crate::kernel::{Linux, Sockets};
use crate::net::Address;
use std::io;

/// A service that a pool runs. A value of it is the state of one worker.
pub trait Service<K: Sockets = Linux>: Sized + 'static {
    /// A worker has accepted a connection. What is to become of it is the service's matter: usually
    /// it goes into the worker's loop, by [`add`](crate::event_loop::Registry::add), with a
    /// handler. Dropped, it is closed and counted as processed.
    ///
    /// A source of the loop that is a `Connection` counts as owned by the worker; one that is
    /// wrapped in a source of another type does not ([`Socket`](crate::net::Socket)).
    ///
    /// The worker's state is `turn.state()`. No source's handler is running: the listener is the
    /// pool's, and `turn.close()` is an error.
    ///
    /// # Errors
    ///
    /// Whatever makes the service refuse the connection; the worker goes on accepting. So it does
    /// if the service panics. The [module](super) has the example.
    #[doc(alias = "accept4")]
    fn accepted(
        connection: Connection<K>,
        peer: Address,
        turn: &mut Turn<'_, Worker<Self, K>, K>,
    ) -> io::Result<()>;
}
