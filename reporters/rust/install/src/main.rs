// SPDX-License-Identifier: Apache-2.0

//! Reports from a project that has nothing but the published package.

use milepost_reporter::Report;

fn main() {
    let m = milepost_reporter::start();
    m.report(Report::step(1, 2).metric("loss", 0.5));
    m.complete_with(Report::new().metric("language", "rust"));
}
