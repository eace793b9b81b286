//! Changes of objects, on their way to the users' functions that decide which objects of the controller they concern.

use tokio::sync::mpsc;

use crate::informer::Delta;

/// Passes the changes of informers on. Clones share the channel.
#[derive(Clone)]
pub(crate) struct Reporter(mpsc::Sender<(Of, Delta)>);

/// The changes that were passed on.
pub(crate) struct Updates(mpsc::Receiver<(Of, Delta)>);

/// What has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// An object of the controller.
    Own,
    /// An object of the watch with this number.
    Watched(usize),
}

impl Updates {
    pub(crate) fn new() -> (Reporter, Self) {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        (Reporter(sender), Self(receiver))
    }

    /// Waits for the next.
    pub(crate) async fn next(&mut self) -> Option<(Of, Delta)> {
        self.0.recv().await
    }
}

impl Reporter {
    /// Passes a change on, unless so many wait already that the informer has to slow down.
    pub(crate) fn passes_on(&self, of: Of, delta: &Delta) -> bool {
        self.0.try_send((of, delta.clone())).is_ok()
    }
}

const MOST_WAITING: usize = 1024;
