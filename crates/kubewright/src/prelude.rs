//! The names that almost every file of a program uses.
//!
//! Names that collide with those of other crates are left out: `controller::{Context, Error}` and
//! `webhook::{Scope, Version}` are imported where they are used.
//!
//! ```
//! use kubewright::prelude::*;
//! ```

pub use kube_core::{DynamicObject, PartialObjectMeta, ResourceExt};
pub use kubewright_certificates::SharedAuthority;
pub use kubewright_controller::{
    Action, Adopter, Applier, Cached, Controller, CreateOrUpdate, Deleter, Finalizer, Index,
    LeaderElection, ObjectRef, OperationResult, Ownership, Predicate, Reader, Reconcile, Recorder,
    StatusWriter, Trigger, Writer, owned, related, set_condition,
};
pub use kubewright_manager::{App, Live, Needs, RunTask, Task, TaskContext};
pub use kubewright_manifests::Install;
#[cfg(feature = "policies")]
pub use kubewright_policy::Policy;
pub use kubewright_webhook::{
    Change, Connect, Create, Delete, Denial, FailurePolicy, Hook, MatchPolicy, Mutate, Mutated,
    Operation, OrDeny, Reject, Review, Rule, Selector, SideEffects, Undecodable, Update, Validate,
    Validated, Webhooks, converting, deny, fail, mutating, validating,
};
