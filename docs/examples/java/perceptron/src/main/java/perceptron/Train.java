// SPDX-License-Identifier: Apache-2.0
package perceptron;

import dev.milepost.reporter.Report;
import dev.milepost.reporter.Reporter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Trains a small neural network to read handwritten digits and reports its progress with the
 * reporter for Java.
 *
 * <pre>java -jar perceptron.jar digits.csv.gz [EPOCHS]</pre>
 */
public final class Train {
  private Train() {}

  public static void main(String[] arguments) throws IOException {
    if (arguments.length == 0) {
      System.err.println("usage: perceptron digits.csv.gz [EPOCHS]");
      System.exit(2);
    }
    int epochs = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 500;
    train(Example.read(Path.of(arguments[0])), epochs);
  }

  /** Learns from four fifths of the images and measures on the others how many are read right. */
  private static void train(List<Example> digits, int epochs) {
    int cut = digits.size() / 5;
    List<Example> heldOut = digits.subList(0, cut);
    List<Example> training = digits.subList(cut, digits.size());
    Network network = new Network(64, 128, 10);

    // [start:train]
    try (Reporter m = Reporter.start()) {
      for (int epoch = 1; epoch <= epochs; epoch++) {
        double loss = network.learn(training);
        m.report(
            Report.step(epoch, epochs)
                .metric("loss", loss)
                .metric("accuracy", network.accuracy(heldOut)));
      }
      m.complete();
    }
    // [end:train]

    System.out.printf(
        "%.1f %% of %d images that it did not learn from are read right%n",
        100 * network.accuracy(heldOut), heldOut.size());
  }
}
