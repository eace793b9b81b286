//! Kinds of objects: those of types, and those that are values, known only while a program runs.

use std::any::{Any, TypeId};
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use http::Request;
use http::header::{ACCEPT, HeaderValue};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::{
    ApiResource, DynamicObject, GroupVersionKind, NamespaceResourceScope, ObjectMeta,
    PartialObjectMeta, Resource,
};

use crate::object::{AnyObject, DynamicKind, Key, Object};

/// Kind of objects: its names, API group, version and whether it is namespaced. Clones are cheap.
///
/// The kind of a type comes from the type; one that is known only while the program runs, as from its configuration, is
/// [namespaced](Self::namespaced) or [of the cluster](Self::cluster_scoped).
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_controller::Kind;
///
/// let kind = Kind::of::<Deployment>();
/// assert_eq!(kind.to_string(), "deployments.apps");
/// assert!(kind.is_namespaced());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind(Arc<Facts>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Facts {
    resource: ApiResource,
    is_namespaced: bool,
    /// Whether only the metadata of its objects is asked for.
    is_metadata: bool,
}

/// The names of a kind are not such as an API server serves.
///
/// ```
/// use kubewright_controller::Kind;
///
/// let error = Kind::namespaced("v1", "pod", "pods").unwrap_err();
/// assert_eq!(error.to_string(), r#""pod" is no kind: letters and digits, beginning with an upper-case letter"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: {rule}")]
pub struct InvalidKind {
    text: String,
    what: &'static str,
    rule: &'static str,
}

impl Kind {
    /// Returns the kind of a type.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Kind;
    ///
    /// assert_eq!(Kind::of::<Pod>().to_string(), "pods");
    /// assert_ne!(Kind::of::<Pod>(), Kind::of::<k8s_openapi::api::core::v1::Node>());
    /// ```
    ///
    /// `PartialObjectMeta` is the same kind, whose objects are read without anything but their metadata:
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::core::PartialObjectMeta;
    /// use kubewright_controller::Kind;
    ///
    /// let kind = Kind::of::<PartialObjectMeta<Pod>>();
    /// assert_eq!((kind.to_string(), kind.is_metadata()), ("pods".to_owned(), true));
    /// assert_ne!(kind, Kind::of::<Pod>(), "a cache of its own");
    /// ```
    pub fn of<K: Object>() -> Self {
        Self(Arc::new(Facts {
            resource: ApiResource::erase::<K>(&()),
            is_namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
            is_metadata: K::metadata_api(),
        }))
    }

    /// Returns a kind whose objects live in namespaces, by its API version, its name and its resource.
    ///
    /// ```
    /// use kubewright_controller::Kind;
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// assert_eq!((kind.to_string(), kind.group(), kind.is_namespaced()), ("widgets.example.com".to_owned(), "example.com", true));
    ///
    /// let error = Kind::namespaced("example.com/v1", "Widget", "Widgets").unwrap_err();
    /// assert_eq!(error.to_string(), r#""Widgets" is no resource: lower-case letters, digits and '-', beginning with a letter"#);
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a name is not one that an API server could serve. A wrong name would lead to other paths than those that the roles
    /// of the program grant.
    pub fn namespaced(api_version: &str, name: &str, plural: &str) -> Result<Self, InvalidKind> {
        Self::named(api_version, name, plural, true)
    }

