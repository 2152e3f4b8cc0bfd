// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Trusts the certificates of the CA file, and no others. D16. */
final class Trust {
  private static final Pattern CERTIFICATE =
      Pattern.compile("-----BEGIN CERTIFICATE-----([^-]++)-----END CERTIFICATE-----");

  private Trust() {}

  /** Makes what verifies the server; null when the file holds no certificate. */
  static SSLContext context(byte[] file) throws IOException {
    try {
      KeyStore roots = roots(new String(file, StandardCharsets.ISO_8859_1));
      if (roots.size() == 0) {
        return null;
      }
      TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
      trust.init(roots);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException("preparing TLS: " + e, e);
    }
  }

  private static KeyStore roots(String text) throws GeneralSecurityException, IOException {
    KeyStore roots = KeyStore.getInstance("PKCS12");
    roots.load(null, null);
    CertificateFactory factory = CertificateFactory.getInstance("X.509");
    Matcher found = CERTIFICATE.matcher(text);
    while (found.find()) {
      try {
        byte[] der = Base64.getMimeDecoder().decode(found.group(1));
        String name = "root" + roots.size();
        roots.setCertificateEntry(name, factory.generateCertificate(new ByteArrayInputStream(der)));
      } catch (CertificateException | IllegalArgumentException e) {
        // The others count all the same.
      }
    }
    return roots;
  }
}
