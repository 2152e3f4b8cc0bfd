// SPDX-License-Identifier: Apache-2.0

//! Drives the reporter for the conformance runner, in the JSON lines described in
//! reporters/conformance/PROTOCOL.md.

#![allow(clippy::unwrap_used, clippy::panic)] // a fault of the executor ends it

use std::io::{self, BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use milepost_reporter::hooks::Hooks;
use milepost_reporter::{Builder, Report, Reporter, Value as Metric, VERSION};
use serde_json::{json, Map, Value};

fn main() {
    let mut executor = Executor::default();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let request: Value = match serde_json::from_str(&line) {
            Ok(request) => request,
            Err(error) => {
                eprintln!("executor: reading a request: {error}");
                continue;
            }
        };
        if request["op"] == "exit" {
            match request["how"].as_str() {
                Some("exit") => leave(request["code"].as_i64().unwrap_or(0) as i32),
                Some("throw") => panic!("an error that nobody catches"),
                _ => return, // the reporter is dropped with the executor
            }
        }
        let mut answer = executor.answer(&request);
        answer["id"] = request["id"].clone();
        if writeln!(io::stdout(), "{answer}").is_err() {
            return;
        }
    }
}

/// The plain exit call where it is enough, the one of the reporter elsewhere.
fn leave(code: i32) -> ! {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        std::process::exit(code);
    }
    milepost_reporter::exit(code)
}

#[derive(Default)]
struct Executor {
    reporter: Option<Reporter>,
    lines: Arc<Mutex<Vec<Value>>>,
    /// The manual clock, in nanoseconds.
    now: Arc<AtomicU64>,
}

impl Executor {
    /// Carries out a request and turns a panic that leaves the reporter into an answer.
    fn answer(&mut self, request: &Value) -> Value {
        let carried_out = catch_unwind(AssertUnwindSafe(|| self.carry_out(request)));
        carried_out.unwrap_or_else(|fault| json!({"raised": text_of(&*fault)}))
    }

    fn carry_out(&mut self, request: &Value) -> Value {
        match request["op"].as_str().unwrap_or_default() {
            "hello" => return json!({"language": "rust", "version": VERSION, "capabilities": ["threads"]}),
            "create" => {
                let reporter = self.create(request);
                let active = reporter.is_active();
                self.reporter = Some(reporter);
                return json!({ "active": active });
            }
            "clock" => {
                let now = request["now"].as_f64().unwrap_or(0.0) * 1e9;
                self.now.store(now as u64, Ordering::Relaxed);
            }
            "logs" => return json!({"logs": *self.lines.lock().unwrap()}),
            "scope" => return self.scope(request),
            _ => return self.call(request),
        }
        json!({})
    }

    /// Carries out what needs a reporter.
    fn call(&self, request: &Value) -> Value {
        let Some(reporter) = &self.reporter else {
            return json!({"raised": "there is no reporter"});
        };
        match request["op"].as_str().unwrap_or_default() {
            "report" => reporter.report(report(request)),
            "complete" if request["metrics"].is_null() => reporter.complete(),
            "complete" => reporter.complete_with(report(request)),
            "fail" => reporter.fail(request["message"].as_str().unwrap_or_default()),
            "close" => reporter.close(),
            "stored" => return stored(reporter),
            "track" => return track(reporter, request),
            "measure" => return measure(reporter, request),
            "hammer" => hammer(reporter, request),
            _ => return json!({"unsupported": true}),
        }
        json!({})
    }

    fn create(&self, request: &Value) -> Reporter {
        let options = &request["options"];
        let mut hooks = Hooks {
            time_scale: options["timeScale"].as_f64().unwrap_or(1.0),
            limit_scale: options["limitScale"].as_f64().unwrap_or(1.0),
            ..Hooks::default()
        };
        if request["manualClock"] == true {
            let now = Arc::clone(&self.now);
            hooks.rate_clock = Arc::new(move || Duration::from_nanos(now.load(Ordering::Relaxed)));
        }
        let mut builder = Builder::new().hooks(hooks).signals(options["signals"] != false);
        if let Some(rank) = options["rank"].as_u64() {
            builder = builder.rank(rank);
        }
        if let Some(seconds) = options["interval"].as_f64() {
            builder = builder.interval(Duration::from_secs_f64(seconds));
        }
        let lines = Arc::clone(&self.lines);
        let builder = match options["log"].as_str() {
            Some("default") => builder,
            Some("broken") => builder.log(|_, _| panic!("the log is broken")),
            _ => builder.log(move |level, message| {
                let line = json!({"level": level.to_string(), "message": message});
                lines.lock().unwrap().push(line);
            }),
        };
        builder.start()
    }

