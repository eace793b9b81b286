//! What a reconcile knows besides its object.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time};

use crate::clock::Clock;
use crate::{Applier, ConditionStatus, Entry, Keeper, Kept, Kind, Object, RequestError};

/// What a reconcile knows besides its object. It is not generic, so that functions take it freely; clones are cheap.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) controller: Arc<str>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) failures: u32,
    pub(crate) clock: Clock,
}

impl Context {
    /// Returns the name of the controller.
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// Returns how many reconciles of this object have failed in a row before this one.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the time of day; in a test whose time is paused, it passes as that time does.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the reference by which the object owns others: it is their controller, and they go when it goes.
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.kind.api_version().to_owned(),
            kind: self.kind.name().to_owned(),
            name: self.entry.key().name().to_owned(),
            uid: self.entry.metadata().uid().to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// Returns a condition of the object in its present generation, for its status. `reason` is a word for programs, such as
    /// `Kept`; `message` is for people.
    ///
    /// [`set_condition`](crate::set_condition) puts it among the conditions of the status,
    /// [`StatusWriter::keep`](crate::StatusWriter::keep) writes that.
    pub fn condition(
        &self,
        name: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: &str,
    ) -> Condition {
        Condition {
            type_: name.to_owned(),
            status: status.into().to_string(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.entry.metadata().generation(),
            last_transition_time: Time(self.now()),
        }
    }

    /// Applies an object that the one at hand owns, in its namespace unless another is named.
    ///
    /// The [owner reference](Self::owner_reference) makes it go when its owner goes, and a controller that
    /// [watches](crate::owned) its kind puts back what somebody changes.
    ///
    /// # Errors
    ///
    /// When the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply<T: Object>(
        &self,
        applier: &Applier<T>,
        object: T,
    ) -> Result<T, RequestError> {
        applier.apply(&self.owned(object)).await
    }

    /// Keeps an object that the one at hand owns exactly as it is wanted, in its namespace unless another is named.
    ///
    /// A controller that [watches](crate::owned) its kind makes again what somebody deletes, and puts back what somebody
    /// changes. It goes when its owner goes.
    ///
    /// # Errors
    ///
    /// When the object has just been changed, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn keep<T: Object>(
        &self,
        keeper: &Keeper<T>,
        object: T,
    ) -> Result<Kept, RequestError> {
        keeper.keep(&self.owned(object)).await
    }

    fn owned<T: Object>(&self, mut object: T) -> T {
        let owner = self.owner_reference();
        let metadata = object.meta_mut();
        if metadata.namespace.is_none() {
            metadata.namespace = self.entry.key().namespace().map(str::to_owned);
        }
        let owners = metadata.owner_references.get_or_insert_default();
        owners.retain(|known| known.uid != owner.uid);
        owners.push(owner);
        object
    }
}
