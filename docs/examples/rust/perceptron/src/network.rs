// SPDX-License-Identifier: Apache-2.0

use crate::digits::Example;

const RATE: f64 = 0.01; // of learning

/// One hidden layer of rectifiers; the outputs are the probabilities of the classes.
pub struct Network {
    random: Random,
    hidden: Layer,
    output: Layer,
}

impl Network {
    pub fn new(inputs: usize, hidden: usize, classes: usize) -> Self {
        let mut random = Random(1);
        let (hidden, output) = (
            Layer::new(&mut random, inputs, hidden),
            Layer::new(&mut random, hidden, classes),
        );
        Self {
            random,
            hidden,
            output,
        }
    }

    /// Goes through the examples once, in a new order, and returns the mean loss.
    pub fn learn(&mut self, examples: &[Example]) -> f64 {
        let mut order: Vec<_> = examples
            .iter()
            .map(|example| (self.random.next(), example))
            .collect();
        order.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        order
            .iter()
            .map(|(_, example)| self.learn_one(example))
            .sum::<f64>()
            / examples.len() as f64
    }

    /// Moves all weights a little down the slope of the loss, which is the cross entropy.
    fn learn_one(&mut self, example: &Example) -> f64 {
        self.predict(&example.image);
        let loss = -self.output.values[example.digit].ln();
        let mut slopes = self.output.values.clone();
        slopes[example.digit] -= 1.0;
        let mut below = self.output.descend(&self.hidden.values, &slopes);
        for (slope, value) in below.iter_mut().zip(&self.hidden.values) {
            if *value == 0.0 {
                *slope = 0.0;
            }
        }
        self.hidden.descend(&example.image, &below);
        loss
    }

    /// The share of the examples that are read right.
    pub fn accuracy(&mut self, examples: &[Example]) -> f64 {
        let right = examples
            .iter()
            .filter(|example| self.predict(&example.image) == example.digit)
            .count();
        right as f64 / examples.len() as f64
    }

    /// Fills in the values of both layers and returns the likeliest class.
    fn predict(&mut self, image: &[f64]) -> usize {
        self.hidden.sum(image);
        self.hidden
            .values
            .iter_mut()
            .for_each(|value| *value = value.max(0.0));
        self.output.sum(&self.hidden.values);
        let values = &mut self.output.values;
        values.iter_mut().for_each(|value| *value = value.exp());
        let total: f64 = values.iter().sum();
        values.iter_mut().for_each(|value| *value /= total);
        (0..values.len())
            .max_by(|&a, &b| values[a].total_cmp(&values[b]))
            .unwrap_or(0)
    }
}

/// Units with a row of weights each, the bias behind them, and what they put out last.
struct Layer {
    weights: Vec<Vec<f64>>,
    values: Vec<f64>,
}

impl Layer {
    fn new(random: &mut Random, inputs: usize, units: usize) -> Self {
        let limit = (6.0 / inputs as f64).sqrt();
        let mut row = || {
            let mut weights: Vec<_> = (0..inputs)
                .map(|_| (2.0 * random.next() - 1.0) * limit)
                .collect();
            weights.push(0.0);
            weights
        };
        Self {
            weights: (0..units).map(|_| row()).collect(),
            values: vec![0.0; units],
        }
    }

    fn sum(&mut self, inputs: &[f64]) {
        for (value, weights) in self.values.iter_mut().zip(&self.weights) {
            *value = weights[inputs.len()]
                + inputs
                    .iter()
                    .zip(weights)
                    .map(|(input, weight)| input * weight)
                    .sum::<f64>();
        }
    }

    /// Changes the weights and returns the slopes along the inputs.
    fn descend(&mut self, inputs: &[f64], slopes: &[f64]) -> Vec<f64> {
        let mut below = vec![0.0; inputs.len()];
        for (weights, slope) in self.weights.iter_mut().zip(slopes) {
            for ((weight, input), below) in weights.iter_mut().zip(inputs).zip(&mut below) {
                *below += *weight * slope;
                *weight -= RATE * slope * input;
            }
            weights[inputs.len()] -= RATE * slope;
        }
        below
    }
}

/// A few random numbers, the same in each run.
struct Random(u32);

impl Random {
    /// A number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0) / 2f64.powi(32)
    }
}
