//! The other clusters that a program works in, read at each scrape.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::cluster::Roster;

pub(crate) struct OtherClusters(pub(crate) Roster);

/// The values of one cluster, whichever fleets it is a member of.
struct Told {
    is_ready: bool,
    objects: usize,
    waiting: usize,
}

type Read = fn(&Told) -> i64;

impl Collector for OtherClusters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut states = BTreeMap::from([("connecting", 0), ("ready", 0), ("unreachable", 0)]);
        let mut told: BTreeMap<Arc<str>, Told> = BTreeMap::new();
        for member in self.0.members() {
            let state = member.state().current();
            *states.entry(state.as_str()).or_default() += 1;
            let follows = member.informers().follows().into_values();
            let meters = member.meters();
            let one = Told {
                is_ready: state.is_ready(),
                objects: follows.map(|follows| follows.objects).sum(),
                waiting: meters.map(|meter| meter.read().waiting).sum(),
            };
            let all = told.entry(Arc::clone(member.name())).or_insert(Told {
                is_ready: true,
                objects: 0,
                waiting: 0,
            });
            all.is_ready &= one.is_ready;
            all.objects += one.objects;
            all.waiting += one.waiting;
        }
        let mut metric = encoder.encode_descriptor(
            "kubewright_clusters",
            "Number of other clusters that the program works in, by state",
            None,
            MetricType::Gauge,
        )?;
        for (state, clusters) in states {
            let labels = [("state", state)];
            ConstGauge::new(clusters).encode(metric.encode_family(&labels)?)?;
        }
        let gauges: [(_, _, Read); 3] = [
            (
                "kubewright_cluster_ready",
                "Whether the API server of another cluster answers and its caches are complete (1) or not (0)",
                |told| i64::from(told.is_ready),
            ),
            (
                "kubewright_cluster_cached_objects",
                "Number of objects in the caches of another cluster",
                |told| number(told.objects),
            ),
            (
                "kubewright_cluster_workqueue_depth",
                "Number of objects in the work queues of the controllers of another cluster",
                |told| number(told.waiting),
            ),
        ];
        for (name, help, read) in gauges {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (cluster, told) in told.iter().take(MOST_CLUSTERS) {
                let labels = [("cluster", &**cluster)];
                ConstGauge::new(read(told)).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for OtherClusters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OtherClusters")
            .finish_non_exhaustive()
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Of more clusters, only the first ones by name have series of their own: what creates clusters does not fill Prometheus.
const MOST_CLUSTERS: usize = 100;
