//! Tasks that are not to end by a panic without anybody noticing.

use std::collections::HashMap;
use std::fmt;

use tokio::task::{Id, JoinError, JoinSet};

/// Named tasks. They end at once when this is dropped.
#[derive(Default)]
pub(crate) struct Tasks {
    set: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

/// A part of the program that has panicked: what it did is not done any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panicked(pub(crate) &'static str);

impl Tasks {
    pub(crate) fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let handle = self.set.spawn(task);
        self.names.insert(handle.id(), name);
    }

    /// Waits until all have ended, or one has panicked.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn ended(&mut self) -> Result<(), Panicked> {
        while let Some(ended) = self.set.join_next_with_id().await {
            self.outcome(ended)?;
        }
        Ok(())
    }

    /// Waits until one has panicked.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn panicked(&mut self) -> Panicked {
        match self.ended().await {
            Err(panicked) => panicked,
            Ok(()) => std::future::pending().await,
        }
    }

    /// Ends all at once.
    pub(crate) async fn shutdown(&mut self) {
        self.set.shutdown().await;
    }

    fn outcome(&mut self, ended: Result<(Id, ()), JoinError>) -> Result<(), Panicked> {
        match ended {
            Ok((id, ())) => {
                self.names.remove(&id);
                Ok(())
            }
            Err(error) => {
                let name = self.names.remove(&error.id());
                if error.is_panic() {
                    return Err(Panicked(name.unwrap_or("a task")));
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names.values()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_named_and_one_that_ends_is_not() {
        let mut tasks = Tasks::default();
        tasks.spawn("quiet", async {});
        assert_eq!(tasks.ended().await, Ok(()));
        tasks.spawn("quiet", async {});
        tasks.spawn("loud", async { panic!("on purpose") });
        tasks.spawn("long", std::future::pending());
        assert_eq!(tasks.panicked().await, Panicked("loud"));
        tasks.shutdown().await;
        assert_eq!(tasks.ended().await, Ok(()));
    }
}
