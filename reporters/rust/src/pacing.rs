// SPDX-License-Identifier: Apache-2.0

//! When the next attempt may begin.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant, SystemTime};

use crate::environment::whole_number;
use crate::hooks::Hooks;

pub(crate) const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// Only a success starts the interval, so a failed attempt never delays a report by more than the
/// back-off. D12, D13.
#[derive(Debug)]
pub(crate) struct Pacing {
    interval: Duration,
    hooks: Hooks,
    /// Failures in a row.
    failures: u32,
    /// Not before this, unless the report is urgent.
    paced: Option<Instant>,
    /// Not before this, unless reporting ends.
    backoff: Option<Instant>,
}

impl Pacing {
    pub fn new(interval: Duration, hooks: Hooks) -> Self {
        Self { interval: hooks.time(interval), hooks, failures: 0, paced: None, backoff: None }
    }

    /// The earliest time for the next attempt, nothing for at once.
    pub fn due(&self, urgent: bool) -> Option<Instant> {
        if urgent {
            self.backoff
        } else {
            self.backoff.max(self.paced)
        }
    }

    /// Notes that the server took or refused a report in an attempt that began at `start`.
    pub fn settled(&mut self, start: Instant) {
        self.failures = 0;
        self.backoff = None;
        self.paced = start.checked_add(self.interval);
    }

    /// Notes a failure at `end` and what the server asks for.
    pub fn failed(&mut self, end: Instant, retry_after: Duration) {
        self.failures = self.failures.saturating_add(1);
        let wait = backoff_limit(self.failures).mul_f64(0.5 + 0.5 * random());
        self.backoff = end.checked_add(self.hooks.time(wait.max(retry_after)));
    }
}

/// The longest wait after a number of failures in a row.
fn backoff_limit(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(6);
    LONGEST_BACKOFF.min(FIRST_BACKOFF * (1 << doublings))
}

/// A number from 0 to 1. It spreads retries of many jobs, nothing depends on its quality.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    bits as f64 / u64::MAX as f64
}

/// Reads a `Retry-After` header: whole seconds or a date. D13.
pub(crate) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    let wait = match whole_number(header) {
        Some(digits) => digits.parse().map_or(LONGEST_RETRY, Duration::from_secs),
        None => httpdate::parse_http_date(header).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(LONGEST_RETRY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::rows;
    use serde_json::Value;

    #[test]
    fn waits_lie_within_bounds_and_are_random() {
        rows("backoff", |row| {
            let end = Instant::now();
            let failures = row["failures"].as_u64().unwrap() as u32;
            let waits: Vec<f64> = (0..300)
                .map(|_| {
                    let mut pacing = Pacing::new(DEFAULT_INTERVAL, Hooks::default());
                    pacing.failures = failures - 1;
                    pacing.failed(end, Duration::ZERO);
                    (pacing.due(true).unwrap() - end).as_secs_f64()
                })
                .collect();
            let least = waits.iter().copied().fold(f64::MAX, f64::min);
            let most = waits.iter().copied().fold(0.0, f64::max);
            let (min, max) = (row["want"]["min"].as_f64().unwrap(), row["want"]["max"].as_f64().unwrap());
            assert!(least >= min && most <= max, "{least} to {most}");
            assert!(most - least > (max - min) / 2.0, "hardly random: {least} to {most}");
        });
    }

    #[test]
    fn retry_after_is_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_781_233_200);
        rows("retry-after", |row| {
            let want = match &row["want"] {
                Value::Null => None,
                seconds => seconds.as_u64().map(Duration::from_secs),
            };
            assert_eq!(retry_after(row["header"].as_str().unwrap(), now), want);
        });
    }
}
