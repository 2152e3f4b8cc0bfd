// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;

/** Reads the tables of openapi/vectors. */
final class Vectors {
  private static final Path TABLES = Path.of("../../openapi/vectors/tables.json");
  private static final Map<?, ?> DOCUMENT = load();

  private Vectors() {}

  private static Map<?, ?> load() {
    try {
      LoaderOptions options = new LoaderOptions();
      options.setCodePointLimit(Integer.MAX_VALUE);
      return new Yaml(options).load(Files.readString(TABLES));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A test for every row of the tables of one kind. */
  static Stream<DynamicTest> rows(String kind, Consumer<Map<?, ?>> check) {
    List<DynamicTest> tests = new ArrayList<>();
    for (Object table : (List<?>) DOCUMENT.get("tables")) {
      if (!kind.equals(((Map<?, ?>) table).get("table"))) {
        continue;
      }
      for (Object one : (List<?>) ((Map<?, ?>) table).get("rows")) {
        Map<?, ?> row = (Map<?, ?>) one;
        Object needs = row.get("needs");
        if (needs == null || !((List<?>) needs).contains("items")) { // Java has no such objects
          tests.add(DynamicTest.dynamicTest((String) row.get("name"), () -> check.accept(row)));
        }
      }
    }
    assertFalse(tests.isEmpty(), "there is no table " + kind);
    return tests.stream();
  }

  static Map<?, ?> map(Object value) {
    return value == null ? Map.of() : (Map<?, ?>) value;
  }

  static List<?> list(Object value) {
    return value == null ? List.of() : (List<?>) value;
  }

  static List<String> texts(Object value) {
    List<String> texts = new ArrayList<>();
    list(value).forEach(text -> texts.add((String) text));
    return texts;
  }
}
