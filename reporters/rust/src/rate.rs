// SPDX-License-Identifier: Apache-2.0

//! Time remaining.

use std::time::Duration;

use crate::numbers::cut_seconds;

/// Seconds in which old steps lose weight in the rate.
const MEMORY: f64 = 60.0;

/// The smoothed speed of this process, from its own steps only: after a resume the step counter is
/// high and the process is young, so a rate over all steps would be far too fast. D6.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    last: Option<(Duration, i64)>,
    /// Weighted seconds.
    time: f64,
    /// Weighted steps.
    steps: f64,
}

impl Rate {
    /// Notes that the training is at a step at a time of a clock that never goes back.
    pub fn add(&mut self, at: Duration, step: i64) {
        let Some((last_at, last_step)) = self.last else {
            self.last = Some((at, step));
            return;
        };
        if step == last_step {
            return;
        }
        if step < last_step {
            *self = Self::default(); // a resume within the process
        } else {
            let passed = at.saturating_sub(last_at).as_secs_f64();
            let weight = (-passed / MEMORY).exp();
            self.time = self.time * weight + passed;
            self.steps = self.steps * weight + (step as f64 - last_step as f64);
        }
        self.last = Some((at, step));
    }

    /// Estimates the seconds until `total`, nothing as long as nothing is known.
    pub fn remaining(&self, step: i64, total: i64) -> Option<i32> {
        if self.steps <= 0.0 || self.time <= 0.0 {
            return None;
        }
        let left = (total as f64 - step as f64).max(0.0);
        Some(cut_seconds((left * self.time / self.steps + 0.5).floor()))
    }
}
