//! Metrics that are read at each scrape, instead of being counted along the way.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kubewright_controller::{Follows, Informers, LeaderGuard};
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
    pub(super) guard: LeaderGuard,
}

impl Collector for Leads {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let leads = i64::from(self.guard.is_leader());
        let mut metric = encoder.encode_descriptor(
            "leader_election_master_status",
            "Whether this replica is the leader (1) or not (0)",
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
            "Number of objects in caches, by kind",
            None,
            MetricType::Gauge,
        )?;
        for (kind, follows) in &follows {
            let labels = [("kind", kind.as_str())];
            let size = i64::try_from(follows.objects).unwrap_or(i64::MAX);
            ConstGauge::new(size).encode(metric.encode_family(&labels)?)?;
        }
        let mut metric = encoder.encode_descriptor(
            "kubewright_cache_not_served",
            "Number of caches whose kind the API server does not serve, by kind",
            None,
            MetricType::Gauge,
        )?;
        for (kind, follows) in &follows {
            let labels = [("kind", kind.as_str())];
            let caches = i64::try_from(follows.not_served).unwrap_or(i64::MAX);
            ConstGauge::new(caches).encode(metric.encode_family(&labels)?)?;
        }
        let counters: [(_, _, Count); 3] = [
            ("lists", "Number of lists, by kind", |follows| follows.lists),
            ("watches", "Number of watches, by kind", |follows| {
                follows.watches
            }),
            (
                "failures",
                "Number of failed lists and watches, by kind",
                |follows| follows.failures,
            ),
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
                "Number of open connections",
                counts.connections_open,
            ),
            (
                "calls_in_flight",
                "Number of in-flight requests",
                counts.calls_in_flight,
            ),
        ] {
            let name = format!("kubewright_server_{name}");
            let metric = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(metric)?;
        }
        for (name, help, value) in [
            ("calls", "Number of requests, without probes", counts.calls),
            (
                "calls_refused",
                "Number of requests rejected because of too many in-flight requests",
                counts.calls_refused,
            ),
            (
                "clients_refused",
                "Number of requests rejected because of their client certificate",
                counts.clients_refused,
            ),
            (
                "clients_observed",
                "Number of requests that enforcing client certificates would reject",
                counts.clients_observed,
            ),
            (
                "connections",
                "Number of accepted connections",
                counts.connections_accepted,
            ),
            (
                "connections_evicted",
                "Number of connections evicted in favor of others",
                counts.connections_evicted,
            ),
            (
                "connections_refused",
                "Number of connections rejected because all others were busy",
                counts.connections_refused,
            ),
            (
                "handshakes_failed",
                "Number of failed TLS handshakes",
                counts.handshakes_failed,
            ),
            (
                "panics",
                "Number of requests whose handler panicked",
                counts.panics,
            ),
            (
                "certificates_replaced",
                "Number of certificate renewals",
                counts.identities_replaced,
            ),
            (
                "certificate_failures",
                "Number of errors of the certificate source",
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
            "Whether the latest configuration is valid (1) or not (0)",
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
            "Number of configuration reloads, by outcome",
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
