//! Input and output of streams in their turn.

use super::{Output, Shutdown, Socket};
use crate::event_loop::{After, Direction, Ready, Wish, after_output};
use std::io::{self, ErrorKind, IoSlice};

impl<S: Socket> Ready<'_, S> {
    /// Reads what is there into `buf`, and returns how many bytes that was. `Some(0)` is end of
    /// file, and stays so; the output may still be open. `None`: there is no more in this turn, or
    /// input is paused or held.
    ///
    /// When the kernel says that nothing is left, input waits for the next edge with no further
    /// call. If a hang-up or the peer's half-close was told, that is not the end of the matter, and
    /// reading goes on until the read that returns it.
    ///
    /// # Errors
    ///
    /// Those of [recvmsg(2)](https://man7.org/linux/man-pages/man2/recv.2.html), `ECONNRESET` among
    /// them. [`send`](Ready::send) has the example.
    ///
    /// # Panics
    ///
    /// If `buf` is empty: nothing read into nothing would look like end of file.
    #[doc(alias = "recvmsg")]
    #[doc(alias = "TCP_INQ")]
    #[doc(alias = "SO_INQ")]
    pub fn recv(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        assert!(!buf.is_empty(), "an empty buffer reads as end of file");
        if self.has_ended() {
            return Ok(Some(0));
        }
        let received = self.step(
            Direction::Input,
            |socket| socket.stream().recv(buf),
            |received| {
                let after = match (received.bytes, received.left) {
                    (0, _) => After::End,
                    (_, Some(0)) => After::Drained,
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
    /// At the queue's high-water mark *this source's own* input is held, until a
    /// [`flush`](Ready::flush) has brought the queue down to the low one: a peer that does not read
    /// its answers is not read from. For bytes that another source brings there is
    /// [`forward`](Ready::forward). A [`pause`](Ready::pause) of the handler's own is another
    /// matter: neither takes the other back.
    ///
    /// # Errors
    ///
    /// [`QueueFull`](super::QueueFull) as an [`io::Error`] if the queue had no room for all of
    /// `bytes`, of which none was taken; `BrokenPipe` if the output was
    /// [finished](Output::finish); otherwise those of
    /// [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html).
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{io::{Read, Write}, os::fd::OwnedFd, os::unix::net::UnixStream};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, net::{Output, Stream}};
    /// # let (mut client, server) = UnixStream::pair()?;
    /// # let server = Stream::try_from(OwnedFd::from(server))?;
    /// # let mut events = EventLoop::new()?;
    /// # client.write_all(b"ahoy")?;
    /// let mut output = Output::default();
    /// events.add(server, Interest::READABLE, move |stream, turn| {
    ///     stream.flush(&mut output)?; // what earlier turns have left
    ///     let mut buf = [0; 4096];
    ///     while let Some(read @ 1..) = stream.recv(&mut buf)? {
    ///         stream.send(&mut output, &buf[..read])?;
    ///     }
    ///     # turn.stop();
    ///     if stream.has_ended() { turn.close() } else { Ok(()) }
    /// })?;
    /// # events.run()?;
    /// # client.read_exact(&mut [0; 4])?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sendmsg")]
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
        output.written_by(self.run().token());
        self.hold(output);
        Ok(())
    }

    /// Writes the queue out, until it is empty, the kernel takes no more, or the budget is spent.
    /// `true`: it is empty, and where the output was [finished](Output::finish) the peer was told.
    /// At the low-water mark, whoever fills the queue may go on: this source or, of a relay, the
    /// other.
    ///
    /// Call it first in a handler that sends; while the queue is empty it makes no system call.
    ///
    /// # Errors
    ///
    /// Those of [sendmsg(2)](https://man7.org/linux/man-pages/man2/send.2.html) and
    /// [shutdown(2)](https://man7.org/linux/man-pages/man2/shutdown.2.html). [`send`](Ready::send)
    /// has the example.
    #[doc(alias = "sendmsg")]
    #[doc(alias = "SHUT_WR")]
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
    /// `ETIMEDOUT`, `EHOSTUNREACH`. [`Stream::connect`](super::Stream::connect) has the example.
    #[doc(alias = "SO_ERROR")]
    #[doc(alias = "EINPROGRESS")]
    pub fn connected(&mut self) -> io::Result<Option<()>> {
        if !self.run().account().is_standing(Direction::Output) {
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
            self.run().change(|account| account.stand_down(Direction::Output));
        }
        Ok(connected)
    }

    /// One sendmsg(2) of the first bytes, within the budget.
    fn send_once(&mut self, bufs: [IoSlice<'_>; 2]) -> io::Result<Option<usize>> {
        let offered = bufs[0].len() + bufs[1].len();
        let bufs = if bufs[1].is_empty() { &bufs[..1] } else { &bufs[..] };
        self.step(
            Direction::Output,
            |socket| socket.stream().send(bufs),
            |taken| (*taken, after_output(*taken, offered)),
        )
    }

    /// After writing: those that fill the queue may go on once it is at its low-water mark.
    fn release(&mut self, output: &mut Output) {
        output.written_by(self.run().token());
        if output.release() {
            self.run().look_at_holds(); // this source may be one of them
        }
    }
}

impl<S> Ready<'_, S> {
    /// Queues `bytes`, which this source has brought, for the connection that `output` belongs to:
    /// one half of a relay. That connection is run to write them out, by [`flush`](Ready::flush).
    /// (One that has not yet sent or flushed anything is named by [`Output::written_by`].)
    ///
    /// At the queue's high-water mark the input of *this* source is held, which fills it, until the
    /// other has written it down to the low one. The other's input is left alone: it fills another
    /// queue. If the other connection ends before, this one goes on, and its next call is refused.
    ///
    /// `examples/relay.rs` is a whole relay.
    ///
    /// # Errors
    ///
    /// [`QueueFull`](super::QueueFull) as an [`io::Error`] if the queue had no room for all of
    /// `bytes`, of which none was taken; `BrokenPipe` if the output was [finished](Output::finish),
    /// or the source that wrote it out is gone. It makes no system call.
    ///
    /// # Example
    ///
    /// ```
    /// # use std::{cell::RefCell, rc::Rc};
    /// # use std::{io::{Read, Write}, net::Shutdown, os::fd::OwnedFd, os::unix::net::UnixStream};
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, net::{Output, Stream}};
    /// # let ((mut near, source), (sink, mut far)) = (UnixStream::pair()?, UnixStream::pair()?);
    /// # let source = Stream::try_from(OwnedFd::from(source))?;
    /// # let sink = Stream::try_from(OwnedFd::from(sink))?;
    /// # let mut events = EventLoop::new()?;
    /// # near.write_all(b"ahoy")?;
    /// # near.shutdown(Shutdown::Write)?;
    /// let queue = Rc::new(RefCell::new(Output::default()));
    /// let (filled, own) = (Rc::clone(&queue), queue);
    /// events.add(source, Interest::READABLE, move |stream, turn| {
    ///     let mut buf = [0; 4096];
    ///     while let Some(read @ 1..) = stream.recv(&mut buf)? {
    ///         stream.forward(&mut filled.borrow_mut(), &buf[..read])?;
    ///     }
    ///     if !stream.has_ended() { return Ok(()) }
    ///     stream.forward_end(&mut filled.borrow_mut());
    ///     turn.close()
    /// })?;
    /// events.add(sink, Interest::WRITABLE, move |stream, turn| {
    ///     stream.flush(&mut own.borrow_mut())?;
    ///     if own.borrow().is_finished() { turn.close() } else { Ok(()) }
    /// })?;
    /// # while !events.is_empty() { events.turn(None)?; }
    /// # let mut heard = String::new();
    /// # far.read_to_string(&mut heard)?;
    /// # assert_eq!(heard, "ahoy");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn forward(&mut self, output: &mut Output, bytes: &[u8]) -> io::Result<()> {
        if output.is_ending() || output.has_lost_its_writer() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        output.check_room(bytes.len())?;
        output.push(bytes);
        self.hold(output);
        self.wake_writer(output);
        Ok(())
    }

    /// Ends the output after what is queued, as [`Output::finish`] does, for the connection that
    /// `output` belongs to, which is run to write the rest and to tell its peer (`SHUT_WR`).
    ///
    /// Ending it twice is ending it once. [`forward`](Ready::forward) has the example.
    #[doc(alias = "SHUT_WR")]
    pub fn forward_end(&mut self, output: &mut Output) {
        if !output.is_ending() {
            output.finish();
            self.wake_writer(output);
        }
    }

    /// The source that writes the queue out has something to do. One that is gone ends the queue.
    fn wake_writer(&mut self, output: &mut Output) {
        // One that has not been run yet has its first run before it.
        if let Some(writer) = output.writer() {
            self.run().say(writer, Wish::Write(output.flow().clone()));
        }
    }

    /// After filling: at the high-water mark this source waits.
    fn hold(&mut self, output: &mut Output) {
        if output.is_at_high_water() {
            self.run().hold_input(output.flow());
        }
    }
}
