// SPDX-License-Identifier: Apache-2.0

//! What a program calls.

use std::fmt::Display;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::environment::{self, Environment};
use crate::hooks::Hooks;
use crate::log::{cut, Level, Logger, MAX_MESSAGE, SAID_METRICS};
use crate::numbers::{computed_progress, explicit_progress, explicit_seconds, COMPLETE};
use crate::pacing::DEFAULT_INTERVAL;
use crate::rate::Rate;
use crate::report::Report;
use crate::sender::{Outgoing, Sender, ATTEMPT};
use crate::stored::{self, Stored};
use crate::track::Track;
use crate::wire::{TrainerStatus, METRIC_NAME_MAX_LENGTH};
use crate::{exit, lock, signals, stamp};

/// Makes a reporter from the environment. See [`Builder::start`].
pub fn start() -> Reporter {
    Builder::new().start()
}

/// Changes how a reporter is made.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until start() is called"]
pub struct Builder {
    rank: Option<u64>,
    interval: Duration,
    signals: bool,
    log: Logger,
    hooks: Hooks,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            rank: None,
            interval: DEFAULT_INTERVAL,
            signals: true,
            log: Logger::default(),
            hooks: Hooks::default(),
        }
    }

    /// States the global rank of this process instead of reading it from the environment. Only rank
    /// 0 reports.
    pub fn rank(mut self, rank: u64) -> Self {
        self.rank = Some(rank);
        self
    }

    /// Sets the least time between the starts of two reports that arrive, 5 seconds by default. The
    /// server slows down who sends more often than once a second.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Turns the handling of SIGTERM and SIGINT on or off. It is on by default: the last report is
    /// sent, and then the signal ends the program. A program that handles these signals itself turns
    /// it off, because Rust does not tell a library of handlers that are installed later.
    pub fn signals(mut self, on: bool) -> Self {
        self.signals = on;
        self
    }

    /// Gets the few log lines of the reporter, which go to standard error otherwise. A panic of the
    /// callback is ignored. It is called from several threads.
    pub fn log(mut self, to: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        self.log = Logger::new(to);
        self
    }

    /// For the tests of this repository.
    #[doc(hidden)]
    pub fn hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Makes the reporter from the environment. Outside a TrainJob, and on other ranks than 0, it
    /// does nothing, and one log line says why. D1, D2.
    #[must_use = "the reporter ends when it is dropped"]
    pub fn start(self) -> Reporter {
        self.start_with(|name| std::env::var(name).ok())
    }

    fn start_with(self, get: impl Fn(&str) -> Option<String>) -> Reporter {
        let active = match environment::read(&get) {
            Err(problems) => {
                let line = format!("nothing is reported outside a TrainJob: {problems}");
                self.log.log(Level::Info, &line);
                None
            }
            Ok(env) => match environment::other_rank(&get, self.rank) {
                Some(other) => {
                    let line = format!("nothing is reported by this rank: {other}");
                    self.log.log(Level::Info, &line);
                    None
                }
                None => Some(Active::new(env, self)),
            },
        };
        Reporter { active }
    }
}

/// Reports for this process. It may be shared by threads.
///
/// Dropping it ends reporting and waits at most 5 seconds for the last report to arrive. That does
/// not make the training complete: only [`Reporter::complete`] does.
#[derive(Debug)]
pub struct Reporter {
    /// Nothing when it does nothing.
    active: Option<Active>,
}

#[derive(Debug)]
struct Active {
    log: Logger,
    hooks: Hooks,
    env: Environment,
    sender: Arc<Sender>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rate: Rate,
    /// The last report, for completion.
    metrics: Vec<crate::wire::Metric>,
    keep: Vec<String>,
    /// Progress of the last report, 0 when it had none.
    progress: i32,
    ended: bool,
    /// Whether a report after the end was logged.
    ignored: bool,
}

impl Reporter {
    /// Whether this reporter sends anything.
    pub fn is_active(&self) -> bool {
        self.own().is_some()
    }

    /// The parts of an active reporter, in the process that made it. D26.
    fn own(&self) -> Option<&Active> {
        self.active.as_ref().filter(|active| active.sender.is_own())
    }

    /// Stores what the training has to say and returns at once. A worker sends the newest report in
    /// the background: the first at once, later ones every 5 seconds. A report replaces the one
    /// before; what it leaves out becomes unknown. After the end it is ignored.
    pub fn report(&self, report: Report) {
        if let Some(active) = self.own() {
            active.report(report);
        }
    }

    /// Reports that the training is complete: progress 100 and no time remaining. Waits at most 5
    /// seconds for the report to arrive. The metrics of the last report are sent again. Later
    /// reports are ignored. D22.
    pub fn complete(&self) {
        self.complete_with(Report::new());
    }

    /// Like [`Reporter::complete`], with the metrics of a report. Its other parts do not count.
    pub fn complete_with(&self, report: Report) {
        if let Some(active) = self.own() {
            active.complete(report);
            active.close();
        }
    }

    /// Ends reporting without completion: the last report is sent as it is, and the reason goes to
    /// the log. Waits at most 5 seconds. D23.
    pub fn fail(&self, reason: impl Display) {
        if let Some(active) = self.own() {
            if active.end() {
                active.say_failed(&reason);
            }
            active.close();
        }
    }

