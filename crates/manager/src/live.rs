//! A value that changes while the program runs.

use std::fmt;
use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;

/// A handle on a value that may change while the program runs, such as a configuration file.
///
/// Clones are cheap and all see the same value. A handler takes what it needs once per call with
/// [`current`](Self::current), so that one review is judged by one configuration from its first
/// line to its last, whatever happens to the file meanwhile.
///
/// # Example: a handler under test gets a fixed value
///
/// ```
/// use kubewright_manager::Live;
///
/// let text = Live::fixed("welcome".to_owned());
/// assert_eq!(*text.current(), "welcome");
/// ```
pub struct Live<T> {
    values: watch::Receiver<Arc<T>>,
}

impl<T> Live<T> {
    /// Makes a handle whose value never changes, for tests of handlers.
    ///
    /// ```
    /// use kubewright_manager::Live;
    ///
    /// fn greeting(text: &Live<String>, name: &str) -> String {
    ///     format!("{}, {name}", text.current())
    /// }
    ///
    /// let text = Live::fixed("welcome".to_owned());
    /// assert_eq!(greeting(&text, "web"), "welcome, web");
    /// ```
    #[must_use]
    pub fn fixed(value: T) -> Self {
        Self::channel(Arc::new(value)).1
    }

    /// Returns the current value. Call it once per request, so that one request uses one value throughout.
    ///
    /// ```
    /// use kubewright_manager::Live;
    ///
    /// let limits = Live::fixed(vec![1, 2, 3]);
    /// let taken = limits.current();
    /// assert_eq!(taken.iter().sum::<i32>(), 6);
    /// ```
    #[must_use]
    pub fn current(&self) -> Arc<T> {
        Arc::clone(&self.values.borrow())
    }

    /// Waits for a value that this handle has not returned from `next` before, and returns it. If the value never changes again,
    /// the future never resolves.
    ///
    /// ```
    /// use kubewright_manager::{App, Live, Program};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("limit.yaml");
    /// std::fs::write(&path, "1")?;
    ///
    /// let mut limit: Option<Live<u32>> = None;
    /// let program = Program::new(|needs| {
    ///     limit = Some(needs.file(&path, 0));
    ///     App::new("limiter")
    /// });
    /// let started = program.start().await?;
    /// let mut limit = limit.unwrap();
    /// assert_eq!(*limit.next().await, 1);
    ///
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// let running = tokio::spawn(started.run(async { drop(stopped.await) }));
    /// std::fs::write(&path, "2")?;
    /// assert_eq!(*limit.next().await, 2);
    /// # drop(stop);
    /// # running.await??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: the next call returns the value it would have returned.
    pub async fn next(&mut self) -> Arc<T> {
        if self.values.changed().await.is_err() {
            return pending().await;
        }
        Arc::clone(&self.values.borrow_and_update())
    }

    pub(crate) fn channel(value: Arc<T>) -> (watch::Sender<Arc<T>>, Self) {
        let (sender, values) = watch::channel(value);
        (sender, Self { values })
    }
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self {
            values: self.values.clone(),
        }
    }
}

impl<T> fmt::Debug for Live<T> {
    // The value may hold what must not be in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Live").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_sees_a_new_value() {
        let (sender, live) = Live::channel(Arc::new(1));
        let mut other = live.clone();
        sender.send_replace(Arc::new(2));
        assert_eq!(*other.next().await, 2);
        assert_eq!((*live.current(), *other.current()), (2, 2));
    }

    #[test]
    fn debug_output_does_not_show_the_value() {
        let shown = format!("{:?}", Live::fixed("hunter2"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
