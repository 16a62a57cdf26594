//! The background tasks of a host: all of them end when it is closed or dropped.

use std::future::Future;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns tasks that end with the host. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tasks {
    stop: CancellationToken,
    running: TaskTracker,
}

impl Tasks {
    /// Runs a task until it is done or the host stops; then the handle gives `None`.
    pub(super) fn spawn<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let stop = self.stop.clone();
        self.running.spawn(stop.run_until_cancelled_owned(task))
    }

    /// Tells all tasks to end at their next await.
    pub(super) fn stop(&self) {
        self.stop.cancel();
        self.running.close();
    }

    /// Returns once all tasks have ended, after [`stop`](Self::stop).
    pub(super) async fn ended(&self) {
        self.running.wait().await;
    }
}

/// Stops the tasks of a host whose last handle is gone.
pub(super) struct StopOnDrop(pub(super) Tasks);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_end_with_the_host() {
        let tasks = Tasks::default();
        let endless = tasks.spawn(std::future::pending::<()>());
        let done = tasks.spawn(async { 7 });
        assert_eq!(done.await.unwrap(), Some(7));
        drop(StopOnDrop(tasks.clone()));
        tasks.ended().await;
        assert_eq!(endless.await.unwrap(), None);
    }
}
