//! Epoll instances and eventfds straight from the kernel's door, for the cases that no type of the
//! library lets one write down.
#![allow(dead_code, unused_macros, reason = "each test program uses a part of it")]

use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;
use watchbell::epoll::{ExclusiveTarget, Source};
use watchbell::kernel::{
    Borrowed, Descriptor, EventBuffer, EventFlags, EventfdFlags, Kernel, Linux,
};

/// Makes a test of each function of the module `bodies`, on each kernel that they run on.
macro_rules! on_every_kernel {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            bodies::$name(watchbell::kernel::Linux);
        }
    )*};
}

/// An epoll instance whose events read like those of the man pages: `[1:IN|OUT, 2:HUP]`.
pub struct Door<K: Kernel = Linux> {
    kernel: K,
    pub fd: Arc<K::Fd>,
}

impl<K: Kernel> Door<K> {
    pub fn new(kernel: K) -> Door<K> {
        let fd = Arc::new(kernel.epoll_create().unwrap());
        Door { kernel, fd }
    }

    pub fn fd(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
    }

    pub fn add(&self, target: Borrowed<'_, K>, flags: EventFlags, data: u64) -> io::Result<()> {
        self.kernel.epoll_add(self.fd(), target, flags, data)
    }

    pub fn modify(&self, target: Borrowed<'_, K>, flags: EventFlags, data: u64) -> io::Result<()> {
        self.kernel.epoll_modify(self.fd(), target, flags, data)
    }

    pub fn delete(&self, target: Borrowed<'_, K>) -> io::Result<()> {
        self.kernel.epoll_delete(self.fd(), target)
    }

    /// What is ready now.
    pub fn ready(&self) -> String {
        self.wait(Some(Duration::ZERO)).unwrap()
    }

    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<String> {
        let mut events = EventBuffer::with_capacity(16);
        self.kernel.epoll_wait(self.fd(), &mut events, timeout)?;
        let shown: Vec<String> = events.iter().map(|(data, flags)| show(data, flags)).collect();
        Ok(format!("[{}]", shown.join(", ")))
    }
}

fn show(data: u64, flags: EventFlags) -> String {
    let names: Vec<&str> = flags.iter_names().map(|(name, _)| name).collect();
    format!("{data}:{}", names.join("|"))
}

/// A non-blocking eventfd. Clones are the same descriptor, which is closed with the last of them.
pub struct Bell<K: Kernel = Linux> {
    kernel: K,
    fd: Arc<K::Fd>,
}

impl<K: Kernel> Clone for Bell<K> {
    fn clone(&self) -> Bell<K> {
        Bell { kernel: self.kernel.clone(), fd: Arc::clone(&self.fd) }
    }
}

impl<K: Kernel> Bell<K> {
    pub fn new(kernel: &K, initval: u32) -> Bell<K> {
        Bell::with_flags(kernel, initval, EventfdFlags::NONBLOCK)
    }

    pub fn semaphore(kernel: &K, initval: u32) -> Bell<K> {
        Bell::with_flags(kernel, initval, EventfdFlags::NONBLOCK | EventfdFlags::SEMAPHORE)
    }

    pub fn with_flags(kernel: &K, initval: u32, flags: EventfdFlags) -> Bell<K> {
        let fd = kernel.eventfd(initval, flags | EventfdFlags::CLOEXEC).unwrap();
        Bell { kernel: kernel.clone(), fd: Arc::new(fd) }
    }

    pub fn fd(&self) -> Borrowed<'_, K> {
        self.fd.borrow()
    }

    pub fn number(&self) -> i32 {
        <K::Fd as Descriptor>::number(self.fd())
    }

    pub fn duplicate(&self) -> Bell<K> {
        let fd = Arc::new(self.kernel.duplicate(self.fd()).unwrap());
        Bell { kernel: self.kernel.clone(), fd }
    }

    pub fn try_write(&self, value: u64) -> io::Result<()> {
        assert_eq!(self.kernel.write(self.fd(), &value.to_ne_bytes())?, 8);
        Ok(())
    }

    pub fn try_read(&self) -> io::Result<u64> {
        let mut value = [0; 8];
        assert_eq!(self.kernel.read(self.fd(), &mut value)?, 8);
        Ok(u64::from_ne_bytes(value))
    }

    pub fn write(&self, value: u64) {
        self.try_write(value).unwrap();
    }

    pub fn read(&self) -> u64 {
        self.try_read().unwrap()
    }
}

/// Not said to be non-blocking, so that the look at it can be tested.
impl<K: Kernel> Source for Bell<K> {
    type Fd = K::Fd;

    fn descriptor(&self) -> Borrowed<'_, K> {
        self.fd()
    }
}

impl<K: Kernel> AsFd for Bell<K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl<K: Kernel> ExclusiveTarget for Bell<K> {}

/// The errno of a refusal.
pub fn refusal<T>(outcome: io::Result<T>) -> Errno {
    let error = outcome.map(drop).expect_err("it is refused");
    Errno::from_io_error(&error).expect("the kernel refused it")
}
