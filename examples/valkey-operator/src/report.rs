//! What a Valkey says of itself: its conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kubewright::controller::{Context, set_condition};

use crate::api::v1::{Valkey, ValkeyStatus};
use crate::backups::Overview;
use crate::instances::{Observed, Revision};

/// The status that a Valkey should have.
pub(crate) fn status(
    valkey: &Valkey,
    cx: &Context,
    observed: &Observed,
    revision: &Revision,
    backups: &Overview,
) -> ValkeyStatus {
    let mut status = valkey.status.clone().unwrap_or_default();
    status.ready_instances = observed.ready();
    if let Some(version) = observed.version() {
        status.version = Some(version.to_owned());
    }
    if let Some(last) = backups.last {
        status.last_backup = Some(Time(last));
    }
    let ready = ready(valkey, cx, observed);
    set_condition(&mut status.conditions, ready);
    let progressing = progressing(valkey, cx, observed, revision);
    set_condition(&mut status.conditions, progressing);
    if let Some(backed_up) = backed_up(cx, backups) {
        set_condition(&mut status.conditions, backed_up);
    }
    status
}

fn ready(valkey: &Valkey, cx: &Context, observed: &Observed) -> Condition {
    let (ready, all) = (observed.ready(), valkey.spec.replicas);
    let message = format!("{ready} of {all} instances are ready");
    let reason = if ready == all {
        "InstancesReady"
    } else {
        "InstancesNotReady"
    };
    cx.condition("Ready", ready == all, reason, &message)
}

fn progressing(
    valkey: &Valkey,
    cx: &Context,
    observed: &Observed,
    revision: &Revision,
) -> Condition {
    if let Some(pod) = observed.stuck(revision, cx.now()) {
        let message = format!(
            "the instance {pod} has not become ready in 10 minutes; the others stay as they are"
        );
        return cx.condition("Progressing", false, "Stalled", &message);
    }
    let wanted = &valkey.spec.version;
    if revision.version != *wanted {
        let message =
            format!("version {wanted} is installed when the backup before it is complete");
        return cx.condition("Progressing", true, "WaitsForBackup", &message);
    }
    if observed.all(|instance| instance == revision) {
        let message = format!("every instance runs version {wanted}");
        return cx.condition("Progressing", false, "Complete", &message);
    }
    let message = "instances are created or replaced, one after the other";
    cx.condition("Progressing", true, "InstancesUpdating", message)
}

fn backed_up(cx: &Context, backups: &Overview) -> Option<Condition> {
    match (&backups.failed, backups.last) {
        (Some(job), _) => {
            let message = format!("the Job {job} has failed; see the logs of its pods");
            Some(cx.condition("BackedUp", false, "BackupFailed", &message))
        }
        (None, Some(time)) => {
            let message = format!("the last backup was made for {time}");
            Some(cx.condition("BackedUp", true, "BackupComplete", &message))
        }
        (None, None) => None,
    }
}
