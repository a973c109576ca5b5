//! The comparison of the model with the running kernel: two arms that make the same calls.
//!
//! - [`call`]: calls and outcomes as values;
//! - [`model`] and [`linux`]: the arms ([`raw`] holds what safe Rust has no word for);
//! - [`random`]: programs of random steps; [`table`]: what a step means;
//! - [`sequence`]: one thread, every result compared exactly;
//! - [`threads`]: threads that block; [`waiters`]: the comparison with them;
//! - [`concurrent`]: threads that make calls at the same time;
//! - [`system`]: one test body for both arms, which [`arms`] run.
#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(unreachable_pub, reason = "a module of several test programs")]

pub mod arms;
pub mod call;
pub mod concurrent;
pub mod linux;
pub mod model;
pub mod random;
pub mod raw;
pub mod sequence;
pub mod system;
pub mod table;
pub mod threads;
pub mod waiters;
