// SPDX-License-Identifier: Apache-2.0

package dev.milepost.reporter;

import dev.milepost.reporter.wire.Wire;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;

/** Progress, seconds and floating-point numbers as the wire has them. */
final class Numbers {
  static final int COMPLETE = Wire.TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM;

  /** As far as steps lead: only the program knows that it is complete. D4. */
  private static final int MOST_COMPUTED = COMPLETE - 1;

  /** Digits before the point from which on ECMAScript writes an exponent, and zeros behind it. */
  private static final int MOST_WHOLE = 21;

  private static final int MOST_ZEROS = 5;

  private Numbers() {}

  /** The progress that steps show; the total is above 0. D4. */
  static int computedProgress(long step, long total) {
    if (step <= 0) {
      return 0;
    }
    if (step >= total) {
      return MOST_COMPUTED;
    }
    if (step <= Long.MAX_VALUE / COMPLETE) {
      return (int) (step * COMPLETE / total);
    }
    BigInteger hundredfold = BigInteger.valueOf(step).multiply(BigInteger.valueOf(COMPLETE));
    return hundredfold.divide(BigInteger.valueOf(total)).intValue();
  }

  /** The progress that the caller states; null when it is no number. D4. */
  static Integer explicitProgress(double percent) {
    return Double.isNaN(percent) ? null : (Integer) (int) Math.min(Math.max(percent, 0), COMPLETE);
  }

  /** The seconds that the caller states; what is no number or has no end is unknown. D6. */
  static Integer explicitSeconds(double seconds) {
    boolean unknown = Double.isNaN(seconds) || seconds == Double.POSITIVE_INFINITY;
    return unknown ? null : (Integer) cutSeconds(seconds);
  }

  /** Cuts a number of seconds to what the wire can hold. */
  static int cutSeconds(double seconds) {
    return (int) Math.min(Math.max(seconds, 0), Integer.MAX_VALUE);
  }

  /** Writes a number as Number::toString of ECMAScript does. D7. */
  static String format(double number) {
    return Double.isFinite(number) && number != 0
        ? layOut(shortest(number, Double.toString(number), false))
        : special(number);
  }

  /** Writes a number with the digits that read back as the same 32 bits. D7. */
  static String format(float number) {
    return Float.isFinite(number) && number != 0
        ? layOut(shortest(number, Float.toString(number), true))
        : special(number);
  }

  private static String special(double number) {
    return number == 0 ? "0" : Double.toString(number); // NaN, Infinity and -Infinity
  }

  /**
   * The fewest digits that read back as the same number, and of those the closest. The text that
   * the JDK gives reads back, but before version 19 it may have a digit too many or a wrong last
   * one, and it never has fewer than two.
   */
  private static BigDecimal shortest(double number, String text, boolean single) {
    BigDecimal exact = new BigDecimal(number);
    BigDecimal best = new BigDecimal(text);
    for (int digits = best.precision(); digits > 0; digits--) {
      BigDecimal next = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
      boolean same = single ? next.floatValue() == (float) number : next.doubleValue() == number;
      if (same) {
        best = next;
      } else if (digits < best.precision()) {
        break;
      }
    }
    return best.stripTrailingZeros();
  }

  private static String layOut(BigDecimal number) {
    String digits = number.unscaledValue().abs().toString();
    int point = number.precision() - number.scale(); // how many digits stand before it
    StringBuilder out = new StringBuilder(number.signum() < 0 ? "-" : "");
    if (point > MOST_WHOLE || point < -MOST_ZEROS) {
      out.append(digits.charAt(0));
      if (digits.length() > 1) {
        out.append('.').append(digits, 1, digits.length());
      }
      return out.append(point > 0 ? "e+" : "e").append(point - 1).toString();
    }
    if (point <= 0) {
      return out.append("0.").append("0".repeat(-point)).append(digits).toString();
    }
    if (digits.length() <= point) {
      return out.append(digits).append("0".repeat(point - digits.length())).toString();
    }
    return out.append(digits, 0, point)
        .append('.')
        .append(digits, point, digits.length())
        .toString();
  }
}
