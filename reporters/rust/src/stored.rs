// SPDX-License-Identifier: Apache-2.0

//! The report that the server holds.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::environment::Environment;
use crate::http::Answer;
use crate::transport::{Abandon, Limits, Method, Outcome, Transport};
use crate::wire::TrainJobStatusUpdate;

/// A report as the server holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// 0 to 100, nothing when unknown.
    pub progress: Option<i32>,
    /// Nothing when unknown.
    pub remaining_seconds: Option<i32>,
    /// Names and values, in the order of the report.
    pub metrics: Vec<(String, String)>,
    /// When the report was made, RFC 3339 in UTC; nothing when unknown.
    pub updated: Option<String>,
}

/// Asks for the stored report and waits no longer than `limit`, not even for a name look-up. D27.
pub(crate) fn read(env: Environment, limit: Duration) -> Option<Stored> {
    let (answers, answer) = mpsc::channel();
    let limits = Limits { deadline: Instant::now() + limit, abandon: Abandon::default() };
    thread::Builder::new()
        .name("milepost-stored".to_owned())
        .spawn(move || answers.send(Transport::new(env).send(Method::Get, "", &limits)))
        .ok()?;
    from_answer(&answer.recv_timeout(limit).ok()?.ok()?)
}

fn from_answer(answer: &Answer) -> Option<Stored> {
    if Outcome::of(answer.status) != Outcome::Taken {
        return None;
    }
    let update: TrainJobStatusUpdate = serde_json::from_slice(&answer.body).ok()?;
    let status = update.trainer_status?;
    Some(Stored {
        progress: status.progress_percentage,
        remaining_seconds: status.estimated_remaining_seconds,
        metrics: status.metrics.into_iter().map(|m| (m.name, m.value)).collect(),
        updated: status.last_updated_time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::rows;
    use crate::wire::{Metric, TrainerStatus};

    #[test]
    fn stored_reports_are_read() {
        rows("stored", |row| {
            let answer = Answer {
                status: row["status"].as_u64().unwrap() as u16,
                body: row["body"].as_str().unwrap().into(),
                ..Answer::default()
            };
            let got = from_answer(&answer).map(|stored| TrainerStatus {
                progress_percentage: stored.progress,
                estimated_remaining_seconds: stored.remaining_seconds,
                metrics: stored.metrics.into_iter().map(|(name, value)| Metric { name, value }).collect(),
                last_updated_time: stored.updated,
            });
            assert_eq!(serde_json::to_value(got).unwrap(), row["want"]);
        });
    }
}
