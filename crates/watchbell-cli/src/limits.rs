//! The limit on open descriptors, raised as far as the system lets an ordinary process.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_descriptors(), hard);
        assert_eq!(getrlimit(Resource::Nofile).current, hard);
    }
}
