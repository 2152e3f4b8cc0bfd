// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** One request and its answer, with as much of HTTP/1.1 as that needs. */
final class Exchange {
  /** Most bytes of a body that are read. D19. */
  private static final int MAX_BODY = 64 << 10;

  private static final int MAX_HEAD = 64 << 10;

  private final InputStream in;
  private final byte[] buffer = new byte[8 << 10];
  private int at;
  private int end;

  private String version;
  private int status;
  private final List<String[]> headers = new ArrayList<>();
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();

  /** Whether anything of an answer came. */
  boolean heard;

  /** Whether the connection can carry another request. */
  boolean reusable;

  Exchange(InputStream in) {
    this.in = in;
  }

  /** Sends the request and reads the answer. */
  Answer run(OutputStream out, byte[] request) throws IOException {
    out.write(request);
    out.flush();
    do {
      head();
    } while (status < 200 && status != 101); // informational answers go before the real one
    boolean complete = false;
    try {
      complete = readBody();
    } catch (IOException e) {
      if (status == Transport.OK) {
        throw e; // only a whole answer says that the report was taken
      }
    }
    boolean kept = version.equals("HTTP/1.1") && status != 101 && !says("connection", "close");
    reusable = complete && kept && at == end;
    List<String> retryAfter = values("retry-after");
    return new Answer(
        status,
        body.toString(StandardCharsets.UTF_8),
        retryAfter.isEmpty() ? null : retryAfter.get(0),
        Warnings.texts(values("warning")));
  }

  private void head() throws IOException {
    headers.clear();
    int[] room = {MAX_HEAD};
    String first = line(room);
    int blank = first.indexOf(' ');
    version = blank < 0 ? "" : first.substring(0, blank);
    String digits = first.substring(blank + 1, Math.min(first.length(), blank + 4));
    if (!version.startsWith("HTTP/1.") || !digits.matches("[1-9][0-9][0-9]")) {
      throw new IOException("the answer has no status");
    }
    status = Integer.parseInt(digits);
    for (String line = line(room); !line.isEmpty(); line = line(room)) {
      int colon = line.indexOf(':');
      if (colon > 0) {
        String name = line.substring(0, colon).strip().toLowerCase(Locale.ROOT);
        headers.add(new String[] {name, line.substring(colon + 1).strip()});
      }
    }
  }

  private List<String> values(String name) {
    List<String> values = new ArrayList<>();
    for (String[] header : headers) {
      if (header[0].equals(name)) {
        values.add(header[1]);
      }
    }
    return values;
  }

  private boolean says(String name, String word) {
    for (String value : values(name)) {
      for (String one : value.split(",")) {
        if (one.strip().equalsIgnoreCase(word)) {
          return true;
        }
      }
    }
    return false;
  }

  /** False when the rest of the body is left where it is. */
  private boolean readBody() throws IOException {
    if (status == 101 || status == 204 || status == 304) {
      return true;
    }
    if (says("transfer-encoding", "chunked")) {
      return chunks();
    }
    List<String> lengths = values("content-length");
    if (!lengths.isEmpty()) {
      return take(number(lengths.get(0), 10));
    }
    while (body.size() < MAX_BODY && (at < end || fill())) {
      take(end - at);
    }
    return false; // it ended with the connection
  }

  private boolean chunks() throws IOException {
    while (true) {
      String line = line(new int[] {MAX_HEAD});
      int semicolon = line.indexOf(';');
      long size = number(semicolon < 0 ? line : line.substring(0, semicolon), 16);
      if (size == 0) {
        int[] room = {MAX_HEAD};
        while (!line(room).isEmpty()) {} // trailers
        return true;
      }
      if (!take(size)) {
        return false;
      }
      if (!line(new int[] {MAX_HEAD}).isEmpty()) {
        throw new IOException("the answer has a bad chunk");
      }
    }
  }

  private static long number(String digits, int radix) throws IOException {
    try {
      long number = Long.parseLong(digits.strip(), radix);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // as a negative one
    }
    throw new IOException("the answer has no length");
  }

  /** Takes bytes of the body. False when there is no room for all of them. */
  private boolean take(long count) throws IOException {
    int room = MAX_BODY - body.size();
    for (int wanted = (int) Math.min(count, room); wanted > 0; ) {
      if (at == end && !fill()) {
        throw new EOFException("the answer ends early");
      }
      int piece = Math.min(wanted, end - at);
      body.write(buffer, at, piece);
      at += piece;
      wanted -= piece;
    }
    return count <= room;
  }

  /** Reads up to the end of a line and takes its bytes off the room. */
  private String line(int[] room) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    while (true) {
      if (at == end && !fill()) {
        throw new EOFException("the connection was closed");
      }
      byte b = buffer[at++];
      if (--room[0] < 0) {
        throw new IOException("the answer has headers without end");
      }
      if (b == '\n') {
        String text = line.toString(StandardCharsets.UTF_8);
        return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
      }
      line.write(b);
    }
  }

  /** Waits for more bytes. False at the end of the connection. */
  private boolean fill() throws IOException {
    int count = in.read(buffer);
    if (count <= 0) {
      return false;
    }
    heard = true;
    at = 0;
    end = count;
    return true;
  }
}