    /// Ends reporting and waits at most 5 seconds for the last report to arrive, as dropping the
    /// reporter does. Later reports are ignored. D22.
    pub fn close(&self) {
        if let Some(active) = self.own() {
            active.end();
            active.close();
        }
    }

    /// Asks the server for the report that is stored, so that a restarted training can go on from
    /// it. Waits at most 5 seconds. Nothing when nothing is stored, nothing could be learned, or
    /// this reporter does nothing. D27.
    pub fn stored(&self) -> Option<Stored> {
        let active = self.own()?;
        stored::read(active.env.clone(), active.hooks.limit(ATTEMPT))
    }

    /// Passes items through and reports how many of them the loop is done with, 0 before the first.
    /// At the normal end of the loop the training is complete; after a break, a return or a panic it
    /// is not, and the last report stays. D28.
    ///
    /// ```
    /// # fn train(batch: u32) -> f64 { f64::from(batch) }
    /// let m = milepost_reporter::start();
    /// let loss = std::cell::Cell::new(0.0);
    /// for batch in m.track(0..100).with(|report| report.metric("loss", loss.get())) {
    ///     loss.set(train(batch));
    /// }
    /// ```
    pub fn track<I: IntoIterator>(&self, items: I) -> Track<'_, I::IntoIter> {
        Track::new(self, items.into_iter())
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.close();
    }
}

impl Active {
    fn new(env: Environment, with: Builder) -> Self {
        let sender = Sender::new(env.clone(), with.log.clone(), with.hooks.clone(), with.interval);
        let sender = Arc::new(sender);
        exit::add(&sender);
        if with.signals {
            signals::watch();
        }
        Self { log: with.log, hooks: with.hooks, env, sender, state: Mutex::default() }
    }

    fn report(&self, report: Report) {
        self.explain(&report.metrics.unfit);
        let mut state = lock(&self.state);
        if state.ended {
            let first = !std::mem::replace(&mut state.ignored, true);
            drop(state);
            if first {
                let line = "reports after the end of reporting are ignored";
                self.log.log(Level::Warning, line);
            }
            return;
        }
        let (progress, remaining) = self.numbers(&mut state.rate, &report);
        let urgent = progress == Some(COMPLETE) && state.progress < COMPLETE;
        state.progress = progress.unwrap_or(0);
        state.metrics = report.metrics.items;
        state.keep = report.keep;
        self.store(&state, progress, remaining, urgent);
    }

    /// Works out progress and time remaining. D4, D5, D6.
    fn numbers(&self, rate: &mut Rate, report: &Report) -> (Option<i32>, Option<i32>) {
        let (mut progress, mut remaining) = (None, None);
        if let Some((step, total)) = report.step {
            rate.add((self.hooks.rate_clock)(), step);
            if total > 0 {
                progress = Some(computed_progress(step, total));
                remaining = rate.remaining(step, total);
            }
        }
        if let Some(percent) = report.progress {
            progress = explicit_progress(percent);
            if progress == Some(COMPLETE) {
                remaining = Some(0);
            }
        }
        if let Some(seconds) = report.remaining {
            remaining = explicit_seconds(seconds);
        }
        (progress, remaining)
    }

    fn complete(&self, report: Report) {
        self.explain(&report.metrics.unfit);
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        if !report.metrics.items.is_empty() {
            state.metrics = report.metrics.items;
            state.keep = report.keep;
        }
        self.store(&state, Some(COMPLETE), Some(0), true);
    }

    /// Puts a report with the metrics of the state into the slot of the sender.
    fn store(&self, state: &State, progress: Option<i32>, remaining: Option<i32>, urgent: bool) {
        self.sender.put(Outgoing {
            status: TrainerStatus {
                progress_percentage: progress,
                estimated_remaining_seconds: remaining,
                metrics: state.metrics.clone(),
                last_updated_time: Some(stamp::next()),
            },
            keep: state.keep.clone(),
            urgent,
        });
    }

    /// True for the first of the calls that end reporting.
    fn end(&self) -> bool {
        !std::mem::replace(&mut lock(&self.state).ended, true)
    }

    /// Sends what is left and gives up what the reporter holds.
    fn close(&self) {
        self.sender.close();
        exit::remove(&self.sender);
    }

    fn say_failed(&self, reason: &impl Display) {
        let written = catch_unwind(AssertUnwindSafe(|| reason.to_string()));
        let reason = cut(&written.unwrap_or_default(), MAX_MESSAGE);
        let colon = if reason.is_empty() { "" } else { ": " };
        let line = format!("the training failed{colon}{reason}");
        self.log.log(Level::Error, &line);
    }

    /// Says once per name that a metric was left out. D7.
    fn explain(&self, unfit: &[String]) {
        for name in unfit {
            let name = cut(name, METRIC_NAME_MAX_LENGTH);
            if SAID_METRICS.first(&name) {
                let line = format!("the metric {name:?} is left out: name and value have 1 to 64 characters, and a value is a number, a boolean or text");
                self.log.log(Level::Warning, &line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
