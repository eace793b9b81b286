//! Handles that own and adopt objects, and what a controller that uses them may do.

use kube::core::DynamicObject;
use kubewright_controller::{Adopter, AnyController, AnyObject, Kind, Object, Ownership};

use crate::dynamic::DynamicNeeds;
use crate::{ClusterNeeds, ScopedNeeds};

impl ClusterNeeds {
    /// Requests the ownership of objects by a label and a finalizer of this name, wherever they are: get, list, watch, create, update
    /// and delete. [`in_namespace`](Self::in_namespace) narrows it to the owned objects of one namespace.
    ///
    /// Give the handle to [`Controller::owns`](kubewright_controller::Controller::owns), too: the program may then patch the objects
    /// of that controller, for their finalizers.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kubewright_controller::{Action, Context, Controller, Error, Ownership};
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// async fn reconcile(_: Arc<ConfigMap>, _: Context) -> Result<Action, Error> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let program = Program::new(|needs| {
    ///     let secrets: Ownership<ConfigMap, Secret> = needs.in_namespace("red").ownership("gardens.example.com/owner");
    ///     App::new("gardens").controller(Controller::new("gardens", reconcile).owns(&secrets))
    /// });
    /// let roles = program.permissions();
    /// let maps = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "patch", "watch"]});
    /// assert_eq!(roles.objects()[0]["rules"], json!([maps]));
    /// assert_eq!(roles.objects()[1]["metadata"]["namespace"], "red");
    /// let verbs = json!(["create", "delete", "get", "list", "update", "watch"]);
    /// assert_eq!(roles.objects()[1]["rules"][0]["verbs"], verbs);
    /// ```
    pub fn ownership<K: AnyObject, T: Object>(&mut self, name: &str) -> Ownership<K, T> {
        self.everything().ownership(name)
    }

    /// Requests the adoption and release of objects of a kind: get, list, watch and patch.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Adopter;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let pods: Adopter<Pod> = needs.adopter();
    ///     App::new("sets")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], json!(["get", "list", "patch", "watch"]));
    /// ```
    pub fn adopter<T: Object>(&mut self) -> Adopter<T> {
        self.everything().adopter()
    }

    /// Asks for what a controller itself takes.
    pub(crate) fn controls(&mut self, controller: &AnyController) {
        let watched = controller.watched();
        for (kind, scope) in &watched {
            self.watches(kind, scope);
        }
        if let (true, Some((kind, scope))) = (controller.finalizes(), watched.first()) {
            self.grant(kind, scope, kind.plural(), &["patch"]);
        }
    }
}

impl ScopedNeeds<'_> {
    /// Requests the ownership of objects by a label and a finalizer of this name: get, list, watch, create, update and delete.
    pub fn ownership<K: AnyObject, T: Object>(self, name: &str) -> Ownership<K, T> {
        let kind = Kind::of::<T>();
        self.needs.watches(&kind, &self.scope);
        self.needs.grant(&kind, &self.scope, kind.plural(), &OWNS);
        Ownership::new(&self.informers, &self.needs.connection, name, self.scope)
    }

    /// Requests the adoption and release of objects of a kind: get, list, watch and patch.
    pub fn adopter<T: Object>(self) -> Adopter<T> {
        let kind = Kind::of::<T>();
        self.needs.watches(&kind, &self.scope);
        self.needs
            .grant(&kind, &self.scope, kind.plural(), &["patch"]);
        Adopter::new(&self.informers, &self.needs.connection, self.scope)
    }
}

impl DynamicNeeds<'_> {
    /// Requests the ownership of objects by a label and a finalizer of this name: get, list, watch, create, update and delete.
    pub fn ownership<K: AnyObject>(mut self, name: &str) -> Ownership<K, DynamicObject> {
        self.watches();
        self.grant(&OWNS);
        let ScopedNeeds {
            needs,
            informers,
            scope,
        } = self.scoped;
        Ownership::dynamic(&informers, &needs.connection, &self.kind, name, scope)
    }

    /// Requests the adoption and release of objects of a kind: get, list, watch and patch.
    pub fn adopter(mut self) -> Adopter<DynamicObject> {
        self.watches();
        self.grant(&["patch"]);
        let ScopedNeeds {
            needs,
            informers,
            scope,
        } = self.scoped;
        Adopter::dynamic(&informers, &needs.connection, &self.kind, scope)
    }
}

const OWNS: [&str; 3] = ["create", "update", "delete"];
