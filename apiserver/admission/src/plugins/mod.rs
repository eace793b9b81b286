//! The plugins that are part of the server: a module for each, and the list of them in the order in which they run.
//!
//! ServiceAccount is off unless it is enabled, as in envtest, and so is DenyServiceExternalIPs, as in kube-apiserver.

mod certificate_approval;
mod certificate_signing;
mod certificate_subject_restriction;
mod cluster_trust_bundle_attest;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod deny_service_external_ips;
mod limit_ranger;
mod namespace_lifecycle;
mod node_declared_feature_validator;
mod persistent_volume_claim_resize;
mod pod_resize_validator;
mod pod_security;
mod pod_topology_labels;
mod priority;
mod remembered;
mod resource_quota;
mod run;
mod runtime_class;
mod selection;
mod service_account;
mod signer;
mod storage_object_in_use_protection;
mod subject;
mod taint_nodes_by_condition;
#[cfg(test)]
mod tests;

use kubewright_apimachinery::status::Result;
use kubewright_pod_security::Configuration;

use super::attributes::Attributes;
use super::cluster::Cluster;
use super::notes::Notes;

pub(super) use run::Plugins;
pub use selection::Enabled;
pub use selection::UnknownAdmissionPlugin;
pub(super) use subject::forbidden;

/// An admission plugin of this server, with the name that kube-apiserver has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Kubernetes' own")]
#[non_exhaustive]
pub enum AdmissionPlugin {
    NamespaceLifecycle,
    LimitRanger,
    ServiceAccount,
    TaintNodesByCondition,
    PodSecurity,
    Priority,
    DefaultTolerationSeconds,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    PersistentVolumeClaimResize,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    ClusterTrustBundleAttest,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    DenyServiceExternalIPs,
    PodTopologyLabels,
    NodeDeclaredFeatureValidator,
    PodResizeValidator,
    MutatingAdmissionPolicy,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota,
}

/// What plugins remember between requests.
#[derive(Debug)]
struct Memory {
    default_priority: priority::DefaultClass,
    limit_ranges: remembered::Remembered,
    pod_security: Configuration,
    quota_turn: resource_quota::Turn,
}

impl Memory {
    fn new(pod_security: Configuration) -> Self {
        Self {
            default_priority: priority::DefaultClass::default(),
            limit_ranges: limit_ranger::limit_ranges(),
            pod_security,
            quota_turn: resource_quota::Turn::default(),
        }
    }
}

impl AdmissionPlugin {
    /// Every plugin of this server, in the order in which they run.
    pub const ALL: [Self; 25] = [
        Self::NamespaceLifecycle,
        Self::LimitRanger,
        Self::ServiceAccount,
        Self::TaintNodesByCondition,
        Self::PodSecurity,
        Self::Priority,
        Self::DefaultTolerationSeconds,
        Self::DefaultStorageClass,
        Self::StorageObjectInUseProtection,
        Self::PersistentVolumeClaimResize,
        Self::RuntimeClass,
        Self::CertificateApproval,
        Self::CertificateSigning,
        Self::ClusterTrustBundleAttest,
        Self::CertificateSubjectRestriction,
        Self::DefaultIngressClass,
        Self::DenyServiceExternalIPs,
        Self::PodTopologyLabels,
        Self::NodeDeclaredFeatureValidator,
        Self::PodResizeValidator,
        Self::MutatingAdmissionPolicy,
        Self::MutatingAdmissionWebhook,
        Self::ValidatingAdmissionPolicy,
        Self::ValidatingAdmissionWebhook,
        Self::ResourceQuota,
    ];

    /// Whether the plugin runs on a server that is not configured otherwise: all do but `ServiceAccount`, as in envtest,
    /// and `DenyServiceExternalIPs`, as in kube-apiserver.
    pub fn is_default(self) -> bool {
        !matches!(self, Self::ServiceAccount | Self::DenyServiceExternalIPs)
    }

