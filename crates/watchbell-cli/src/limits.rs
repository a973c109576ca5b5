//! The limits of the system: that on open descriptors, raised as far as an ordinary process may,
//! and words for what does not fit into them.

use anyhow::Error;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft `RLIMIT_NOFILE` to the hard one and returns what holds now; `None`: no limit.
///
/// The soft limit is often 1024, for the sake of programs that use select(2); this one does not.
/// A refusal is no error: the server starts with the limit that it has, and pauses accepting where
/// that runs out. See [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html).
#[doc(alias = "setrlimit")]
pub fn raise_descriptors() -> Option<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Nofile).current
}

/// What a worker has open, and the rest of an idle server beside its listeners: the standard
/// streams, the main thread's loop and its signals.
const OF_A_WORKER: usize = 3;
const OF_THE_REST: usize = 9;

/// Says of an error that kept the server from starting which limit it is about.
pub fn explain(error: Error, workers: usize, listeners: usize) -> Error {
    let errno = error.chain().find_map(|cause| Errno::from_io_error(cause.downcast_ref()?));
    match errno {
        Some(Errno::MFILE) => {
            let needed = OF_A_WORKER * workers + listeners + OF_THE_REST;
            let limit = getrlimit(Resource::Nofile).current;
            let limit = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
            let plural = if workers == 1 { " needs" } else { "s need" };
            error.context(format!(
                "{workers} worker{plural} about {needed} descriptors and one a connection, and \
                 the limit (ulimit -n) is {limit}"
            ))
        }
        // What pthread_create(3) says of either limit.
        Some(Errno::AGAIN | Errno::NOMEM) => error.context(format!(
            "no room for the threads of {workers} workers: see the limits on processes (ulimit -u) \
             and on memory (ulimit -v)"
        )),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_descriptors(), hard);
        assert_eq!(getrlimit(Resource::Nofile).current, hard);
    }

    /// On the whole server it would take a process that has run out of memory, and may abort.
    #[test]
    fn threads_that_have_no_room_point_at_their_limits() {
        let error = Error::new(std::io::Error::from(Errno::AGAIN)).context("workers");
        let line = format!("{:#}", explain(error, 1024, 1));
        assert!(line.contains("1024 workers") && line.contains("ulimit -u"), "{line}");
        let error = Error::new(std::io::Error::from(Errno::ADDRINUSE));
        let line = format!("{error:#}");
        assert_eq!(format!("{:#}", explain(error, 1024, 1)), line);
    }
}
