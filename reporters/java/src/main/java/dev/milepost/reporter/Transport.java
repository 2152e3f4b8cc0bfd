// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import dev.milepost.reporter.wire.TrainerStatus;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * Sends one request at a time to the endpoint. It owns files, TLS and the kept connection, and
 * decides nothing about when to send. It works on sockets, because the HTTP clients of the JDK
 * neither bound a whole attempt nor try all addresses of a name.
 */
final class Transport implements Closeable {
  static final int OK = 200;
  private static final int UNAUTHORIZED = 401;

  private final Environment env;

  /** Content of the CA file, and what trusts it. */
  private byte[] trusted;

  private SSLContext context;

  /** The socket below TLS, which can be closed without waiting for the other side. */
  private Socket raw;

  private SSLSocket kept;

  Transport(Environment env) {
    this.env = env;
  }

  /**
   * Has the JDK load what an attempt needs, which takes longer than a connection, so that the first
   * attempt has its time for itself.
   */
  void prepare() {
    try {
      trust();
      SSLEngine engine = context.createSSLEngine(env.host, env.port);
      engine.setUseClientMode(true);
      engine.beginHandshake();
      int room = engine.getSession().getPacketBufferSize();
      engine.wrap(ByteBuffer.allocate(0), ByteBuffer.allocate(room)); // a greeting that stays here
      new Attempt(Sender.ATTEMPT).close();
      request("POST", Outgoing.body(new TrainerStatus(0, 0, List.of(), Stamps.format(0))), "");
    } catch (IOException | RuntimeException e) {
      // The first attempt will say what is wrong.
    }
  }

  /** Sends a request, once more with a new token after 401. D14. */
  Answer send(String method, String body, Attempt attempt) throws IOException {
    try {
      Answer answer = once(method, body, attempt);
      return answer.status == UNAUTHORIZED ? once(method, body, attempt) : answer;
    } catch (IOException e) {
      close();
      throw attempt.isOver() ? new IOException("no answer in time", e) : e;
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private Answer once(String method, String body, Attempt attempt) throws IOException {
    trust();
    byte[] request = request(method, body, readToken());
    if (kept != null) {
      Exchange exchange = new Exchange(kept.getInputStream());
      try {
        return exchange(exchange, request, attempt);
      } catch (IOException e) {
        close();
        if (exchange.heard || attempt.isOver()) {
          throw e;
        } // the server closed it since; it took no notice of this request
      }
    }
    connect(attempt);
    return exchange(new Exchange(kept.getInputStream()), request, attempt);
  }

  /** Sends a request over the connection and keeps it if it can be used again. */
  private Answer exchange(Exchange exchange, byte[] request, Attempt attempt) throws IOException {
    attempt.watch(raw);
    Answer answer = exchange.run(kept.getOutputStream(), request);
    if (!exchange.reusable) {
      close();
    }
    return answer;
  }

  /** The request as it goes over the wire. D19. */
  private byte[] request(String method, String body, String token) {
    byte[] content = body == null ? new byte[0] : body.getBytes(StandardCharsets.UTF_8);
    StringBuilder head = new StringBuilder(method);
    head.append(' ').append(env.target).append(" HTTP/1.1\r\nHost: ").append(env.authority);
    head.append("\r\nAuthorization: Bearer ").append(token);
    head.append("\r\nUser-Agent: milepost-reporter-java/").append(Reporter.VERSION);
    if (body != null) {
      head.append("\r\nContent-Type: application/json\r\nContent-Length: ").append(content.length);
    }
    byte[] first = head.append("\r\n\r\n").toString().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(first.length + content.length).put(first).put(content).array();
  }

  /** Reads the CA file, and drops the connection that was made under other roots. D16. */
  private void trust() throws IOException {
    byte[] content = read("the CA file", env.caFile);
    if (!Arrays.equals(content, trusted)) {
      SSLContext fresh = Trust.context(content);
      if (fresh == null) {
        throw new IOException("reading the CA file " + env.caFile + ": it holds no certificate");
      }
      close();
      context = fresh;
      trusted = content;
    }
  }

  /** Reads the token anew, because it is replaced before it expires. D15. */
  private String readToken() throws IOException {
    String token = tokenText(read("the token", env.tokenFile));
    if (token == null) {
      throw new IOException("reading the token " + env.tokenFile + ": it holds no token");
    }
    return token;
  }

  private static byte[] read(String what, String path) throws IOException {
    try {
      return Files.readAllBytes(Path.of(path));
    } catch (NoSuchFileException e) {
      throw new IOException("reading " + what + " " + path + ": it does not exist", e);
    } catch (IOException | RuntimeException e) {
      throw new IOException("reading " + what + " " + path + ": " + e, e);
    }
  }

  /** Removes blanks around a token and refuses what cannot stand in a header: null. */
  static String tokenText(byte[] content) {
    try {
      String token =
          StandardCharsets.US_ASCII
              .newDecoder()
              .decode(ByteBuffer.wrap(content))
              .toString()
              .strip();
      boolean fit = !token.isEmpty() && token.chars().allMatch(c -> c > ' ' && c < 0x7f);
      return fit ? token : null;
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  /** Opens a connection, directly whatever proxy settings say. D17. */
  private void connect(Attempt attempt) throws IOException {
    raw = connectAny(attempt);
    raw.setTcpNoDelay(true);
    kept = (SSLSocket) context.getSocketFactory().createSocket(raw, env.host, env.port, true);
    kept.setEnabledProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
    SSLParameters verified = kept.getSSLParameters();
    verified.setEndpointIdentificationAlgorithm("HTTPS");
    kept.setSSLParameters(verified);
    kept.startHandshake();
  }

  /** Tries one address after the other; each may use its share of the time that is left. */
  private Socket connectAny(Attempt attempt) throws IOException {
    InetAddress[] addresses = InetAddress.getAllByName(env.host);
    IOException failure = null;
    for (int tried = 0; tried < addresses.length; tried++) {
      Socket socket = new Socket(Proxy.NO_PROXY);
      try {
        attempt.watch(socket);
        long share = TimeUnit.NANOSECONDS.toMillis(attempt.left() / (addresses.length - tried));
        InetSocketAddress address = new InetSocketAddress(addresses[tried], env.port);
        socket.connect(address, (int) Math.max(1, share));
        return socket;
      } catch (IOException e) {
        socket.close();
        failure = e;
      }
    }
    throw failure;
  }

  /** Drops the kept connection, without a word to the other side that could take time. */
  @Override
  public void close() {
    Socket socket = raw;
    raw = null;
    kept = null;
    if (socket != null) {
      try {
        socket.close();
      } catch (IOException e) {
        // It is of no use any more.
      }
    }
  }
}
