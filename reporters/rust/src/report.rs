// SPDX-License-Identifier: Apache-2.0

//! What the program says in one call.

use crate::metrics::{MetricList, Value};

/// A number of steps: any whole number. What does not fit into 64 bits is cut.
pub trait Count: sealed::Sealed {
    /// The number as 64 bits.
    fn count(self) -> i64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! counts {
    ($($kind:ty)*) => { $(
        impl sealed::Sealed for $kind {}
        impl Count for $kind {
            fn count(self) -> i64 {
                #[allow(unused_comparisons)]
                let limit = if self < 0 { i64::MIN } else { i64::MAX };
                i64::try_from(self).unwrap_or(limit)
            }
        }
    )* };
}

counts!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

/// What the training has to say: progress, time remaining and metrics. What is not said is unknown.
///
/// ```
/// use milepost_reporter::Report;
/// let report = Report::step(450, 1000)
///     .metric("loss", 0.2)
///     .metric("eval", [("accuracy", 0.9), ("f1", 0.8)]) // eval/accuracy and eval/f1
///     .keep("eval/f1");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a report says nothing until it is given to Reporter::report"]
pub struct Report {
    pub(crate) step: Option<(i64, i64)>,
    pub(crate) progress: Option<f64>,
    pub(crate) remaining: Option<f64>,
    pub(crate) metrics: MetricList,
    pub(crate) keep: Vec<String>,
}

impl Report {
    /// A report that says nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// `done` steps of `total` are done. Progress and time remaining follow from it. A total of 0 or
    /// less is unknown: metrics are sent, progress is not. Progress from steps ends at 99;
    /// [`Reporter::complete`](crate::Reporter::complete) makes it 100.
    pub fn step(done: impl Count, total: impl Count) -> Self {
        Self { step: Some((done.count(), total.count())), ..Self::default() }
    }

    /// States the progress, 0 to 100, and wins over steps. The fraction is dropped. 100 says that
    /// the training is complete. NaN leaves progress out.
    pub fn progress(mut self, percent: impl Into<f64>) -> Self {
        self.progress = Some(percent.into());
        self
    }

    /// States the seconds remaining, at least 0, and wins over the estimate. The fraction is dropped.
    /// NaN and infinity make it unknown.
    pub fn remaining_seconds(mut self, seconds: impl Into<f64>) -> Self {
        self.remaining = Some(seconds.into());
        self
    }

    /// Adds a metric. Name and text of the value have 1 to 64 characters; a metric that has not is
    /// left out, with one log line per name. Named values become one metric each, named
    /// `name/inner`.
    pub fn metric(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metrics.add(name.into(), value.into());
        self
    }

    /// Adds metrics in the order given.
    pub fn metrics<N: Into<String>, V: Into<Value>>(
        mut self,
        metrics: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        for (name, value) in metrics {
            self.metrics.add(name.into(), value.into());
        }
        self
    }

    /// Names a metric that must not be left out when there are more than 256. The name of a nested
    /// one is given in full.
    pub fn keep(mut self, name: impl Into<String>) -> Self {
        self.keep.push(name.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_cut_to_64_bits() {
        assert_eq!(u64::MAX.count(), i64::MAX);
        assert_eq!(i128::MIN.count(), i64::MIN);
        assert_eq!((-5_i8).count(), -5);
        assert_eq!(7_usize.count(), 7);
    }
}
