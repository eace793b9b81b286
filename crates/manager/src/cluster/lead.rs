//! When the controllers of other clusters are at work: as long as this replica may run controllers.

use std::convert::Infallible;
use std::sync::Arc;

use kubewright_controller::LeaderGuard;
use tokio::sync::{mpsc, watch};

/// Whether controllers may be at work, as the members of fleets see it.
#[derive(Clone)]
pub(super) enum Lead {
    No,
    Yes(Term),
    /// What is in progress is to end at once.
    Cut,
}

/// A time during which controllers are at work.
#[derive(Clone)]
pub(super) struct Term {
    pub(super) guard: Option<LeaderGuard>,
    /// Who holds it is at work.
    at_work: mpsc::Sender<Infallible>,
}

impl Term {
    pub(super) fn lasts(&self, lead: &Lead) -> bool {
        matches!(lead, Lead::Yes(now) if now.at_work.same_channel(&self.at_work))
    }
}

/// Tells the members of fleets whether their controllers may be at work.
#[derive(Clone)]
pub(crate) struct Leads(Arc<watch::Sender<Lead>>);

impl Leads {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Lead::No)))
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Lead> {
        self.0.subscribe()
    }

    /// Has the controllers of all other clusters at work until `over`, and waits until they have finished what they have begun.
    /// Dropping the future cuts off what they have begun.
    pub(crate) async fn control(&self, guard: Option<LeaderGuard>, over: impl Future<Output = ()>) {
        let (at_work, mut workers) = mpsc::channel(1);
        let cut = Cut(Some(self));
        self.0.send_replace(Lead::Yes(Term { guard, at_work }));
        over.await;
        self.0.send_replace(Lead::No);
        // Nothing is sent: it ends with the last sender.
        if workers.recv().await.is_none() {
            cut.disarm();
        }
    }
}

struct Cut<'a>(Option<&'a Leads>);

impl Cut<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        if let Some(leads) = self.0 {
            leads.0.send_replace(Lead::Cut);
        }
    }
}
