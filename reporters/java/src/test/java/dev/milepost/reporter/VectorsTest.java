// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.milepost.reporter.wire.Metric;
import dev.milepost.reporter.wire.TrainerStatus;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Checks every row of the tables that all languages share. */
class VectorsTest {
  private static final Map<String, String> USUAL =
      Map.of(
          "KUBEFLOW_TRAINER_SERVER_URL", "https://127.0.0.1:1/p",
          "KUBEFLOW_TRAINER_SERVER_CA_CERT", "/no/ca",
          "KUBEFLOW_TRAINER_SERVER_TOKEN", "/no/token");

  private long now;

  private Reporter active() {
    Hooks hooks = new Hooks();
    hooks.rateClock = () -> now;
    return Reporter.builder().hooks(hooks).start(USUAL::get);
  }

  @TestFactory
  Stream<DynamicTest> values() {
    return Vectors.rows(
        "values",
        row -> {
          MetricList list = new MetricList();
          list.add("m", Request.value(row.get("value")));
          List<Metric> sent = list.select(new HashSet<>());
          String got = sent.isEmpty() ? null : sent.get(0).value;
          assertEquals(row.get("want"), got);
          assertEquals(got == null ? 1 : 0, list.unfit.size());
        });
  }

  @TestFactory
  Stream<DynamicTest> metrics() {
    return Vectors.rows(
        "metrics",
        row -> {
          MetricList list = new MetricList();
          Vectors.map(row.get("metrics"))
              .forEach((name, value) -> list.add((String) name, Request.value(value)));
          List<List<String>> got =
              list.select(new HashSet<>(Vectors.texts(row.get("keep")))).stream()
                  .map(metric -> List.of(metric.name, metric.value))
                  .collect(Collectors.toList());
          assertEquals(row.get("want"), got);
        });
  }

  @TestFactory
  Stream<DynamicTest> progress() {
    return Vectors.rows(
        "progress",
        row -> {
          Integer[] got = active().numbers(new Request(row).report());
          Map<?, ?> want = Vectors.map(row.get("want"));
          assertEquals(Arrays.asList(want.get("progress"), want.get("eta")), Arrays.asList(got));
        });
  }

