//! The pods of a target: which of them count, and what they request.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kubewright_quota::pod_resources;
use serde_json::Value;

use crate::object::{list, text};

/// What each pod uses, in thousandths, by the names of the pods.
pub(super) type Usage = BTreeMap<String, i64>;

/// One pod of a target.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) object: Value,
}

/// The pods of a target, sorted by what their usage tells.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The number of pods whose usage counts.
    pub(super) ready: usize,
    /// Pods that are starting: what they use says little.
    pub(super) unready: BTreeSet<String>,
    pub(super) missing: BTreeSet<String>,
    /// Pods that are ending or have failed.
    pub(super) ignored: BTreeSet<String>,
}

/// How long a pod may use more of the processor than later (`--horizontal-pod-autoscaler-cpu-initialization-period`).
const INITIALIZATION: SignedDuration = SignedDuration::from_mins(5);

/// A pod that became unready before it was this old has never been ready (`--horizontal-pod-autoscaler-initial-readiness-delay`).
const READINESS_DELAY: SignedDuration = SignedDuration::from_secs(30);

impl Pod {
    pub(super) fn new(object: Value) -> Self {
        Self {
            name: text(&object, "/metadata/name").to_owned(),
            object,
        }
    }

    fn is_ending(&self) -> bool {
        self.phase() == "Failed" || !text(&self.object, "/metadata/deletionTimestamp").is_empty()
    }

    fn phase(&self) -> &str {
        text(&self.object, "/status/phase")
    }

    fn readiness(&self) -> Option<&Value> {
        let mut conditions = list(&self.object, "/status/conditions").iter();
        conditions.find(|condition| condition["type"] == "Ready")
    }

    /// Whether the pod runs and is ready.
    pub(super) fn is_ready(&self) -> bool {
        let is_true = |condition: &Value| condition["status"] == "True";
        self.phase() == "Running" && self.readiness().is_some_and(is_true)
    }

    /// Whether the usage of the processor is that of a start.
    fn is_starting(&self, now: Timestamp) -> bool {
        let time = |value: &Value, pointer: &str| text(value, pointer).parse::<Timestamp>().ok();
        let Some((ready, started)) = self
            .readiness()
            .zip(time(&self.object, "/status/startTime"))
        else {
            return true;
        };
        let is_unready = ready["status"] == "False";
        let changed = time(ready, "/lastTransitionTime").unwrap_or(Timestamp::UNIX_EPOCH);
        let after_start = |period| started.saturating_add(period).unwrap_or(Timestamp::MAX);
        if after_start(INITIALIZATION) > now {
            is_unready || now < changed
        } else {
            is_unready && after_start(READINESS_DELAY) > changed
        }
    }

    /// What the pod requests of a resource, or one of its containers, in thousandths.
    pub(super) fn request(&self, resource: &str, container: Option<&str>) -> Result<i64, String> {
        let pod = &self.object;
        if container.is_none() && pod_resources::are_set(pod, &["requests"]) {
            let requests = pod_resources::specified_requests(pod);
            let request = requests.get(resource).ok_or_else(|| {
                let name = &self.name;
                format!("missing pod-level request for {resource} in Pod {name}")
            })?;
            return Ok(clamped(request.millis()));
        }
        let sidecars = list(pod, "/spec/initContainers").iter();
        let sidecars = sidecars.filter(|container| container["restartPolicy"] == "Always");
        let mut sum = 0_i64;
        let mut found = container.is_none();
        for each in list(pod, "/spec/containers").iter().chain(sidecars) {
            let name = text(each, "/name");
            if container.is_some_and(|container| container != name) {
                continue;
            }
            found = true;
            let requests = pod_resources::specified(each, "requests");
            let request = requests.get(resource).ok_or_else(|| {
                let pod = &self.name;
                format!("missing request for {resource} in container {name} of Pod {pod}")
            })?;
            sum = sum.saturating_add(clamped(request.millis()));
        }
        if !found {
            let container = container.unwrap_or_default();
            return Err(format!(
                "container {container} not found in Pod {}",
                self.name
            ));
        }
        Ok(sum)
    }
}

impl Groups {
    /// Sorts the pods of a target. Only the usage of the processor is another one while a pod starts.
    pub(super) fn of(pods: &[Pod], usage: &Usage, resource: Option<&str>, now: Timestamp) -> Self {
        let mut groups = Self::default();
        for pod in pods {
            let name = pod.name.clone();
            if pod.is_ending() {
                groups.ignored.insert(name);
            } else if pod.phase() == "Pending" {
                groups.unready.insert(name);
            } else if !usage.contains_key(&name) {
                groups.missing.insert(name);
            } else if resource == Some("cpu") && pod.is_starting(now) {
                groups.unready.insert(name);
            } else {
                groups.ready += 1;
            }
        }
        groups
    }
}

/// A number of thousandths as Go counts them.
pub(super) fn clamped(millis: i128) -> i64 {
    i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX })
}
