// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.System.Logger.Level;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Drives the reporter for the conformance runner, in the JSON lines described in
 * reporters/conformance/PROTOCOL.md.
 */
public final class Executor {
  private static final List<String> CAPABILITIES =
      List.of("threads", "exit-hook", "own-handler", "wide-int", "huge-int", "null", "references");

  private final List<Object> lines = Collections.synchronizedList(new ArrayList<>());
  private volatile long now;
  private Reporter reporter;

  private Executor() {}

  /** Answers the requests of standard input. */
  public static void main(String[] arguments) throws IOException {
    Executor executor = new Executor();
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      Request request = new Request(Json.read(line));
      if (request.text("op").equals("exit")) {
        switch (request.text("how")) {
          case "exit":
            System.exit((int) request.whole("code", 0));
            return;
          case "throw":
            throw new IllegalStateException("an error that nobody catches");
          default:
            return;
        }
      }
      Map<String, Object> answer = executor.answer(request);
      answer.put("id", request.get("id"));
      StringBuilder out = new StringBuilder();
      write(out, answer);
      answers.println(out);
    }
  }

  /** Carries out a request and turns an exception that leaves the reporter into an answer. */
  private Map<String, Object> answer(Request request) {
    Map<String, Object> answer = new LinkedHashMap<>();
    try {
      carryOut(request, answer);
    } catch (Exception | StackOverflowError e) {
      answer.put("raised", e.toString());
    }
    return answer;
  }

  private void carryOut(Request request, Map<String, Object> answer) throws Exception {
    switch (request.text("op")) {
      case "hello":
        answer.put("language", "java");
        answer.put("version", Reporter.VERSION);
        answer.put("capabilities", CAPABILITIES);
        break;
      case "create":
        reporter = create(request);
        answer.put("active", reporter.isActive());
        break;
      case "clock":
        now = (long) (request.number("now", 0) * 1e9);
        break;
      case "report":
        reporter.report(request.report());
        break;
      case "complete":
        reporter.complete(request.get("metrics") == null ? null : request.report());
        break;
      case "fail":
        reporter.fail(request.text("message"));
        break;
      case "close":
        reporter.close();
        break;
      case "stored":
        answer.put("stored", stored());
        break;
      case "logs":
        answer.put("logs", List.of(lines.toArray()));
        break;
      default:
        carryOutMore(request, answer);
    }
  }

  private void carryOutMore(Request request, Map<String, Object> answer) throws Exception {
    switch (request.text("op")) {
      case "track":
        track(request, answer);
        break;
      case "scope":
        scope(request, answer);
        break;
      case "measure":
        measure((int) request.whole("calls", 1), answer);
        break;
      case "hammer":
        hammer((int) request.whole("threads", 1), request.whole("calls", 1));
        break;
      case "handle":
        handle((int) request.whole("exitCode", 0));
        break;
      default:
        answer.put("unsupported", true);
    }
  }

  private Reporter create(Request request) {
    Request options = request.inner("options");
    Hooks hooks = new Hooks();
    hooks.timeScale = options.number("timeScale", 1);
    hooks.limitScale = options.number("limitScale", 1);
    if (Boolean.TRUE.equals(request.get("manualClock"))) {
      hooks.rateClock = () -> now;
    }
    Reporter.Builder builder = Reporter.builder().hooks(hooks);
    switch (options.text("log")) {
      case "default":
        break;
      case "broken":
        builder.log(
            (level, line) -> {
              throw new IllegalStateException("the log is broken");
            });
        break;
      default:
        builder.log((level, line) -> lines.add(Map.of("level", name(level), "message", line)));
    }
    if (options.get("rank") != null) {
      builder.rank(options.whole("rank", 0));
    }
    if (options.get("interval") != null) {
      builder.interval(Duration.ofNanos((long) (options.number("interval", 0) * 1e9)));
    }
    return builder.start();
  }

  private static String name(Level level) {
    return level.name().toLowerCase(java.util.Locale.ROOT);
  }

  private Object stored() {
    Optional<Stored> found = reporter.stored();
    if (found.isEmpty()) {
      return null;
    }
    Map<String, Object> wire = new LinkedHashMap<>();
    Stored stored = found.get();
    stored.progress().ifPresent(percent -> wire.put("progressPercentage", percent));
    stored.remainingSeconds().ifPresent(s -> wire.put("estimatedRemainingSeconds", s));
    if (!stored.metrics().isEmpty()) {
      wire.put(
          "metrics",
          stored.metrics().stream()
              .map(metric -> Map.of("name", metric.getKey(), "value", metric.getValue()))
              .collect(Collectors.toList()));
    }
    stored.updated().ifPresent(time -> wire.put("lastUpdatedTime", time.toString()));
    return wire;
  }

  private void track(Request request, Map<String, Object> answer) throws InterruptedException {
    long total = request.whole("total", 0);
    long items = request.whole("items", total);
    long pause = (long) (request.number("pause", 0) * 1000);
    answer.put("items", 0);
    Iterable<Long> numbers = () -> LongStream.rangeClosed(1, items).iterator();
    try {
      for (long item : reporter.track(numbers).total(total)) {
        answer.put("items", item);
        Thread.sleep(pause);
        if (item == request.whole("breakAt", 0)) {
          break;
        }
        if (item == request.whole("failAt", 0)) {
          throw new IllegalStateException("the body failed");
        }
      }
    } catch (IllegalStateException e) {
      answer.put("raised", e.getMessage());
    }
  }

  private void scope(Request request, Map<String, Object> answer) {
    try (Reporter own = create(request)) {
      for (Request step : request.list("steps")) {
        own.report(step.report());
      }
      if (request.get("raise") != null) {
        throw new IllegalStateException(request.text("raise"));
      }
    } catch (IllegalStateException e) {
      answer.put("raised", e.getMessage());
    }
  }

  private void measure(int calls, Map<String, Object> answer) {
    long[] took = new long[calls];
    for (int i = 0; i < calls; i++) {
      double loss = 1.0 / (i + 1);
      long start = System.nanoTime();
      reporter.report(Report.step(i + 1, calls).metric("loss", loss).metric("accuracy", 1 - loss));
      took[i] = System.nanoTime() - start;
    }
    Arrays.sort(took);
    answer.put("p50", took[(calls - 1) / 2] / 1000.0);
    answer.put("p99", took[(int) ((calls - 1) * 0.99)] / 1000.0);
    answer.put("max", took[calls - 1] / 1000.0);
  }

  private void hammer(int threads, long calls) throws InterruptedException {
    List<Thread> all = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int number = t;
      Thread thread =
          new Thread(
              () -> {
                for (long i = 0; i < calls; i++) {
                  long step = number * calls + i;
                  reporter.report(Report.step(step, threads * calls).metric("thread", number));
                }
              });
      thread.start();
      all.add(thread);
    }
    for (Thread thread : all) {
      thread.join();
    }
  }

  /** Installs a handler for SIGTERM. It is not part of the Java platform, but every JDK has it. */
  private static void handle(int exitCode) throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handler = Class.forName("sun.misc.SignalHandler");
    Object exits =
        Proxy.newProxyInstance(
            Executor.class.getClassLoader(),
            new Class<?>[] {handler},
            (proxy, method, arguments) -> {
              System.exit(exitCode);
              return null;
            });
    Object term = signal.getConstructor(String.class).newInstance("TERM");
    signal.getMethod("handle", signal, handler).invoke(null, term, exits);
  }

  /** Writes maps, lists, text, numbers, booleans and null as JSON. */
  private static void write(StringBuilder out, Object value) {
    if (value instanceof Map) {
      String comma = "{";
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        write(out.append(comma), entry.getKey());
        write(out.append(':'), entry.getValue());
        comma = ",";
      }
      out.append(comma.equals("{") ? "{}" : "}");
    } else if (value instanceof List) {
      String comma = "[";
      for (Object item : (List<?>) value) {
        write(out.append(comma), item);
        comma = ",";
      }
      out.append(comma.equals("[") ? "[]" : "]");
    } else if (value instanceof String) {
      dev.milepost.reporter.wire.Wire.quote(out, (String) value);
    } else {
      out.append(value);
    }
  }
}