    /// Returns a kind whose objects have no namespace, by its API version, its name and its resource.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kubewright_controller::Kind;
    ///
    /// let kind = Kind::cluster_scoped("v1", "Node", "nodes")?;
    /// assert_eq!((kind.api_version(), kind.name(), kind.is_namespaced()), ("v1", "Node", false));
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`namespaced`](Self::namespaced).
    pub fn cluster_scoped(
        api_version: &str,
        name: &str,
        plural: &str,
    ) -> Result<Self, InvalidKind> {
        Self::named(api_version, name, plural, false)
    }

    fn named(
        api_version: &str,
        name: &str,
        plural: &str,
        is_namespaced: bool,
    ) -> Result<Self, InvalidKind> {
        let invalid = |text: &str, what, rule| InvalidKind {
            text: text.to_owned(),
            what,
            rule,
        };
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => {
                if !group.split('.').all(is_label) {
                    return Err(invalid(
                        group,
                        "API group",
                        "a domain name, such as example.com",
                    ));
                }
                (group, version)
            }
            None => ("", api_version),
        };
        if !is_label(version) || !version.starts_with(char::is_alphabetic) {
            return Err(invalid(version, "version", LABEL));
        }
        if !is_label(plural) || !plural.starts_with(char::is_alphabetic) {
            return Err(invalid(plural, "resource", LABEL));
        }
        let is_camel_case = name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && name.len() <= LONGEST_LABEL;
        if !is_camel_case {
            return Err(invalid(
                name,
                "kind",
                "letters and digits, beginning with an upper-case letter",
            ));
        }
        Ok(Self(Arc::new(Facts {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: api_version.to_owned(),
                kind: name.to_owned(),
                plural: plural.to_owned(),
            },
            is_namespaced,
            is_metadata: false,
        })))
    }

    /// Returns a kind that discovery has found, as `kube::discovery` lists it.
    ///
    /// ```
    /// use kube::discovery::{Scope, group};
    /// use kubewright_controller::Kind;
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let apps = group(&cluster.client(), "apps").await?;
    /// let (resource, capabilities) = apps.recommended_kind("Deployment").unwrap();
    /// let deployments = Kind::discovered(&resource, capabilities.scope == Scope::Namespaced);
    /// assert_eq!(deployments, Kind::of::<k8s_openapi::api::apps::v1::Deployment>());
    /// # Ok(())
    /// # }
    /// ```
    pub fn discovered(resource: &ApiResource, is_namespaced: bool) -> Self {
        Self(Arc::new(Facts {
            resource: resource.clone(),
            is_namespaced,
            is_metadata: false,
        }))
    }

    /// The kind that the type of an object names, or the object itself.
    pub(crate) fn named_by<K: AnyObject>(object: &K) -> Option<Self> {
        let unit: &dyn Any = &();
        let resource = if let Some(unit) = unit.downcast_ref::<K::DynamicType>() {
            ApiResource::erase::<K>(unit)
        } else {
            let object: &dyn Any = object;
            let types = match object.downcast_ref::<DynamicObject>() {
                Some(object) => object.types.as_ref(),
                None => object.downcast_ref::<PartialObjectMeta>()?.types.as_ref(),
            };
            let types = types.filter(|types| types.kind != "PartialObjectMetadata")?;
            // No request is made for the resource of what is only referred to.
            let kind = GroupVersionKind::try_from(types).ok()?;
            ApiResource::from_gvk_with_plural(&kind, "")
        };
        Some(Self::discovered(
            &resource,
            object.meta().namespace.is_some(),
        ))
    }

    /// A reference to an object of this kind, as Events have it.
    pub(crate) fn object_reference(&self, metadata: &ObjectMeta) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.api_version().to_owned()),
            kind: Some(self.name().to_owned()),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            ..ObjectReference::default()
        }
    }

    /// The same kind, as a type reads it.
    pub(crate) fn read_as<K: DynamicKind>(&self) -> Self {
        let Facts {
            resource,
            is_namespaced,
            ..
        } = &*self.0;
        Self(Arc::new(Facts {
            resource: resource.clone(),
            is_namespaced: *is_namespaced,
            is_metadata: K::metadata_api(),
        }))
    }

    /// Returns whether only the metadata of the objects is read.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::core::PartialObjectMeta;
    /// use kubewright_controller::Kind;
    ///
    /// assert!(Kind::of::<PartialObjectMeta<Pod>>().is_metadata());
    /// assert!(!Kind::of::<Pod>().is_metadata());
    /// ```
    pub fn is_metadata(&self) -> bool {
        self.0.is_metadata
    }

    /// Whether both kinds are of one resource, whatever is read of its objects.
    pub(crate) fn has_resource_of(&self, other: &Self) -> bool {
        self.0.resource == other.0.resource
    }

    /// Returns the kind as kube names it, as for `DynamicObject::new` and `kube::Api`.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::Kind;
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let widget = DynamicObject::new("a", kind.resource()).within("blue");
    /// assert_eq!(widget.types.unwrap().kind, "Widget");
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn resource(&self) -> &ApiResource {
        &self.0.resource
    }

    /// Returns the kind in CamelCase, such as `Deployment`.
    ///
    /// ```
    /// use k8s_openapi::api::networking::v1::NetworkPolicy;
    /// use kubewright_controller::Kind;
    ///
    /// assert_eq!(Kind::of::<NetworkPolicy>().name(), "NetworkPolicy");
    /// ```
    pub fn name(&self) -> &str {
        &self.0.resource.kind
    }

    /// Returns the API group, which is empty for the core group.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    /// use kubewright_controller::Kind;
    ///
    /// assert_eq!(Kind::of::<Deployment>().group(), "apps");
    /// assert_eq!(Kind::of::<Pod>().group(), "");
    /// ```
    pub fn group(&self) -> &str {
        &self.0.resource.group
    }

    /// Returns the resource, as in URL paths and RBAC rules, such as `deployments`.
    ///
    /// ```
    /// use k8s_openapi::api::networking::v1::NetworkPolicy;
    /// use kubewright_controller::Kind;
    ///
    /// assert_eq!(Kind::of::<NetworkPolicy>().plural(), "networkpolicies");
    /// ```
    pub fn plural(&self) -> &str {
        &self.0.resource.plural
    }

    /// Returns API group and version, such as `apps/v1`.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    /// use kubewright_controller::Kind;
    ///
    /// assert_eq!(Kind::of::<Deployment>().api_version(), "apps/v1");
    /// assert_eq!(Kind::of::<Pod>().api_version(), "v1");
    /// ```
    pub fn api_version(&self) -> &str {
        &self.0.resource.api_version
    }

    /// Returns whether the kind is namespaced.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Namespace, Pod};
    /// use kubewright_controller::Kind;
    ///
    /// assert!(Kind::of::<Pod>().is_namespaced());
    /// assert!(!Kind::of::<Namespace>().is_namespaced());
    /// ```
    pub fn is_namespaced(&self) -> bool {
        self.0.is_namespaced
    }

    /// Has a request ask for what is read of an object.
    pub(crate) fn asks_for_object<B, E>(
        &self,
        request: Result<Request<B>, E>,
    ) -> Result<Request<B>, E> {
        self.asks_for(request, OBJECT)
    }

    /// Has a request ask for what is read of the objects of a list.
    pub(crate) fn asks_for_list<B, E>(
        &self,
        request: Result<Request<B>, E>,
    ) -> Result<Request<B>, E> {
        self.asks_for(request, LIST)
    }

    fn asks_for<B, E>(
        &self,
        request: Result<Request<B>, E>,
        metadata: HeaderValue,
    ) -> Result<Request<B>, E> {
        request.map(|mut request| {
            if self.0.is_metadata {
                request.headers_mut().insert(ACCEPT, metadata);
            }
            request
        })
    }

    /// Refuses what would lead to a path that no API server has.
    pub(crate) fn unless_without_namespace(&self, key: &Key) -> Result<(), WithoutNamespace> {
        if self.0.is_namespaced && key.namespace().is_none() {
            return Err(WithoutNamespace(self.to_string()));
        }
        Ok(())
    }

    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let namespace = namespace.filter(|_| self.0.is_namespaced);
        DynamicObject::url_path(&self.0.resource, namespace)
    }

    /// The path below which discovery lists the resources of the group and version.
    pub(crate) fn group_path(&self) -> String {
        let root = if self.group().is_empty() {
            "api"
        } else {
            "apis"
        };
        format!("/{root}/{}", self.api_version())
    }

    pub(crate) fn reference(&self, key: &Key) -> String {
        format!("{} {key}", self.name())
    }
}

