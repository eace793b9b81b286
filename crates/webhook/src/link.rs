//! One handler behind one type: decode, call, graft.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use kubewright_review::{Change, Image, Operation, Patch};

use crate::handler::{Object, Target};
use crate::verdict::Cause;
use crate::{Mutate, Reject, Review, Validate};

pub(crate) type Run = Pin<Box<dyn Future<Output = Result<Patch, Stop>> + Send>>;

/// A handler whose type of object is no longer visible.
pub(crate) trait Link: Send + Sync {
    fn run(self: Arc<Self>, review: Review) -> Run;
}

/// Why a link did not let the request pass.
#[derive(Debug)]
pub(crate) enum Stop {
    Rejected(Reject),
    Undecodable(Cause),
    Failed(Cause),
}

pub(crate) fn validator<K: Object, H: Validate<K>>(handler: H) -> Arc<dyn Link> {
    Arc::new(Validator::<K, H> {
        handler,
        target: K::target(),
        object: PhantomData,
    })
}

pub(crate) fn mutator<K: Object, H: Mutate<K>>(handler: H) -> Arc<dyn Link> {
    Arc::new(Mutator::<K, H> {
        handler,
        target: K::target(),
        object: PhantomData,
    })
}

struct Validator<K, H> {
    handler: H,
    target: Option<Target>,
    object: PhantomData<fn(K)>,
}

impl<K: Object, H: Validate<K>> Link for Validator<K, H> {
    fn run(self: Arc<Self>, review: Review) -> Run {
        Box::pin(async move {
            let change = decode::<K>(&review, self.target.as_ref())?;
            self.handler
                .validate(change, review)
                .await
                .map_err(Stop::Rejected)?;
            Ok(Patch::default())
        })
    }
}

struct Mutator<K, H> {
    handler: H,
    target: Option<Target>,
    object: PhantomData<fn(K)>,
}

impl<K: Object, H: Mutate<K>> Link for Mutator<K, H> {
    fn run(self: Arc<Self>, review: Review) -> Run {
        Box::pin(async move {
            let change = decode::<K>(&review, self.target.as_ref())?;
            let before = match &change {
                Change::Delete(_) => {
                    return Err(Stop::Failed(
                        "a mutating webhook was called for DELETE, where nothing can be changed"
                            .into(),
                    ));
                }
                change => image(change.object())?,
            };
            let after = self
                .handler
                .mutate(change, review.clone())
                .await
                .map_err(Stop::Rejected)?;
            let raw = review.request().object().unwrap_or_default();
            before
                .graft(raw, &image(&after)?)
                .map_err(|error| Stop::Failed(error.into()))
        })
    }
}

fn image<K: Object>(object: &K) -> Result<Image, Stop> {
    Image::of(object).map_err(|error| Stop::Failed(error.into()))
}

fn decode<K: Object>(review: &Review, target: Option<&Target>) -> Result<Change<K>, Stop> {
    let request = review.request();
    if let Some(target) = target {
        let kind = request.kind();
        if (&kind.group, &kind.version, &kind.kind)
            != (&target.group, &target.version, &target.kind)
        {
            return Err(Stop::Undecodable(
                format!(
                    "the handler takes {} of {}, and the review has {} of {}",
                    target.kind,
                    group_version(&target.group, &target.version),
                    kind.kind,
                    group_version(&kind.group, &kind.version),
                )
                .into(),
            ));
        }
    }
    let object = |json: Option<&str>, name: &str| {
        let json = json.ok_or_else(|| Stop::Undecodable(format!("{name} is null").into()))?;
        serde_json::from_str(json)
            .map_err(|error| Stop::Undecodable(format!("{name}: {error}").into()))
    };
    Ok(match review.operation() {
        Operation::Create => Change::Create(object(request.object(), "object")?),
        Operation::Update => Change::Update {
            old: object(request.old_object(), "oldObject")?,
            new: object(request.object(), "object")?,
        },
        Operation::Delete => Change::Delete(object(request.old_object(), "oldObject")?),
        Operation::Connect => Change::Connect(object(request.object(), "object")?),
    })
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
