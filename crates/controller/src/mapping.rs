//! Changes of watched objects, on their way to the users' functions that map them to objects of the controller.

use tokio::sync::mpsc;

use crate::informer::Delta;

/// Passes the changes of informers on. Clones share the channel.
#[derive(Clone)]
pub(crate) struct Reporter(mpsc::Sender<(usize, Delta)>);

/// The changes that were passed on, each with the number of its watch.
pub(crate) struct Updates(mpsc::Receiver<(usize, Delta)>);

impl Updates {
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
    /// Passes a change on, unless so many wait already that the informer has to slow down.
    pub(crate) fn passes_on(&self, number: usize, delta: &Delta) -> bool {
        self.0.try_send((number, delta.clone())).is_ok()
    }
}

const MOST_WAITING: usize = 1024;
