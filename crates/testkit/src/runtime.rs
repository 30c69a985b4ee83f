//! Running an async test: in virtual time, or on several threads, with a leak check at its end.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

/// Virtual time after which a test is stuck: everything waits for something that cannot come any more.
const STUCK_AFTER: Duration = Duration::from_hours(1);
/// Real time after which a test on threads is stuck. No test asserts on it.
const STUCK_ON_THREADS_AFTER: Duration = Duration::from_mins(1);

/// Runs `test` on a current-thread runtime whose clock stands still while anything can run, and jumps to the
/// next timer when nothing can. A test that waits for something that cannot come fails at once.
///
/// Afterwards no task may be left.
pub fn virtual_time<T>(test: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a current-thread runtime needs nothing that could be missing");
    runtime.block_on(async {
        let leaks = LeakCheck::begin();
        let value = tokio::time::timeout(STUCK_AFTER, test).await.unwrap_or_else(|_| {
            panic!("the test is stuck: it waits for something that cannot come any more")
        });
        leaks.assert_none().await;
        value
    })
}

/// Runs `test` on a runtime with so many worker threads, on the real clock. Afterwards no task may be left.
pub fn on_threads<T>(threads: usize, test: impl Future<Output = T>) -> T {
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_time()
        .build()
        .expect("threads can be started");
    runtime.block_on(async {
        let leaks = LeakCheck::begin();
        let value = tokio::time::timeout(STUCK_ON_THREADS_AFTER, test)
            .await
            .unwrap_or_else(|_| panic!("the test is stuck"));
        leaks.assert_none().await;
        value
    })
}

/// In virtual time: returns when nothing else can run any more. One virtual millisecond passes.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Asserts that a test leaves no task behind.
#[derive(Debug)]
#[must_use = "the check is made by assert_none"]
pub struct LeakCheck {
    tasks_before: usize,
}

impl LeakCheck {
    /// How often the runtime may be asked before what is left counts as leaked. A task that was told to end
    /// needs a few turns; on another thread it needs that thread.
    const TURNS: usize = 100_000;

    /// Remembers the tasks that run now. To be called inside of a runtime.
    pub fn begin() -> Self {
        Self { tasks_before: alive_tasks() }
    }

    /// Lets tasks that are about to end do so, and fails if some are left. Time does not pass in here.
    pub async fn assert_none(self) {
        for _ in 0..Self::TURNS {
            if alive_tasks() <= self.tasks_before {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{} tasks are left behind", alive_tasks() - self.tasks_before);
    }
}

fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[test]
    #[should_panic(expected = "stuck")]
    fn a_test_that_waits_in_vain_fails_at_once() {
        virtual_time(pending::<()>());
    }

    #[test]
    #[should_panic(expected = "1 tasks are left behind")]
    fn a_task_left_behind_is_found() {
        virtual_time(async {
            tokio::spawn(pending::<()>());
        });
    }

    #[test]
    fn a_task_that_was_told_to_end_is_no_leak() {
        for run in [virtual_time::<()>, |test| on_threads(2, test)] {
            let test: std::pin::Pin<Box<dyn Future<Output = ()>>> = Box::pin(async {
                tokio::spawn(pending::<()>()).abort();
            });
            run(test);
        }
    }
}
