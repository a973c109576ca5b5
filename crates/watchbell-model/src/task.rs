//! Threads, as far as the machine knows them.

/// The thread that makes a call: a number for its process, and one for itself.
///
/// The machine starts with process 0; [`Kernel::fork`](crate::Kernel::fork) makes others. Threads
/// need not be announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// Whose descriptors it uses.
    pub process: u32,
    /// Which of the process's threads it is.
    pub thread: u32,
}

impl Task {
    /// The first thread of the first process.
    pub const MAIN: Task = Task { process: 0, thread: 0 };

    /// Another thread of the same process.
    pub fn thread(self, thread: u32) -> Task {
        Task { thread, ..self }
    }
}
