// SPDX-License-Identifier: Apache-2.0

//! Trains a small neural network to read handwritten digits and reports its progress with the reporter for Rust.
//!
//! ```text
//! perceptron digits.csv.gz [EPOCHS]
//! ```

mod digits;
mod network;

use std::error::Error;

use milepost_reporter::Report;

use crate::digits::Example;
use crate::network::Network;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: perceptron digits.csv.gz [EPOCHS]")?;
    let epochs = arguments.next().map_or(Ok(500), |text| text.parse())?;
    train(&digits::read(&path)?, epochs);
    Ok(())
}

/// Learns from four fifths of the images and measures on the others how many are read right.
fn train(digits: &[Example], epochs: u64) {
    let (held_out, training) = digits.split_at(digits.len() / 5);
    let mut network = Network::new(64, 128, 10);

    // [start:train]
    let m = milepost_reporter::start();
    for epoch in 1..=epochs {
        let loss = network.learn(training);
        let accuracy = network.accuracy(held_out);
        m.report(
            Report::step(epoch, epochs)
                .metric("loss", loss)
                .metric("accuracy", accuracy),
        );
    }
    m.complete();
    // [end:train]

    let percent = 100.0 * network.accuracy(held_out);
    println!(
        "{percent:.1} % of {} images that it did not learn from are read right",
        held_out.len()
    );
}
