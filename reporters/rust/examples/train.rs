// SPDX-License-Identifier: Apache-2.0

//! Fits a straight line to a few points by gradient descent and reports how it goes.

use milepost_reporter::Report;

fn main() {
    let points: Vec<(f64, f64)> = (0..20).map(|x| f64::from(x) / 10.0).map(|x| (x, 3.0 * x + 1.0)).collect();
    let (mut slope, mut offset) = (0.0, 0.0);
    let steps = 2000;
    let m = milepost_reporter::start();
    for step in 1..=steps {
        let (mut loss, mut by_slope, mut by_offset) = (0.0, 0.0, 0.0);
        for (x, y) in &points {
            let error = slope * x + offset - y;
            loss += error * error;
            by_slope += error * x;
            by_offset += error;
        }
        slope -= 0.02 * by_slope;
        offset -= 0.02 * by_offset;
        m.report(Report::step(step, steps).metric("loss", loss));
    }
    m.complete_with(Report::new().metric("slope", slope).metric("offset", offset));
    eprintln!("y = {slope:.3} x + {offset:.3}");
}
