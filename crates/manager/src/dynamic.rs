//! Handles on kinds that are values, and on kinds that the API server may not serve.

use kube::core::{DynamicObject, PartialObjectMeta};
use kubewright_controller::{
    Applier, Cached, CreateOrUpdate, Deleter, Finalizer, Kind, Reader, StatusWriter, Writer,
};
use serde::de::DeserializeOwned;

use crate::handles::WRITES;
use crate::{ClusterNeeds, ScopedNeeds};

/// Hands out handles on objects of a kind that is a value.
///
/// [`ClusterNeeds::dynamic`] and [`ScopedNeeds::dynamic`] return it.
#[derive(Debug)]
pub struct DynamicNeeds<'a> {
    pub(crate) scoped: ScopedNeeds<'a>,
    pub(crate) kind: Kind,
}

impl ClusterNeeds {
    /// Does not require that the API server serves the kind of the next cache: until it does, there are no objects of it, and the
    /// program is ready without it. [`Cached::is_served`] says whether it does.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Cached, Kind};
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let kind = Kind::namespaced("monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors")?;
    /// let program = Program::new(|needs| {
    ///     // In a cluster without this kind, its list is empty.
    ///     let monitors: Cached<DynamicObject> = needs.optional().dynamic(&kind).cached();
    ///     App::new("observer")
    /// });
    /// // The permissions are those of the kind that may come.
    /// assert_eq!(program.permissions().objects()[0]["rules"][0]["resources"], json!(["servicemonitors"]));
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    ///
    /// Controllers and what they watch have an [`optional`](kubewright_controller::Controller::optional) of their own. Where one
    /// handle or controller requires a cache and another does not, it is required.
    pub fn optional(&mut self) -> ScopedNeeds<'_> {
        self.everything().optional()
    }

    /// Hands out handles on a kind that is known only when the program starts, such as from its options or a file that it reads
    /// then. Objects are `DynamicObject`s.
    ///
    /// The roles that the program prints are those of the kinds that it has named then: `manifests` is called with the same
    /// options as `run`.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Applier, Cached, Kind};
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let program = Program::new(|needs| {
    ///     let widgets: Cached<DynamicObject> = needs.dynamic(&kind).cached();
    ///     let blue: Applier<DynamicObject> = needs.in_namespace("blue").dynamic(&kind).applier();
    ///     App::new("gardener")
    /// });
    /// let roles = program.permissions();
    /// let rule = json!({"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get", "list", "watch"]});
    /// assert_eq!(roles.objects()[0]["rules"], json!([rule]));
    /// assert_eq!(roles.objects()[1]["rules"][0]["verbs"], json!(["create", "patch"]));
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn dynamic(&mut self, kind: &Kind) -> DynamicNeeds<'_> {
        self.everything().dynamic(kind)
    }
}

impl<'a> ScopedNeeds<'a> {
    /// Does not require that the API server serves the kind of a cache: see [`ClusterNeeds::optional`].
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.informers = self.informers.optional();
        self
    }

    /// Hands out handles on a kind that is known only when the program starts: see [`ClusterNeeds::dynamic`].
    pub fn dynamic(self, kind: &Kind) -> DynamicNeeds<'a> {
        DynamicNeeds {
            scoped: self,
            kind: kind.clone(),
        }
    }
}

impl DynamicNeeds<'_> {
    /// Requests a cache: get, list and watch.
    pub fn cached(self) -> Cached<DynamicObject> {
        self.cached_as()
    }

    /// Requests a cache that holds only the fields that a type reads: see [`ClusterNeeds::cached_as`](crate::ClusterNeeds::cached_as).
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Cached, Kind};
    /// use kubewright_manager::{App, Program};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Sized {
    ///     spec: Size,
    /// }
    /// #[derive(serde::Deserialize)]
    /// struct Size {
    ///     size: u32,
    /// }
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let program = Program::new(|needs| {
    ///     let sizes: Cached<DynamicObject, Sized> = needs.dynamic(&kind).cached_as();
    ///     App::new("census")
    /// });
    /// assert_eq!(program.permissions().objects()[0]["rules"][0]["resources"][0], "widgets");
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn cached_as<T: DeserializeOwned + 'static>(mut self) -> Cached<DynamicObject, T> {
        self.watches();
        Cached::dynamic(&self.scoped.informers, &self.kind, self.scoped.scope)
    }

    /// Requests a cache of metadata alone: get, list and watch. The API server sends nothing else of the objects.
    ///
    /// ```
    /// use kube::core::PartialObjectMeta;
    /// use kubewright_controller::{Cached, Kind};
    /// use kubewright_manager::{App, Program};
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let program = Program::new(|needs| {
    ///     let widgets: Cached<PartialObjectMeta> = needs.dynamic(&kind).metadata();
    ///     App::new("census")
    /// });
    /// assert_eq!(program.permissions().objects()[0]["rules"][0]["verbs"], serde_json::json!(["get", "list", "watch"]));
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn metadata(mut self) -> Cached<PartialObjectMeta> {
        self.watches();
        Cached::dynamic(&self.scoped.informers, &self.kind, self.scoped.scope)
    }

    /// Requests reads from the API server: get and list.
    pub fn reader(mut self) -> Reader<DynamicObject> {
        self.grant(&["get", "list"]);
        Reader::dynamic(&self.scoped.needs.connection, &self.kind, self.scoped.scope)
    }

    /// Requests writes: create, update, patch and delete.
    pub fn writer(mut self) -> Writer<DynamicObject> {
        self.grant(&WRITES);
        Writer::dynamic(&self.scoped.needs.connection, &self.kind, self.scoped.scope)
    }

    /// Requests deletions: delete.
    pub fn deleter(mut self) -> Deleter<DynamicObject> {
        self.grant(&["delete"]);
        Deleter::dynamic(&self.scoped.needs.connection, &self.kind, self.scoped.scope)
    }

    /// Requests server-side apply: create and patch.
    pub fn applier(mut self) -> Applier<DynamicObject> {
        self.grant(&["create", "patch"]);
        Applier::dynamic(&self.scoped.needs.connection, &self.kind, self.scoped.scope)
    }

    /// Requests a handle that creates missing objects and updates those that differ: get, list, watch, create and update.
    pub fn create_or_update(mut self) -> CreateOrUpdate<DynamicObject> {
        self.watches();
        self.grant(&["create", "update"]);
        let ScopedNeeds {
            needs,
            informers,
            scope,
        } = self.scoped;
        CreateOrUpdate::dynamic(&informers, &needs.connection, &self.kind, scope)
    }

    /// Requests writes of the status: patch, of the subresource `status` alone.
    pub fn status_writer(self) -> StatusWriter<DynamicObject> {
        let resource = format!("{}/status", self.kind.plural());
        let ScopedNeeds { needs, scope, .. } = self.scoped;
        needs.grant(&self.kind, &scope, &resource, &["patch"]);
        StatusWriter::dynamic(&needs.connection, &self.kind, scope)
    }

    /// Requests a finalizer of this name: patch.
    pub fn finalizer(mut self, name: &str) -> Finalizer<DynamicObject> {
        self.grant(&["patch"]);
        Finalizer::dynamic(&self.scoped.needs.connection, &self.kind, name)
    }

    pub(crate) fn watches(&mut self) {
        self.scoped.needs.watches(&self.kind, &self.scoped.scope);
    }

    pub(crate) fn grant(&mut self, verbs: &[&str]) {
        let ScopedNeeds { needs, scope, .. } = &mut self.scoped;
        needs.grant(&self.kind, scope, self.kind.plural(), verbs);
    }
}
