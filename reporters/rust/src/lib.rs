// SPDX-License-Identifier: Apache-2.0

//! Reports the progress of a training program to Milepost.
//!
//! Inside a TrainJob, [`start`] finds everything it needs in the environment. Anywhere else, and on
//! every rank but 0, the reporter does nothing, so the same program runs on a laptop:
//!
//! ```
//! use milepost_reporter::Report;
//!
//! # fn train(step: u64) -> f64 { 1.0 / step as f64 }
//! let m = milepost_reporter::start();
//! let total = 100;
//! for step in 1..=total {
//!     let loss = train(step);
//!     m.report(Report::step(step, total).metric("loss", loss));
//! }
//! m.complete();
//! ```
//!
//! No call fails, panics, or waits for the network, except the ones that end reporting:
//! [`Reporter::complete`], [`Reporter::fail`], [`Reporter::close`], dropping the reporter and [`exit`]
//! wait at most 5 seconds for the last report to arrive, and [`Reporter::stored`] at most 5 seconds
//! for an answer.
//!
//! Let the reporter go out of scope at the end of `main`, also when a panic unwinds through it, or
//! leave through [`exit()`]. A program that is built with `panic = "abort"` ends without its last
//! report when it panics.
//!
//! The crate owns what happens between a call and an answer of the server. It does not own the form
//! of requests: that is generated from the OpenAPI document. What it does in detail is written in
//! BEHAVIOUR.md of the repository, duty by duty; D1, D2 and so on in comments refer to it.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod environment;
mod exit;
#[doc(hidden)]
pub mod hooks;
mod http;
mod log;
mod metrics;
mod numbers;
mod pacing;
mod rate;
mod report;
mod reporter;
mod sender;
mod signals;
mod stamp;
mod stored;
mod track;
mod transport;
#[cfg(test)]
mod vectors;
mod warnings;
#[rustfmt::skip]
mod wire;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::exit::exit;
pub use crate::log::Level;
pub use crate::metrics::Value;
pub use crate::report::{Count, Report};
pub use crate::reporter::{start, Builder, Reporter};
pub use crate::stored::Stored;
pub use crate::track::Track;
pub use crate::transport::VERSION;

/// Locks, whatever happened to who held the lock before: what it guards is whole at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The examples of the README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
