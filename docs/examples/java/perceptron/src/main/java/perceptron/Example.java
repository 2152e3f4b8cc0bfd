// SPDX-License-Identifier: Apache-2.0
package perceptron;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/** An image of 8×8 pixels from 0 (white) to 1 (black), and the digit that it shows. */
final class Example {
  final double[] image;
  final int digit;

  private Example(double[] image, int digit) {
    this.image = image;
    this.digit = digit;
  }

  /** Reads the file docs/examples/go/digits/data/digits.csv.gz. */
  static List<Example> read(Path path) throws IOException {
    var unzipped = new GZIPInputStream(Files.newInputStream(path));
    try (var lines = new BufferedReader(new InputStreamReader(unzipped, StandardCharsets.UTF_8))) {
      return lines.lines().map(Example::parse).collect(Collectors.toList());
    }
  }

  private static Example parse(String line) {
    int last = line.lastIndexOf(',');
    double[] image =
        Stream.of(line.substring(0, last).split(","))
            .mapToDouble(shade -> Double.parseDouble(shade) / 16)
            .toArray();
    return new Example(image, (int) Double.parseDouble(line.substring(last + 1)));
  }
}
