//! `pods/eviction`: a delete that asks the disruption budgets first.

use http::Response;
use kubewright_admission::Operation;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::GoText;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time;
use kubewright_fieldmanagement::{self as managed_fields, Tracked};
use kubewright_storage::{At, Draft};
use serde_json::{Value, json};

use crate::body::Body;
use crate::rest::answer;
use crate::rest::call::Call;
use crate::rest::commit::committed;
use crate::rest::decode::{self, Decoded};
use crate::rest::delete_options::{DeleteOptions, IGNORES_READ_ERRORS};
use crate::rest::metadata::{clear_owned, is_deleting, settle_namespace};
use crate::rest::query::WriteOptions;
use crate::rest::{delete, tracking};

/// Evicts the pod that the path names.
pub(super) async fn evict(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let version = match call.resource.subresource("eviction") {
        Some(part) => part.kind.clone(),
        None => return Err(Status::no_such_resource()),
    };
    let Decoded {
        object: mut eviction,
        empties,
        ..
    } = decode::body(call, &version, &options)?;
    call.audit(&version, &eviction);
    clear_owned(&mut eviction);
    settle_namespace(call, &mut eviction)?;
    let mut attributes = call.attributes(Operation::Create, options.to_value("CreateOptions"));
    attributes.kind = version;
    attributes.dry_run = options.dry_run;
    attributes.object = eviction;
    attributes.empties = empties;
    tracking::mutate(call, &options, &mut attributes).await?;
    if meta_text(&attributes.object, "name") != call.path.name {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    check_options(call, &attributes.object["deleteOptions"])?;
    if options.dry_run
        && let Some(options) = attributes.object.get_mut("deleteOptions")
        && options.is_object()
        && options["dryRun"].as_array().is_none_or(Vec::is_empty)
    {
        options["dryRun"] = json!(["All"]);
    }
    call.validate(&attributes).await?;

    let mut how = DeleteOptions::from_object(&attributes.object["deleteOptions"])?;
    how.dry_run |= options.dry_run;
    let original = how;
    let pinned = original.revision.is_some();
    loop {
        let pod = call.value(&*call.stored()?).await?;
        let guard = guard(call, &pod, original.dry_run)?;
        let mut how = original.clone();
        if !pinned && guard != Guard::Passed {
            // The pod must not become healthy meanwhile.
            how.revision = Some(meta_text(&pod, "resourceVersion").to_owned());
        }
        match mark_and_delete(call, how).await {
            Err(status) if status.code() == 409 && !pinned => match &guard {
                Guard::Passed => return Err(status),
                // A precondition of the client's own does not come true by itself.
                Guard::NotAsked => {
                    delete::check_preconditions(call, &call.path.name, &pod, &original)?;
                }
                Guard::Unhealthy(budget) => return Err(still_processed(budget)),
            },
            outcome => {
                outcome?;
                return Ok(answer::done(call));
            }
        }
    }
}

/// The options in the body are not those of a deletion that ignores errors, and agree with the request about a dry run.
fn check_options(call: &Call, options: &Value) -> Result<()> {
    if options[IGNORES_READ_ERRORS] == true {
        let path = Path::new("deleteOptions");
        let detail = "can not be set for pod eviction, try after removing the option";
        let error = FieldError::invalid(&path.child(IGNORES_READ_ERRORS), true, detail);
        let name = &call.path.name;
        return Err(Status::invalid("policy", "Eviction", name, &[error]));
    }
    let asked: Vec<&str> = call.query.all("dryRun").collect();
    let asked = Value::from(asked);
    let said = &options["dryRun"];
    let is_said = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    if is_said(&asked) && is_said(said) && asked != *said {
        let (asked, said) = (GoText(&asked), GoText(said));
        return Err(Status::plain(format!(
            "Non-matching dry-run options in request and content: {asked} and {said}"
        )));
    }
    Ok(())
}

/// How a pod came past the disruption budgets.
#[derive(Debug, PartialEq, Eq)]
enum Guard {
    /// Its end is no disruption that a budget counts, or it has no budget.
    NotAsked,
    /// It is unhealthy, and this budget lets such pods go.
    Unhealthy(String),
    /// A disruption was taken from its budget.
    Passed,
}

/// Asks the budget of a pod, if it has one.
fn guard(call: &Call, pod: &Value, dry_run: bool) -> Result<Guard> {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    let ends = matches!(phase, "Succeeded" | "Failed");
    if ends || is_deleting(pod) {
        // Nothing about such a pod can race: its revision does not matter.
        return Ok(Guard::Passed);
    }
    if phase == "Pending" {
        return Ok(Guard::NotAsked);
    }
    take_from_budget(call, pod, dry_run)
}

/// Writes into the pod why it goes, and deletes it.
async fn mark_and_delete(call: &Call, mut how: DeleteOptions) -> Result<()> {
    let store = &call.shared.store;
    while !how.dry_run {
        let stored = call.stored()?;
        let mut pod = call.value(&stored).await?;
        delete::check_preconditions(call, &call.path.name, &pod, &how)?;
        set_condition(
            &mut pod["status"],
            &json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
                "lastProbeTime": null,
            }),
        );
        let draft = Draft::new(&pod);
        if draft.says_the_same_as(&stored) {
            break;
        }
        let replaced = store.replace(&call.table, &stored.path, stored.revision, draft);
        if let Ok(marked) = committed(replaced)? {
            if how.revision.is_some() {
                how.revision = Some(marked.revision.to_string());
            }
            break;
        }
    }
    delete::evicted(call, &how).await
}