    /// Changes the object, or rejects the request.
    async fn admit(
        self,
        memory: &Memory,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
    ) -> Result<()> {
        match self {
            Self::NamespaceLifecycle => namespace_lifecycle::admit(cluster, attributes)?,
            Self::LimitRanger => limit_ranger::admit(&memory.limit_ranges, cluster, attributes),
            Self::ServiceAccount => service_account::admit(cluster, attributes).await?,
            Self::TaintNodesByCondition => taint_nodes_by_condition::admit(attributes),
            Self::Priority => priority::admit(&memory.default_priority, cluster, attributes)?,
            Self::DefaultTolerationSeconds => default_toleration_seconds::admit(attributes),
            Self::DefaultStorageClass => default_storage_class::admit(cluster, attributes),
            Self::StorageObjectInUseProtection => {
                storage_object_in_use_protection::admit(attributes);
            }
            Self::RuntimeClass => runtime_class::admit(cluster, attributes)?,
            Self::DefaultIngressClass => default_ingress_class::admit(cluster, attributes),
            Self::PodTopologyLabels => pod_topology_labels::admit(cluster, attributes),
            // These only validate, and policies, webhooks and quotas come after all plugins.
            Self::PodSecurity
            | Self::PersistentVolumeClaimResize
            | Self::CertificateApproval
            | Self::CertificateSigning
            | Self::ClusterTrustBundleAttest
            | Self::CertificateSubjectRestriction
            | Self::DenyServiceExternalIPs
            | Self::NodeDeclaredFeatureValidator
            | Self::PodResizeValidator
            | Self::MutatingAdmissionPolicy
            | Self::MutatingAdmissionWebhook
            | Self::ValidatingAdmissionPolicy
            | Self::ValidatingAdmissionWebhook
            | Self::ResourceQuota => {}
        }
        Ok(())
    }

    /// Rejects the request if its final object breaks a rule of the plugin.
    fn validate(
        self,
        memory: &Memory,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
    ) -> Result<()> {
        match self {
            Self::LimitRanger => limit_ranger::validate(&memory.limit_ranges, cluster, attributes),
            Self::ServiceAccount => service_account::validate(cluster, attributes),
            Self::PodSecurity => {
                pod_security::validate(&memory.pod_security, cluster, attributes, notes)
            }
            Self::Priority => priority::validate(cluster, attributes),
            Self::PersistentVolumeClaimResize => {
                persistent_volume_claim_resize::validate(cluster, attributes)
            }
            Self::RuntimeClass => runtime_class::validate(cluster, attributes),
            Self::CertificateApproval => certificate_approval::validate(cluster, attributes),
            Self::CertificateSigning => certificate_signing::validate(cluster, attributes),
            Self::ClusterTrustBundleAttest => {
                cluster_trust_bundle_attest::validate(cluster, attributes)
            }
            Self::CertificateSubjectRestriction => {
                certificate_subject_restriction::validate(attributes)
            }
            Self::NodeDeclaredFeatureValidator => {
                node_declared_feature_validator::validate(cluster, attributes)
            }
            Self::PodResizeValidator => pod_resize_validator::validate(cluster, attributes),
            Self::DenyServiceExternalIPs => deny_service_external_ips::validate(attributes),
            // These only change objects, and policies, webhooks and quotas come after all plugins.
            Self::NamespaceLifecycle
            | Self::TaintNodesByCondition
            | Self::DefaultTolerationSeconds
            | Self::DefaultStorageClass
            | Self::StorageObjectInUseProtection
            | Self::DefaultIngressClass
            | Self::PodTopologyLabels
            | Self::MutatingAdmissionPolicy
            | Self::MutatingAdmissionWebhook
            | Self::ValidatingAdmissionPolicy
            | Self::ValidatingAdmissionWebhook
            | Self::ResourceQuota => Ok(()),
        }
    }
}
