//! Datagrams in their turn.

use super::sent::{is_of_one_peer, sort};
use super::{Datagram, Incoming, Sent};
use crate::event_loop::{After, Direction, Ready};
use crate::kernel::Sockets;
use crate::net::ToAddress;
use std::io;

impl<K: Sockets> Ready<'_, Datagram<K>> {
    /// Receives one datagram, and charges one message. `None`: there is no more in this turn.
    ///
    /// An error of one peer is skipped, and counted by
    /// [`skipped_errors`](Datagram::skipped_errors): that an earlier datagram has not reached it,
    /// which the kernel tells a socket with `IP_RECVERR`
    /// ([ip(7)](https://man7.org/linux/man-pages/man7/ip.7.html)) and no other.
    ///
    /// # Errors
    ///
    /// Those of [recvfrom(2)](https://man7.org/linux/man-pages/man2/recv.2.html) that concern the
    /// socket, except `WouldBlock`; none is expected. The [type](Datagram) has the example.
    #[doc(alias = "recvfrom")]
    pub fn recv_from(&mut self, buf: &mut [u8]) -> io::Result<Option<Incoming>> {
        loop {
            let received = self.step(
                Direction::Input,
                |socket| match socket.recv_from(buf) {
                    Err(error) if is_of_one_peer(&error) => {
                        socket.skipped_errors += 1;
                        Ok(None)
                    }
                    received => received.map(Some),
                },
                |received| (received.as_ref().map_or(0, |it| it.bytes), After::More),
            )?;
            match received {
                Some(None) => {}
                Some(Some(incoming)) => {
                    self.charge(1);
                    return Ok(Some(incoming));
                }
                None => return Ok(None),
            }
        }
    }

    /// Sends one datagram, whole, to whatever names an address ([`ToAddress`]; `&Address` is the
    /// cheap way), and says what came of it. What is wrong with one peer is no `Err`, and does not
    /// keep the others from being served.
    ///
    /// After [`Sent::PeerFull`] the room in this socket is not told any more, whatever it was
    /// registered for: each attempt at a full peer makes an edge of it, and a handler that tried
    /// again would be run for ever.
    ///
    /// # Errors
    ///
    /// Those of [sendto(2)](https://man7.org/linux/man-pages/man2/send.2.html) that concern the
    /// socket and every peer alike; none is expected.
    ///
    /// # Example
    ///
    /// The [type](Datagram) shows a service that may lose an answer. This one keeps what a client
    /// has no room for, and tries again later.
    ///
    /// ```
    /// use std::{collections::VecDeque, time::Duration};
    /// use watchbell::epoll::Interest;
    /// use watchbell::event_loop::{Direction, EventLoop};
    /// use watchbell::net::{Address, Datagram, Sent};
    /// # let name = |name: &str| {
    /// #     Address::Abstract(format!("watchbell-{name}-{}", std::process::id()).into_bytes())
    /// # };
    /// # let (server, slow) = (Datagram::bind(name("keeps"))?, Datagram::bind(name("slow"))?);
    /// # while server.send_to(b"filled", slow.local_address()?).is_ok() {}
    ///
    /// #[derive(Default)]
    /// struct Kept {
    ///     answers: VecDeque<(Vec<u8>, Address)>,
    ///     has_timer: bool,
    /// }
    ///
    /// let mut events = EventLoop::with(Kept::default())?;
    /// let token = events.add(server, Interest::READABLE, |server, turn| {
    ///     for _ in 0..turn.state().answers.len() {
    ///         let Some((answer, peer)) = turn.state().answers.pop_front() else { break };
    ///         match server.send_to(&answer, &peer)? {
    ///             Sent::Whole => {}
    ///             Sent::NotNow | Sent::PeerFull => turn.state().answers.push_back((answer, peer)),
    ///             Sent::Refused(error) => eprintln!("{peer} is not answered: {error}"),
    ///         }
    ///     }
    ///     // … receives as ever, and then:
    ///     let kept = turn.state();
    ///     if !kept.answers.is_empty() && !kept.has_timer {
    ///         kept.has_timer = true;
    ///         let token = turn.token();
    ///         turn.after(Duration::from_millis(10), move |turn| {
    ///             turn.state().has_timer = false;
    ///             if let Some(token) = token {
    ///                 turn.wake(token, Direction::Output);
    ///             }
    ///             Ok(())
    ///         });
    ///     }
    ///     Ok(())
    /// })?;
    /// # events.state_mut().answers.push_back((b"answer".to_vec(), slow.local_address()?));
    /// # events.wake(token, Direction::Output);
    /// # events.turn(None)?;
    /// # assert_eq!(events.state().answers.len(), 1);
    /// # while slow.recv_from(&mut [0; 8]).is_ok() {}
    /// # while !events.state().answers.is_empty() { events.turn(None)?; }
    /// # assert_eq!(slow.recv_from(&mut [0; 8])?.bytes, 6);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sendto")]
    pub fn send_to(&mut self, buf: &[u8], to: impl ToAddress) -> io::Result<Sent> {
        let to = match to.to_address() {
            Ok(to) => to,
            Err(error) => return Ok(Sent::Refused(error)),
        };
        let sent = self.step(
            Direction::Output,
            |socket| match socket.send_to(buf, &*to) {
                Ok(_) => Ok(Sent::Whole),
                Err(error) => sort(error, &to),
            },
            |sent| (if sent.is_whole() { buf.len() } else { 0 }, After::More),
        )?;
        let sent = sent.unwrap_or(Sent::NotNow);
        if matches!(sent, Sent::PeerFull) {
            self.run().change(|account| account.stand_down(Direction::Output));
        }
        Ok(sent)
    }
}
