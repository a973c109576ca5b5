//! What a kernel owes to the layers above as a descriptor.

use super::Kernel;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// An open descriptor of some kernel; dropping it closes it
/// ([close(2)](https://man7.org/linux/man-pages/man2/close.2.html)).
///
/// It is a trait of its own, apart from [`Kernel`], since several kernels may share one kind of
/// descriptor: a decorator does, and so takes the same sources as the kernel that it wraps.
///
/// ```
/// use std::net::TcpListener;
/// use std::os::fd::{AsRawFd, OwnedFd};
/// use watchbell::kernel::Descriptor;
///
/// let listener = OwnedFd::from(TcpListener::bind("127.0.0.1:0")?);
/// assert_eq!(OwnedFd::number(listener.borrow()), listener.as_raw_fd());
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Descriptor: Send + Sync + 'static {
    /// A borrowed descriptor, open for as long as the borrow lasts.
    type Borrowed<'fd>: Copy;

    /// Borrows the descriptor.
    fn borrow(&self) -> Self::Borrowed<'_>;

    /// The descriptor's number in the process's table.
    fn number(borrowed: Self::Borrowed<'_>) -> i32;
}

/// A borrowed descriptor of the kernel `K`.
pub type Borrowed<'fd, K> = <<K as Kernel>::Fd as Descriptor>::Borrowed<'fd>;

/// The number of a descriptor of the kernel `K`.
pub(crate) fn number<K: Kernel>(borrowed: Borrowed<'_, K>) -> i32 {
    <K::Fd as Descriptor>::number(borrowed)
}

impl Descriptor for OwnedFd {
    type Borrowed<'fd> = BorrowedFd<'fd>;

    fn borrow(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn number(borrowed: BorrowedFd<'_>) -> i32 {
        borrowed.as_raw_fd()
    }
}
