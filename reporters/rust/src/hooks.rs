// SPDX-License-Identifier: Apache-2.0

//! What tests of this repository may change in a reporter. Not part of the public API.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Replaces clocks and scales times. The default changes nothing.
#[derive(Clone)]
pub struct Hooks {
    /// Multiplies the interval, the back-off, `Retry-After` and the minute between log lines.
    pub time_scale: f64,
    /// Multiplies the limit of an attempt, the limits of a flush and the pause between its attempts.
    pub limit_scale: f64,
    /// The clock of the rate of steps.
    pub rate_clock: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Default for Hooks {
    fn default() -> Self {
        let begin = Instant::now();
        Self { time_scale: 1.0, limit_scale: 1.0, rate_clock: Arc::new(move || begin.elapsed()) }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("time_scale", &self.time_scale)
            .field("limit_scale", &self.limit_scale)
            .finish_non_exhaustive()
    }
}

impl Hooks {
    /// Scales a time of pacing.
    pub(crate) fn time(&self, time: Duration) -> Duration {
        scale(time, self.time_scale)
    }

    /// Scales a limit.
    pub(crate) fn limit(&self, limit: Duration) -> Duration {
        scale(limit, self.limit_scale)
    }
}

fn scale(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(time)
}