  @TestFactory
  Stream<DynamicTest> timeRemaining() {
    return Vectors.rows(
        "eta",
        row -> {
          Reporter reporter = active();
          for (Object one : Vectors.list(row.get("reports"))) {
            Request report = new Request(one);
            now = (long) (report.number("at", 0) * 1e9);
            assertEquals(report.get("want"), reporter.numbers(report.report())[1]);
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> rank() {
    return Vectors.rows(
        "rank",
        row -> {
          Map<?, ?> environment = Vectors.map(row.get("environment"));
          Integer option = (Integer) row.get("option");
          String why =
              Environment.otherRank(
                  name -> (String) environment.get(name), option == null ? null : (long) option);
          assertEquals(row.get("want"), why == null);
          assertTrue(why == null || why.contains("rank"), why);
        });
  }

  @TestFactory
  Stream<DynamicTest> environment() {
    return Vectors.rows(
        "active",
        row -> {
          Map<String, String> environment = new HashMap<>(USUAL);
          Vectors.map(row.get("environment"))
              .forEach((name, value) -> environment.put((String) name, (String) value));
          List<String> lines = new ArrayList<>();
          Reporter reporter =
              Reporter.builder().log((level, line) -> lines.add(line)).start(environment::get);
          Map<?, ?> want = Vectors.map(row.get("want"));
          assertEquals(want.get("active"), reporter.isActive());
          assertEquals(reporter.isActive() ? 0 : 1, lines.size());
          for (String word : Vectors.texts(want.get("line"))) {
            assertTrue(lines.get(0).contains(word), lines.get(0) + " without " + word);
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> backoff() {
    return Vectors.rows(
        "backoff",
        row -> {
          double least = Double.MAX_VALUE;
          double most = 0;
          for (int i = 0; i < 300; i++) {
            Pacing pacing = new Pacing(0, new Hooks());
            for (int failures = 0; failures < (int) row.get("failures"); failures++) {
              pacing.failed(0, 0);
            }
            double seconds = pacing.wait(0, true) / 1e9;
            least = Math.min(least, seconds);
            most = Math.max(most, seconds);
          }
          Request want = new Request(row.get("want"));
          double min = want.number("min", 0);
          double max = want.number("max", 0);
          assertTrue(least >= min && most <= max, least + " to " + most);
          assertTrue(most - least > (max - min) / 2, "hardly random: " + least + " to " + most);
        });
  }

  @TestFactory
  Stream<DynamicTest> retryAfter() {
    Instant time = Instant.parse("2026-06-12T03:00:00Z");
    return Vectors.rows(
        "retry-after",
        row -> {
          Duration got = Pacing.retryAfter((String) row.get("header"), time);
          Integer want = (Integer) row.get("want");
          assertEquals(want == null ? null : Duration.ofSeconds(want), got);
        });
  }

  @TestFactory
  Stream<DynamicTest> statuses() {
    Map<?, Outcome> outcomes =
        Map.of(
            "success", Outcome.TAKEN,
            "retry", Outcome.FAILED,
            "reauthenticate", Outcome.FAILED,
            "refuse", Outcome.REFUSED);
    return Vectors.rows(
        "statuses",
        row -> assertEquals(outcomes.get(row.get("want")), Outcome.of((int) row.get("status"))));
  }

  @TestFactory
  Stream<DynamicTest> messages() {
    return Vectors.rows(
        "messages",
        row -> {
          Answer answer = new Answer(403, (String) row.get("body"), null, List.of());
          assertEquals(row.get("want"), answer.message());
        });
  }

  @TestFactory
  Stream<DynamicTest> warnings() {
    return Vectors.rows(
        "warnings",
        row -> assertEquals(row.get("want"), Warnings.texts(Vectors.texts(row.get("headers")))));
  }

  @TestFactory
  Stream<DynamicTest> tokens() {
    return Vectors.rows(
        "tokens",
        row -> {
          byte[] file = ((String) row.get("file")).getBytes(StandardCharsets.UTF_8);
          assertEquals(row.get("want"), Transport.tokenText(file));
        });
  }

  @TestFactory
  Stream<DynamicTest> bodies() {
    return Vectors.rows(
        "bodies",
        row -> {
          Map<?, ?> report = Vectors.map(row.get("report"));
          List<Metric> metrics = new ArrayList<>();
          for (Object pair : Vectors.list(report.get("metrics"))) {
            List<String> texts = Vectors.texts(pair);
            metrics.add(new Metric(texts.get(0), texts.get(1)));
          }
          String got =
              Outgoing.body(
                  new TrainerStatus(
                      (Integer) report.get("progressPercentage"),
                      (Integer) report.get("estimatedRemainingSeconds"),
                      metrics,
                      (String) report.get("lastUpdatedTime")));
          // Texts may be escaped in several ways.
          assertEquals(Json.read((String) row.get("want")).toString(), Json.read(got).toString());
          assertTrue(got.length() >= ((String) row.get("want")).length(), got);
        });
  }

  @TestFactory
  Stream<DynamicTest> times() {
    return Vectors.rows(
        "times",
        row -> {
          long micros = (long) row.get("micros");
          if (row.get("before") != null) {
            Instant before = Instant.parse((String) row.get("before"));
            long last = before.getEpochSecond() * 1_000_000 + before.getNano() / 1000;
            micros = Stamps.after(last, micros);
          }
          assertEquals(row.get("want"), Stamps.format(micros));
        });
  }

  @TestFactory
  Stream<DynamicTest> stored() {
    return Vectors.rows(
        "stored",
        row -> {
          String body = (String) row.get("body");
          Optional<Stored> got =
              Stored.from(new Answer((int) row.get("status"), body, null, List.of()));
          assertEquals(row.get("want"), got.map(VectorsTest::wire).orElse(null));
        });
  }

  private static Map<String, Object> wire(Stored stored) {
    Map<String, Object> wire = new LinkedHashMap<>();
    put(wire, "progressPercentage", stored.progress());
    put(wire, "estimatedRemainingSeconds", stored.remainingSeconds());
    List<Map<String, String>> metrics =
        stored.metrics().stream()
            .map(metric -> Map.of("name", metric.getKey(), "value", metric.getValue()))
            .collect(Collectors.toList());
    if (!metrics.isEmpty()) {
      wire.put("metrics", metrics);
    }
    stored.updated().ifPresent(time -> wire.put("lastUpdatedTime", time.toString()));
    return wire;
  }

  private static void put(Map<String, Object> wire, String name, OptionalInt value) {
    value.ifPresent(number -> wire.put(name, number));
  }
}
