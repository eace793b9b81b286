//! Events of `events.k8s.io/v1`, which `kubectl describe` lists with the object that they are about.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::core::Request as Requests;
use kube::core::params::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use crate::handles::ask;

/// An Event of `events.k8s.io/v1` about one object. `kubectl describe` lists it with that object.
///
/// The API server deletes Events after an hour by default (`--event-ttl`).
///
/// ```
/// use k8s_openapi::api::core::v1::{Namespace, ObjectReference, Secret};
/// use kubewright_controller::{Event, EventType};
/// use kubewright_testing::{TestCluster, yaml};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = TestCluster::start().await;
/// let secret = ObjectReference {
///     api_version: Some("v1".into()),
///     kind: Some("Secret".into()),
///     namespace: Some(cluster.namespace().into()),
///     name: Some("certificates".into()),
///     ..ObjectReference::default()
/// };
/// let event = Event::about(&secret, EventType::Normal, "Rotated", "a new certificate is in use");
/// event.reported_by("guard").create(&cluster.client()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Event {
    object: Value,
    namespace: String,
    name: String,
}

/// The type of an Event, as `kubectl get events` shows it.
///
/// ```
/// use kubewright_controller::{Event, EventType};
#[doc = include_str!("event.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let event = Event::about(&settings(), EventType::Warning, "UnknownMode", "mode `shrill` is unknown");
/// assert_eq!(stored(event.reported_by("gardener")).await?.type_.as_deref(), Some("Warning"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "Kubernetes knows these two, and may come to know others only with a new version of the API"
)]
pub enum EventType {
    /// Normal operation.
    Normal,
    /// A problem that may need attention.
    Warning,
}

impl Event {
    /// Builds an Event with the current time. The reason is one word in CamelCase, such as `Created`; the note is a sentence, cut
    /// off at 1,024 bytes. The Event belongs to the namespace of the object, or to `default` if the object is cluster-scoped.
    ///
    /// The required field `action` is set to the reason.
    ///
    /// ```
    /// use kubewright_controller::{Event, EventType};
    #[doc = include_str!("event.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let event = Event::about(&settings(), EventType::Normal, "Loaded", "x".repeat(2000));
    /// let stored = stored(event.reported_by("gardener")).await?;
    /// assert_eq!(stored.reason.as_deref(), Some("Loaded"));
    /// assert_eq!(stored.note.map(|note| note.len()), Some(1024));
    /// # Ok(())
    /// # }
    /// ```
    pub fn about(
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        note: impl Into<String>,
    ) -> Self {
        let namespace = object.namespace.as_deref().unwrap_or("default").to_owned();
        let id = Uuid::new_v4().simple().to_string();
        let about = object.name.as_deref().unwrap_or_default();
        let about = cut(about.to_owned(), LONGEST_NAME - id.len() - 1);
        let name = format!("{about}.{id}");
        let object = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"namespace": namespace, "name": name},
            "eventTime": micros(Timestamp::now()),
            "action": reason, "reason": reason, "note": cut(note.into(), LONGEST_NOTE),
            "type": match type_ {
                EventType::Normal => "Normal",
                EventType::Warning => "Warning",
            },
            "regarding": object,
        });
        Self {
            object,
            namespace,
            name,
        }
    }

    /// Sets `reportingController` and `reportingInstance` to the name of the program.
    ///
    /// ```
    /// use kubewright_controller::{Event, EventType};
    #[doc = include_str!("event.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let event = Event::about(&settings(), EventType::Normal, "Loaded", "the settings are in use");
    /// let stored = stored(event.reported_by("gardener")).await?;
    /// assert_eq!(stored.reporting_controller.as_deref(), Some("gardener"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn reported_by(mut self, program: &str) -> Self {
        self.object["reportingController"] = program.into();
        self.instance(program)
    }

    /// Sets `reportingInstance`, such as the name of the pod, cut off at 128 bytes.
    ///
    /// ```
    /// use kubewright_controller::{Event, EventType};
    #[doc = include_str!("event.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let event = Event::about(&settings(), EventType::Normal, "Loaded", "the settings are in use");
    /// let stored = stored(event.reported_by("gardener").instance("gardener-0")).await?;
    /// assert_eq!(stored.reporting_instance.as_deref(), Some("gardener-0"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn instance(mut self, instance: &str) -> Self {
        self.object["reportingInstance"] = cut(instance.to_owned(), LONGEST_INSTANCE).into();
        self
    }

    /// Sets `eventTime`. The default is the time at which the Event was built.
    ///
    /// ```
    /// use jiff::Timestamp;
    /// use kubewright_controller::{Event, EventType};
    #[doc = include_str!("event.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let time: Timestamp = "2026-11-24T05:00:00Z".parse()?;
    /// let event = Event::about(&settings(), EventType::Normal, "Loaded", "the settings are in use");
    /// assert_eq!(stored(event.reported_by("gardener").at(time)).await?.event_time.unwrap().0, time);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn at(mut self, time: Timestamp) -> Self {
        self.object["eventTime"] = micros(time).into();
        self
    }

    /// Creates the Event. Requires the verb `create` on `events` in the API group `events.k8s.io`.
    ///
    /// # Errors
    ///
    /// If the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the Event may or may not have been created.
    pub async fn create(&self, client: &Client) -> kube::Result<()> {
        let body = self.object.to_string().into_bytes();
        let request = requests(&self.namespace).create(&PostParams::default(), body);
        ask::<Value>(client, request).await.map(drop)
    }
}

/// Recently created Events, so that a repeated Event becomes a series.
#[derive(Default)]
pub(crate) struct Series {
    recent: HashMap<Subject, Recent>,
}

