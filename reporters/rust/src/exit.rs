// SPDX-License-Identifier: Apache-2.0

//! Reporters that may have something to send at the end of the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::lock;
use crate::sender::Sender;

/// Whether [`exit`] was called, so that the end of the main thread does not wait a second time.
static LEAVING: AtomicBool = AtomicBool::new(false);

static LIVE: Mutex<Vec<Arc<Sender>>> = Mutex::new(Vec::new());

/// Makes a reporter known to the ends of the process.
pub(crate) fn add(sender: &Arc<Sender>) {
    lock(&LIVE).push(Arc::clone(sender));
    at_end_of_main_thread();
}

pub(crate) fn remove(sender: &Arc<Sender>) {
    lock(&LIVE).retain(|other| !Arc::ptr_eq(other, sender));
}

/// Sends the newest reports of all reporters at the same time, in at most 5 seconds.
pub(crate) fn flush() {
    let live = lock(&LIVE).clone();
    match live.as_slice() {
        [] => {}
        [one] => one.flush(),
        many => thread::scope(|scope| {
            for sender in many {
                scope.spawn(|| sender.flush());
            }
        }),
    }
}

/// Sends the newest report, waiting at most 5 seconds, and ends the process with
/// [`std::process::exit`], which runs no `Drop`.
///
/// On Linux with the GNU C library, `std::process::exit` called by the main thread sends the newest
/// report as well. Everywhere else, and on other threads, this function is the way to leave. D24.
pub fn exit(code: i32) -> ! {
    LEAVING.store(true, Ordering::Relaxed);
    flush();
    std::process::exit(code)
}

/// The GNU C library destroys thread-local values of the thread that calls `exit`. The main thread
/// reaches its end in no other way, so a value of it is told of the end of the process. D24.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn at_end_of_main_thread() {
    use std::cell::Cell;
    use std::panic::catch_unwind;

    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            if !LEAVING.load(Ordering::Relaxed) {
                drop(catch_unwind(flush)); // a panic would abort here
            }
        }
    }

    thread_local! {
        static END: Cell<Option<End>> = const { Cell::new(None) };
    }

    if thread::current().name() == Some("main") {
        // No access any more: the process is at its end already.
        let _at_end = END.try_with(|end| std::mem::forget(end.replace(Some(End))));
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn at_end_of_main_thread() {}
