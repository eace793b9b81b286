//! What a program may do: the roles that its manifests grant.

use kubewright_manifests::{Manifests, Permissions, PolicyRule};

use super::Program;
use crate::trust::targets;

impl Program {
    /// Returns the roles that grant what the program has requested from [`Needs`](crate::Needs), and nothing else.
    ///
    /// ```
    /// use k8s_openapi::api::batch::v1::Job;
    /// use kubewright_controller::Deleter;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let finished: Deleter<Job> = needs.in_namespace("blue").deleter();
    ///     App::new("janitor")
    /// });
    /// let yaml = "\
    /// apiVersion: rbac.authorization.k8s.io/v1
    /// kind: Role
    /// metadata:
    ///   name: janitor
    ///   namespace: blue
    /// rules:
    /// - apiGroups:
    ///   - batch
    ///   resources:
    ///   - jobs
    ///   verbs:
    ///   - delete
    /// ";
    /// assert_eq!(program.permissions().to_yaml(), yaml);
    /// ```
    #[must_use]
    pub fn permissions(&self) -> Manifests {
        self.granted().manifests(self.app.name())
    }

    /// Returns the bindings that give the roles of [`Self::permissions`] to a service account.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let events = needs.recorder();
    ///     App::new("billing")
    /// });
    /// let bindings = program.bindings("blue", "robot");
    /// let binding = &bindings.objects()[0];
    /// assert_eq!(binding["kind"], "ClusterRoleBinding");
    /// assert_eq!(binding["roleRef"]["name"], "billing");
    /// assert_eq!(binding["subjects"][0]["name"], "robot");
    /// ```
    #[must_use]
    pub fn bindings(&self, namespace: &str, service_account: &str) -> Manifests {
        let permissions = self.granted();
        permissions.bindings(self.app.name(), namespace, service_account)
    }

    /// Returns the roles that grant what the program requests in another cluster, or in each cluster of a fleet; `None`: it has no
    /// cluster or fleet of this name. An administrator of that cluster grants them to the account of the kubeconfig.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Cached;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let pods: Cached<Pod> = needs.cluster("east").cached();
    ///     App::new("census")
    /// });
    /// let roles = program.cluster_permissions("east").unwrap();
    /// assert_eq!(roles.objects()[0]["kind"], "ClusterRole");
    /// assert_eq!(roles.objects()[0]["metadata"]["name"], "census");
    /// assert!(program.cluster_permissions("west").is_none());
    /// ```
    #[must_use]
    pub fn cluster_permissions(&self, name: &str) -> Option<Manifests> {
        let permissions = self.needs.others.permissions(name)?;
        Some(permissions.manifests(self.app.name()))
    }

    /// Returns the bindings that give the roles of [`Self::cluster_permissions`] to a service account of that cluster.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Cached;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let pods: Cached<Pod> = needs.cluster("east").cached();
    ///     App::new("census")
    /// });
    /// let bindings = program.cluster_bindings("east", "blue", "robot").unwrap();
    /// assert_eq!(bindings.objects()[0]["subjects"][0]["name"], "robot");
    /// ```
    #[must_use]
    pub fn cluster_bindings(
        &self,
        name: &str,
        namespace: &str,
        service_account: &str,
    ) -> Option<Manifests> {
        let permissions = self.needs.others.permissions(name)?;
        Some(permissions.bindings(self.app.name(), namespace, service_account))
    }

    /// Returns the part of [`Self::permissions`] that only leader election and the rotation of certificates use: no single test makes
    /// a program use all of it.
    ///
    /// ```
    /// use kubewright_controller::LeaderElection;
    /// use kubewright_manager::{App, Program};
    ///
    /// let election = LeaderElection::by_lease("census").in_namespace("blue");
    /// let program = Program::new(|needs| {
    ///     let events = needs.recorder();
    ///     App::new("census").leader_election(election)
    /// });
    /// assert_eq!(program.permissions().objects().len(), 2);
    /// let upkeep = program.upkeep_permissions();
    /// assert_eq!(upkeep.objects().len(), 1);
    /// assert_eq!(upkeep.objects()[0]["rules"][0]["resources"][0], "leases");
    /// ```
    #[must_use]
    pub fn upkeep_permissions(&self) -> Manifests {
        self.upkeep().manifests(self.app.name())
    }

    pub(crate) fn other_clusters(&self) -> Vec<&str> {
        self.needs.others.names()
    }

    /// What the handles may do, and what upkeep takes.
    pub(crate) fn granted(&self) -> Permissions {
        let mut permissions = self.needs.permissions.clone();
        permissions.add(self.upkeep());
        permissions
    }

    fn upkeep(&self) -> Permissions {
        let mut permissions = self.needs.upkeep.clone();
        if self.app.publish().is_some() || self.app.authority().is_some() {
            for target in targets(&self.app) {
                permissions.grant(None, target.rule());
            }
        }
        if let Some(authority) = self.app.authority() {
            let secret = |verbs: &[&str]| PolicyRule::new("", "secrets", verbs.to_vec());
            let kept = secret(&["get", "watch", "update"]).named(authority.secret());
            let told = PolicyRule::new("events.k8s.io", "events", ["create"]);
            if !authority.expects_secret() {
                permissions.grant_in_own_namespace(secret(&["create"]));
            }
            for rule in [kept, told] {
                permissions.grant_in_own_namespace(rule);
            }
        }
        permissions
    }
}
