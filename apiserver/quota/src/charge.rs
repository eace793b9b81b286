//! Charges a request to the quotas of its namespace.

use kubewright_apimachinery::view::View as _;

use crate::evaluator::{Evaluator, Request};
use crate::list::ResourceList;
use crate::quota::Quota;

/// Adds what a request uses to each quota that concerns it. Says whether that changed any of them.
///
/// # Errors
/// The quota that the request exceeds, that it does not specify enough for, or whose usage is not known yet.
pub fn charge(
    quotas: &mut [Quota],
    evaluator: &Evaluator,
    request: &Request<'_>,
) -> Result<bool, String> {
    let mut concerned = Vec::new();
    for (index, quota) in quotas.iter().enumerate() {
        let restricted = evaluator.matching(quota.hard().names());
        if restricted.is_empty() || !evaluator.is_in_scope(quota, request.object) {
            continue;
        }
        let name = quota.name();
        evaluator
            .constraints(&restricted, request.object)
            .map_err(|why| format!("failed quota: {name}: {why}"))?;
        let is_known = |resource: &String| quota.used().get(resource).is_some();
        if !restricted.iter().all(is_known) {
            let resources = restricted.join(",");
            return Err(format!(
                "status unknown for quota: {name}, resources: {resources}"
            ));
        }
        concerned.push(index);
    }
    if concerned.is_empty() {
        return Ok(false);
    }
    let usage = evaluator.usage(request.object, request.now);
    let negative = usage.iter().filter(|(_, quantity)| quantity.is_negative());
    let negative: Vec<&str> = negative.map(|(name, _)| name).collect();
    if !negative.is_empty() {
        return Err(format!(
            "quota usage is negative for resource(s): {}",
            negative.join(",")
        ));
    }
    let mut charged: Vec<(usize, ResourceList)> = Vec::new();
    for index in concerned {
        let quota = &quotas[index];
        let delta = delta(quota, evaluator, request, &usage).without_zeros();
        if delta.is_empty() {
            continue;
        }
        charged.push((index, used_with(quota, &delta, request)?));
    }
    let mut changed = false;
    for (index, used) in charged {
        changed |= *quotas[index].used() != used;
        quotas[index].set_used(used);
    }
    Ok(changed)
}

/// What a quota is charged: for an object that it counted before, only what is more.
fn delta(
    quota: &Quota,
    evaluator: &Evaluator,
    request: &Request<'_>,
    usage: &ResourceList,
) -> ResourceList {
    let counted = |old: &&serde_json::Value| {
        let is_stored = !old.at("metadata").text("resourceVersion").is_empty();
        is_stored && evaluator.is_in_scope(quota, old)
    };
    match request.old.filter(counted) {
        Some(old) => usage.without(&evaluator.usage(old, request.now)),
        None => usage.clone(),
    }
}

fn used_with(
    quota: &Quota,
    delta: &ResourceList,
    request: &Request<'_>,
) -> Result<ResourceList, String> {
    let hard: Vec<String> = quota.hard().names().map(str::to_owned).collect();
    let requested = delta.masked(&hard);
    let mut used = quota.used().clone();
    used.add(&requested);
    // What is reported has happened already.
    if request.subresource != "status" {
        let names: Vec<String> = requested.names().map(str::to_owned).collect();
        let exceeded = used.masked(&names).exceeding(quota.hard());
        if !exceeded.is_empty() {
            return Err(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                quota.name(),
                requested.masked(&exceeded).shown(),
                quota.used().masked(&exceeded).shown(),
                quota.hard().masked(&exceeded).shown(),
            ));
        }
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn quota(name: &str, spec: &Value, hard: &Value, used: &Value) -> Quota {
        Quota::of(&json!({
            "metadata": {"name": name},
            "spec": spec,
            "status": {"hard": hard, "used": used},
        }))
    }

    fn pod(cpu: &str) -> Value {
        json!({
            "metadata": {"name": "p", "resourceVersion": "1"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
            "status": {"qosClass": "Burstable"},
        })
    }

    #[test]
    fn nothing_is_charged_if_one_of_several_quotas_is_exceeded() {
        let hard = json!({"requests.cpu": "2"});
        let mut quotas = [
            quota(
                "a",
                &json!({}),
                &json!({"pods": "9"}),
                &json!({"pods": "1"}),
            ),
            quota("b", &json!({}), &hard, &json!({"requests.cpu": "1500m"})),
        ];
        let pods = Evaluator::of("", "pods");
        let refused = charge(&mut quotas, &pods, &Request::create(&pod("1"))).unwrap_err();
        assert_eq!(
            refused,
            "exceeded quota: b, requested: requests.cpu=1, used: requests.cpu=1500m, limited: requests.cpu=2"
        );
        assert_eq!(quotas[0].used().shown(), "pods=1");
        assert_eq!(
            charge(&mut quotas, &pods, &Request::create(&pod("500m"))),
            Ok(true)
        );
        assert_eq!(
            quotas.map(|quota| quota.used().shown()),
            ["pods=2", "requests.cpu=2"]
        );
    }

    #[test]
    fn an_update_is_charged_what_is_more_than_before() {
        let hard = json!({"requests.cpu": "2"});
        let used = json!({"requests.cpu": "1"});
        let mut quotas = [quota("a", &json!({}), &hard, &used)];
        let (new, old) = (pod("2"), pod("1"));
        let resize = Request {
            subresource: "resize",
            old: Some(&old),
            ..Request::create(&new)
        };
        let pods = Evaluator::of("", "pods");
        assert!(pods.handles(&resize));
        assert_eq!(charge(&mut quotas, &pods, &resize), Ok(true));
        assert_eq!(quotas[0].used().shown(), "requests.cpu=2");
        let (object, old) = (resize.old.unwrap(), Some(resize.object));
        let smaller = Request {
            object,
            old,
            ..resize
        };
        assert_eq!(charge(&mut quotas, &pods, &smaller), Ok(false));
    }

    #[test]
    fn a_quota_with_scopes_counts_the_objects_in_all_of_them() {
        let scopes = json!({"scopes": ["BestEffort", "NotTerminating"]});
        let hard = json!({"pods": "1", "count/configmaps": "1"});
        let used = json!({"pods": "1", "count/configmaps": "1"});
        let mut quotas = [quota("a", &scopes, &hard, &used)];
        let pods = Evaluator::of("", "pods");
        let mut object = pod("0");
        assert_eq!(
            charge(&mut quotas, &pods, &Request::create(&object)),
            Ok(false)
        );
        object["status"]["qosClass"] = json!("BestEffort");
        assert!(charge(&mut quotas, &pods, &Request::create(&object)).is_err());
        object["spec"]["activeDeadlineSeconds"] = json!(1);
        assert_eq!(
            charge(&mut quotas, &pods, &Request::create(&object)),
            Ok(false)
        );
        let maps = Evaluator::of("", "configmaps");
        assert_eq!(
            charge(&mut quotas, &maps, &Request::create(&object)),
            Ok(false)
        );
    }

    #[test]
    fn a_quota_whose_usage_is_unknown_lets_nothing_through() {
        let hard = json!({"services": "1", "count/services": "1"});
        let mut quotas = [quota("a", &json!({}), &hard, &json!({"services": "0"}))];
        let services = Evaluator::of("", "services");
        let object = json!({});
        assert_eq!(
            charge(&mut quotas, &services, &Request::create(&object)).unwrap_err(),
            "status unknown for quota: a, resources: count/services,services"
        );
    }
}
