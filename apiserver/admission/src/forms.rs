//! The objects of a request in each version that a webhook or a policy wants, converted and encoded at most once.

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

use crate::attributes::Attributes;
use crate::matching::Matched;

/// The forms made so far. Valid until the object changes.
#[derive(Debug, Default)]
pub(crate) struct Forms {
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

/// The objects as one webhook or policy gets them.
#[derive(Debug)]
pub(crate) struct Form<'a> {
    /// Complete where expressions read it.
    pub(crate) object: &'a Value,
    /// The JSON of the object's `managedFields` if `object` does not contain them.
    managed_fields: Option<&'a NewManagedFields>,
    pub(crate) old: &'a Value,
    encoded: &'a mut Encoded,
}

impl Forms {
    /// The objects in the version that was matched; complete if expressions read them.
    pub(crate) async fn of<'a>(
        &'a mut self,
        reach: Reach<'_>,
        attributes: &'a Attributes,
        matched: &Matched,
        read: bool,
    ) -> Result<Form<'a>> {
        let read = read && attributes.new_managed_fields.is_some();
        if matched.kind == attributes.kind && !attributes.empties && !read {
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
            .position(|form| form.kind == matched.kind);
        let at = if let Some(at) = known {
            at
        } else {
            let converted = Box::pin(Converted::of(reach, attributes, matched)).await?;
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

    /// Takes the object in the version that was matched, to be changed and put back. The old one stays.
    pub(crate) fn take_object(&mut self, attributes: &mut Attributes, matched: &Matched) -> Value {
        self.own.object = None;
        let converted = std::mem::take(&mut self.converted);
        match converted.into_iter().find(|form| form.kind == matched.kind) {
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
    async fn of(reach: Reach<'_>, attributes: &Attributes, matched: &Matched) -> Result<Self> {
        let convert = async |object: &Value| {
            if matched.kind == attributes.kind || object.is_null() {
                return Ok(object.clone());
            }
            let (from, to) = (&attributes.resource, &matched.resource);
            convert::between(reach, from, to, object.clone()).await
        };
        let old = convert(&attributes.old_object).await?;
        let mut own = Cow::Borrowed(&attributes.object);
        if let Some(entries) = &attributes.new_managed_fields {
            entries.put_into(own.to_mut());
        }
        let mut object = convert(&own).await?;
        if attributes.empties {
            write_empties(&matched.kind, &mut object, Medium::Json);
        }
        Ok(Self {
            kind: matched.kind.clone(),
            object,
            old,
            encoded: Encoded::default(),
        })
    }
}

impl Form<'_> {
    /// Returns the JSON of the object and of the old object.
    pub(crate) fn encoded(&mut self) -> (Bytes, Bytes) {
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
