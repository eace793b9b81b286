#![doc = include_str!("../README.md")]
//!
//! # What calls a reconcile
//!
//! Every object is reconciled when the controller starts, and again when it changes, when something that it
//! [owns](owned) or is [related] to changes, when a [`Trigger`] names it, after the time of [`Action::requeue_after`], and after an
//! error. A [`Predicate`] selects the changes that matter. A reconcile sees the object as it is, not what has happened to it, so it may be called
//! too often and never too seldom.
//!
//! * Nothing waits between a change and its reconcile: there is no timer, no debounce and no channel between the watch and
//!   the work queue.
//! * What many changes ask for while an object waits is done once; what they ask for while it is reconciled, once more.
//! * One object is never reconciled twice at once, however high the [concurrency](Controller::concurrency).
//! * Objects that a client has just changed come before those of the first list and those that come back by time. A controller
//!   can have [priorities](Controller::priority) of its own, [take turns between
//!   namespaces](Controller::fair_between_namespaces), and [limit](RateLimit) how many reconciles begin in a second.
//! * An error has the object reconciled again after a pause that doubles from 5 ms to 1000 s and is shortened at random by
//!   up to half ([`Backoff`]). A panic is an error. [`Error::terminal`] waits for a change instead.
//! * News of an object cut its pause short, to a second after the failure: what mends an object is seen soon, and a reconcile
//!   that writes before it fails does not call itself without end. (In client-go's queue news end the pause at once.) How
//!   often an object has failed is forgotten only when it succeeds.
//! * An API server that says how long it wants to be left alone (`Retry-After`) is left alone for as long, and for a minute
//!   at the most.
//!
//! # Caches
//!
//! There is one list and watch for each kind and scope, however many read it ([`Informers`]). A cache holds the JSON of each
//! object, without `managedFields`, and decodes it when it is read, into its type or one with only the fields that matter
//! ([`Cached::decode_as`]). A cache whose readers all name such types holds only the fields that they read ([`Cached::new`]). An
//! [`Index`] finds objects by other things than their names, and agrees with the cache at each moment.
//!
//! The list is streamed where the API server can do that, and read in pages where it refuses. A watch goes on where it was
//! cut; half a line, silence, a version that is too old or in the future, and an API server that is away or wants to be left
//! alone are all dealt with, and no event is lost or told twice.
//!
//! What a handle writes is in the caches of the program before the write returns ([`Connection::with_informers`]): a cached
//! read never shows an older state of the object, whatever the watch does meanwhile. No promise is made for a write without a response.
//!
//! # Handles
//!
//! | handle | verbs |
//! |---|---|
//! | [`Cached`] | get, list, watch; reads from a cache |
//! | [`Reader`] | get, list; reads from the API server itself |
//! | [`Writer`] | create, update, patch, delete |
//! | [`Applier`] | create, patch; server-side apply |
//! | [`CreateOrUpdate`] | get, list, watch, create, update; creates missing objects, and updates those that differ |
//! | [`StatusWriter`] | patch, of the status alone; [conditions](Context::condition) in Kubernetes' standard form |
//! | [`Deleter`] | delete |
//! | [`Finalizer`] | patch, for the finalizer alone |
//! | [`Ownership`] | get, list, watch, create, update, delete; owns across namespaces, by a label and a finalizer |
//! | [`Adopter`] | get, list, watch, patch; adopts objects without a controller, and releases them |
//! | [`Recorder`] | create and patch, of Events |
//!
//! # Kinds
//!
//! A kind comes from a type ([`Object`]), or is a value ([`Kind`]) whose objects are `DynamicObject`s: each handle has a constructor
//! `dynamic`, and so have [`Controller`], [`Owned`] and [`Related`]. `PartialObjectMeta<K>` in place of `K` has the API server send metadata
//! alone.
//!
//! While the API server does not serve a kind, its cache is empty, and what requires the kind waits; see
//! [`Controller::optional`] and [`Informers::optional`] for what does not.
//!
//! # Time
//!
//! All of it keeps tokio's time: under `tokio::time::pause` hours of back-off take microseconds.

mod action;
mod any_controller;
mod backoff;
mod clock;
mod conditions;
mod context;
mod controller;
mod election;
mod events;
mod handles;
mod informer;
mod kind;
mod mapping;
mod meter;
mod object;
mod ownership;
mod predicate;
mod queue;
mod rate_limit;
mod reconcile;
mod run;
mod shards;
mod sync;
mod trigger;
mod versions;
mod watch;
mod workload;

pub use action::{Action, Error};
pub use any_controller::AnyController;
pub use backoff::Backoff;
pub use clock::Clock;
pub use conditions::{ConditionStatus, set_condition};
pub use context::Context;
pub use controller::Controller;
pub use election::{
    LeaderElection, LeaderElectionError, LeaderElector, LeaderGuard, ObservedLease,
};
pub use events::{Event, EventType};
pub use handles::{
    AllChanges, Applier, Cached, Changes, Connection, CreateOrUpdate, Deleter, Finalizer, Index,
    OperationResult, ReadError, Reader, Recorder, RequestError, StatusWriter, UniqueIndex, Writer,
    finalizer,
};
pub use informer::{CacheState, Entry, Follows, Informers, Metadata};
pub use kind::{InvalidKind, Kind};
pub use meter::{Load, Meter};
pub use object::{AnyObject, ClusterScope, DynamicKind, Key, Object, ObjectRef, Scope};
pub use ownership::{Adopter, Ownership};
pub use predicate::Predicate;
pub use rate_limit::RateLimit;
pub use reconcile::Reconcile;
pub use run::{Outcome, Reconciled, Running};
pub use shards::Sharding;
pub use trigger::Trigger;
pub use watch::{Owned, OwnerScope, Related, Watch, owned, related};
pub use workload::{FailingObject, ReconcileInProgress, WaitingObject, Workload};
