// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.milepost.reporter.wire.Metric;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReporterTest {
  private static Reporter inactive() {
    return Reporter.builder().log((level, line) -> {}).start(name -> null);
  }

  @Test
  void anInactiveReporterDoesNothing() {
    try (Reporter reporter = inactive()) {
      reporter.report(Report.step(1, 2).metric("bad", ""));
      reporter.report(null);
      reporter.complete();
      reporter.fail(null);
      assertEquals(Optional.empty(), reporter.stored());
    }
  }

  @Test
  void aLoopPassesItemsThroughWhateverTheAdditionDoes() {
    Track<Integer> loop =
        inactive()
            .track(List.of(1, 2, 3))
            .with(
                report -> {
                  throw new IllegalStateException("no metrics today");
                });
    List<Integer> got = new ArrayList<>();
    loop.forEach(got::add);
    assertEquals(List.of(1, 2, 3), got);
  }

  @Test
  void valuesOfJavaBecomeText() {
    Map<String, Object> unordered = new HashMap<>();
    unordered.put("z", 1);
    unordered.put("a", 2);
    Map<Object, Object> itself = new TreeMap<>();
    itself.put("m", itself);
    MetricList list = new MetricList();
    list.add("float", 0.1f);
    list.add("largest", Float.MAX_VALUE);
    list.add("decimal", new BigDecimal("0.5"));
    list.add("atomic", new AtomicLong(7));
    list.add("text", new StringBuilder("a"));
    list.add("map", unordered);
    list.add("itself", itself);
    list.add(null, 1);
    list.add("broken", new CharSequenceThatThrows());
    List<String> got =
        list.select(new HashSet<>()).stream()
            .map((Metric metric) -> metric.name + "=" + metric.value)
            .collect(Collectors.toList());
    assertEquals(
        List.of(
            "float=0.1",
            "largest=3.4028235e+38",
            "decimal=0.5",
            "atomic=7",
            "text=a",
            "map/a=2",
            "map/z=1"),
        got);
    assertEquals(3, list.unfit.size());
  }

  private static final class CharSequenceThatThrows implements CharSequence {
    @Override
    public int length() {
      throw new IllegalStateException();
    }

    @Override
    public char charAt(int index) {
      throw new IllegalStateException();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
      throw new IllegalStateException();
    }

    @Override
    public String toString() {
      throw new IllegalStateException();
    }
  }

  @ParameterizedTest
  @ValueSource(
      doubles = {5.684341886080802E-14, 2.0E-3, 1.0E23, 2.2E-322, 9007199254740993.0, 4.35E-5})
  void digitsReadBackAndAreAsFewAsPossible(double number) {
    String text = Numbers.format(number);
    assertEquals(number, Double.parseDouble(text));
    BigDecimal decimal = new BigDecimal(text).stripTrailingZeros();
    if (decimal.precision() > 1) {
      BigDecimal fewer =
          new BigDecimal(number).round(new java.math.MathContext(decimal.precision() - 1));
      assertFalse(fewer.doubleValue() == number, text);
    }
  }

  @Test
  void timesIncrease() {
    long before = Stamps.next();
    for (int i = 0; i < 1000; i++) {
      long next = Stamps.next();
      assertTrue(next > before);
      before = next;
    }
  }

  @Test
  void whatIsRememberedIsBounded() {
    Log.Once once = new Log.Once();
    int said = 0;
    for (int i = 0; i < 2000; i++) {
      said += once.first("name" + i) ? 1 : 0;
    }
    assertEquals(1000, said);
    assertFalse(once.first("name0"));
  }

  private static Exchange exchange(String text) {
    return new Exchange(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }

  private static String ask(String text) throws IOException {
    Exchange exchange = exchange(text);
    Answer answer = exchange.run(new ByteArrayOutputStream(), new byte[0]);
    return answer.status + " " + answer.body + (exchange.reusable ? " kept" : "");
  }

  @Test
  void answersAreReadHoweverTheyEnd() throws IOException {
    String head = "HTTP/1.1 200 OK\r\n";
    assertEquals("200 hi kept", ask(head + "Content-Length: 2\r\n\r\nhi"));
    assertEquals(
        "200 hi kept",
        ask(head + "Transfer-Encoding: chunked\r\n\r\n1;x\r\nh\r\n1\r\ni\r\n0\r\nA: b\r\n\r\n"));
    assertEquals("403 hi", ask("HTTP/1.1 403 No\r\n\r\nhi"));
    assertEquals("403 hi", ask("HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nhi"));
    assertEquals("200 hi", ask(head + "Connection: Close\r\nContent-Length: 2\r\n\r\nhi"));
    assertEquals("200 hi", ask("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    assertEquals("204  kept", ask("HTTP/1.1 204 None\r\n\r\n"));
    assertEquals(
        "200 hi kept", ask("HTTP/1.1 103 Early\r\n\r\n" + head + "Content-Length: 2\r\n\r\nhi"));
    assertEquals("101 ", ask("HTTP/1.1 101 Switch\r\n\r\n"));
    assertEquals("200 h", ask(head + "Content-Length: 1\r\n\r\nhi"));
    String longBody = "x".repeat(70_000);
    assertEquals(65_536 + 4, ask(head + "Content-Length: 70000\r\n\r\n" + longBody).length());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "SSH-2.0\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\n"
      })
  void whatIsNoAnswerIsAnError(String text) {
    assertThrows(IOException.class, () -> ask(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "[1,]",
        "{\"a\" 1}",
        "nul",
        "\"a",
        "1 2",
        "\"\\u12\"",
        "--1",
        "1e",
        "{a:1}"
      })
  void whatIsNoJsonIsAnError(String text) {
    assertThrows(IllegalArgumentException.class, () -> Json.read(text));
  }

  @Test
  void jsonIsReadAndBoundedInDepth() {
    String text = "{\"a\":[1,-2.5e1,true,null,\"\\u00e9\\n\\\"\"],\"b\":{}}";
    assertEquals("{a=[1, -25.0, true, null, é\n\"], b={}}", Json.read(text).toString());
    assertThrows(
        IllegalArgumentException.class, () -> Json.read("[".repeat(100_000) + "]".repeat(100_000)));
  }
}
