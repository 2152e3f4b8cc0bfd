// SPDX-License-Identifier: Apache-2.0

//! Times of reports.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::SystemTime;

/// The last time that was given to a report, in microseconds since 1970.
static LAST: AtomicI64 = AtomicI64::new(0);

/// Now, or a microsecond after the last report if the clock stands or was set back: the server takes
/// an older time for an older report. D19.
pub(crate) fn next() -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_micros()).unwrap_or(i64::MAX - 1));
    let advance = |before| Some(after(before, now));
    let before = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance);
    format(after(before.unwrap_or_default(), now))
}

fn after(before: i64, now: i64) -> i64 {
    now.max(before.saturating_add(1))
}

/// RFC 3339 with six fraction digits.
fn format(micros: i64) -> String {
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a number of days since 1970. Years are counted from March, so that the
/// leap day is the last one; 400 years have the same number of days always.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468; // since 0000-03-01
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_and_increase() {
        rows_of_times();
        let times: Vec<_> = (0..1000).map(|_| next()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }

    fn rows_of_times() {
        crate::vectors::rows("times", |row| {
            let micros = row["micros"].as_i64().unwrap();
            let got = match row["before"].as_str() {
                Some(before) => after(parse(before), micros),
                None => micros,
            };
            assert_eq!(format(got), row["want"].as_str().unwrap());
        });
    }

    fn parse(text: &str) -> i64 {
        let micros: i64 = text[20..26].parse().unwrap();
        let date = format!("Fri, {} Jun 2026 {} GMT", &text[8..10], &text[11..19]);
        let since = httpdate::parse_http_date(&date).unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        since.as_secs() as i64 * 1_000_000 + micros
    }

    #[test]
    fn days_become_dates() {
        for day in (0..60_000).step_by(13) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400);
            let http = httpdate::fmt_http_date(time); // Thu, 01 Jan 1970 00:00:00 GMT
            let (year, month, day) = civil(day as i64);
            let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
            let at = (month as usize - 1) * 3;
            assert_eq!(http[5..16], format!("{day:02} {} {year}", &months[at..at + 3]));
        }
    }
}
