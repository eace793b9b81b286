//! Controllers over shared caches that hold bytes.
//!
//! A controller makes the world as objects want it. It is a function from an object to an [`Action`], and a value that says
//! what the function is called for:
//!
//! ```
//! use std::sync::Arc;
//!
//! use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
//! use kube::ResourceExt;
//! use kubewright_controller::{
//!     Action, Cached, Context, Controller, Error, Reconcile, Scope, Writer, related,
//! };
//! use kubewright_manager::{App, Needs};
//! use kubewright_testing::{TestCluster, eventually};
//!
//! /// Keeps a ConfigMap with a welcome in every namespace.
//! struct Greeter {
//!     maps: Cached<ConfigMap>,
//!     writer: Writer<ConfigMap>,
//! }
//!
//! impl Reconcile<Namespace> for Greeter {
//!     async fn reconcile(&self, namespace: Arc<Namespace>, cx: Context) -> Result<Action, Error> {
//!         let name = namespace.name_any();
//!         if self.maps.get((&*name, "welcome")).await?.is_none() {
//!             let mut map = ConfigMap::default();
//!             map.metadata.name = Some("welcome".into());
//!             map.metadata.namespace = Some(name.clone());
//!             map.metadata.owner_references = Some(vec![cx.owner_reference()]);
//!             map.data = Some([("text".into(), format!("welcome to {name}"))].into());
//!             self.writer.create(&map).await?;
//!         }
//!         Ok(Action::await_change())
//!     }
//! }
//!
//! fn app(needs: &mut Needs) -> App {
//!     let greeter = Greeter { maps: needs.named("welcome").cached(), writer: needs.writer() };
//!     let again = related(|map: &ConfigMap| map.namespace().map(|name| name.as_str().into()));
//!     let again = again.within(Scope::all().named("welcome"));
//!     App::new("greeter").controller(Controller::new("namespaces", greeter).watch(again))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let cluster = TestCluster::builder().app(app).start().await;
//! let welcome = async || cluster.get::<ConfigMap>("welcome").await;
//! let map = eventually("the welcome", welcome).await;
//! assert_eq!(map.data.unwrap()["text"], format!("welcome to {}", cluster.namespace()));
//!
//! // What somebody deletes comes back.
//! cluster.delete::<ConfigMap>("welcome").await.expect_allowed();
//! eventually("the welcome", welcome).await;
//! # }
//! ```
//!
//! The program may do what it has asked [handles](#handles) for, and nothing else: its sub-command `permissions` prints the
//! roles.
//!
//! # What calls a reconcile
//!
//! Every object is reconciled when the controller starts, and again when it changes, when something that it
//! [owns](owned) or is [related] to changes, after the time of [`Action::requeue_after`], and after an error. Which changes
//! matter is for [`Changed`] to say. A reconcile sees the object as it is, not what has happened to it, so it may be called
//! too often and never too seldom.
//!
//! * Nothing waits between a change and its reconcile: there is no timer, no debounce and no channel between the watch and
//!   the work queue.
//! * What many changes ask for while an object waits is done once; what they ask for while it is reconciled, once more.
//! * One object is never reconciled twice at once, however high the [concurrency](Controller::concurrency).
//! * Objects that somebody has just changed come before those of the first list and those that come back by time.
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
//! ([`Cached::decode_as`]).
//!
//! The list is streamed where the API server can do that, and read in pages where it refuses. A watch goes on where it was
//! cut; half a line, silence, a version that is too old or in the future, and an API server that is away or wants to be left
//! alone are all dealt with, and no event is lost or told twice.
//!
//! # Handles
//!
//! | handle | verbs |
//! |---|---|
//! | [`Cached`] | get, list, watch; reads from a cache |
//! | [`Reader`] | get, list; reads from the API server itself |
//! | [`Writer`] | create, update, patch, delete |
//! | [`Applier`] | create, patch; server-side apply |
//! | [`Keeper`] | get, list, watch, create, update; what is missing is made, and what was changed is put back |
//! | [`StatusWriter`] | patch, of the status alone; [conditions](Context::condition) in Kubernetes' standard form |
//! | [`Deleter`] | delete |
//! | [`Finalizer`] | patch, for the finalizer alone |
//! | [`Recorder`] | create and patch, of Events |
//!
//! # Time
//!
//! All of it keeps tokio's time: under `tokio::time::pause` hours of back-off take microseconds.

mod action;
mod any_controller;
mod backoff;
mod changed;
mod clock;
mod conditions;
mod context;
mod controller;
mod election;
mod events;
mod handles;
mod informer;
mod mapping;
mod meter;
mod object;
mod queue;
mod reconcile;
mod run;
mod sync;
mod versions;
mod watch;

pub use action::{Action, Error};
pub use any_controller::AnyController;
pub use backoff::Backoff;
pub use changed::Changed;
pub use conditions::{ConditionStatus, set_condition};
pub use context::Context;
pub use controller::Controller;
pub use election::{Campaign, Election, ElectionError, Term};
pub use events::{Event, EventType};
pub use handles::{
    Applier, Cached, Changes, Connection, Deleter, Finalizer, Keeper, Kept, Life, ReadError,
    Reader, Recorder, RequestError, StatusWriter, Writer,
};
pub use informer::{Entry, Follows, Informers, Metadata};
pub use meter::{Load, Meter};
pub use object::{Key, Kind, Object, ObjectRef, Scope};
pub use reconcile::Reconcile;
pub use run::{Outcome, Reconciled, Running};
pub use watch::{Owned, Watch, owned, related};
