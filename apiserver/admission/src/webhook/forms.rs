//! The objects of a request in each version that a webhook wants, converted and encoded at most once.

use std::borrow::Cow;

use bytes::Bytes;
use kubewright_apiextensions::custom::convert;
use kubewright_apimachinery::conform::{Medium, write_empties};
use kubewright_apimachinery::json::ordered::write_object;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::Result;
use kubewright_fieldmanagement::NewManagedFields;
use kubewright_webhook_client::Reach;
use serde_json::Value;

use super::select::Invocation;
use crate::attributes::Attributes;

/// The forms made so far. Valid until the object changes.
#[derive(Debug, Default)]
pub(super) struct Forms {
    own: Encoded,
    converted: Vec<Converted>,
}

/// The JSON of the objects, encoded when a webhook first needs it.
#[derive(Debug, Default)]
struct Encoded {
    object: Option<Bytes>,
    old: Option<Bytes>,
}

#[derive(Debug)]
struct Converted {
    kind: GroupVersionKind,
    object: Value,
    old: Value,
    encoded: Encoded,
}

/// The objects as one webhook gets them.
#[derive(Debug)]
pub(super) struct Form<'a> {
    /// Complete where the webhook has conditions that read it.
    pub(super) object: &'a Value,
    /// The JSON of the object's `managedFields` if `object` does not contain them.
    managed_fields: Option<&'a NewManagedFields>,
    pub(super) old: &'a Value,
    encoded: &'a mut Encoded,
}

impl Forms {
    /// The objects in the version that the invocation asks for.
    pub(super) async fn of<'a>(
        &'a mut self,
        reach: Reach<'_>,
        attributes: &'a Attributes,
        invocation: &Invocation,
    ) -> Result<Form<'a>> {
        let read =
            attributes.new_managed_fields.is_some() && !invocation.hook.conditions.is_empty();
        if invocation.matched.kind == attributes.kind && !attributes.empties && !read {
            return Ok(Form {
                object: &attributes.object,
                managed_fields: attributes.new_managed_fields.as_ref(),
                old: &attributes.old_object,
                encoded: &mut self.own,
            });
        }
        let known = self
            .converted
            .iter()
            .position(|form| form.kind == invocation.matched.kind);
        let at = if let Some(at) = known {
            at
        } else {
            let converted = Box::pin(Converted::of(reach, attributes, invocation)).await?;
            self.converted.push(converted);
            self.converted.len() - 1
        };
        let form = &mut self.converted[at];
        Ok(Form {
            object: &form.object,
            managed_fields: None,
            old: &form.old,
            encoded: &mut form.encoded,
        })
    }

    /// Takes the object in the version of the invocation, to be changed and put back. The old one stays.
    pub(super) fn take_object(
        &mut self,
        attributes: &mut Attributes,
        invocation: &Invocation,
    ) -> Value {
        self.own.object = None;
        let converted = std::mem::take(&mut self.converted);
        match converted
            .into_iter()
            .find(|form| form.kind == invocation.matched.kind)
        {
            Some(form) => {
                // The converted object contains the `managedFields`.
                attributes.new_managed_fields = None;
                form.object
            }
            None => std::mem::take(&mut attributes.object),
        }
    }
}

impl Converted {
    async fn of(
        reach: Reach<'_>,
        attributes: &Attributes,
        invocation: &Invocation,
    ) -> Result<Self> {
        let convert = async |object: &Value| {
            if invocation.matched.kind == attributes.kind || object.is_null() {
                return Ok(object.clone());
            }
            let (from, to) = (&attributes.resource, &invocation.matched.resource);
            convert::between(reach, from, to, object.clone()).await
        };
        let old = convert(&attributes.old_object).await?;
        let mut own = Cow::Borrowed(&attributes.object);
        if let Some(entries) = &attributes.new_managed_fields {
            entries.put_into(own.to_mut());
        }
        let mut object = convert(&own).await?;
        if attributes.empties {
            write_empties(&invocation.matched.kind, &mut object, Medium::Json);
        }
        Ok(Self {
            kind: invocation.matched.kind.clone(),
            object,
            old,
            encoded: Encoded::default(),
        })
    }
}

impl Form<'_> {
    /// Returns the JSON of the object and of the old object.
    pub(super) fn encoded(&mut self) -> (Bytes, Bytes) {
        let object = self
            .encoded
            .object
            .get_or_insert_with(|| encode(self.object, self.managed_fields))
            .clone();
        let old = self
            .encoded
            .old
            .get_or_insert_with(|| encode(self.old, None))
            .clone();
        (object, old)
    }
}

/// The JSON of an object, its members in the order of the real server.
fn encode(value: &Value, entries: Option<&NewManagedFields>) -> Bytes {
    let entries = entries.map(NewManagedFields::json);
    let mut out = Vec::with_capacity(8192 + entries.map_or(0, <[u8]>::len));
    write_object(&mut out, value, entries);
    out.into()
}
