//! What is told of watched objects, on its way to the users' functions that say whom it concerns.

use tokio::sync::mpsc;

use crate::informer::Delta;

/// Passes on what informers tell. Clones pass it on to the same place.
#[derive(Clone)]
pub(crate) struct Reporter(mpsc::Sender<(usize, Delta)>);

/// What was passed on, each with the number of the watch that it is for.
pub(crate) struct News(mpsc::Receiver<(usize, Delta)>);

impl News {
    pub(crate) fn new() -> (Reporter, Self) {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        (Reporter(sender), Self(receiver))
    }

    /// Waits for the next.
    pub(crate) async fn next(&mut self) -> Option<(usize, Delta)> {
        self.0.recv().await
    }
}

impl Reporter {
    /// Passes a change on, unless so many wait already that whoever tells it had better slow down.
    pub(crate) fn passes_on(&self, number: usize, delta: &Delta) -> bool {
        self.0.try_send((number, delta.clone())).is_ok()
    }
}

const MOST_WAITING: usize = 1024;