    fn scope(&self, request: &Value) -> Value {
        let left = catch_unwind(AssertUnwindSafe(|| {
            let reporter = self.create(request);
            for step in request["steps"].as_array().into_iter().flatten() {
                reporter.report(report(step));
            }
            if let Some(text) = request["raise"].as_str() {
                panic!("{text}");
            }
        }));
        raised(json!({}), left)
    }
}

fn text_of(fault: &(dyn std::any::Any + Send)) -> String {
    let text = fault.downcast_ref::<String>().cloned();
    text.or_else(|| fault.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic".to_owned())
}

fn raised(mut answer: Value, left: thread::Result<()>) -> Value {
    if let Err(fault) = left {
        answer["raised"] = text_of(&*fault).into();
    }
    answer
}

/// A JSON number or `{"$float":"…"}`.
fn number(value: &Value) -> Option<f64> {
    match value["$float"].as_str() {
        Some(text) => text.parse().ok(),
        None => value.as_f64(),
    }
}

/// A number of steps as a program of Rust has it: whole.
fn count(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| number(value).map(|n| n as i64))
}

/// What a report says. A total without step is nothing that a program of Rust can say.
fn report(request: &Value) -> Report {
    let mut report = match count(&request["step"]) {
        Some(step) => Report::step(step, count(&request["totalSteps"]).unwrap_or(0)),
        None => Report::new(),
    };
    if let Some(percent) = number(&request["progress"]) {
        report = report.progress(percent);
    }
    if let Some(seconds) = number(&request["eta"]) {
        report = report.remaining_seconds(seconds);
    }
    for (name, value) in request["metrics"].as_object().into_iter().flatten() {
        report = report.metric(name, metric(value));
    }
    for name in request["keep"].as_array().into_iter().flatten() {
        report = report.keep(name.as_str().unwrap_or_default());
    }
    report
}

fn metric(from: &Value) -> Metric {
    match from {
        Value::Bool(yes) => (*yes).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Value::Object(map) => named(from, map),
        _ => None::<f64>.into(),
    }
}

fn named(from: &Value, map: &Map<String, Value>) -> Metric {
    if let Some(float) = number(from) {
        return float.into();
    }
    match map.get("$int").and_then(Value::as_str) {
        Some(digits) => digits.parse::<i128>().ok().into(),
        None => map.iter().map(|(name, one)| (name.as_str(), metric(one))).collect(),
    }
}

fn stored(reporter: &Reporter) -> Value {
    let Some(stored) = reporter.stored() else {
        return json!({"stored": null});
    };
    let metrics: Vec<_> =
        stored.metrics.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let mut wire = json!({});
    if let Some(progress) = stored.progress {
        wire["progressPercentage"] = progress.into();
    }
    if let Some(seconds) = stored.remaining_seconds {
        wire["estimatedRemainingSeconds"] = seconds.into();
    }
    if !metrics.is_empty() {
        wire["metrics"] = metrics.into();
    }
    if let Some(updated) = stored.updated {
        wire["lastUpdatedTime"] = updated.into();
    }
    json!({ "stored": wire })
}

fn track(reporter: &Reporter, request: &Value) -> Value {
    let total = request["total"].as_i64();
    let items = request["items"].as_i64().or(total).unwrap_or(0);
    let pause = Duration::from_secs_f64(request["pause"].as_f64().unwrap_or(0.0));
    let mut entered = 0;
    let left = catch_unwind(AssertUnwindSafe(|| {
        // A filter hides how many items there are.
        let mut loop_over = reporter.track((1..=items).filter(|_| true));
        if let Some(total) = total {
            loop_over = loop_over.total(total);
        }
        for item in loop_over {
            entered = item;
            thread::sleep(pause);
            if request["breakAt"] == item {
                break;
            }
            assert!(request["failAt"] != item, "the body failed");
        }
    }));
    raised(json!({ "items": entered }), left)
}

fn measure(reporter: &Reporter, request: &Value) -> Value {
    let calls = request["calls"].as_u64().unwrap_or(1).max(1);
    let mut took: Vec<u128> = (1..=calls)
        .map(|step| {
            let loss = 1.0 / step as f64;
            let start = Instant::now();
            reporter.report(Report::step(step, calls).metric("loss", loss).metric("accuracy", 1.0 - loss));
            start.elapsed().as_nanos()
        })
        .collect();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    json!({"p50": at(0.5), "p99": at(0.99), "max": at(1.0)})
}

fn hammer(reporter: &Reporter, request: &Value) {
    let threads = request["threads"].as_u64().unwrap_or(1);
    let calls = request["calls"].as_u64().unwrap_or(1);
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for call in 0..calls {
                    let step = thread * calls + call;
                    reporter.report(Report::step(step, threads * calls).metric("thread", thread));
                }
            });
        }
    });
}
