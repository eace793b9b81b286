//! One handler behind one type: decode, call, graft.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use kubewright_review::{
    AdmissionReview, Body, Change, DecodeError, GroupVersionKind, Image, ImageError, Patch,
    ReadError, Scope,
};
use tokio::time::Instant;

use crate::handler::{Object, Target};
use crate::verdict::Cause;
use crate::{Mutate, Reject, Review, Validate};

/// A handler at work. What it answers is the patch that its object needs.
pub(crate) type Run = Pin<Box<dyn Future<Output = Result<Patch, Stop>> + Send>>;

/// A handler whose type of object is no longer visible.
pub(crate) trait ErasedHandler: Send + Sync {
    /// Reads a review together with its objects, in one pass, and makes the handler ready to run.
    fn begin(self: Arc<Self>, body: &Body, deadline: Instant) -> Result<(Review, Run), ReadError>;

    /// Makes the handler ready to run on the object as an earlier handler left it.
    fn proceed(self: Arc<Self>, review: Review) -> Run;
}

/// Why a handler did not let the request pass.
#[derive(Debug)]
pub(crate) enum Stop {
    Rejected(Reject),
    Undecodable(String),
    Failed(Cause),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Undecodable(error.to_string())
    }
}

/// Puts a validator behind one type.
pub(crate) fn validator<K: Object, H: Validate<K>>(handler: H) -> Arc<dyn ErasedHandler> {
    Arc::new(Typed::<K, _> {
        handler: Validator(handler),
        target: K::target(),
        object: PhantomData,
    })
}

/// Puts a mutator behind one type.
pub(crate) fn mutator<K: Object, H: Mutate<K>>(handler: H) -> Arc<dyn ErasedHandler> {
    Arc::new(Typed::<K, _> {
        handler: Mutator(handler),
        target: K::target(),
        object: PhantomData,
    })
}

struct Typed<K, H> {
    handler: H,
    target: Option<Target>,
    object: PhantomData<fn(K)>,
}

impl<K: Object, H: Handle<K>> Typed<K, H> {
    fn run(self: Arc<Self>, change: Result<Change<K>, DecodeError>, review: Review) -> Run {
        if let Some(mismatch) = self.mismatch(review.kind()) {
            return Box::pin(std::future::ready(Err(Stop::Undecodable(mismatch))));
        }
        match change {
            Ok(change) => {
                // Objects are large, and each future that holds one is moved as a whole.
                let change = Box::new(change);
                Box::pin(async move { self.handler.handle(change, review).await })
            }
            Err(error) => Box::pin(std::future::ready(Err(error.into()))),
        }
    }

    fn mismatch(&self, kind: GroupVersionKind<'_>) -> Option<String> {
        let target = self.target.as_ref()?;
        let same = kind.kind == target.kind
            && kind.version == target.version
            && kind.group == target.group;
        (!same).then(|| {
            format!(
                "cannot read object: the handler takes {} of {}, and the review has {} of {}",
                target.kind,
                group_version(&target.group, &target.version),
                kind.kind,
                group_version(kind.group, kind.version),
            )
        })
    }
}

impl<K: Object, H: Handle<K>> ErasedHandler for Typed<K, H> {
    fn begin(self: Arc<Self>, body: &Body, deadline: Instant) -> Result<(Review, Run), ReadError> {
        let (request, change) = AdmissionReview::read_typed::<K>(body, scope::<K>())?;
        let review = Review::new(request, deadline);
        let run = self.run(change, review.clone());
        Ok((review, run))
    }

    fn proceed(self: Arc<Self>, review: Review) -> Run {
        let change = review.request().decode::<K>(scope::<K>());
        self.run(change, review)
    }
}

/// A type that asks the API server for metadata alone is given metadata alone.
fn scope<K: Object>() -> Scope {
    if K::metadata_api() {
        Scope::Metadata
    } else {
        Scope::Object
    }
}

/// What validators and mutators have in common.
trait Handle<K>: Send + Sync + 'static {
    fn handle(
        &self,
        change: Box<Change<K>>,
        review: Review,
    ) -> impl Future<Output = Result<Patch, Stop>> + Send;
}

struct Validator<H>(H);

impl<K: Object, H: Validate<K>> Handle<K> for Validator<H> {
    async fn handle(&self, change: Box<Change<K>>, review: Review) -> Result<Patch, Stop> {
        let judged = self.0.validate(*change, review).await;
        judged.map_err(Stop::Rejected)?;
        Ok(Patch::default())
    }
}

struct Mutator<H>(H);

impl<K: Object, H: Mutate<K>> Handle<K> for Mutator<H> {
    async fn handle(&self, change: Box<Change<K>>, review: Review) -> Result<Patch, Stop> {
        let Some(new) = change.new_object() else {
            return Err(Stop::Failed(
                "a mutating webhook was called for DELETE, where nothing can be changed".into(),
            ));
        };
        let size = review.request().object().map_or(0, str::len);
        let unwritable = |error: ImageError| Stop::Failed(error.into());
        let before = Image::of(new, size).map_err(unwritable)?;
        let after = self.0.mutate(*change, review.clone()).await;
        let after = before
            .then(&after.map_err(Stop::Rejected)?)
            .map_err(unwritable)?;
        review
            .request()
            .graft(&before, &after)
            .map_err(|error| Stop::Failed(error.into()))
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
