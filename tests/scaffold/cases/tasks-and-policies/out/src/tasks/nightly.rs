//! The task nightly: records for which time it has run. Replace this example with your own work.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::Error;
use kubewright::prelude::*;

/// Declares the task, which the replica that leads runs. The handles are its permissions.
pub fn task(needs: &mut Needs) -> Task {
    let task = NightlyTask {
        config_maps: needs.named("guard-nightly").applier(),
    };
    Task::on_leader("nightly", task).cron("@daily")
}

struct NightlyTask {
    config_maps: Applier<ConfigMap>,
}

impl RunTask for NightlyTask {
    async fn run(&self, cx: TaskContext) -> Result<(), Error> {
        let mut config_map = ConfigMap::default();
        config_map.metadata.name = Some("guard-nightly".to_owned());
        config_map.metadata.namespace = Some("default".to_owned());
        let time = cx.due().unwrap_or_else(|| cx.now());
        config_map.data = Some(BTreeMap::from([("last-run".to_owned(), time.to_string())]));
        // After an error, the task runs again with a growing pause.
        self.config_maps.apply(&config_map).await?;
        Ok(())
    }
}
