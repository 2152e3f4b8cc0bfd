// SPDX-License-Identifier: Apache-2.0

//! Few log lines, and none twice.

use std::collections::HashSet;
use std::fmt;
use std::io::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::lock;

/// How many things are remembered to say them once. Beyond it nothing new is said, so that names
/// which change at every step fill neither memory nor the log. D21.
const REMEMBERED: usize = 1000;

/// How much of a text from elsewhere stands in a log line, in code points.
pub(crate) const MAX_MESSAGE: usize = 300;

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Good to know.
    Info,
    /// Something does not work as it should.
    Warning,
    /// The training failed.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

type Callback = dyn Fn(Level, &str) + Send + Sync;

/// Writes lines and survives a callback that does not. D3.
#[derive(Clone, Default)]
pub(crate) struct Logger(Option<Arc<Callback>>);

impl Logger {
    pub fn new(to: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(to)))
    }

    pub fn log(&self, level: Level, message: &str) {
        let written = catch_unwind(AssertUnwindSafe(|| match &self.0 {
            Some(to) => to(level, message),
            // The program may have closed standard error; that is its own affair.
            None => drop(writeln!(std::io::stderr().lock(), "milepost: {level}: {message}")),
        }));
        drop(written);
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Logger")
    }
}

/// Remembers for the life of the process what was said.
pub(crate) struct Once(Mutex<Option<HashSet<String>>>);

impl Once {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub fn first(&self, key: &str) -> bool {
        let mut said = lock(&self.0);
        let said = said.get_or_insert_with(HashSet::new);
        !said.contains(key) && said.len() < REMEMBERED && said.insert(key.to_owned())
    }
}

/// Metrics that were left out. The empty name stands for those beyond the limits.
pub(crate) static SAID_METRICS: Once = Once::new();
/// Warnings of the server.
pub(crate) static SAID_WARNINGS: Once = Once::new();

/// Decides which failures get a line: the first, one a minute, and the end of it. D21.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Failures since the last success.
    pub count: u64,
    last: Option<Instant>,
}

impl Trouble {
    /// Notes a failure and tells whether it gets a line.
    pub fn add(&mut self, now: Instant, every: Duration) -> bool {
        self.count += 1;
        let speak =
            self.count == 1 || self.last.map_or(true, |last| now.saturating_duration_since(last) >= every);
        if speak {
            self.last = Some(now);
        }
        speak
    }

    /// Notes a success and returns how many failures came before it.
    pub fn end(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }
}

/// Shortens text to a number of code points and puts it on one line.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_ascii_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_speaks_at_once_then_once_a_minute_and_counts() {
        let begin = Instant::now();
        let minute = Duration::from_secs(60);
        let mut trouble = Trouble::default();
        assert!(trouble.add(begin, minute));
        assert!(!trouble.add(begin + minute / 2, minute));
        assert!(trouble.add(begin + minute, minute));
        assert_eq!(trouble.end(), 3);
        assert_eq!(trouble.end(), 0);
        assert!(trouble.add(begin + minute, minute));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let once = Once::new();
        let said = (0..REMEMBERED * 2).filter(|i| once.first(&i.to_string())).count();
        assert_eq!(said, REMEMBERED);
        assert!(!once.first("0"));
    }

    #[test]
    fn a_callback_that_panics_is_ignored() {
        Logger::new(|_, _| panic!("the log is broken")).log(Level::Info, "line");
    }
}
