// SPDX-License-Identifier: Apache-2.0

//! The slot and the worker that empties it.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::environment::Environment;
use crate::hooks::Hooks;
use crate::http::Answer;
use crate::lock;
use crate::log::{cut, Level, Logger, Trouble, MAX_MESSAGE, SAID_METRICS, SAID_WARNINGS};
use crate::metrics;
use crate::pacing::{retry_after, Pacing};
use crate::transport::{server_message, Abandon, Limits, Method, Outcome, Transport};
use crate::wire::{TrainJobStatusUpdate, TrainerStatus};

/// Limit of one attempt. D18.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(5);
/// Limit of a flush. D22.
const FLUSH: Duration = Duration::from_secs(5);
const FLUSH_PAUSE: Duration = Duration::from_millis(500);
/// For an attempt with an older value that is under way when a flush begins.
const STALE: Duration = Duration::from_secs(2);
/// Between log lines about the same trouble. D21.
const TROUBLE_EVERY: Duration = Duration::from_secs(60);
/// Stands for no end when nothing is due.
const IDLE: Duration = Duration::from_secs(3600);

/// What waits in the slot.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub status: TrainerStatus,
    pub keep: Vec<String>,
    /// Skips the interval.
    pub urgent: bool,
}

/// An attempt under way.
#[derive(Debug)]
struct Attempt {
    report: Arc<Outgoing>,
    abandon: Abandon,
}

#[derive(Debug)]
struct State {
    /// Newest unsent report, nothing when everything is sent or dropped.
    slot: Option<Arc<Outgoing>>,
    pacing: Pacing,
    /// When the next attempt of a flush begins.
    flush_due: Option<Instant>,
    /// End of the flush; pacing counts afterwards.
    flush_until: Option<Instant>,
    current: Option<Attempt>,
    /// The worker that counts. One that was given up for another finds a later number here and ends.
    worker: u64,
    running: bool,
    closed: bool,
    trouble: Trouble,
}

impl State {
    /// How long until the slot is due.
    fn wait(&self, now: Instant) -> Duration {
        let Some(report) = &self.slot else {
            return IDLE;
        };
        let due = match self.flush_until {
            Some(until) if now < until => self.flush_due,
            _ => self.pacing.due(report.urgent),
        };
        due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now))
    }

    fn holds(&self, report: &Arc<Outgoing>) -> bool {
        matches!(&self.slot, Some(newest) if Arc::ptr_eq(newest, report))
    }

    /// Whether an attempt with an older report than the newest is under way.
    fn is_stale(&self) -> bool {
        matches!(&self.current, Some(attempt) if !self.holds(&attempt.report))
    }
}

/// Owns the slot. D11.
#[derive(Debug)]
pub(crate) struct Sender {
    log: Logger,
    hooks: Hooks,
    env: Environment,
    process: u32,
    state: Mutex<State>,
    changed: Condvar,
}

impl Sender {
    pub fn new(env: Environment, log: Logger, hooks: Hooks, interval: Duration) -> Self {
        Self {
            log,
            env,
            process: std::process::id(),
            state: Mutex::new(State {
                slot: None,
                pacing: Pacing::new(interval, hooks.clone()),
                flush_due: None,
                flush_until: None,
                current: None,
                worker: 0,
                running: false,
                closed: false,
                trouble: Trouble::default(),
            }),
            hooks,
            changed: Condvar::new(),
        }
    }

    /// Whether this is the process that made the sender, and not a forked child. D26.
    pub fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// Replaces the report in the slot, and starts the worker with the first.
    pub fn put(self: &Arc<Self>, report: Outgoing) {
        let mut state = lock(&self.state);
        let urgent = report.urgent;
        // A worker that waits for its time with a report need not be woken for a newer one.
        let wake = state.slot.is_none() || urgent;
        state.slot = Some(Arc::new(report));
        if !state.running {
            self.start_worker(&mut state);
        } else if wake {
            self.changed.notify_all();
        }
    }

    /// Starts a worker; where the system refuses a thread, the next report tries again.
    fn start_worker(self: &Arc<Self>, state: &mut State) {
        state.worker += 1;
        let (sender, number) = (Arc::clone(self), state.worker);
        let spawned = thread::Builder::new().name("milepost".to_owned()).spawn(move || sender.work(number));
        state.running = spawned.is_ok();
    }