/// Reads `SCOPE/RESOURCE.VERSION.GROUP/KIND`, where the scope is `namespaced` or `cluster`, as for an option of a program:
///
/// ```
/// use kubewright_controller::Kind;
///
/// let kind: Kind = "namespaced/widgets.v1.example.com/Widget".parse()?;
/// assert_eq!(kind, Kind::namespaced("example.com/v1", "Widget", "widgets")?);
/// let kind: Kind = "cluster/nodes.v1/Node".parse()?;
/// assert_eq!(kind, Kind::cluster_scoped("v1", "Node", "nodes")?);
/// assert!("widgets.example.com".parse::<Kind>().is_err());
/// # Ok::<(), kubewright_controller::InvalidKind>(())
/// ```
impl FromStr for Kind {
    type Err = InvalidKind;

    fn from_str(text: &str) -> Result<Self, InvalidKind> {
        let parts: Vec<&str> = text.split('/').collect();
        let read = match parts[..] {
            [scope @ ("namespaced" | "cluster"), resource, name] => resource
                .split_once('.')
                .map(|(plural, version)| (scope == "namespaced", plural, version, name)),
            _ => None,
        };
        let Some((is_namespaced, plural, version, name)) = read else {
            return Err(InvalidKind {
                text: text.to_owned(),
                what: "kind with its scope and resource",
                rule: "SCOPE/RESOURCE.VERSION.GROUP/KIND, such as namespaced/widgets.v1.example.com/Widget or cluster/nodes.v1/Node",
            });
        };
        let api_version = match version.split_once('.') {
            Some((version, group)) => format!("{group}/{version}"),
            None => version.to_owned(),
        };
        Self::named(&api_version, name, plural, is_namespaced)
    }
}

