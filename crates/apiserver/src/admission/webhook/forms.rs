//! The objects of a request in each version that a webhook wants, converted and encoded at most once.

use bytes::Bytes;
use serde_json::Value;

use super::client::Reach;
use super::select::Invocation;
use crate::admission::attributes::Attributes;
use crate::custom::convert;
use crate::kinds::GroupVersionKind;
use crate::schema::json::write;
use crate::schema::{self, Medium};
use crate::status::Result;

/// The forms made so far. Valid until the object changes.
#[derive(Debug, Default)]
pub(super) struct Forms {
    own: Texts,
    converted: Vec<Converted>,
}

#[derive(Debug, Default)]
struct Texts {
    object: Option<Bytes>,
    old: Option<Bytes>,
}

#[derive(Debug)]
struct Converted {
    kind: GroupVersionKind,
    object: Value,
    old: Value,
    texts: Texts,
}

/// The objects as one webhook gets them.
#[derive(Debug)]
pub(super) struct Form<'a> {
    pub(super) object: &'a Value,
    pub(super) old: &'a Value,
    texts: &'a mut Texts,
}

impl Forms {
    /// The objects in the version that the invocation asks for.
    pub(super) async fn of<'a>(
        &'a mut self,
        reach: Reach<'_>,
        attributes: &'a Attributes,
        invocation: &Invocation,
    ) -> Result<Form<'a>> {
        if invocation.kind == attributes.kind && !attributes.empties {
            return Ok(Form {
                object: &attributes.object,
                old: &attributes.old_object,
                texts: &mut self.own,
            });
        }
        let known = self
            .converted
            .iter()
            .position(|form| form.kind == invocation.kind);
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
            old: &form.old,
            texts: &mut form.texts,
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
            .find(|form| form.kind == invocation.kind)
        {
            Some(form) => form.object,
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
            if invocation.kind == attributes.kind || object.is_null() {
                return Ok(object.clone());
            }
            let (from, to) = (&attributes.resource, &invocation.resource);
            convert::between(reach, from, to, object.clone()).await
        };
        let old = convert(&attributes.old_object).await?;
        let mut object = convert(&attributes.object).await?;
        if attributes.empties {
            schema::write_empties(&invocation.kind, &mut object, Medium::Json);
        }
        Ok(Self {
            kind: invocation.kind.clone(),
            object,
            old,
            texts: Texts::default(),
        })
    }
}

impl Form<'_> {
    /// The JSON of the object and of the old one.
    pub(super) fn texts(&mut self) -> (Bytes, Bytes) {
        let object = self
            .texts
            .object
            .get_or_insert_with(|| encode(self.object))
            .clone();
        let old = self
            .texts
            .old
            .get_or_insert_with(|| encode(self.old))
            .clone();
        (object, old)
    }
}

fn encode(value: &Value) -> Bytes {
    if value.is_null() {
        return Bytes::from_static(b"null");
    }
    let mut out = Vec::with_capacity(4096);
    write(&mut out, value);
    out.into()
}
