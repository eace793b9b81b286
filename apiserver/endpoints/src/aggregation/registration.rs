//! An APIService as the aggregator reads it.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::view::View as _;
use kubewright_webhook_client::{ClientCertificate, ServicePort, ServiceTls};
use serde_json::Value;

/// The table of APIServices.
pub(crate) const TABLE: &str = "apiservices.apiregistration.k8s.io";

/// An APIService.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) group_priority: i64,
    pub(crate) version_priority: i64,
    /// Where the version is served; none for one of this server.
    pub(crate) service: Option<ServicePort>,
    /// What its condition says.
    pub(crate) is_available: bool,
    ca_bundle: Vec<u8>,
    insecure: bool,
    /// Made for the first connection.
    tls: OnceLock<Result<ServiceTls, String>>,
}

impl Registration {
    pub(crate) fn of(object: &Value) -> Self {
        const HTTPS: u16 = 443;
        let spec = object.at("spec");
        let service = spec.map("service").map(|_| spec.at("service"));
        let mut conditions = object.at("status").list("conditions").iter();
        let available = conditions.find(|condition| condition.text("type") == "Available");
        Self {
            name: object.at("metadata").text("name").to_owned(),
            group: spec.text("group").to_owned(),
            version: spec.text("version").to_owned(),
            group_priority: spec.int("groupPriorityMinimum").unwrap_or_default(),
            version_priority: spec.int("versionPriority").unwrap_or_default(),
            service: service.map(|service| ServicePort {
                namespace: service.text("namespace").to_owned(),
                name: service.text("name").to_owned(),
                port: service
                    .int("port")
                    .and_then(|port| u16::try_from(port).ok())
                    .unwrap_or(HTTPS),
            }),
            is_available: available.is_some_and(|condition| condition.text("status") == "True"),
            ca_bundle: STANDARD.decode(spec.text("caBundle")).unwrap_or_default(),
            insecure: spec.flag("insecureSkipTLSVerify"),
            tls: OnceLock::new(),
        }
    }

    /// Whether requests are sent to the same place in the same way.
    pub(crate) fn leads_where(&self, other: &Self) -> bool {
        self.service == other.service
            && self.ca_bundle == other.ca_bundle
            && self.insecure == other.insecure
    }

    /// Returns the path of the version's discovery document.
    pub(crate) fn path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// Returns whom connections trust.
    ///
    /// # Errors
    /// The `caBundle` cannot be read; the text is Go's.
    pub(crate) fn tls(&self, certificate: &ClientCertificate) -> Result<&ServiceTls, &str> {
        let tls = self.tls.get_or_init(|| {
            if self.insecure {
                Ok(ServiceTls::insecure(certificate))
            } else {
                ServiceTls::trusting(&self.ca_bundle, certificate)
            }
        });
        tls.as_ref().map_err(String::as_str)
    }
}
