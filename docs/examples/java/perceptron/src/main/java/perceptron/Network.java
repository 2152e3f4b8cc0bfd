// SPDX-License-Identifier: Apache-2.0
package perceptron;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** One hidden layer of rectifiers; the outputs are the probabilities of the classes. */
final class Network {
  private static final double RATE = 0.01; // of learning

  private final Random random = new Random(1); // the same numbers in each run
  private final Layer hidden;
  private final Layer output;

  Network(int inputs, int hidden, int classes) {
    this.hidden = new Layer(random, inputs, hidden);
    this.output = new Layer(random, hidden, classes);
  }

  /** Goes through the examples once, in a new order, and returns the mean loss. */
  double learn(List<Example> examples) {
    List<Example> order = new ArrayList<>(examples);
    Collections.shuffle(order, random);
    return order.stream().mapToDouble(this::learn).sum() / order.size();
  }

  /** Moves all weights a little down the slope of the loss, which is the cross entropy. */
  private double learn(Example example) {
    predict(example.image);
    double loss = -Math.log(output.values[example.digit]);
    output
        .values[
        example.digit]--; // the values are now the slopes along the sums of the output units
    double[] slopes = output.descend(hidden.values, output.values);
    for (int unit = 0; unit < slopes.length; unit++) {
      slopes[unit] = hidden.values[unit] > 0 ? slopes[unit] : 0;
    }
    hidden.descend(example.image, slopes);
    return loss;
  }

  /** The share of the examples that are read right. */
  double accuracy(List<Example> examples) {
    return (double) examples.stream().filter(e -> predict(e.image) == e.digit).count()
        / examples.size();
  }

  /** Fills in the values of both layers and returns the likeliest class. */
  private int predict(double[] image) {
    hidden.sum(image);
    for (int unit = 0; unit < hidden.values.length; unit++) {
      hidden.values[unit] = Math.max(hidden.values[unit], 0);
    }
    output.sum(hidden.values);
    int best = 0;
    double total = 0;
    for (int i = 0; i < output.values.length; i++) {
      best = output.values[i] > output.values[best] ? i : best;
      total += Math.exp(output.values[i]);
    }
    for (int i = 0; i < output.values.length; i++) {
      output.values[i] = Math.exp(output.values[i]) / total;
    }
    return best;
  }

  /** Units with a row of weights each, the bias behind them, and what they put out last. */
  private static final class Layer {
    final double[][] weights;
    final double[] values;

    Layer(Random random, int inputs, int units) {
      weights = new double[units][inputs + 1];
      values = new double[units];
      for (double[] row : weights) {
        for (int i = 0; i < inputs; i++) {
          row[i] = random.nextGaussian() * Math.sqrt(2.0 / inputs);
        }
      }
    }

    void sum(double[] inputs) {
      for (int unit = 0; unit < weights.length; unit++) {
        double sum = weights[unit][inputs.length];
        for (int i = 0; i < inputs.length; i++) {
          sum += weights[unit][i] * inputs[i];
        }
        values[unit] = sum;
      }
    }

    /** Changes the weights and returns the slopes along the inputs. */
    double[] descend(double[] inputs, double[] slopes) {
      double[] below = new double[inputs.length];
      for (int unit = 0; unit < weights.length; unit++) {
        double[] row = weights[unit];
        for (int i = 0; i < inputs.length; i++) {
          below[i] += row[i] * slopes[unit];
          row[i] -= RATE * slopes[unit] * inputs[i];
        }
        row[inputs.length] -= RATE * slopes[unit];
      }
      return below;
    }
  }
}
