//! `pods/eviction`: a delete that asks the disruption budgets first.

use http::Response;
use kubewright_admission::Operation;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_storage::{At, Draft};
use serde_json::{Value, json};

use crate::body::Body;
use crate::rest::answer;
use crate::rest::call::Call;
use crate::rest::commit::committed;
use crate::rest::decode::{self, Decoded};
use crate::rest::delete_options::DeleteOptions;
use crate::rest::metadata::{clear_owned, settle_namespace};
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
    let pod = call.value(&*call.stored()?).await?;
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    let finished = matches!(phase, "Succeeded" | "Failed" | "Pending");
    let leaving = !meta_text(&pod, "deletionTimestamp").is_empty();
    if !finished && !leaving {
        take_from_budget(call, &pod, how.dry_run)?;
    }
    delete::evicted(call, &how).await?;
    Ok(answer::done(call))
}

/// Uses up one allowed disruption of the pod's budget, if it has one.
fn take_from_budget(call: &Call, pod: &Value, dry_run: bool) -> Result<()> {
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
        let Some((budget, mut value)) = matching.next() else {
            return Ok(());
        };
        if matching.next().is_some() {
            return Err(Status::plain(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource \
                 does not support.",
            ));
        }
        let number = |value: &Value, name: &str| value[name].as_i64().unwrap_or_default();
        let status = &value["status"];
        let allowed = number(status, "disruptionsAllowed");
        if number(status, "observedGeneration") < number(&value["metadata"], "generation") {
            let message = format!(
                "The disruption budget {} is still being processed by the server.",
                budget.name()
            );
            let mut status = too_many(&message);
            let details = status.details_mut();
            details.insert("retryAfterSeconds".to_owned(), 10.into());
            return Err(status);
        }
        if allowed <= 0 {
            let message = format!(
                "The disruption budget {} needs {} healthy pods and has {} currently",
                budget.name(),
                number(status, "desiredHealthy"),
                number(status, "currentHealthy")
            );
            return Err(too_many(&message));
        }
        if dry_run {
            return Ok(());
        }
        value["status"]["disruptionsAllowed"] = (allowed - 1).into();
        let draft = Draft::new(&value);
        let replaced = store.replace(TABLE, &budget.path, budget.revision, draft);
        if committed(replaced)?.is_ok() {
            return Ok(());
        }
    }
}

fn too_many(cause: &str) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    let causes = json!([{"reason": "DisruptionBudget", "message": cause}]);
    status.details_mut().insert("causes".to_owned(), causes);
    status
}
