// SPDX-License-Identifier: Apache-2.0

//! Ends of a program whose last report cannot be sent. The program is this test itself, started
//! anew: the ends of a main thread cannot be tried from within a test. What arrives at an endpoint
//! that answers is checked by the conformance runner.

#![allow(clippy::expect_used, clippy::panic)] // a test

use std::process::{Command, Output};
#[cfg(target_os = "linux")]
use std::sync::{
    atomic::{AtomicBool, Ordering},
    Arc, OnceLock,
};
use std::time::{Duration, Instant};

use milepost_reporter::hooks::Hooks;
#[cfg(target_os = "linux")]
use milepost_reporter::Reporter;
use milepost_reporter::{Builder, Report};
#[cfg(target_os = "linux")]
use signal_hook::consts::SIGTERM;

const ROLE: &str = "MILEPOST_TEST_ROLE";
/// Half a second in place of five.
const LIMIT_SCALE: f64 = 0.1;

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        program(&role);
        return;
    }
    let mut passed = 0;
    for (role, code) in [
        ("exit-call-of-main-thread", 3),
        ("exit-of-reporter-on-another-thread", 4),
        ("return-with-reporter-never-dropped", 0),
        ("panic", 101),
        #[cfg(target_os = "linux")]
        ("own-handler-of-a-signal", 7),
        ("return", 0),
    ] {
        // The GNU C library alone tells of a plain exit call.
        if cfg!(all(target_os = "linux", target_env = "gnu"))
            || !role.contains("main") && !role.contains("never")
        {
            check(role, code);
            println!("test {role} ... ok");
            passed += 1;
        }
    }
    println!("\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
}

fn check(role: &str, code: i32) {
    let begin = Instant::now();
    let Output { status, stdout, stderr } = Command::new(std::env::current_exe().expect("this test"))
        .env(ROLE, role)
        .env("KUBEFLOW_TRAINER_SERVER_URL", "https://127.0.0.1:1/p")
        .env("KUBEFLOW_TRAINER_SERVER_CA_CERT", "/no/ca")
        .env("KUBEFLOW_TRAINER_SERVER_TOKEN", "/no/token")
        .output()
        .expect("the program starts");
    let took = begin.elapsed();
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(code), "{role}: {stderr}");
    assert!(stdout.is_empty(), "{role} prints");
    assert_eq!(stderr.matches("not sent").count(), 1, "{role}: {stderr}");
    assert!(took >= Duration::from_millis(400), "{role} ended after {took:?}, without trying");
}

fn program(role: &str) {
    #[cfg(target_os = "linux")]
    if role.starts_with("own-handler") {
        let handled = signal_hook::flag::register(SIGTERM, Arc::clone(HANDLED.get_or_init(Arc::default)));
        handled.expect("a handler");
    }
    let hooks = Hooks { limit_scale: LIMIT_SCALE, ..Hooks::default() };
    let reporter = Builder::new().hooks(hooks).start();
    reporter.report(Report::step(1, 10));
    match role {
        "exit-call-of-main-thread" => std::process::exit(3),
        "exit-of-reporter-on-another-thread" => {
            let thread = std::thread::spawn(|| milepost_reporter::exit(4));
            drop(thread.join());
        }
        "return-with-reporter-never-dropped" => std::mem::forget(reporter),
        #[cfg(target_os = "linux")]
        "own-handler-of-a-signal" => own_handler(&reporter),
        "panic" => panic!("an error that nobody catches"),
        _ => {}
    }
}

/// Whether the handler of the program ran.
#[cfg(target_os = "linux")]
static HANDLED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The program is told of the signal and lives on, because its handler was there first.
#[cfg(target_os = "linux")]
fn own_handler(reporter: &Reporter) {
    reporter.close();
    signal_hook::low_level::raise(SIGTERM).expect("a signal");
    while !HANDLED.get_or_init(Arc::default).load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(200)); // for what must not happen
    std::process::exit(7);
}
