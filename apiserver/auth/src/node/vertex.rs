//! What is used on nodes, and by what: the vertices and edges of the graph.

/// A thing that pods use, a pod or a node; whether it is stored does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Vertex {
    kind: Kind,
    /// As the store has it: with the namespace, if the kind has one.
    path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Attachment,
    CertificateRequest,
    Claim,
    ConfigMap,
    Node,
    Pod,
    ResourceClaim,
    Secret,
    ServiceAccount,
    Slice,
    Volume,
}

/// From one vertex to another.
pub(super) type Edge = (Vertex, Vertex);

pub(super) const PODS: &str = "pods";
pub(super) const VOLUMES: &str = "persistentvolumes";
pub(super) const ATTACHMENTS: &str = "volumeattachments.storage.k8s.io";
pub(super) const SLICES: &str = "resourceslices.resource.k8s.io";
pub(super) const CERTIFICATE_REQUESTS: &str = "podcertificaterequests.certificates.k8s.io";

impl Vertex {
    pub(super) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        let path = if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        };
        Self { kind, path }
    }

    /// The vertex of a stored object.
    pub(super) fn of(table: &str, path: &str) -> Self {
        let kind = match table {
            VOLUMES => Kind::Volume,
            ATTACHMENTS => Kind::Attachment,
            SLICES => Kind::Slice,
            CERTIFICATE_REQUESTS => Kind::CertificateRequest,
            _ => Kind::Pod,
        };
        Self::new(kind, "", path)
    }
}