    /// Flushes and ends the worker. D22.
    pub fn close(self: &Arc<Self>) {
        self.flush();
        let mut state = lock(&self.state);
        state.closed = true;
        if let Some(attempt) = state.current.take() {
            attempt.abandon.now();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the slot is empty, at most 5 seconds. D22.
    pub fn flush(self: &Arc<Self>) {
        let begin = Instant::now();
        let end = begin + self.hooks.limit(FLUSH);
        let patience = begin + self.hooks.limit(STALE);
        let mut state = lock(&self.state);
        if state.slot.is_none() || state.closed || !self.is_own() {
            return;
        }
        (state.flush_due, state.flush_until) = (Some(begin), Some(end));
        let mut stale = state.is_stale();
        self.changed.notify_all();
        while state.slot.is_some() && !state.closed {
            let now = Instant::now();
            if now >= end {
                drop(state);
                let line = "the last report was not sent in time";
                self.log.log(Level::Warning, line);
                return;
            }
            stale = stale && state.is_stale();
            if stale && now >= patience {
                self.replace_worker(&mut state);
                stale = false;
            }
            let until = if stale { end.min(patience) } else { end };
            state = self.sleep(state, until - now);
        }
    }

    /// Gives up an attempt with an older report: its connection may be dead, or the look-up of the
    /// name may hang, and the newest report must still have its chance.
    fn replace_worker(self: &Arc<Self>, state: &mut State) {
        if let Some(attempt) = state.current.take() {
            attempt.abandon.now();
        }
        self.start_worker(state);
    }

    /// Lets go of the state until something changes or the time is over.
    fn sleep<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let woken = self.changed.wait_timeout(state, time);
        woken.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sends what is in the slot until the sender is closed or this worker is given up.
    fn work(&self, number: u64) {
        let mut transport = Transport::new(self.env.clone());
        while let Some((report, limits)) = self.next(number) {
            let start = Instant::now();
            // A fault in an attempt is a failed attempt and never the end of the program. D3.
            let sent = catch_unwind(AssertUnwindSafe(|| self.send(&mut transport, &report, &limits)));
            let result = sent.unwrap_or_else(|_| {
                transport = Transport::new(self.env.clone());
                Err("sending: a fault of the reporter".to_owned())
            });
            self.settle(number, &report, start, result);
        }
    }

    /// Waits until a report is due.
    fn next(&self, number: u64) -> Option<(Arc<Outgoing>, Limits)> {
        let mut state = lock(&self.state);
        loop {
            if state.closed || state.worker != number {
                return None;
            }
            let now = Instant::now();
            let wait = state.wait(now);
            if let (true, Some(report)) = (wait.is_zero(), state.slot.clone()) {
                let limits =
                    Limits { deadline: now + self.hooks.limit(ATTEMPT), abandon: Abandon::default() };
                state.current =
                    Some(Attempt { report: Arc::clone(&report), abandon: limits.abandon.clone() });
                return Some((report, limits));
            }
            state = self.sleep(state, wait);
        }
    }

    /// Makes one attempt.
    fn send(&self, transport: &mut Transport, report: &Outgoing, limits: &Limits) -> Result<Answer, String> {
        let mut status = report.status.clone();
        status.metrics = metrics::select(&report.status.metrics, &report.keep);
        let left_out = report.status.metrics.len() - status.metrics.len();
        if left_out > 0 && SAID_METRICS.first("") {
            let line = format!("more than 256 metrics or 64 KiB: {left_out} metrics left out; keep() marks those that must stay");
            self.log.log(Level::Warning, &line);
        }
        let update = TrainJobStatusUpdate { trainer_status: Some(status) };
        let body = serde_json::to_string(&update).map_err(|e| format!("writing JSON: {e}"))?;
        transport.send(Method::Post, &body, limits)
    }

    /// Acts on the end of an attempt.
    fn settle(&self, number: u64, report: &Arc<Outgoing>, start: Instant, result: Result<Answer, String>) {
        let end = Instant::now();
        let became = match &result {
            Ok(answer) => Outcome::of(answer.status),
            Err(_) => Outcome::Failed,
        };
        let mut state = lock(&self.state);
        if state.worker != number {
            return;
        }
        state.current = None;
        if became == Outcome::Failed {
            let asked = result.as_ref().ok().and_then(|a| a.retry_after.as_deref());
            let asked = asked.and_then(|header| retry_after(header, SystemTime::now()));
            state.pacing.failed(end, asked.unwrap_or_default());
        } else {
            state.pacing.settled(start);
        }
        if state.holds(report) {
            match became {
                Outcome::Failed => state.flush_due = Some(end + self.hooks.limit(FLUSH_PAUSE)),
                _ => state.slot = None,
            }
        }
        let lines = if state.closed && result.is_err() {
            Vec::new() // it was ended on purpose
        } else {
            self.lines(&mut state.trouble, end, became, &result)
        };
        drop(state);
        self.changed.notify_all();
        for (level, line) in lines {
            self.log.log(level, &line);
        }
    }

    /// What is to be said about an attempt. D14, D20, D21.
    fn lines(
        &self,
        trouble: &mut Trouble,
        now: Instant,
        became: Outcome,
        result: &Result<Answer, String>,
    ) -> Vec<(Level, String)> {
        let mut lines = Vec::new();
        for text in result.iter().flat_map(|answer| &answer.warnings) {
            if SAID_WARNINGS.first(text) {
                let text = cut(text, MAX_MESSAGE);
                lines.push((Level::Warning, format!("the server warns: {text}")));
            }
        }
        if became == Outcome::Taken {
            let failures = trouble.end();
            if failures > 0 {
                let line = format!("reports get through again after {failures} failures");
                lines.push((Level::Info, line));
            }
        } else if trouble.add(now, self.hooks.time(TROUBLE_EVERY)) {
            let why = match result {
                Ok(answer) => status_text(answer),
                Err(why) => why.clone(),
            };
            let what = match became {
                Outcome::Refused => "the server refuses a report",
                _ => "no report gets through",
            };
            let authority = &self.env.endpoint.authority;
            let count = trouble.count;
            let line = format!("{what} at {authority} (failures: {count}): {why}");
            lines.push((Level::Warning, line));
        }
        lines
    }
}

fn status_text(answer: &Answer) -> String {
    let message = server_message(&answer.body);
    let colon = if message.is_empty() { "" } else { ": " };
    format!("status {}{colon}{message}", answer.status)
}
