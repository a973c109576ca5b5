//! The file of a Unix-domain socket: claimed without taking one that is in use, removed without
//! removing another's.
//!
//! bind(2) makes the file and nothing removes it with the socket, so a server that was killed
//! leaves one behind; bind(2) then fails with `EADDRINUSE` whether or not anyone still listens.
//! connect(2) tells the two apart: `ECONNREFUSED` says that nobody does.
//!
//! Between that look and the removal of the file another server could claim the path, and so could
//! one that has called bind(2) but not yet listen(2), which refuses connections as well. Servers of
//! this program keep out of each other's way by a lock on the directory (flock(2)), held from the
//! first bind(2) until the socket listens. For another program's server the window of those few
//! calls remains: the kernel has no call that replaces a socket file only if it is stale.

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, lstat, openat, unlink};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use watchbell::kernel::{Address, Linux, Sockets};

/// How often a locked directory is tried, and how long it is left alone between. Nobody of ours
/// holds the lock for longer than a few system calls; whoever does is somebody else, and is not
/// waited for.
const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The file of a listening socket of ours. Dropping it removes the file, if it is still ours.
///
/// Drop it before the listener closes. A bound socket keeps its file's inode alive, so that its
/// number cannot pass to a file that another server makes at the same path meanwhile.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Binds a listening socket to `path`, in place of a stale file if there is one.
///
/// # Errors
///
/// `EADDRINUSE` where a server accepts connections there, or may: a full backlog, a socket of
/// another type, no permission to ask. `AlreadyExists` where the path is anything but a socket,
/// which is left alone. Otherwise the error of socket(2), bind(2) or listen(2).
pub fn listen(path: &Path, backlog: u32) -> io::Result<(OwnedFd, SocketFile)> {
    let address = Address::Unix(path.to_owned());
    let _lock = lock_directory(path, LOCK_TRIES);
    let listener = match Linux.listen(&address, backlog) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::ADDRINUSE) => {
            remove_stale(path, &address)?;
            Linux.listen(&address, backlog)?
        }
        other => other?,
    };
    let Stat { st_dev, st_ino, .. } = lstat(path)?;
    Ok((listener, SocketFile { path: path.to_owned(), device: st_dev, inode: st_ino }))
}

/// Removes the socket file at `path` if nobody listens there.
fn remove_stale(path: &Path, address: &Address) -> io::Result<()> {
    let found = match lstat(path) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
        let message = match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => "a symbolic link is there, which is not followed",
            _ => "the file exists and is not a socket",
        };
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    match Linux.connect(address) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::CONNREFUSED) => {}
        _ => return Err(Errno::ADDRINUSE.into()),
    }
    match unlink(path) {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

/// Locks the directory that holds `path` until the descriptor is dropped.
///
/// `None` where the directory cannot be opened for reading, its file system has no locks, or
/// somebody keeps it locked: the claim then goes on without one, and bind(2) has the last word on
/// whether it may.
fn lock_directory(path: &Path, tries: u32) -> Option<OwnedFd> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty()).ok()?;
    for attempt in 1..=tries {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK) if attempt < tries => thread::sleep(LOCK_PAUSE),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    None
}

impl SocketFile {
    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `path` leads to this file, by another name perhaps.
    pub fn is_at(&self, path: &Path) -> bool {
        lstat(path).is_ok_and(|found| (found.st_dev, found.st_ino) == (self.device, self.inode))
    }

    /// Whether the path still leads to the file that our bind(2) made.
    fn is_ours(&self) -> bool {
        self.is_at(&self.path)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The lock keeps another server of this program from replacing the file between the look
        // and the removal. It is tried once, since an end does not wait for others, and without it
        // the file is still removed: leaving it behind always is worse than the short window.
        let _lock = lock_directory(&self.path, 1);
        if self.is_ours() {
            let _ = unlink(&*self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    /// A directory of the test's own, removed at its end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("wb-file-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Directory(path)
        }

        fn socket(&self) -> PathBuf {
            self.0.join("s")
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_socket_file_is_made_and_removed() {
        let directory = Directory::new("made");
        let path = directory.socket();
        let (listener, file) = listen(&path, 8).unwrap();
        UnixStream::connect(&path).unwrap();
        drop(file);
        assert!(!path.exists());
        drop(listener);
    }

    #[test]
    fn a_stale_file_is_replaced() {
        let directory = Directory::new("stale");
        let path = directory.socket();
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let (_listener, _file) = listen(&path, 8).unwrap();
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn a_file_in_use_is_refused_and_left_in_use() {
        let directory = Directory::new("used");
        let path = directory.socket();
        let other = UnixListener::bind(&path).unwrap();
        assert_eq!(listen(&path, 8).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        UnixStream::connect(&path).unwrap();
        drop(other);
    }

    #[test]
    fn a_server_with_a_full_backlog_or_of_another_type_is_in_use() {
        let directory = Directory::new("full");
        let path = directory.socket();
        let address = Address::Unix(path.clone());
        let full = Linux.listen(&address, 0).unwrap();
        let _waiting = UnixStream::connect(&path).unwrap();
        assert_eq!(listen(&path, 8).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(full);
        fs::remove_file(&path).unwrap();
        let _datagram = UnixDatagram::bind(&path).unwrap();
        assert_eq!(listen(&path, 8).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn what_is_not_a_socket_is_refused_and_never_removed() {
        let directory = Directory::new("other");
        let path = directory.socket();
        fs::write(&path, "precious").unwrap();
        assert_eq!(listen(&path, 8).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        let link = directory.0.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(listen(&link, 8).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(link.is_symlink());
    }

    #[test]
    fn a_file_that_is_another_servers_by_now_stays() {
        let directory = Directory::new("theirs");
        let path = directory.socket();
        let (_listener, file) = listen(&path, 8).unwrap();
        fs::remove_file(&path).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        drop(file);
        assert!(path.exists());
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn of_many_who_find_a_stale_file_one_claims_it() {
        let directory = Directory::new("race");
        let path = directory.socket();
        for _ in 0..20 {
            drop(UnixListener::bind(&path).unwrap());
            let claims: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| listen(&path, 8))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1);
            UnixStream::connect(&path).unwrap();
            // The files go before the listeners, as a server does it.
            let (_listeners, files): (Vec<_>, Vec<_>) = claims.into_iter().flatten().unzip();
            drop(files);
        }
    }
}
