//! Input and output of streams in their turn.

use super::{Output, Shutdown, Socket};
use crate::event_loop::{After, Direction, Message, Ready, after_output};
use std::io::{self, ErrorKind, IoSlice};

impl<S: Socket> Ready<'_, S> {
    /// Reads what is there into `buf`, or what the budget still allows of it. `Some(0)` is end of
    /// file, and stays so; the output may still be open.
    ///
    /// When the kernel says that nothing is left, input waits for the next edge with no further
    /// call. If a hang-up or the peer's half-close was told, that is not the end of the matter, and
    /// reading goes on until the read that returns it.
    ///
    /// # Errors
    ///
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recv.2.html), `ECONNRESET` among
    /// them.
    ///
    /// # Panics
    ///
    /// If `buf` is empty: nothing read into nothing would look like end of file.
    #[doc(alias = "TCP_INQ")]
    #[doc(alias = "SO_INQ")]
    pub fn recv(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        assert!(!buf.is_empty(), "an empty buffer reads as end of file");
        if self.has_ended() {
            return Ok(Some(0));
        }
        let room = buf.len().min(self.bytes_left(Direction::Input));
        let received = self.step(
            Direction::Input,
            |socket| socket.stream().recv(&mut buf[..room]),
            |received| {
                let after = match (received.bytes, received.left) {
                    (0, _) => After::End,
                    (_, Some(0)) => After::Boundary,
                    _ => After::More,
                };
                (received.bytes, after)
            },
        )?;
        Ok(received.map(|received| received.bytes))
    }

    /// Sends `bytes` behind what is queued: what the kernel and the budget do not take now is
    /// queued, and written in later turns.
    ///
    /// At the queue's high-water mark, input is paused until it has come down to the low one. A
    /// [`pause`](Ready::pause) of the handler's own is another matter: neither takes the other
    /// back.
    ///
    /// # Errors
    ///
    /// [`QueueFull`](super::QueueFull) as an [`io::Error`] if the queue had no room for all of
    /// `bytes`, of which none was taken; `BrokenPipe` if the output was
    /// [finished](Output::finish); otherwise those of
    /// [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html).
    pub fn send(&mut self, output: &mut Output, bytes: &[u8]) -> io::Result<()> {
        if output.is_ending() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        output.check_room(bytes.len())?;
        let mut rest = bytes;
        if output.is_empty() {
            while !rest.is_empty() {
                match self.send_once([IoSlice::new(rest), IoSlice::new(&[])])? {
                    Some(taken) => rest = &rest[taken..],
                    None => break,
                }
            }
        }
        output.push(rest);
        output.set_writer(self.run().token);
        self.hold(output);
        Ok(())
    }

    /// Writes the queue out, until it is empty, the kernel takes no more, or the budget is spent.
    /// `true`: it is empty, and where the output was [finished](Output::finish) the peer was told.
    ///
    /// Call it first in a handler that sends; while the queue is empty it makes no system call.
    ///
    /// # Errors
    ///
    /// Those of [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html) and
    /// [shutdown(2)](https://man7.org/linux/man-pages/man2/shutdown.2.html).
    pub fn flush(&mut self, output: &mut Output) -> io::Result<bool> {
        while !output.is_empty() {
            match self.send_once(output.slices())? {
                Some(taken) => output.consume(taken),
                None => break,
            }
        }
        if output.has_end_due() {
            self.get_ref().stream().shutdown(Shutdown::Write)?;
            output.set_finished();
        }
        self.release(output);
        Ok(output.is_empty())
    }

    /// Whether a connection that was in progress is connected. `None`: not yet; the handler is run
    /// again when that is decided. Once connected, output is watched for only while there is some.
    ///
    /// It is the edge of output that decides: a stream that is not registered for
    /// [`WRITABLE`](crate::epoll::Interest::WRITABLE) counts as connected.
    ///
    /// # Errors
    ///
    /// Why it could not be connected, as
    /// [connect(2)](https://man7.org/linux/man-pages/man2/connect.2.html) names it: `ECONNREFUSED`,
    /// `ETIMEDOUT`, `EHOSTUNREACH`.
    #[doc(alias = "EINPROGRESS")]
    pub fn connected(&mut self) -> io::Result<Option<()>> {
        if !self.run().directions.is_standing(Direction::Output) {
            return Ok(Some(()));
        }
        let connected = self.step(
            Direction::Output,
            |socket| match socket.stream().peer_address() {
                Ok(_) => Ok(()),
                // ENOTCONN: in progress, or it has failed and the socket knows why.
                Err(error) if error.kind() == ErrorKind::NotConnected => {
                    Err(socket.stream().take_error()?.unwrap_or(ErrorKind::WouldBlock.into()))
                }
                Err(error) => Err(error),
            },
            |()| (0, After::More),
        )?;
        if connected.is_some() {
            self.run().directions.stand_down(Direction::Output);
        }
        Ok(connected)
    }

    /// One sendmsg(2) of the first bytes, within the budget.
    fn send_once(&mut self, bufs: [IoSlice<'_>; 2]) -> io::Result<Option<usize>> {
        let offered = bufs[0].len() + bufs[1].len();
        let most = self.bytes_left(Direction::Output);
        let first = &bufs[0][..bufs[0].len().min(most)];
        let second = &bufs[1][..bufs[1].len().min(most - first.len())];
        let bufs = [IoSlice::new(first), IoSlice::new(second)];
        let bufs = if second.is_empty() { &bufs[..1] } else { &bufs[..] };
        self.step(
            Direction::Output,
            |socket| socket.stream().send(bufs),
            |taken| (*taken, after_output(*taken, offered)),
        )
    }

    /// After writing: those that fill the queue may go on once it is at its low-water mark.
    fn release(&mut self, output: &mut Output) {
        let token = self.run().token;
        output.set_writer(token);
        for filler in output.releases() {
            if filler == token {
                self.run().directions.let_input_go();
            } else {
                self.run().messages.push((filler, Message::Release));
            }
        }
    }
}

impl<S> Ready<'_, S> {
    /// Queues `bytes`, which this source has brought, for the connection that `output` belongs to:
    /// one half of a relay. That connection is run to write them out.
    ///
    /// At the queue's high-water mark the input of *this* source is held, which fills it, until the
    /// other has written it down to the low one. If the other connection ends before, this one is
    /// to be closed too, or [released](crate::event_loop::Turn::release).
    ///
    /// `examples/relay.rs` is a whole relay.
    ///
    /// # Errors
    ///
    /// [`QueueFull`](super::QueueFull) as an [`io::Error`] if the queue had no room for all of
    /// `bytes`, of which none was taken; `BrokenPipe` if the output was
    /// [finished](Output::finish).
    pub fn forward(&mut self, output: &mut Output, bytes: &[u8]) -> io::Result<()> {
        if output.is_ending() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        output.check_room(bytes.len())?;
        output.push(bytes);
        self.hold(output);
        self.wake_writer(output);
        Ok(())
    }

    /// Ends the output after what is queued, as [`Output::finish`] does, for the connection that
    /// `output` belongs to, which is run to write the rest and to tell its peer.
    pub fn forward_end(&mut self, output: &mut Output) {
        output.finish();
        self.wake_writer(output);
    }

    fn wake_writer(&mut self, output: &Output) {
        // One that has not been run yet has its first run before it.
        if let Some(writer) = output.writer() {
            self.run().messages.push((writer, Message::Write));
        }
    }

    /// After filling: at the high-water mark this source waits.
    fn hold(&mut self, output: &mut Output) {
        let token = self.run().token;
        if output.holds(token) {
            self.run().directions.hold_input();
        }
    }
}
