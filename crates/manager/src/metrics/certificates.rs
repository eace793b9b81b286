//! Metrics of certificates, and of the trust in them.

use std::fmt;
use std::time::UNIX_EPOCH;

use kubewright_certificates::{Phase, Status};
use kubewright_server::LiveIdentity;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tokio::sync::watch;

use crate::trust::TrustStatus;

/// When certificates expire, and how far a rotation is.
#[derive(Debug)]
pub(super) struct Lives {
    pub(super) identity: LiveIdentity,
    pub(super) rotation: Option<watch::Receiver<Status>>,
}

impl Collector for Lives {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = self.rotation.as_ref().map(|status| status.borrow().clone());
        let authority = status.as_ref().and_then(|status| status.authority_expires);
        let server = Some(self.identity.current().expires());
        let mut metric = encoder.encode_descriptor(
            "kubewright_certificate_not_after",
            "Expiry of a certificate, as a Unix timestamp",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        for (certificate, expires) in [("server", server), ("authority", authority)] {
            let Some(expires) = expires else {
                continue;
            };
            let expires = expires.duration_since(UNIX_EPOCH).unwrap_or_default();
            let labels = [("certificate", certificate)];
            ConstGauge::new(expires.as_secs_f64()).encode(metric.encode_family(&labels)?)?;
        }
        let Some(at) = status.and_then(|status| status.phase) else {
            return Ok(());
        };
        let mut metric = encoder.encode_descriptor(
            "kubewright_certificate_rotation_phase",
            "Phase of the CA rotation",
            None,
            MetricType::Gauge,
        )?;
        for phase in Phase::ALL {
            let labels = [("phase", phase.as_str())];
            let is_it = i64::from(phase == at);
            ConstGauge::new(is_it).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Trust status of the objects that lead API servers to the program.
#[derive(Debug)]
pub(super) struct Trusted(pub(super) TrustStatus);

impl Collector for Trusted {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let conditions = self.0.conditions();
        let mut metric = encoder.encode_descriptor(
            "kubewright_certificate_trust_in_sync",
            "Whether the object's caBundle contains every trusted CA (1) or not (0)",
            None,
            MetricType::Gauge,
        )?;
        for condition in &conditions {
            let labels = [("object", condition.object.as_str())];
            let is_in_sync = i64::from(condition.is_in_sync);
            ConstGauge::new(is_in_sync).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "kubewright_certificate_trust_writes",
            "Number of caBundle updates, by object",
            None,
            MetricType::Counter,
        )?;
        for condition in &conditions {
            let labels = [("object", condition.object.as_str())];
            ConstCounter::new(condition.writes).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
