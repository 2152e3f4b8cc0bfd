// SPDX-License-Identifier: Apache-2.0

//! Progress, seconds and floating-point numbers as the wire has them.

use std::fmt::LowerExp;

use crate::wire::TRAINER_STATUS_PROGRESS_PERCENTAGE_MAXIMUM as COMPLETE_PERCENT;

pub(crate) const COMPLETE: i32 = COMPLETE_PERCENT;
/// As far as steps lead: only the program knows that it is complete. D4.
const MOST_COMPUTED: i32 = COMPLETE - 1;

/// The progress that steps show. `total` is above 0. D4.
pub(crate) fn computed_progress(step: i64, total: i64) -> i32 {
    let percent = i128::from(step) * i128::from(COMPLETE) / i128::from(total);
    percent.clamp(0, i128::from(MOST_COMPUTED)) as i32
}

/// The progress that the caller states, nothing when it is no number. D4.
pub(crate) fn explicit_progress(percent: f64) -> Option<i32> {
    (!percent.is_nan()).then(|| percent.clamp(0.0, f64::from(COMPLETE)) as i32)
}

/// The seconds that the caller states; what is no number or has no end is unknown. D6.
pub(crate) fn explicit_seconds(seconds: f64) -> Option<i32> {
    (!seconds.is_nan() && seconds != f64::INFINITY).then(|| cut_seconds(seconds))
}

/// Cuts a number of seconds to what the wire can hold.
pub(crate) fn cut_seconds(seconds: f64) -> i32 {
    seconds.clamp(0.0, f64::from(i32::MAX)) as i32
}

/// Writes a 64-bit number as `Number::toString` of ECMAScript does. D7.
pub(crate) fn format_f64(number: f64) -> String {
    if number.is_finite() {
        return lay_out(number == 0.0, number < 0.0, &number.abs());
    }
    not_finite(number)
}

/// Writes a 32-bit number with the digits that read back as the same 32 bits. D7.
pub(crate) fn format_f32(number: f32) -> String {
    if number.is_finite() {
        return lay_out(number == 0.0, number < 0.0, &number.abs());
    }
    not_finite(f64::from(number))
}

fn not_finite(number: f64) -> String {
    let text = if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    text.to_owned()
}

fn lay_out(zero: bool, negative: bool, number: &impl LowerExp) -> String {
    if zero {
        return "0".to_owned();
    }
    let sign = if negative { "-" } else { "" };
    // d.ddde-dd: the shortest digits and the power of ten of the first one.
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let tens: i32 = exponent.parse().unwrap_or(0);
    format!("{sign}{}", place_point(&digits, tens))
}

/// Writes digits of which the first stands for a power of ten.
fn place_point(digits: &str, tens: i32) -> String {
    let (count, point) = (digits.len() as i32, tens + 1); // point: how many digits stand before it
    let zeros = |n: i32| "0".repeat(n.unsigned_abs() as usize);
    match point {
        1..=21 if count <= point => format!("{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, fraction) = digits.split_at(point as usize);
            format!("{whole}.{fraction}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(point)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if tens > 0 { "+" } else { "" };
            format!("{first}{dot}{rest}e{sign}{tens}")
        }
    }
}