/// The fields by which two Events count as the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    is_warning: bool,
    reason: String,
    object: [Option<String>; 5],
}

struct Recent {
    namespace: String,
    name: String,
    count: i32,
    last: Instant,
}

/// A repeated Event: the name of the first one and the count of the series.
pub(crate) struct Again {
    namespace: String,
    name: String,
    count: i32,
}

impl Subject {
    pub(crate) fn of(object: &ObjectReference, type_: EventType, reason: &str) -> Self {
        Self {
            is_warning: type_ == EventType::Warning,
            reason: reason.to_owned(),
            object: [
                object.api_version.clone(),
                object.kind.clone(),
                object.namespace.clone(),
                object.name.clone(),
                object.uid.clone(),
            ],
        }
    }
}

impl Series {
    /// Returns the Event of the subject, if it is fresh, and counts the repetition.
    pub(crate) fn again(&mut self, subject: &Subject, now: Instant) -> Option<Again> {
        self.recent
            .retain(|_, told| now.duration_since(told.last) < FRESH);
        let told = self.recent.get_mut(subject)?;
        told.count = told.count.saturating_add(1);
        told.last = now;
        Some(Again {
            namespace: told.namespace.clone(),
            name: told.name.clone(),
            count: told.count,
        })
    }

    /// Adds an Event that was created.
    pub(crate) fn began(&mut self, subject: Subject, event: &Event, now: Instant) {
        if self.recent.len() >= MOST_SERIES {
            let oldest = self.recent.iter().min_by_key(|(_, told)| told.last);
            if let Some(subject) = oldest.map(|(subject, _)| subject.clone()) {
                self.recent.remove(&subject);
            }
        }
        let recent = Recent {
            namespace: event.namespace.clone(),
            name: event.name.clone(),
            count: 1,
            last: now,
        };
        self.recent.insert(subject, recent);
    }

    /// Removes an Event that the API server has deleted.
    pub(crate) fn ended(&mut self, subject: &Subject) {
        self.recent.remove(subject);
    }
}

impl Again {
    /// Updates the series of the Event. Requires the verb `patch` on `events` in the API group `events.k8s.io`.
    pub(crate) async fn count(&self, client: &Client) -> kube::Result<()> {
        let series = json!({"series": {
            "count": self.count, "lastObservedTime": micros(Timestamp::now()),
        }});
        let parameters = PatchParams::default();
        let request =
            requests(&self.namespace).patch(&self.name, &parameters, &Patch::Merge(series));
        ask::<Value>(client, request).await.map(drop)
    }
}

fn requests(namespace: &str) -> Requests {
    Requests::new(format!(
        "/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    ))
}

fn micros(time: Timestamp) -> String {
    format!("{time:.6}")
}

fn cut(mut text: String, longest: usize) -> String {
    text.truncate(text.floor_char_boundary(longest));
    text
}

/// Limits of the API server, in bytes.
const LONGEST_NAME: usize = 253;
const LONGEST_NOTE: usize = 1024;
const LONGEST_INSTANCE: usize = 128;
/// The same as in client-go.
const FRESH: Duration = Duration::from_mins(6);
const MOST_SERIES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> ObjectReference {
        ObjectReference {
            kind: Some("Pod".to_owned()),
            name: Some(name.to_owned()),
            ..ObjectReference::default()
        }
    }

    fn event(name: &str) -> Event {
        Event::about(&object(name), EventType::Normal, "Ready", "it is ready")
    }

    #[test]
    fn strings_are_cut_off_at_the_limits_of_the_api_server() {
        let long = "ä".repeat(2000);
        let event = Event::about(&object(&long), EventType::Warning, "Long", &*long)
            .reported_by("guard")
            .instance(&long);
        let length = |field: &str| event.object[field].as_str().unwrap().len();
        assert!(event.name.len() <= 253 && event.name.len() > 250);
        assert_eq!((length("note"), length("reportingInstance")), (1024, 128));
        assert_eq!(event.object["metadata"]["namespace"], "default");
    }

    #[test]
    fn two_events_never_have_the_same_name() {
        assert_ne!(event("a").name, event("a").name);
    }

    #[test]
    fn the_same_event_is_counted_until_it_is_old() {
        let (mut series, now) = (Series::default(), Instant::now());
        let subject = |name| Subject::of(&object(name), EventType::Normal, "Ready");
        assert!(series.again(&subject("a"), now).is_none());
        series.began(subject("a"), &event("a"), now);
        assert_eq!(series.again(&subject("a"), now).unwrap().count, 2);
        assert!(series.again(&subject("b"), now).is_none());
        let warning = Subject::of(&object("a"), EventType::Warning, "Ready");
        assert!(series.again(&warning, now).is_none());
        // Each repetition keeps the series fresh.
        let later = now + FRESH - Duration::from_secs(1);
        assert_eq!(series.again(&subject("a"), later).unwrap().count, 3);
        assert_eq!(
            series
                .again(&subject("a"), later + FRESH / 2)
                .unwrap()
                .count,
            4
        );
        assert!(series.again(&subject("a"), later + 2 * FRESH).is_none());
    }

    #[test]
    fn the_oldest_series_is_evicted_first() {
        let (mut series, start) = (Series::default(), Instant::now());
        let subject =
            |number: usize| Subject::of(&object(&number.to_string()), EventType::Normal, "Ready");
        for number in 0..=MOST_SERIES {
            let now = start + Duration::from_millis(number as u64);
            series.began(subject(number), &event("a"), now);
        }
        assert_eq!(series.recent.len(), MOST_SERIES);
        assert!(series.again(&subject(0), start).is_none());
        assert!(series.again(&subject(1), start).is_some());
    }
}
