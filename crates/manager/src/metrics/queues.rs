//! The queues of controllers, by the names that client-go gives its own, so that dashboards carry over.

use std::fmt;

use kubewright_controller::{Load, Meter};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// The lengths and counters of the work queues, read at each scrape.
#[derive(Debug)]
pub(super) struct Queues(pub(super) Vec<Meter>);

type Gauge = fn(&Load) -> f64;
type Counter = fn(&Load) -> u64;
type Time = fn(&Load) -> f64;

const GAUGES: [(&str, &str, Option<Unit>, Gauge); 5] = [
    (
        "workqueue_depth",
        "Number of objects in the work queue",
        None,
        |load| number(load.waiting),
    ),
    (
        "workqueue_unfinished_work",
        "Total duration of the reconciles in progress",
        Some(Unit::Seconds),
        |load| load.unfinished.as_secs_f64(),
    ),
    (
        "workqueue_longest_running_processor",
        "Duration of the longest reconcile in progress",
        Some(Unit::Seconds),
        |load| load.longest.as_secs_f64(),
    ),
    (
        "kubewright_reconcile_workers",
        "Maximum number of concurrent reconciles",
        None,
        |load| number(load.workers),
    ),
    (
        "kubewright_reconcile_workers_active",
        "Number of reconciles in progress",
        None,
        |load| number(load.active),
    ),
];

const COUNTERS: [(&str, &str, Counter); 2] = [
    (
        "workqueue_adds",
        "Number of additions to the work queue",
        |load| load.adds,
    ),
    (
        "workqueue_retries",
        "Number of requeues after an error",
        |load| load.retries,
    ),
];

const TIMES: [(&str, &str, Time); 1] = [(
    "kubewright_reconcile_rate_limited",
    "Time for which the rate limit alone kept objects in the work queue",
    |load| load.rate_limited.as_secs_f64(),
)];

const SHARDS: [(&str, &str, Gauge); 2] = [
    (
        "kubewright_shards",
        "Number of shards of a sharded controller, over all replicas",
        |load| number(load.shards),
    ),
    (
        "kubewright_shards_held",
        "Number of shards that this replica holds",
        |load| number(load.shards_held),
    ),
];

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let loads: Vec<(&str, Load)> = self
            .0
            .iter()
            .map(|meter| (meter.controller(), meter.read()))
            .collect();
        for (name, help, unit, read) in &GAUGES {
            let mut metric =
                encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
            for (controller, load) in &loads {
                let gauge = ConstGauge::new(read(load));
                gauge.encode(metric.encode_family(&labels(controller))?)?;
            }
        }
        let sharded = loads.iter().filter(|(_, load)| load.shards > 0);
        let sharded: Vec<_> = sharded.collect();
        for (name, help, read) in SHARDS.iter().filter(|_| !sharded.is_empty()) {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (controller, load) in &sharded {
                let gauge = ConstGauge::new(read(load));
                gauge.encode(metric.encode_family(&labels(controller))?)?;
            }
        }
        for (name, help, read) in &COUNTERS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (controller, load) in &loads {
                let counter = ConstCounter::new(read(load));
                counter.encode(metric.encode_family(&labels(controller))?)?;
            }
        }
        for (name, help, read) in &TIMES {
            let unit = Some(&Unit::Seconds);
            let mut metric = encoder.encode_descriptor(name, help, unit, MetricType::Counter)?;
            for (controller, load) in &loads {
                let counter = ConstCounter::new(read(load));
                counter.encode(metric.encode_family(&labels(controller))?)?;
            }
        }
        Ok(())
    }
}

/// Both labels that controller-runtime has for it.
fn labels(controller: &str) -> [(&'static str, &str); 2] {
    [("name", controller), ("controller", controller)]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no queue has more objects than a float can count"
)]
fn number(count: usize) -> f64 {
    count as f64
}