/// Sets a condition, in the place of the one of its type; the time of one whose status stays does too.
fn set_condition(status: &mut Value, condition: &Value) {
    if !status.is_object() {
        *status = json!({});
    }
    let conditions = &mut status["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let known = conditions
        .iter_mut()
        .find(|known| known["type"] == condition["type"]);
    let mut condition = condition.clone();
    let Some(known) = known else {
        condition["lastTransitionTime"] = time::now().into();
        conditions.push(condition);
        return;
    };
    condition["lastTransitionTime"] = if known["status"] == condition["status"] {
        known["lastTransitionTime"].clone()
    } else {
        time::now().into()
    };
    *known = condition;
}

/// Uses up one allowed disruption of the pod's budget, if it has one.
fn take_from_budget(call: &Call, pod: &Value, dry_run: bool) -> Result<Guard> {
    const TABLE: &str = "poddisruptionbudgets.policy";
    let store = &call.shared.store;
    loop {
        let budgets = store
            .list(TABLE, &call.path.namespace, "", usize::MAX, At::Now)
            .map(|listed| listed.objects)
            .unwrap_or_default();
        let mut matching = budgets.into_iter().filter_map(|budget| {
            let value = budget.value();
            let selector = Labels::from_object(&value["spec"]["selector"]).ok()??;
            selector.matches_object(pod).then_some((budget, value))
        });
        let Some((budget, live)) = matching.next() else {
            return Ok(Guard::Passed);
        };
        if matching.next().is_some() {
            return Err(Status::plain(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource \
                 does not support.",
            ));
        }
        if lets_go_unhealthy(&live, pod) {
            return Ok(Guard::Unhealthy(budget.name().to_owned()));
        }
        check(budget.name(), &live)?;
        if dry_run {
            return Ok(Guard::Passed);
        }
        let mut value = live.clone();
        let left = number(&value["status"], "disruptionsAllowed") - 1;
        value["status"]["disruptionsAllowed"] = left.into();
        if left == 0 {
            let generation = value["status"]["observedGeneration"].clone();
            let mut condition = json!({
                "type": "DisruptionAllowed",
                "status": "False",
                "reason": "InsufficientPods",
                "message": "",
            });
            if !generation.is_null() {
                condition["observedGeneration"] = generation;
            }
            set_condition(&mut value["status"], &condition);
        }
        // The controller counts the pod no more, though it is not deleted yet.
        let name = call.path.name.as_str();
        value["status"]["disruptedPods"][name] = time::now().into();
        own_status(call, &live, &mut value);
        let draft = Draft::new(&value);
        let replaced = store.replace(TABLE, &budget.path, budget.revision, draft);
        if committed(replaced)?.is_ok() {
            return Ok(Guard::Passed);
        }
    }
}

/// Makes the server itself the manager of what it changes in the status of a budget.
fn own_status(call: &Call, live: &Value, budget: &mut Value) {
    let kind = GroupVersionKind {
        group: "policy".to_owned(),
        version: "v1".to_owned(),
        kind: "PodDisruptionBudget".to_owned(),
    };
    let served = call.shared.served.now();
    let Some(resource) = served.by_kind(&kind) else {
        return;
    };
    let tracked = Tracked {
        resource: &resource,
        kind: &kind,
        subresource: "status",
        registry: &served,
        versions: &call.versions,
        now: &time::now(),
    };
    managed_fields::update(&tracked, live, budget, false, "kube-apiserver");
}

fn number(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or_default()
}

/// Whether a budget does not guard a pod because it is unhealthy.
fn lets_go_unhealthy(budget: &Value, pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    });
    if ready {
        return false;
    }
    let status = &budget["status"];
    let desired = number(status, "desiredHealthy");
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (number(status, "currentHealthy") >= desired && desired > 0)
}

