// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.function.Function;

/** Where reports go, and whether this process sends them. */
final class Environment {
  private static final String URL = "KUBEFLOW_TRAINER_SERVER_URL";
  private static final String CA_CERT = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
  private static final String TOKEN = "KUBEFLOW_TRAINER_SERVER_TOKEN";

  /** They were used before a release; seeing only them means that the program expects too much. */
  private static final List<String> OLD_NAMES =
      List.of(
          "KUBEFLOW_TRAINER_STATUS_URL",
          "KUBEFLOW_TRAINER_STATUS_CA_CERT",
          "KUBEFLOW_TRAINER_STATUS_TOKEN");

  private static final String NODE_RANK = "PET_NODE_RANK";
  private static final String LOCAL_RANK = "LOCAL_RANK";

  /** They name this process among all of a job, the most telling first. D2. */
  private static final List<String> RANKS =
      List.of(
          "RANK",
          NODE_RANK,
          "OMPI_COMM_WORLD_RANK",
          "JAX_PROCESS_ID",
          "SLURM_PROCID",
          "JOB_COMPLETION_INDEX");

  private static final int HTTPS_PORT = 443;

  /** Name or address, without brackets. */
  final String host;

  final int port;

  /** Value of the Host header. */
  final String authority;

  /** Path and query. */
  final String target;

  final String caFile;
  final String tokenFile;

  private Environment(URI url, String caFile, String tokenFile) {
    String literal = url.getHost();
    this.host = literal.startsWith("[") ? literal.substring(1, literal.length() - 1) : literal;
    this.port = url.getPort() < 0 ? HTTPS_PORT : url.getPort();
    this.authority = url.getPort() < 0 ? literal : literal + ":" + url.getPort();
    String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
    this.target = url.getRawQuery() == null ? path : path + "?" + url.getRawQuery();
    this.caFile = caFile;
    this.tokenFile = tokenFile;
  }

  /** Finds the endpoint. Null, and at least one problem, when the reporter cannot be active. D1. */
  static Environment read(Function<String, String> get, List<String> problems) {
    URI url = endpoint(value(get, URL));
    for (String name : List.of(URL, CA_CERT, TOKEN)) {
      if (value(get, name) == null) {
        problems.add(name + " is not set");
      } else if (name.equals(URL) && url == null) {
        problems.add(URL + " is no https URL");
      }
    }
    if (problems.size() == 3 && value(get, URL) == null) {
      for (String name : OLD_NAMES) {
        if (value(get, name) != null) {
          problems.add(name + " is set but no longer read");
        }
      }
    }
    return problems.isEmpty() ? new Environment(url, get.apply(CA_CERT), get.apply(TOKEN)) : null;
  }

  private static String value(Function<String, String> get, String name) {
    String value = get.apply(name);
    return value == null || value.isEmpty() ? null : value;
  }

  /** Accepts absolute https URLs alone: a token does not travel in the clear. */
  private static URI endpoint(String text) {
    if (text == null) {
      return null;
    }
    try {
      URI url = new URI(text);
      boolean usable = "https".equalsIgnoreCase(url.getScheme()) && url.getHost() != null;
      return usable ? url : null;
    } catch (URISyntaxException e) {
      return null;
    }
  }

  /** Says why another process reports; null when this one does. D2. */
  static String otherRank(Function<String, String> get, Long option) {
    if (option != null) {
      return option == 0 ? null : "the option says rank " + option;
    }
    for (String name : RANKS) {
      String rank = wholeNumber(get.apply(name));
      if (rank == null) {
        continue;
      }
      if (!rank.equals("0")) {
        return name + " says rank " + rank;
      }
      String local = name.equals(NODE_RANK) ? wholeNumber(get.apply(LOCAL_RANK)) : null;
      boolean other = local != null && !local.equals("0");
      return other ? LOCAL_RANK + " says rank " + local + " of the first node" : null;
    }
    return null;
  }

  /** Reads a number ≥ 0 of any size, without leading zeros. Null for anything else. */
  static String wholeNumber(String text) {
    String digits = text == null ? "" : text.strip();
    if (digits.isEmpty() || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
      return null;
    }
    int first = 0;
    while (first < digits.length() - 1 && digits.charAt(first) == '0') {
      first++;
    }
    return digits.substring(first);
  }
}
