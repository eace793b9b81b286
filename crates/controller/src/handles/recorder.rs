//! Events: what `kubectl describe` tells of an object.

use std::fmt;
use std::sync::Arc;

use kube::runtime::events::{self, EventType, Reporter};
use tokio::sync::OnceCell;

use crate::{Connection, Kind, Object, ObjectRef, RequestError, Scope};

/// Tells people what was done about an object, by Events. Clones are cheap.
///
/// The same Event again within a few minutes is counted, not repeated.
#[derive(Clone)]
pub struct Recorder {
    connection: Connection,
    scope: Scope,
    inner: Arc<OnceCell<events::Recorder>>,
}

impl Recorder {
    /// Records what is done about objects of a scope, by a connection.
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            inner: Arc::default(),
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
        mut note: String,
    ) -> Result<(), RequestError> {
        let reference = ObjectRef::of(object);
        RequestError::unless_within(&self.scope, VERB, &Kind::of::<K>(), reference.key())?;
        RequestError::unless_leading(VERB, &Kind::of::<K>(), reference.key())?;
        let recorder = async {
            let link = self.connection.link().await;
            let reporter = Reporter {
                controller: link.program.to_string(),
                instance: None,
            };
            events::Recorder::new(link.client.clone(), reporter)
        };
        let recorder = self.inner.get_or_init(|| recorder).await;
        note.truncate(note.floor_char_boundary(LONGEST_NOTE));
        let event = events::Event {
            type_,
            // An action is required, and in most programs it is what the reason says.
            action: reason.clone(),
            reason,
            note: Some(note),
            secondary: None,
        };
        recorder
            .publish(&event, &object.object_ref(&()))
            .await
            .map_err(|error| RequestError::new(VERB, &Kind::of::<K>(), reference.key(), error))
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

/// No API server takes a longer one.
const LONGEST_NOTE: usize = 1024;