impl Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group() {
            "" => formatter.write_str(self.plural()),
            group => write!(formatter, "{}.{group}", self.plural()),
        }
    }
}

/// An object of a kind whose objects live in namespaces was referred to without one.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} live in namespaces, and the reference or object has none: give (\"namespace\", \"name\")"
)]
pub(crate) struct WithoutNamespace(String);

/// Whether a text is a label of a domain name.
fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// The second form is for API servers that cannot leave anything out, as some of those that are aggregated.
const OBJECT: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
);
const LIST: HeaderValue = HeaderValue::from_static(
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
);

const LABEL: &str = "lower-case letters, digits and '-', beginning with a letter";
const LONGEST_LABEL: usize = 63;

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{Node, Pod};

    use super::*;

    #[test]
    fn a_kind_that_is_named_leads_to_the_paths_of_its_type() {
        let deployment = Kind::namespaced("apps/v1", "Deployment", "deployments").unwrap();
        let node = Kind::cluster_scoped("v1", "Node", "nodes").unwrap();
        for (named, typed) in [
            (deployment, Kind::of::<Deployment>()),
            (node, Kind::of::<Node>()),
            (
                Kind::namespaced("v1", "Pod", "pods").unwrap(),
                Kind::of::<Pod>(),
            ),
        ] {
            for namespace in [None, Some("blue")] {
                assert_eq!(named.path(namespace), typed.path(namespace));
            }
            assert_eq!(named.group_path(), typed.group_path());
            assert_eq!(named.resource(), typed.resource());
            assert_eq!(named.to_string(), typed.to_string());
        }
    }

    #[test]
    fn a_text_names_the_scope_the_resource_and_the_kind_or_says_what_is_missing() {
        for wrong in [
            "",
            "Widget",
            "widgets.v1.example.com/Widget",
            "Namespaced/widgets.v1.example.com/Widget",
            "namespaced/widgets/Widget",
            "namespaced/widgets.v1.example.com/Widget/status",
        ] {
            let error = wrong.parse::<Kind>().unwrap_err().to_string();
            assert!(
                error.contains("SCOPE/RESOURCE.VERSION.GROUP/KIND"),
                "{error}"
            );
        }
        let error = "namespaced/widgets.v1./Widget".parse::<Kind>().unwrap_err();
        assert_eq!(error.what, "API group");
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (api_version, name, plural, wrong) in [
            (
                "example.com/v1",
                "Widget",
                "widgets/status",
                "widgets/status",
            ),
            ("example.com/v1", "Widget", "", ""),
            ("example.com/v1", "Widget", "*", "*"),
            ("example.com/v1", "widget", "widgets", "widget"),
            ("example.com/v1", "Wid get", "widgets", "Wid get"),
            ("example.com/v1/..", "Widget", "widgets", "v1/.."),
            ("/v1", "Widget", "widgets", ""),
            ("Example.com/v1", "Widget", "widgets", "Example.com"),
            ("example.com/", "Widget", "widgets", ""),
            ("example..com/v1", "Widget", "widgets", "example..com"),
            ("", "Widget", "widgets", ""),
        ] {
            let error = Kind::namespaced(api_version, name, plural).unwrap_err();
            assert_eq!(error.text, wrong, "{error}");
        }
    }
}