/// Asserts that a budget allows a disruption.
///
/// # Errors
/// 429, or 403 for a status that no controller writes.
fn check(name: &str, budget: &Value) -> Result<()> {
    /// The most evicted pods that the controller has not taken note of.
    const MOST: usize = 2000;
    let status = &budget["status"];
    if number(status, "observedGeneration") < number(&budget["metadata"], "generation") {
        return Err(still_processed(name));
    }
    let forbidden = |why: &str, cause: &str| {
        let mut status = Status::forbidden("policy", "poddisruptionbudget", name, why);
        let message =
            format!("The disruption budget {name} does not allow evicting pods currently: {cause}");
        let causes = json!([{"reason": "DisruptionBudget", "message": message}]);
        status.details_mut().insert("causes".to_owned(), causes);
        status
    };
    let allowed = number(status, "disruptionsAllowed");
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        return Err(forbidden(why, why));
    }
    let disrupted = status["disruptedPods"].as_object();
    if disrupted.is_some_and(|pods| pods.len() > MOST) {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            "too many pending evictions not confirmed by PDB controller",
        ));
    }
    if allowed > 0 {
        return Ok(());
    }
    let [desired, current] = ["desiredHealthy", "currentHealthy"].map(|name| number(status, name));
    let conditions = status["conditions"].as_array();
    let condition = conditions.and_then(|conditions| {
        conditions.iter().find(|condition| {
            condition["type"] == "DisruptionAllowed"
                && condition["status"] == "False"
                && condition["message"]
                    .as_str()
                    .is_some_and(|message| !message.is_empty())
        })
    });
    let [reason, message] = ["reason", "message"].map(|name| {
        let text = condition.and_then(|condition| condition[name].as_str());
        text.unwrap_or_default()
    });
    let cause = if reason == "SyncFailed" {
        format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        )
    } else if current <= desired {
        format!(
            "The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    } else if condition.is_some() {
        format!(
            "The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"
        )
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    };
    Err(too_many(&cause))
}

fn still_processed(budget: &str) -> Status {
    let message = format!("The disruption budget {budget} is still being processed by the server.");
    let mut status = too_many(&message);
    let details = status.details_mut();
    details.insert("retryAfterSeconds".to_owned(), 10.into());
    status
}

fn too_many(cause: &str) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    let causes = json!([{"reason": "DisruptionBudget", "message": cause}]);
    status.details_mut().insert("causes".to_owned(), causes);
    status
}
