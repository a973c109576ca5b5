//! Sockets as sources: listeners, streams with an output queue, datagrams.
//!
//! Every socket here is non-blocking and closed on exec, and works on whatever kernel has
//! [`Sockets`](crate::kernel::Sockets). std's own sockets are sources of the loop too; these do
//! three things more:
//!
//! - **Reading ends at the kernel's own word.** A short read does not mean drained: it also comes
//!   before an end of file that arrived in the same edge. [`Ready::recv`] asks the kernel with each
//!   read how much is left (`TCP_INQ`, `SO_INQ`), stops when it says nothing, and needs no second
//!   read to meet `EAGAIN`. Where the kernel does not say, reading goes on until `EAGAIN`.
//! - **Output is queued, within bounds.** [`Ready::send`] hands the kernel what it takes and keeps
//!   the rest in an [`Output`]; the loop waits for room only while that holds something.
//! - **Both backpressures are visible.** [`Output::len`] is what the kernel has not taken;
//!   [`Ready::is_blocked`] is that it takes no more. Above its high-water mark a queue pauses the
//!   input that fills it, at the low one it resumes it.
//!
//! [`Ready::recv`]: crate::event_loop::Ready::recv
//! [`Ready::send`]: crate::event_loop::Ready::send
//! [`Ready::is_blocked`]: crate::event_loop::Ready::is_blocked
//!
//! # Example
//!
//! An echo service that survives slow readers and half-closed connections.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::{Shutdown, TcpStream};
//! use watchbell::epoll::Interest;
//! use watchbell::event_loop::EventLoop;
//! use watchbell::net::{Listener, Marks, Output};
//!
//! let listener = Listener::bind("127.0.0.1:0", 128)?;
//! let port = listener.port()?.expect("a TCP listener");
//!
//! let mut events = EventLoop::new()?;
//! events.add(listener, Interest::READABLE, |listener, turn| {
//!     while let Some((stream, _peer)) = listener.accept()? {
//!         let mut output = Output::new(Marks::default());
//!         turn.add(stream, Interest::READABLE, move |stream, turn| {
//!             stream.flush(&mut output)?;
//!             let mut buf = [0; 16 * 1024];
//!             while let Some(read) = stream.recv(&mut buf)? {
//!                 if read == 0 {
//!                     output.finish(); // all is said once the queue is empty
//!                     stream.flush(&mut output)?;
//!                     break;
//!                 }
//!                 stream.send(&mut output, &buf[..read])?;
//!             }
//!             if output.is_finished() {
//!                 turn.stop();
//!                 return turn.close();
//!             }
//!             Ok(())
//!         })?;
//!     }
//!     Ok(())
//! })?;
//!
//! let mut client = TcpStream::connect(("127.0.0.1", port))?;
//! client.write_all(b"ahoy")?;
//! client.shutdown(Shutdown::Write)?;
//! events.run()?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert_eq!(answer, "ahoy");
//! # Ok::<(), std::io::Error>(())
//! ```

mod address;
mod datagram;
mod ending;
mod listener;
mod output;
mod ready;
mod stream;

pub use crate::kernel::{Address, AddressError, Received, Shutdown};
pub use address::ToAddress;
pub use datagram::{Datagram, Incoming, Sent};
pub use listener::Listener;
pub use output::{Marks, MarksError, Output, QueueFull};
pub use stream::{Socket, Stream};
