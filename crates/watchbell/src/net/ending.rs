//! The orderly end of a connection whose peer still sends.

use super::Socket;
use crate::event_loop::Ready;
use std::io;

/// How much is thrown away by one read.
const AT_ONCE: usize = 16 * 1024;

impl<S: Socket> Ready<'_, S> {
    /// Reads and throws away what the peer still sends, within the budget, until end of file.
    /// `true`: that was met, and the source may be closed without losing anything. `false`: not in
    /// this turn, or input is paused or held; the handler is run again when there is more.
    ///
    /// # The end that loses nothing
    ///
    /// Closing a TCP socket while input is unread, or while the peer sends more, tells the peer by
    /// a reset, and what was written but has not yet arrived is thrown away: the last answer is cut
    /// off. A Unix-domain peer loses nothing that was written, but meets `ECONNRESET` all the same.
    /// So the end has four steps:
    ///
    /// 1. [`finish`](super::Output::finish) the output after the last byte,
    /// 2. [`flush`](Ready::flush) it until it [is finished](super::Output::is_finished): the peer
    ///    then reads end of file,
    /// 3. drain the input until the peer has ended it, too, for it has then read all,
    /// 4. close.
    ///
    /// A peer that never ends would keep the source for ever: a timer ends that.
    ///
    /// # Errors
    ///
    /// As [`recv`](Ready::recv): `ECONNRESET` if the peer has gone without reading all.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{io::{Read, Write}, net::{TcpListener, TcpStream}, os::fd::OwnedFd};
    /// # use std::time::Duration;
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, net::{Output, Stream}};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// # let mut client = TcpStream::connect(listener.local_addr()?)?;
    /// # let stream = Stream::try_from(OwnedFd::from(listener.accept()?.0))?;
    /// # client.write_all(b"an offer that nobody reads")?;
    /// # let mut events = EventLoop::new()?;
    /// let (mut output, mut answer) = (Output::default(), Some(b"not today"));
    /// let token = events.add(stream, Interest::READABLE, move |stream, turn| {
    ///     if let Some(answer) = answer.take() {
    ///         stream.send(&mut output, answer)?;
    ///         output.finish();
    ///     }
    ///     stream.flush(&mut output)?;
    ///     # turn.stop();
    ///     if stream.drain_input()? && output.is_finished() { turn.close() } else { Ok(()) }
    /// })?;
    /// events.after(Duration::from_secs(5), move |turn| {
    ///     turn.remove(token); // whoever has not ended by now is cut off
    ///     Ok(())
    /// });
    /// events.run()?;
    /// # let mut heard = [0; 9];
    /// # client.read_exact(&mut heard)?;
    /// # assert_eq!((&heard, client.read(&mut [0])?), (b"not today", 0));
    /// # drop(client);
    /// # while !events.is_empty() { events.turn(None)?; }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "SO_LINGER")]
    #[doc(alias = "lingering close")]
    pub fn drain_input(&mut self) -> io::Result<bool> {
        let mut thrown_away = [0; AT_ONCE];
        while let Some(read) = self.recv(&mut thrown_away)? {
            if read == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
