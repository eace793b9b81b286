//! What a Valkey may say: rules that API servers evaluate, a webhook for schedules, and the conversion of versions.

use kubewright::Cron;
use kubewright::prelude::*;

use crate::api::v1::Valkey;
use crate::api::v1alpha1;

pub(crate) fn webhooks() -> Webhooks {
    Webhooks::new("valkey.example.com")
        .with(changes())
        .with(validating("schedules", schedules).on([Create, Update]))
        .with(converting::<Valkey>().spoke::<v1alpha1::Valkey>())
}

/// Valkey reads what an older version has stored, and not what a newer one has.
fn changes() -> Policy<Valkey> {
    Policy::validating("changes")
        .on([Update])
        .variable("new", number("object"))
        .variable("old", number("oldObject"))
        .variable(
            "returns",
            "oldObject.?status.?version.orValue('') == object.spec.version",
        )
        .rule(
            "variables.new >= variables.old || variables.returns",
            "spec.version: an older version cannot read what a newer one has stored; only the version that every instance still runs is possible",
        )
        .rule(
            "variables.new / 1000 <= variables.old / 1000 + 1",
            "spec.version: upgrade one major version at a time",
        )
        .rule(
            "object.spec.storage == oldObject.spec.storage",
            "spec.storage: the volumes of a StatefulSet cannot change",
        )
}

/// `8.1` as 8001, which compares as versions do.
fn number(object: &str) -> String {
    let part = |place: u8| format!("int({object}.spec.version.split('.')[{place}])");
    format!("{} * 1000 + {}", part(0), part(1))
}

async fn schedules(change: Change<Valkey>, _: Review) -> Validated {
    let Some(backup) = &change.object().spec.backup else {
        return Ok(());
    };
    match backup.schedule.parse::<Cron>() {
        Ok(_) => Ok(()),
        Err(error) => deny(format!("spec.backup.schedule: {error}")),
    }
}
