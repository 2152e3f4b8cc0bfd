// SPDX-License-Identifier: Apache-2.0

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{json, Value};

use super::*;
use crate::vectors::{number, rows, texts};

/// An active reporter whose clock of rates stands until it is set, and which cannot send.
fn active(clock: &Arc<AtomicU64>) -> Active {
    let clock = Arc::clone(clock);
    let hooks = Hooks {
        rate_clock: Arc::new(move || Duration::from_millis(clock.load(Ordering::Relaxed))),
        ..Hooks::default()
    };
    let environment = HashMap::from([
        ("KUBEFLOW_TRAINER_SERVER_URL", "https://127.0.0.1:1/p"),
        ("KUBEFLOW_TRAINER_SERVER_CA_CERT", "/no/ca"),
        ("KUBEFLOW_TRAINER_SERVER_TOKEN", "/no/token"),
    ]);
    let env = environment::read(|name| environment.get(name).map(|v| (*v).to_owned())).unwrap();
    Active::new(env, Builder::new().signals(false).hooks(hooks))
}

/// A row as a program says it.
fn report(row: &Value) -> Report {
    let mut report = match (row["step"].as_i64(), row["totalSteps"].as_i64()) {
        (Some(step), total) => Report::step(step, total.unwrap_or(0)),
        _ => Report::new(),
    };
    if let Some(percent) = number(&row["progress"]) {
        report = report.progress(percent);
    }
    if let Some(seconds) = number(&row["eta"]) {
        report = report.remaining_seconds(seconds);
    }
    report
}

#[test]
fn progress_follows_from_a_report() {
    rows("progress", |row| {
        let active = active(&Arc::default());
        let (progress, eta) = active.numbers(&mut Rate::default(), &report(row));
        assert_eq!(json!({"progress": progress, "eta": eta}), row["want"]);
    });
}

#[test]
fn time_remaining_follows_from_reports() {
    rows("eta", |row| {
        let clock = Arc::default();
        let (active, mut rate) = (active(&clock), Rate::default());
        for one in row["reports"].as_array().unwrap() {
            let now = one["at"].as_f64().unwrap() * 1000.0;
            clock.store(now as u64, Ordering::Relaxed);
            let (_, eta) = active.numbers(&mut rate, &report(one));
            assert_eq!(json!(eta), one["want"], "{one}");
        }
    });
}

#[test]
fn only_rank_0_reports() {
    rows("rank", |row| {
        let get = |name: &str| row["environment"][name].as_str().map(str::to_owned);
        let why = environment::other_rank(get, row["option"].as_u64());
        assert_eq!(json!(why.is_none()), row["want"], "{why:?}");
        assert!(why.map_or(true, |line| line.contains("rank")));
    });
}

#[test]
fn the_environment_decides_whether_a_reporter_is_active() {
    rows("active", |row| {
        let usual = json!({
            "KUBEFLOW_TRAINER_SERVER_URL": "https://h:1/p",
            "KUBEFLOW_TRAINER_SERVER_CA_CERT": "/ca",
            "KUBEFLOW_TRAINER_SERVER_TOKEN": "/token",
        });
        let changed = row["environment"].as_object().unwrap();
        let get = |name: &str| {
            let value = changed.get(name).unwrap_or(&usual[name]);
            value.as_str().map(str::to_owned)
        };
        let lines = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&lines);
        let builder = Builder::new().signals(false).log(move |_, line| lock(&to).push(line.to_owned()));
        let reporter = builder.start_with(get);
        assert_eq!(json!(reporter.is_active()), row["want"]["active"]);
        let lines = lock(&lines);
        assert_eq!(lines.len(), usize::from(!reporter.is_active()), "{lines:?}");
        for word in texts(&row["want"]["line"]) {
            assert!(lines[0].contains(&word), "{lines:?} without {word}");
        }
    });
}

#[test]
fn bodies_have_their_keys_in_order() {
    rows("bodies", |row| {
        let said = &row["report"];
        let metrics = said["metrics"].as_array().cloned().unwrap_or_default();
        let status = TrainerStatus {
            progress_percentage: said["progressPercentage"].as_i64().map(|n| n as i32),
            estimated_remaining_seconds: said["estimatedRemainingSeconds"].as_i64().map(|n| n as i32),
            metrics: metrics
                .iter()
                .map(|pair| crate::wire::Metric {
                    name: pair[0].as_str().unwrap().into(),
                    value: pair[1].as_str().unwrap().into(),
                })
                .collect(),
            last_updated_time: said["lastUpdatedTime"].as_str().map(str::to_owned),
        };
        let update = crate::wire::TrainJobStatusUpdate { trainer_status: Some(status) };
        assert_eq!(json!(serde_json::to_string(&update).unwrap()), row["want"]);
    });
}

#[test]
fn an_inactive_reporter_does_nothing() {
    let reporter = Builder::new().log(|_, _| {}).start_with(|_| None);
    reporter.report(Report::step(1, 2).metric("bad", ""));
    assert_eq!(reporter.stored(), None);
    assert_eq!(reporter.track(1..=3).sum::<i32>(), 6);
    reporter.fail("no harm");
}

#[test]
fn an_addition_that_panics_costs_itself_alone() {
    let reporter = Builder::new().log(|_, _| {}).start_with(|_| None);
    let items = reporter.track(0..3).with(|_| panic!("no metrics today"));
    assert_eq!(items.count(), 3);
}
