//! The environment of webhook match conditions, as `pkg/admission/plugin/cel` of the API server declares it.

use std::sync::LazyLock;

use crate::environment::Environment;
use crate::types::Type;

impl Environment {
    /// The environment of match conditions of webhooks: the variables `object`, `oldObject`, `request`, `namespaceObject`,
    /// `authorizer` and `authorizer.requestResource`.
    ///
    /// ```
    /// use kubewright_cel::Environment;
    ///
    /// let environment = Environment::admission();
    /// assert!(environment.compile("request.operation != 'DELETE'").is_ok());
    /// // The request has declared fields, and `object` is a variable of its own.
    /// assert!(environment.compile("request.object.spec.replicas > 1").is_err());
    /// ```
    pub fn admission() -> &'static Self {
        static ADMISSION: LazyLock<Environment> =
            LazyLock::new(|| Environment::kubernetes().with_admission());
        &ADMISSION
    }

    /// Adds `object`, `oldObject`, `request`, `namespaceObject` and the authorizer.
    pub(crate) fn with_admission(self) -> Self {
        let strings = || Type::list(Type::String);
        let group_version_kind = || Type::object("kubernetes.GroupVersionKind");
        let group_version_resource = || Type::object("kubernetes.GroupVersionResource");
        self.with_object_type(
            "kubernetes.GroupVersionKind",
            [
                ("group", Type::String),
                ("version", Type::String),
                ("kind", Type::String),
            ],
        )
        .with_object_type(
            "kubernetes.GroupVersionResource",
            [
                ("group", Type::String),
                ("version", Type::String),
                ("resource", Type::String),
            ],
        )
        .with_object_type(
            "kubernetes.UserInfo",
            [
                ("username", Type::String),
                ("uid", Type::String),
                ("groups", strings()),
                ("extra", Type::map(Type::String, strings())),
            ],
        )
        .with_object_type(
            "kubernetes.AdmissionRequest",
            [
                ("kind", group_version_kind()),
                ("resource", group_version_resource()),
                ("subResource", Type::String),
                ("requestKind", group_version_kind()),
                ("requestResource", group_version_resource()),
                ("requestSubResource", Type::String),
                ("name", Type::String),
                ("namespace", Type::String),
                ("operation", Type::String),
                ("userInfo", Type::object("kubernetes.UserInfo")),
                ("dryRun", Type::Bool),
                ("options", Type::Dyn),
            ],
        )
        .with_object_type("kubernetes.NamespaceSpec", [("finalizers", strings())])
        .with_object_type(
            "kubernetes.NamespaceCondition",
            [
                ("status", Type::String),
                ("type", Type::String),
                ("lastTransitionTime", Type::Timestamp),
                ("message", Type::String),
                ("reason", Type::String),
            ],
        )
        .with_object_type(
            "kubernetes.NamespaceStatus",
            [
                (
                    "conditions",
                    Type::list(Type::object("kubernetes.NamespaceCondition")),
                ),
                ("phase", Type::String),
            ],
        )
        .with_object_type(
            "kubernetes.NamespaceMetadata",
            [
                ("name", Type::String),
                ("generateName", Type::String),
                ("namespace", Type::String),
                ("labels", Type::map(Type::String, Type::String)),
                ("annotations", Type::map(Type::String, Type::String)),
                ("UID", Type::String),
                ("creationTimestamp", Type::Timestamp),
                ("deletionGracePeriodSeconds", Type::Int),
                ("deletionTimestamp", Type::Timestamp),
                ("generation", Type::Int),
                ("resourceVersion", Type::String),
                ("finalizers", strings()),
            ],
        )
        .with_object_type(
            "kubernetes.Namespace",
            [
                ("metadata", Type::object("kubernetes.NamespaceMetadata")),
                ("spec", Type::object("kubernetes.NamespaceSpec")),
                ("status", Type::object("kubernetes.NamespaceStatus")),
            ],
        )
        .with_variable("object", Type::Dyn)
        .with_variable("oldObject", Type::Dyn)
        .with_variable("request", Type::object("kubernetes.AdmissionRequest"))
        .with_variable("namespaceObject", Type::object("kubernetes.Namespace"))
        .with_variable(
            "authorizer",
            Type::object("kubernetes.authorization.Authorizer"),
        )
        .with_variable(
            "authorizer.requestResource",
            Type::object("kubernetes.authorization.ResourceCheck"),
        )
    }
}
