//! Events: what `kubectl describe` tells of an object.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use crate::events::{Event, EventType, Series, Subject};
use crate::{AnyObject, Connection, Kind, ObjectRef, RequestError, Scope};

/// Records Events about objects, which `kubectl describe` lists. Clones are cheap.
///
/// The same Event again within a few minutes is counted, not repeated.
///
/// ```
/// use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
/// use kube::{Api, api::ListParams};
/// use kubewright_controller::{Recorder, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// let map: ConfigMap = cluster.create(&settings("quiet")).await.expect_allowed();
/// let recorder = Recorder::new(&connection, Scope::all());
/// for _ in 0..3 {
///     recorder.normal(&map, "Loaded", "the settings are in use").await?;
/// }
/// let events = Api::<Event>::namespaced(cluster.client(), "default").list(&ListParams::default()).await?;
/// let event = events.items.iter().find(|event| event.reason.as_deref() == Some("Loaded")).unwrap();
/// assert_eq!(event.series.as_ref().unwrap().count, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    connection: Connection,
    scope: Scope,
    series: Arc<Mutex<Series>>,
}

impl Recorder {
    /// Creates a handle for Events about the objects of a scope.
    ///
    /// ```
    /// use kubewright_controller::{Recorder, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let map = cluster.create(&settings("quiet")).await.expect_allowed();
    /// let recorder = Recorder::new(&connection, Scope::all().in_namespace("blue"));
    /// let outside = recorder.normal(&map, "Loaded", "the settings are in use").await;
    /// assert!(outside.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            scope,
            series: Arc::default(),
        }
    }

    /// Records an Event of type `Normal`: a reason in CamelCase, such as `Created`, and a sentence.
    ///
    /// ```
    /// use k8s_openapi::api::events::v1::Event;
    /// use kube::{Api, api::ListParams};
    /// use kubewright_controller::{Recorder, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let map = cluster.create(&settings("quiet")).await.expect_allowed();
    /// Recorder::new(&connection, Scope::all()).normal(&map, "Loaded", "the settings are in use").await?;
    /// let events = Api::<Event>::namespaced(cluster.client(), "default").list(&ListParams::default()).await?;
    /// let event = events.items.iter().find(|event| event.reason.as_deref() == Some("Loaded")).unwrap();
    /// assert_eq!(event.type_.as_deref(), Some("Normal"));
    /// assert_eq!(event.reporting_controller.as_deref(), Some("gardener"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the Event may or may not be recorded.
    pub async fn normal<K: AnyObject>(
        &self,
        object: &K,
        reason: impl Into<String>,
        note: impl Into<String>,
    ) -> Result<(), RequestError> {
        self.record(EventType::Normal, object, reason.into(), note.into())
            .await
    }

    /// Records an Event of type `Warning`: a reason in CamelCase, such as `IllegalImage`, and a sentence.
    ///
    /// ```
    /// use k8s_openapi::api::events::v1::Event;
    /// use kube::{Api, api::ListParams};
    /// use kubewright_controller::{Recorder, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let map = cluster.create(&settings("shrill")).await.expect_allowed();
    /// Recorder::new(&connection, Scope::all()).warning(&map, "UnknownMode", "mode `shrill` is unknown").await?;
    /// let events = Api::<Event>::namespaced(cluster.client(), "default").list(&ListParams::default()).await?;
    /// let event = events.items.iter().find(|event| event.reason.as_deref() == Some("UnknownMode")).unwrap();
    /// assert_eq!(event.type_.as_deref(), Some("Warning"));
    /// assert_eq!(event.note.as_deref(), Some("mode `shrill` is unknown"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the Event may or may not be recorded.
    pub async fn warning<K: AnyObject>(
        &self,
        object: &K,
        reason: impl Into<String>,
        note: impl Into<String>,
    ) -> Result<(), RequestError> {
        self.record(EventType::Warning, object, reason.into(), note.into())
            .await
    }

    async fn record<K: AnyObject>(
        &self,
        type_: EventType,
        object: &K,
        reason: String,
        note: String,
    ) -> Result<(), RequestError> {
        let reference = ObjectRef::of(object);
        let kind = Kind::named_by(object)
            .ok_or_else(|| RequestError::of_unknown_kind(VERB, reference.key()))?;
        RequestError::unless_within(&self.scope, VERB, &kind, reference.key())?;
        RequestError::unless_leading(VERB, &kind, reference.key())?;
        let failed = |error| RequestError::new(VERB, &kind, reference.key(), error);
        let link = self.connection.link().await;
        let about = kind.object_reference(object.meta());
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
