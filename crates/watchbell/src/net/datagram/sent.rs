//! What comes of a datagram, and whose error is whose.

use crate::net::Address;
use rustix::io::Errno;
use std::io;

/// What came of a datagram that was to be sent by
/// [`Ready::send_to`](crate::event_loop::Ready::send_to), which has an example.
///
/// Unless it was taken, it is the caller's: to drop, or to keep and to try again later.
#[derive(Debug)]
#[must_use = "a datagram that was not taken is lost, or kept by the caller"]
pub enum Sent {
    /// The kernel has taken the whole datagram. That is not to say that it arrives.
    Whole,
    /// There is no room in this socket, or no more in this turn. The handler is run again when
    /// there is.
    NotNow,
    /// The queue of this Unix-domain peer is full. Other peers are not concerned.
    ///
    /// Nobody tells when it has room again: the kernel tells of this socket's room only, and does
    /// so after each refused attempt. So it is waited for by time: keep the datagram, and
    /// [`wake`](crate::event_loop::Registry::wake) the source by a
    /// [timer](crate::event_loop::Registry::after).
    PeerFull,
    /// It was refused, and this peer or this datagram is the reason: the peer has gone
    /// (`ECONNREFUSED`, `ENOENT`), cannot be reached, has no name or port to send to (`EINVAL`), or
    /// the datagram is too long (`EMSGSIZE`).
    Refused(io::Error),
}

impl Sent {
    /// Whether the kernel has taken it.
    ///
    /// ```
    /// use watchbell::net::Sent;
    ///
    /// assert!(Sent::Whole.is_whole());
    /// assert!(!Sent::PeerFull.is_whole());
    /// ```
    pub fn is_whole(&self) -> bool {
        matches!(self, Sent::Whole)
    }
}

/// Sorts what sendto(2) to `to` has failed with. `Err`: an error of the socket, its own boundary or
/// an interruption.
///
/// What is not known to be the socket's is the peer's: whom to send to comes from outside, and must
/// not end the service for the others.
pub(super) fn sort(error: io::Error, to: &Address) -> io::Result<Sent> {
    match error.kind() {
        // A Unix-domain datagram lies in its receiver's queue, whose length is the limit.
        io::ErrorKind::WouldBlock if to.as_inet().is_none() => return Ok(Sent::PeerFull),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => return Err(error),
        _ => {}
    }
    match Errno::from_io_error(&error) {
        Some(Errno::BADF | Errno::FAULT | Errno::NOTSOCK | Errno::OPNOTSUPP) => Err(error),
        _ => Ok(Sent::Refused(error)),
    }
}

/// Whether recvfrom(2) has passed on what became of a datagram that was sent to one peer, as it
/// does after `IP_RECVERR` of ip(7): the ICMP errors, as the kernel names them.
pub(super) fn is_of_one_peer(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::ACCESS
                | Errno::CONNREFUSED
                | Errno::CONNRESET
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::MSGSIZE
                | Errno::NETUNREACH
                | Errno::NONET
                | Errno::NOPROTOOPT
                | Errno::OPNOTSUPP
                | Errno::PROTO
                | Errno::TIMEDOUT
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [Errno; 4] = [Errno::BADF, Errno::FAULT, Errno::NOTSOCK, Errno::OPNOTSUPP];

    #[test]
    fn e04_only_errors_of_the_socket_end_a_service_that_sends() {
        let unix = Address::Abstract(b"peer".to_vec());
        let inet = Address::Inet(([127, 0, 0, 1], 7).into());
        // errno(3): the kernel returns no number beyond this one.
        for number in 1..=4095 {
            let errno = Errno::from_raw_os_error(number);
            for to in [&unix, &inet] {
                let sorted = sort(errno.into(), to);
                let is_own = OWN.contains(&errno) || errno == Errno::INTR;
                match sorted {
                    Err(error) if errno == Errno::AGAIN => assert!(to == &inet, "{error}"),
                    Ok(Sent::PeerFull) => assert!(errno == Errno::AGAIN && to == &unix),
                    Err(error) => assert!(is_own, "{error}"),
                    Ok(sent) => assert!(!is_own && !sent.is_whole(), "{errno:?}"),
                }
            }
        }
    }

    #[test]
    fn e04_an_address_that_cannot_be_sent_to_is_the_peer_s() {
        let sorted = sort(io::ErrorKind::InvalidInput.into(), &Address::Untold);
        assert!(matches!(sorted, Ok(Sent::Refused(_))));
    }

    #[test]
    fn e04_errors_of_the_socket_are_not_skipped_in_reading() {
        for errno in [Errno::BADF, Errno::FAULT, Errno::INVAL, Errno::NOMEM, Errno::NOTSOCK] {
            assert!(!is_of_one_peer(&errno.into()), "{errno:?}");
        }
        assert!(!is_of_one_peer(&io::Error::other("mine")));
    }
}
