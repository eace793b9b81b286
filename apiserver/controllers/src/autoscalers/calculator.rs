//! From usage and targets to a number of replicas.

use jiff::Timestamp;

use super::limits::ceil;
use super::pods::{Groups, Pod, Usage};
use super::tolerances::Tolerances;

/// What the calculations for one target have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calculator<'a> {
    pub(super) pods: &'a [Pod],
    /// The replicas that the target asks for.
    pub(super) current: i32,
    /// The replicas that the target has.
    pub(super) existing: i32,
    pub(super) tolerances: Tolerances,
    pub(super) now: Timestamp,
}

/// The replicas for a percentage of what pods request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Utilization {
    pub(super) replicas: i32,
    pub(super) percentage: i32,
    /// The average usage in thousandths.
    pub(super) average: i64,
}

/// The ratio of usage to target, the percentage of requests, and the average usage.
type Ratio = (f64, i32, i64);

impl Calculator<'_> {
    /// The replicas by which pods use a percentage of what they, or one of their containers, request.
    pub(super) fn by_utilization(
        &self,
        mut usage: Usage,
        target: i32,
        resource: &str,
        container: Option<&str>,
    ) -> Result<Utilization, String> {
        let groups = self.groups(&mut usage, Some(resource))?;
        let mut requests = Usage::new();
        for pod in self.pods {
            let request = pod.request(resource, container)?;
            requests.insert(pod.name.clone(), request);
        }
        let ratio = |usage: &Usage| utilization(usage, &requests, target);
        let full = i64::from(target.max(100));
        // A missing pod may use all that it requests, or what the target allows it.
        let replaced = |pod: &str| requests.get(pod).map_or(0, |request| request * full / 100);
        let (_, percentage, average) = ratio(&usage)?;
        let replicas = self.replicas(usage, &groups, |usage| Ok(ratio(usage)?.0), replaced)?;
        Ok(Utilization {
            replicas,
            percentage,
            average,
        })
    }

    /// The replicas by which pods use so much on average, and how much they use now.
    pub(super) fn by_average(
        &self,
        mut usage: Usage,
        target: i64,
        resource: Option<&str>,
    ) -> Result<(i32, i64), String> {
        let groups = self.groups(&mut usage, resource)?;
        let average = average(&usage);
        let ratio = |usage: &Usage| Ok(quotient(self::average(usage), target));
        let replicas = self.replicas(usage, &groups, ratio, |_| target)?;
        Ok((replicas, average))
    }

    /// The replicas by which one value, which all pods share in, comes to its target.
    pub(super) fn by_value(&self, value: i64, target: i64) -> Result<i32, String> {
        let ratio = quotient(value, target);
        if self.current == 0 {
            return Ok(ceil(ratio));
        }
        if self.tolerances.allow(ratio) {
            return Ok(self.current);
        }
        if self.pods.is_empty() {
            return Err(format!("unable to calculate ready pods: {NO_PODS}"));
        }
        let ready = self.pods.iter().filter(|pod| pod.is_ready()).count();
        Ok(ceil(ratio * number(ready)))
    }

    /// The replicas by which each has so much of one value, and how much each has now.
    pub(super) fn per_pod(&self, value: i64, target: i64) -> (i32, i64) {
        let existing = f64::from(self.existing);
        let ratio = float(value) / (float(target) * existing);
        let replicas = if self.tolerances.allow(ratio) {
            self.existing
        } else {
            ceil(quotient(value, target))
        };
        (replicas, rounded_up(float(value) / existing))
    }

    /// Sorts the pods, and forgets the usage of those that do not count.
    fn groups(&self, usage: &mut Usage, resource: Option<&str>) -> Result<Groups, String> {
        if self.pods.is_empty() {
            return Err(NO_PODS.to_owned());
        }
        let groups = Groups::of(self.pods, usage, resource, self.now);
        usage.retain(|pod, _| !groups.ignored.contains(pod) && !groups.unready.contains(pod));
        if usage.is_empty() {
            return Err(
                "did not receive metrics for targeted pods (pods might be unready)".to_owned(),
            );
        }
        Ok(groups)
    }

    fn replicas(
        &self,
        mut usage: Usage,
        groups: &Groups,
        ratio: impl Fn(&Usage) -> Result<f64, String>,
        replaced: impl Fn(&str) -> i64,
    ) -> Result<i32, String> {
        let first = ratio(&usage)?;
        let grows_while_unready = !groups.unready.is_empty() && first > 1.0;
        if !grows_while_unready && groups.missing.is_empty() {
            if self.tolerances.allow(first) {
                return Ok(self.current);
            }
            return Ok(ceil(first * number(groups.ready)));
        }
        // Pods of unknown usage hold a change back: they use much where there would be fewer, and nothing where there would
        // be more.
        for pod in &groups.missing {
            if first < 1.0 {
                usage.insert(pod.clone(), replaced(pod));
            } else if first > 1.0 {
                usage.insert(pod.clone(), 0);
            }
        }
        if grows_while_unready {
            usage.extend(groups.unready.iter().map(|pod| (pod.clone(), 0)));
        }
        let second = ratio(&usage)?;
        let turns = (first < 1.0 && second > 1.0) || (first > 1.0 && second < 1.0);
        if self.tolerances.allow(second) || turns {
            return Ok(self.current);
        }
        let replicas = ceil(second * number(usage.len()));
        let turns =
            (second < 1.0 && replicas > self.current) || (second > 1.0 && replicas < self.current);
        Ok(if turns { self.current } else { replicas })
    }
}

const NO_PODS: &str = "no pods returned by selector while calculating replica count";

fn utilization(usage: &Usage, requests: &Usage, target: i32) -> Result<Ratio, String> {
    let (mut used, mut requested, mut count) = (0_i64, 0_i64, 0_i64);
    for (pod, value) in usage {
        if let Some(request) = requests.get(pod) {
            used = used.saturating_add(*value);
            requested = requested.saturating_add(*request);
            count += 1;
        }
    }
    if requested == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let percentage = used.saturating_mul(100) / requested;
    let percentage = i32::try_from(percentage).unwrap_or(i32::MAX);
    let ratio = f64::from(percentage) / f64::from(target);
    Ok((ratio, percentage, used / count))
}

fn average(usage: &Usage) -> i64 {
    let sum = usage
        .values()
        .fold(0_i64, |sum, value| sum.saturating_add(*value));
    sum / i64::try_from(usage.len().max(1)).unwrap_or(1)
}

fn quotient(value: i64, target: i64) -> f64 {
    float(value) / float(target)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the real controller, too, calculates with doubles"
)]
fn float(value: i64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a value beyond 64 bits is shown as the largest one"
)]
fn rounded_up(value: f64) -> i64 {
    value.ceil() as i64
}

fn number(pods: usize) -> f64 {
    float(i64::try_from(pods).unwrap_or(i64::MAX))
}
