//! What an object looks like in a watch event: itself, its metadata, or a table of one row.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::conform::conform;
use kubewright_apimachinery::json::ordered;
use kubewright_apimachinery::protobuf;
use kubewright_apimachinery::status::Result;
use kubewright_storage::{Change, Event, Object, line};
use serde_json::{Value, json};

use crate::rest::call::Call;
use crate::rest::negotiate::{Encoding, Form};
use crate::rest::table::{self, Include};

/// The form of a watch's objects.
#[derive(Debug)]
pub(super) enum Shape {
    /// The object itself; the store's own bytes, where they are in the request's version.
    Object,
    /// `PartialObjectMetadata`.
    Metadata(&'static str),
    /// A table; the columns are described in the first event only.
    Table {
        version: &'static str,
        include: Include,
        described: bool,
    },
}

impl Shape {
    pub(super) fn metadata(version: &'static str) -> Self {
        Self::Metadata(version)
    }

    pub(super) fn table(call: &Call, version: &'static str) -> Result<Self> {
        Ok(Self::Table {
            version,
            include: Include::read(&call.query)?,
            described: false,
        })
    }

    /// The form of the lines of events, where watches that ask alike get the same bytes: not of tables, which say how old
    /// objects are, and not of custom resources, whose conversion may change.
    pub(super) fn form(&self, call: &Call) -> Option<Arc<str>> {
        let form = match self {
            Self::Object => "",
            Self::Metadata(version) => version,
            Self::Table { .. } => return None,
        };
        if Custom::of(&call.resource).is_some() {
            return None;
        }
        let (encoding, version) = (call.output.encoding, call.resource.api_version());
        Some(format!("{encoding:?} {form} {version} {}", call.resource.kind).into())
    }

    /// The line for an event that this watch sees for what it is: encoded once for all watches that have the same form.
    pub(super) async fn event(
        &mut self,
        call: &Call,
        event: &Event,
        form: Option<&Arc<str>>,
    ) -> Result<Bytes> {
        if matches!(self, Self::Object) && is_stored_text(call, &event.object) {
            return Ok(event.line());
        }
        if let Some(line) = form.and_then(|form| event.encoded(form)) {
            return Ok(line);
        }
        let line = self.line(call, event.change, &event.object).await?;
        if let Some(form) = form {
            event.keep_encoded(form, line.clone());
        }
        Ok(line)
    }

    /// The line for an object.
    pub(super) async fn line(
        &mut self,
        call: &Call,
        change: Change,
        object: &Object,
    ) -> Result<Bytes> {
        if matches!(self, Self::Object) && is_stored_text(call, object) {
            return Ok(line(change.as_str(), object.json()));
        }
        let shown = self.shown(call, call.value(object).await?);
        Ok(written(call, change.as_str(), &shown))
    }

    /// The line for an object at a revision that is not its own: it left the selection.
    pub(super) async fn line_at(
        &mut self,
        call: &Call,
        change: Change,
        object: &Object,
        revision: u64,
    ) -> Result<Bytes> {
        let mut value = call.value(object).await?;
        value["metadata"]["resourceVersion"] = revision.to_string().into();
        let shown = self.shown(call, value);
        Ok(written(call, change.as_str(), &shown))
    }

    /// The line that says how far the watch has come.
    pub(super) fn bookmark(&mut self, call: &Call, revision: u64, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({
            "kind": call.resource.kind,
            "apiVersion": call.resource.api_version(),
            "metadata": metadata,
        });
        if !call.resource.strategy.is_unstructured() {
            // It has what Go writes of an object in which nothing is set.
            // Go's own types of these have a number, which is always written.
            if matches!(&*call.resource.kind, "Deployment" | "StatefulSet") {
                object["spec"] = json!({"replicas": 0});
            }
            drop(conform(&call.kind(), &mut object));
        }
        let shown = self.shown(call, object);
        written(call, "BOOKMARK", &shown)
    }

    fn shown(&mut self, call: &Call, object: Value) -> Value {
        match self {
            Self::Object => object,
            Self::Metadata(version) => table::partial(object, version),
            Self::Table {
                version,
                include,
                described,
            } => {
                let mut shown = table::empty(&call.resource, version);
                if std::mem::replace(described, true) {
                    shown["columnDefinitions"] = Value::Null;
                }
                shown["metadata"]["resourceVersion"] =
                    object["metadata"]["resourceVersion"].clone();
                let row = table::row(&call.resource, object, version, *include, Timestamp::now());
                shown["rows"] = vec![row].into();
                shown
            }
        }
    }
}

/// Whether no object has the form that was asked for, a list: the real server finds that out at the first event, which ends the
/// watch.
pub(super) fn no_object_fits(call: &Call) -> bool {
    matches!(call.output.form, Form::MetadataList(_))
}

/// Whether the event has the very text that the store holds.
fn is_stored_text(call: &Call, object: &Object) -> bool {
    call.output.encoding != Encoding::Protobuf && call.shows_as_stored(object)
}

/// An event in the encoding of the watch.
pub(super) fn written(call: &Call, word: &str, object: &Value) -> Bytes {
    match call.output.encoding {
        Encoding::Protobuf => protobuf::frame(word, object).into(),
        _ => line(word, &ordered::text(object)),
    }
}
