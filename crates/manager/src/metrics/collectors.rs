//! What is read off whenever somebody asks, instead of being counted along the way.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kubewright_controller::{Follows, Informers, Term};
use kubewright_server::Counters;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::configuration::State;

#[derive(Debug)]
pub(super) struct Leads {
    pub(super) lease: String,
    pub(super) term: Term,
}

impl Collector for Leads {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let leads = i64::from(!self.term.is_over());
        let mut metric = encoder.encode_descriptor(
            "leader_election_master_status",
            "Whether this replica leads",
            None,
            MetricType::Gauge,
        )?;
        let labels = [("name", self.lease.as_str())];
        ConstGauge::new(leads).encode(metric.encode_family(&labels)?)
    }
}

type Count = fn(&Follows) -> u64;

#[derive(Debug)]
pub(super) struct Caches(pub(super) Informers);

impl Collector for Caches {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let follows = self.0.follows();
        let mut metric = encoder.encode_descriptor(
            "kubewright_cached_objects",
            "Objects that caches hold",
            None,
            MetricType::Gauge,
        )?;
        for (kind, follows) in &follows {
            let labels = [("kind", kind.as_str())];
            let size = i64::try_from(follows.objects).unwrap_or(i64::MAX);
            ConstGauge::new(size).encode(metric.encode_family(&labels)?)?;
        }
        let counters: [(_, _, Count); 3] = [
            ("lists", "Lists that filled caches", |follows| follows.lists),
            (
                "watches",
                "Watches that went on where a list or a watch had ended",
                |follows| follows.watches,
            ),
            ("failures", "Lists and watches that failed", |follows| {
                follows.failures
            }),
        ];
        for (name, help, read) in counters {
            let name = format!("kubewright_cache_{name}");
            let mut metric = encoder.encode_descriptor(&name, help, None, MetricType::Counter)?;
            for (kind, follows) in &follows {
                let labels = [("kind", kind.as_str())];
                ConstCounter::new(read(follows)).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Serves(pub(super) Counters);

impl Collector for Serves {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let counts = self.0.read();
        for (name, help, value) in [
            (
                "connections_open",
                "Connections that are open",
                counts.connections_open,
            ),
            (
                "calls_in_flight",
                "Calls that are in flight",
                counts.calls_in_flight,
            ),
        ] {
            let name = format!("kubewright_server_{name}");
            let metric = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(metric)?;
        }
        for (name, help, value) in [
            ("calls", "Calls that came in, probes not", counts.calls),
            (
                "calls_refused",
                "Calls that were refused because there were too many",
                counts.calls_refused,
            ),
            (
                "clients_refused",
                "Calls that were refused because their client was not believed",
                counts.clients_refused,
            ),
            (
                "clients_observed",
                "Calls that would have been refused if clients were not only observed",
                counts.clients_observed,
            ),
            (
                "connections",
                "Connections that were accepted",
                counts.connections_accepted,
            ),
            (
                "connections_evicted",
                "Connections that were closed to make room for others",
                counts.connections_evicted,
            ),
            (
                "connections_refused",
                "Connections that were closed at once because all others were busy",
                counts.connections_refused,
            ),
            (
                "handshakes_failed",
                "TLS handshakes that failed",
                counts.handshakes_failed,
            ),
            ("panics", "Calls whose service has panicked", counts.panics),
            (
                "certificates_replaced",
                "Certificates that replaced an earlier one",
                counts.identities_replaced,
            ),
            (
                "certificate_failures",
                "Errors of the source of certificates",
                counts.identity_failures,
            ),
        ] {
            let name = format!("kubewright_server_{name}");
            let metric = encoder.encode_descriptor(&name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Configuration(pub(super) Vec<Arc<State>>);

impl Collector for Configuration {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "kubewright_configuration_good",
            "Whether what was last found of a configuration could be used",
            None,
            MetricType::Gauge,
        )?;
        for state in &self.0 {
            let labels = [("place", state.place.as_str())];
            let is_good = i64::from(state.is_good.load(Ordering::Relaxed));
            ConstGauge::new(is_good).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "kubewright_configuration_reads",
            "Contents of a configuration that were used, or refused",
            None,
            MetricType::Counter,
        )?;
        for state in &self.0 {
            for (outcome, count) in [("used", &state.used), ("refused", &state.refused)] {
                let labels = [("place", state.place.as_str()), ("outcome", outcome)];
                let count = count.load(Ordering::Relaxed);
                ConstCounter::new(count).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
