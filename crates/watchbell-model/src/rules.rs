//! The rules of the specification, by name.
//!
//! Each rule is one sentence that holds of Linux, and names the cases that show it. In the code,
//! the place that keeps a rule says so: `if fx.keeps(Rule::WriteSignalsIn) { .. }`. That serves
//! three ends:
//!
//! - a reader who wonders about a rule finds the one place that keeps it by searching for its name;
//! - the machine counts how often each rule was kept, so that a test can say what it has tried;
//! - under the feature `mutants`, tests break one rule at a time ([`Rules::break_one`]) and see
//!   that the comparison with Linux finds it. A rule that could be broken unnoticed would be a rule
//!   untested.

macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// A rule that Linux keeps.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule { $($(#[$doc])+ $name,)+ }

        impl Rule {
            /// All rules, in the order in which they are written down.
            pub const ALL: &[Rule] = &[$(Rule::$name,)+];
        }
    };
}

rules! {
    // The eventfd, the pipe, the socket and the timer: what signals what.

    /// A successful write to an eventfd signals `IN` (S120).
    WriteSignalsIn,
    /// Also if the value is zero, which makes nothing readable (Y011, E098).
    WriteOfZeroSignals,
    /// Also if the counter was readable already: every write is an edge (S122, S126).
    EveryWriteIsAnEdge,
    /// A successful read of an eventfd signals `OUT` (S126, Y006).
    ReadSignalsOut,
    /// An operation on an eventfd that fails signals nothing (S126).
    RefusalsSignalNothing,
    /// A read in semaphore mode takes one unit (E031, E054, X021).
    SemaphoreReadTakesOne,
    /// A write signals the reading end of a pipe even if there was something to read, once the
    /// pipe's readiness has been looked at (S131).
    WatchedPipeSignalsEveryWrite,
    /// A read that frees a slot of a full pipe signals the writing end (S139, X020).
    FreedSlotSignalsOut,
    /// Closing one end of a pipe signals everybody at both (S231, S232).
    ClosedEndSignalsAll,
    /// A message signals the peer's socket, read or unread what came before (S132).
    MessageSignalsIn,
    /// A message that was taken whole signals the sender's socket (S133).
    TakenMessageSignalsOut,
    /// Shutting down reaches the peer, crosswise (S240, S242).
    ShutdownReachesPeer,
    /// Closing a socket with unread bytes resets the peer (S241).
    UnreadBytesResetPeer,
    /// A connection signals the listener's socket (S244).
    ConnectionSignalsIn,
    /// An expiration signals the timer's descriptor, once until it is read.
    ExpirationSignalsIn,

    // The wait queue: who is told, in which order.

    /// A registration is told only of a key that has a bit of its mask, or of an empty one (S133,
    /// X021).
    KeyFilters,
    /// Plain registrations stand at the head, the newest first (Y011, C032).
    PlainNewestFirst,
    /// Exclusive registrations stand behind the plain ones, the oldest first (W191, W193).
    ExclusiveBehindOldestFirst,
    /// A wakeup stops after the first exclusive registration whose instance has a blocked waiter
    /// (W191, W192, W196).
    StopsAtExclusiveWithWaiter,
    /// It passes one whose instance has none (W198).
    PassesExclusiveWithoutWaiter,
    /// Threads that block in epoll_wait on one instance are woken the newest first (W181, W184).
    WaitersNewestFirst,
    /// And one at a time (W181, W182).
    OneWaiterAWakeup,
    /// A waiter that leaves something on the ready list wakes the next (W180).
    DeliveryWakesNext,

    // The ready list: what is queued, and what a wait does with it.

    /// An item is queued at the tail (S160, X015).
    QueuedAtTail,
    /// One that is queued already keeps its place (S169, S124).
    QueuedOnce,
    /// `EPOLL_CTL_ADD` tests readiness and queues an item that is ready (S161, S156).
    AddTests,
    /// `EPOLL_CTL_MOD` does the same, which is how it re-arms (S140, S141, S151).
    ModTests,
    /// The mask returned is computed when it is delivered (S124, S142, X029).
    MaskAtDelivery,
    /// An item that turns out not to be ready is dropped, and does not count (S153, X002).
    StaleDropped,
    /// Undelivered items stay in front (S162, S163).
    UndeliveredInFront,
    /// A level-triggered item that was delivered goes to the tail (S162, X013).
    LevelToTail,
    /// An edge-triggered item leaves the list (S122, S131).
    EdgeLeaves,
    /// A one-shot item is disarmed: only its private bits are left (S150, C052).
    OneShotDisarms,
    /// Not even `ERR` and `HUP` remain (S150).
    FiredOneShotHidesUnasked,
    /// `ERR` and `HUP` are added to every mask that is stored (C034, S232).
    UnaskedAreAdded,

    // The interest list: what epoll_ctl takes.

    /// A registration is of a number and an open file, not of either alone (C032, S211).
    KeyedByNumberAndFile,
    /// It ends with the last reference to the open file, not with its number (S210, S211).
    EndsWithOpenFile,
    /// An exclusive registration is never modified (C043).
    ExclusiveNeverModified,
    /// `EPOLLEXCLUSIVE` goes with few other bits, and not onto an epoll instance (C041, C042,
    /// C045).
    ExclusiveMaskIsNarrow,
    /// Instances that would watch each other in a circle are refused (C062).
    NoCircles,
    /// A chain of more than five instances is refused (C063, C064).
    FiveInstancesDeep,
    /// An instance is readable while an item on its ready list is ready (C060, C073).
    NestedIsReadable,
    /// The scan for that drops stale items, and consumes no edge (C073, C076).
    PeekConsumesNothing,

    // Descriptors and blocking.

    /// `O_NONBLOCK` belongs to the open file (E024, E077).
    NonblockBelongsToFile,
    /// Whether a call may block was decided when it began (E073).
    NonblockReadAtEntry,
    /// It does nothing on an epoll instance (C009).
    NonblockMeansNothingToEpoll,
    /// The lowest free number is taken.
    LowestNumber,
    /// Closing the epoll descriptor, or the watched one, under a blocked wait wakes nobody (S222,
    /// Y002).
    CloseWakesNoWaiter,
}

/// Keeps the rules, and counts how often each was kept.
#[derive(Clone)]
pub struct Rules {
    kept: Vec<u64>,
    #[cfg(any(test, feature = "mutants"))]
    broken: Option<Rule>,
}

/// How often rules were kept tells machines apart as little as their age does.
impl PartialEq for Rules {
    fn eq(&self, _: &Rules) -> bool {
        true
    }
}

impl Eq for Rules {}

impl std::hash::Hash for Rules {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            kept: vec![0; Rule::ALL.len()],
            #[cfg(any(test, feature = "mutants"))]
            broken: None,
        }
    }
}

impl Rules {
    /// Marks the place that keeps `rule`. True, unless a test has broken just this rule.
    pub(crate) fn keeps(&mut self, rule: Rule) -> bool {
        self.kept[rule as usize] += 1;
        #[cfg(any(test, feature = "mutants"))]
        if self.broken == Some(rule) {
            return false;
        }
        true
    }

    /// Breaks one rule, for a test that is to notice.
    #[cfg(any(test, feature = "mutants"))]
    pub fn break_one(&mut self, rule: Rule) {
        self.broken = Some(rule);
    }

    /// How often `rule` decided something.
    pub fn times_kept(&self, rule: Rule) -> u64 {
        self.kept[rule as usize]
    }
}
