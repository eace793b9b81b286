//! The webhook of a policy: what the program answers where no API server evaluates the policy.

use std::borrow::Cow;
use std::error::Error;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use kube_core::{ObjectMeta, Resource};
use kubewright_webhook::{
    Change, Denial, Mutate, Mutated, Object, Reject, Review, Validate, Validated,
};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::answer::Answer;
use crate::ready::Ready;
use crate::request::{Request, shown};

/// An object of a kind that is read as JSON.
pub(crate) struct Json<K> {
    value: Value,
    unread: ObjectMeta,
    kind: PhantomData<fn() -> K>,
}

/// An object of a kind that is not read here: the policy reads what the API server sent.
pub(crate) struct Unread<K> {
    unread: ObjectMeta,
    kind: PhantomData<fn() -> K>,
}

impl<'de, K> Deserialize<'de> for Json<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self {
            value: Value::deserialize(deserializer)?,
            unread: ObjectMeta::default(),
            kind: PhantomData,
        })
    }
}

impl<'de, K> Deserialize<'de> for Unread<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer)?;
        Ok(Self {
            unread: ObjectMeta::default(),
            kind: PhantomData,
        })
    }
}

impl<K> Serialize for Json<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<K> Serialize for Unread<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// The kind of a wrapper is that of what it wraps.
macro_rules! is_of_kind {
    ($wrapper:ident) => {
        impl<K: Resource> Resource for $wrapper<K> {
            type DynamicType = K::DynamicType;
            type Scope = K::Scope;

            fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
                K::kind(of)
            }

            fn group(of: &Self::DynamicType) -> Cow<'_, str> {
                K::group(of)
            }

            fn version(of: &Self::DynamicType) -> Cow<'_, str> {
                K::version(of)
            }

            fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
                K::plural(of)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.unread
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.unread
            }
        }
    };
}

is_of_kind!(Json);
is_of_kind!(Unread);

/// The handler of the webhook of a policy.
pub(crate) struct Handler(pub(crate) Arc<OnceLock<Ready>>);

impl<K: Object> Validate<Unread<K>> for Handler {
    async fn validate(&self, _: Change<Unread<K>>, review: Review) -> Validated {
        self.answer(&review).await?;
        Ok(())
    }
}

impl<K: Object> Mutate<Json<K>> for Handler {
    async fn mutate(&self, change: Change<Json<K>>, review: Review) -> Mutated<Json<K>> {
        let answer = self.answer(&review).await?;
        let mut object = change.into_object();
        if let Some(mut changed) = answer.object {
            // Handlers do not see them, and they stay as they are.
            if let Some(Value::Object(metadata)) = changed.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            object.value = changed;
        }
        Ok(object)
    }
}

impl Handler {
    /// What the policy says of a review; warnings and audit annotations go into its answer.
    async fn answer(&self, review: &Review) -> Result<Answer, Reject> {
        let policy = self.0.get().ok_or_else(incomplete)?;
        let mut request = Request::of_review(review)?;
        let namespace = review.namespace().unwrap_or_default();
        if let Some(params) = &policy.parts.params {
            request = request.params(params.read(namespace).await.map_err(Reject::failed)?);
        }
        let kind = review.kind();
        let is_namespace = (kind.group, kind.kind) == ("", "Namespace");
        if let Some(namespaces) = &policy.parts.namespaces
            && !namespace.is_empty()
            && !is_namespace
        {
            let found = namespaces.read(namespace).await.map_err(Reject::failed)?;
            let missing = || -> Box<dyn Error + Send + Sync> {
                format!("the cache of the program has no namespace `{namespace}`").into()
            };
            request.namespace = shown(&found.ok_or_else(missing).map_err(Reject::failed)?);
        }
        let answer = policy.answer(&request);
        for warning in &answer.warnings {
            review.warn(warning);
        }
        for (key, value) in &answer.audit_annotations {
            review.annotate(key.clone(), value);
        }
        match answer.denial() {
            Some(refused) => Err(Denial::new(&refused.message).code(refused.code).into()),
            None => Ok(answer),
        }
    }
}

fn incomplete() -> Reject {
    Reject::failed("the webhook of a policy was served before the policy was complete")
}
