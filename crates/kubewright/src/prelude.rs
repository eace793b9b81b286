//! What a program with webhooks or controllers uses in almost every file.
//!
//! ```
//! use kubewright::prelude::*;
//! ```

pub use kube_core::{DynamicObject, PartialObjectMeta, ResourceExt};
pub use kubewright_certificates::SharedAuthority;
pub use kubewright_controller::{
    Action, Applier, Cached, Changed, Context, Controller, Deleter, Election, Error, Finalizer,
    Keeper, Kept, Life, ObjectRef, Reader, Reconcile, Recorder, StatusWriter, Writer, owned,
    related, set_condition,
};
pub use kubewright_manager::{App, Live, Needs};
pub use kubewright_manifests::Install;
pub use kubewright_webhook::{
    Change, Connect, Create, Delete, Denial, FailurePolicy, Hook, MatchPolicy, Mutate, Mutated,
    Operation, OrDeny, Reject, Review, Rule, Scope, Selector, SideEffects, Undecodable, Update,
    Validate, Validated, Version, Webhooks, converting, deny, fail, mutating, validating,
};
