//! What can be registered.

use crate::kernel::{Borrowed, Counting, Kernel, Linux};
use std::os::fd::{AsFd, BorrowedFd};

/// Anything with a descriptor of the kernel `K`.
///
/// On [`Linux`] that is every [`AsFd`]: std's sockets, a serial port, another library's inotify. A
/// source of a kernel is also one of the kernel that [counts](Counting) its calls.
pub trait Source<K: Kernel> {
    /// The descriptor to watch; the same one for as long as the source is registered.
    fn descriptor(&self) -> Borrowed<'_, K>;
}

impl<S: AsFd> Source<Linux> for S {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}

impl<K: Kernel, S: Source<K>> Source<Counting<K>> for S {
    fn descriptor(&self) -> Borrowed<'_, K> {
        Source::<K>::descriptor(self)
    }
}

/// An object of this library's, which has a descriptor on every kernel and is non-blocking.
///
/// It says in generic code what [`Source`] says of one kernel's types. (A blanket implementation of
/// `Source` for these types would leave a method call on them ambiguous.)
pub trait Own<K: Kernel> {
    /// The descriptor to watch.
    fn own_descriptor(&self) -> Borrowed<'_, K>;
}

impl<K: Kernel, T: Own<K> + ?Sized> Own<K> for crate::sync::Arc<T> {
    fn own_descriptor(&self) -> Borrowed<'_, K> {
        (**self).own_descriptor()
    }
}
