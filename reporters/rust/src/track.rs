// SPDX-License-Identifier: Apache-2.0

//! Loops that report themselves.

use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::report::{Count, Report};
use crate::reporter::Reporter;

/// Passes items through and reports how many the loop is done with. Made by [`Reporter::track`].
#[must_use = "iterators do nothing unless they are used"]
pub struct Track<'a, I> {
    reporter: &'a Reporter,
    items: I,
    total: i64,
    /// Items that were handed out; nothing before the first.
    handed: Option<i64>,
    ended: bool,
    more: Option<Box<dyn FnMut(Report) -> Report + 'a>>,
}

impl<'a, I: Iterator> Track<'a, I> {
    pub(crate) fn new(reporter: &'a Reporter, items: I) -> Self {
        let total = match items.size_hint() {
            (least, Some(most)) if least == most => most.count(),
            _ => 0,
        };
        Self { reporter, items, total, handed: None, ended: false, more: None }
    }

    /// States how many items there are, where the iterator does not know or should not be believed.
    pub fn total(mut self, total: impl Count) -> Self {
        self.total = total.count();
        self
    }

    /// Adds to every report but the first, such as metrics of the item that is done.
    pub fn with(mut self, more: impl FnMut(Report) -> Report + 'a) -> Self {
        self.more = Some(Box::new(more));
        self
    }
}

impl<I> Track<'_, I> {
    /// What is done. A fault of the caller's addition costs the addition alone. D3.
    fn report(&mut self) -> Report {
        let plain = Report::step(self.handed.unwrap_or(0), self.total);
        match (self.handed, &mut self.more) {
            (Some(_), Some(more)) => {
                let added = catch_unwind(AssertUnwindSafe(|| more(plain.clone())));
                added.unwrap_or(plain)
            }
            _ => plain,
        }
    }
}

impl<I: Iterator> Iterator for Track<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.ended {
            return None;
        }
        let report = self.report();
        self.reporter.report(report);
        let item = self.items.next();
        if item.is_some() {
            self.handed = Some(self.handed.map_or(1, |handed| handed.saturating_add(1)));
        } else {
            self.ended = true;
            self.reporter.complete();
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: fmt::Debug> fmt::Debug for Track<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Track")
            .field("items", &self.items)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}
