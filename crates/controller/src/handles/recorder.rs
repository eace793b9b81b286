//! Events: what `kubectl describe` tells of an object.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use crate::events::{Event, EventType, Series, Subject};
use crate::{Connection, Kind, Object, ObjectRef, RequestError, Scope};

/// Tells people what was done about an object, by Events. Clones are cheap.
///
/// The same Event again within a few minutes is counted, not repeated.
#[derive(Clone)]
pub struct Recorder {
    connection: Connection,
    scope: Scope,
    series: Arc<Mutex<Series>>,
}

impl Recorder {
    /// Records what is done about objects of a scope, by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            series: Arc::default(),
        }
    }

    /// Tells that something went as it should: a reason in one word, such as `Created`, and a sentence.
    ///
    /// # Errors
    ///
    /// When the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether it is told.
    pub async fn normal<K: Object>(
        &self,
        object: &K,
        reason: impl Into<String>,
        note: impl Into<String>,
    ) -> Result<(), RequestError> {
        self.record(EventType::Normal, object, reason.into(), note.into())
            .await
    }

    /// Tells that somebody should look: a reason in one word, such as `IllegalImage`, and a sentence.
    ///
    /// # Errors
    ///
    /// When the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether it is told.
    pub async fn warning<K: Object>(
        &self,
        object: &K,
        reason: impl Into<String>,
        note: impl Into<String>,
    ) -> Result<(), RequestError> {
        self.record(EventType::Warning, object, reason.into(), note.into())
            .await
    }

    async fn record<K: Object>(
        &self,
        type_: EventType,
        object: &K,
        reason: String,
        note: String,
    ) -> Result<(), RequestError> {
        let (kind, reference) = (Kind::of::<K>(), ObjectRef::of(object));
        RequestError::unless_within(&self.scope, VERB, &kind, reference.key())?;
        RequestError::unless_leading(VERB, &kind, reference.key())?;
        let failed = |error| RequestError::new(VERB, &kind, reference.key(), error);
        let link = self.connection.link().await;
        let about = object.object_ref(&());
        let subject = Subject::of(&about, type_, &reason);
        let again = self.with_series(|series| series.again(&subject, Instant::now()));
        if let Some(again) = again {
            match again.count(&link.client).await.map_err(failed) {
                // The API server has deleted the Event after its TTL.
                Err(error) if error.is_not_found() => {
                    self.with_series(|series| series.ended(&subject));
                }
                counted => return counted,
            }
        }
        let event = Event::about(&about, type_, &reason, note).reported_by(&link.program);
        event.create(&link.client).await.map_err(failed)?;
        self.with_series(|series| series.began(subject, &event, Instant::now()));
        Ok(())
    }

    fn with_series<T>(&self, act: impl FnOnce(&mut Series) -> T) -> T {
        // A panic leaves a map that is whole.
        act(&mut self.series.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Recorder")
            .field(&self.connection)
            .finish()
    }
}

const VERB: &str = "record an event for";
