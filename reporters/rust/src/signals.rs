// SPDX-License-Identifier: Apache-2.0

//! Signals that end the program. D25.

/// Sends the last report when SIGTERM or SIGINT comes, and lets the signal do what it would have
/// done. Signals that are ignored, or that the program handles already, are left alone.
#[cfg(unix)]
pub(crate) fn watch() {
    use std::sync::Once;
    use std::thread;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    static WATCH: Once = Once::new();

    WATCH.call_once(|| {
        let free = [SIGTERM, SIGINT].into_iter().filter(|s| is_default(*s));
        let Ok(mut signals) = Signals::new(free) else {
            return;
        };
        let thread = thread::Builder::new().name("milepost-signals".to_owned());
        let started = thread.spawn(move || {
            for signal in signals.forever() {
                end_by(signal);
            }
        });
        drop(started); // without a thread to spare the signal does nothing new
    });
}

#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
fn end_by(signal: i32) {
    crate::exit::flush();
    // The system ignores a signal for process 1 that has no handler, so reporting goes on there.
    if std::process::id() != 1 {
        drop(signal_hook::low_level::emulate_default_handler(signal));
    }
}

/// Whether a signal has neither a handler nor is ignored, as far as the system tells.
#[cfg(unix)]
fn is_default(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    !["SigIgn:", "SigCgt:"].iter().any(|name| has_signal(&status, name, signal))
}

/// Whether a line of hexadecimal bits contains a signal.
#[cfg(unix)]
fn has_signal(status: &str, name: &str, signal: i32) -> bool {
    let bits = status.lines().find_map(|line| line.strip_prefix(name));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.unwrap_or(0) >> (signal - 1) & 1 == 1
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn bits_of_signals_are_read() {
        let status = "Name:\tx\nSigIgn:\t0000000000000002\nSigCgt:\t0000000000004000\n";
        assert!(has_signal(status, "SigIgn:", 2));
        assert!(!has_signal(status, "SigIgn:", 15));
        assert!(has_signal(status, "SigCgt:", 15));
        assert!(!has_signal("", "SigCgt:", 15));
    }
}
