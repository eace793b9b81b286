//! The time for which a candidate leads.

use std::fmt;

use tokio::sync::watch;
use tokio::task_local;
use tokio::time::{Instant, sleep_until};

/// The time for which a candidate leads. Clones share it.
///
/// It is over when the candidate steps down or the Lease is taken from it, and at the latest when the renew deadline has
/// passed since it sent the last renewal that was stored. That is a matter of the clock alone: a program that was held up
/// for a while finds its term over without having to learn it first.
#[derive(Clone)]
pub struct Term {
    ends: watch::Receiver<Option<Instant>>,
}

/// Begins, prolongs and ends terms. Terms end with it.
pub(crate) struct Terms {
    ends: watch::Sender<Option<Instant>>,
}

/// A reconcile wanted to write after its program had ceased to lead.
#[derive(Debug, thiserror::Error)]
#[error("this program does not lead any more, and whoever does writes now")]
pub(crate) struct NotLeading;

task_local! {
    static TERM: Term;
}

impl Term {
    /// Returns whether it is over, or has not begun.
    pub fn is_over(&self) -> bool {
        let is_abandoned = self.ends.has_changed().is_err();
        is_abandoned || self.ends.borrow().is_none_or(|end| Instant::now() >= end)
    }

    /// Waits until it is over.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn over(&self) {
        let mut ends = self.ends.clone();
        loop {
            let Some(end) = *ends.borrow_and_update() else {
                return;
            };
            tokio::select! {
                changed = ends.changed() => if changed.is_err() {
                    return;
                },
                () = sleep_until(end) => if self.is_over() {
                    return;
                },
            }
        }
    }

    /// Has what a task does end with the term, as far as writing goes.
    pub(crate) async fn bind<T>(self, task: impl Future<Output = T>) -> T {
        TERM.scope(self, task).await
    }

    /// Returns whether this task may write.
    pub(crate) fn check() -> Result<(), NotLeading> {
        match TERM.try_with(Self::is_over) {
            Ok(true) => Err(NotLeading),
            // What no term binds is not for a leader alone.
            Ok(false) | Err(_) => Ok(()),
        }
    }
}

impl Terms {
    pub(crate) fn new() -> Self {
        Self {
            ends: watch::Sender::new(None),
        }
    }

    pub(crate) fn term(&self) -> Term {
        Term {
            ends: self.ends.subscribe(),
        }
    }

    pub(crate) fn set(&self, end: Option<Instant>) {
        self.ends.send_if_modified(|known| {
            let is_new = *known != end;
            *known = end;
            is_new
        });
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Term")
            .field("is_over", &self.is_over())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::{Connection, Scope, Writer};

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_by_the_clock_unless_it_is_prolonged() {
        let terms = Terms::new();
        let term = terms.term();
        assert!(term.is_over());
        let start = Instant::now();
        terms.set(Some(start + Duration::from_secs(10)));
        assert!(!term.is_over());
        tokio::time::advance(Duration::from_secs(9)).await;
        terms.set(Some(start + Duration::from_secs(19)));
        term.over().await;
        assert_eq!(start.elapsed(), Duration::from_secs(19));
        assert!(term.is_over());
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_with_its_candidate() {
        let terms = Terms::new();
        let term = terms.term();
        terms.set(Some(Instant::now() + Duration::from_secs(10)));
        drop(terms);
        assert!(term.is_over());
        term.over().await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_term_binds_may_write_as_long_as_it_lasts() {
        let terms = Terms::new();
        terms.set(Some(Instant::now() + Duration::from_secs(10)));
        assert!(Term::check().is_ok(), "no term binds this task");
        let bound = terms.term().bind(async {
            assert!(Term::check().is_ok());
            tokio::time::advance(Duration::from_secs(10)).await;
            assert!(Term::check().is_err());
        });
        bound.await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_handle_does_not_ask_an_api_server_for_a_leader_that_leads_no_more() {
        let asked = tower::service_fn(async |request: http::Request<kube::client::Body>| {
            Err::<http::Response<String>, _>(std::io::Error::other(request.uri().to_string()))
        });
        let connection = Connection::new();
        connection.open(kube::Client::new(asked, "blue"), "gardens");
        let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
        let terms = Terms::new();
        terms.set(Some(Instant::now() + Duration::from_secs(10)));
        let cause = async || {
            let mut map = ConfigMap::default();
            map.metadata.name = Some("a".to_owned());
            let deleted = terms.term().bind(writer.delete(&map)).await;
            let error = deleted.unwrap_err();
            error.source().unwrap().to_string()
        };
        assert_ne!(cause().await, NotLeading.to_string());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(cause().await, NotLeading.to_string());
    }
}
