//! Parts of a program that run beside each other, none of which is to end by a panic without anybody noticing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

/// Named parts of a program, each a task of the runtime. They end at once when this is dropped.
#[derive(Default)]
pub(crate) struct Parts {
    set: JoinSet<()>,
    names: HashMap<Id, &'static str>,
    roll: Roll,
}

/// The parts that have begun, for those who look inside a program. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roll(Arc<Mutex<Vec<Part>>>);

/// One part that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) begun: Instant,
    pub(crate) ended: Option<Instant>,
    pub(crate) has_panicked: bool,
}

/// A part that has not ended before this is dropped.
struct OnRoll {
    roll: Roll,
    number: usize,
}

/// A part of the program that has panicked: what it did is not done any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panicked(pub(crate) &'static str);

impl Parts {
    /// Parts that are entered in this roll.
    pub(crate) fn on(roll: Roll) -> Self {
        Self {
            roll,
            ..Self::default()
        }
    }

    pub(crate) fn spawn(
        &mut self,
        name: &'static str,
        part: impl Future<Output = ()> + Send + 'static,
    ) {
        self.begin(name, part.boxed());
    }

    fn begin(&mut self, name: &'static str, part: BoxFuture<'static, ()>) {
        let entry = self.roll.enter(name);
        let handle = self.set.spawn(async move {
            let _entry = entry;
            part.await;
        });
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
                    return Err(Panicked(name.unwrap_or("a part")));
                }
                Ok(())
            }
        }
    }
}

impl Roll {
    /// Returns the parts in the order in which they began.
    pub(crate) fn read(&self) -> Vec<Part> {
        self.lock().clone()
    }

    fn enter(&self, name: &'static str) -> OnRoll {
        let mut parts = self.lock();
        parts.push(Part {
            name,
            begun: Instant::now(),
            ended: None,
            has_panicked: false,
        });
        OnRoll {
            roll: self.clone(),
            number: parts.len() - 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OnRoll {
    fn drop(&mut self) {
        if let Some(part) = self.roll.lock().get_mut(self.number) {
            part.ended = Some(Instant::now());
            part.has_panicked = std::thread::panicking();
        }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names.values()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_panics_is_named_and_one_that_ends_is_not() {
        let roll = Roll::default();
        let mut parts = Parts::on(roll.clone());
        parts.spawn("quiet", async {});
        assert_eq!(parts.ended().await, Ok(()));
        parts.spawn("quiet", async {});
        parts.spawn("loud", async { panic!("on purpose") });
        parts.spawn("long", std::future::pending());
        assert_eq!(parts.panicked().await, Panicked("loud"));
        let states = |roll: &Roll| {
            let parts = roll.read().into_iter();
            let states = parts.map(|part| (part.name, part.ended.is_some(), part.has_panicked));
            states.collect::<Vec<_>>()
        };
        let known = [
            ("quiet", true, false),
            ("quiet", true, false),
            ("loud", true, true),
        ];
        assert_eq!(
            states(&roll),
            [&known[..], &[("long", false, false)]].concat()
        );
        parts.shutdown().await;
        assert_eq!(parts.ended().await, Ok(()));
        assert_eq!(
            states(&roll),
            [&known[..], &[("long", true, false)]].concat()
        );
    }
}
