//! The task cleanup: records for which time it has run. Replace this example with your own work.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::Error;
use kubewright::prelude::*;

/// Declares the task, which the replica that leads runs. The handles are its permissions.
pub fn task(needs: &mut Needs) -> Task {
    let task = CleanupTask {
        config_maps: needs.named("guard-cleanup").applier(),
    };
    Task::on_leader("cleanup", task).every(Duration::from_mins(90))
}

struct CleanupTask {
    config_maps: Applier<ConfigMap>,
}

impl RunTask for CleanupTask {
    async fn run(&self, cx: TaskContext) -> Result<(), Error> {
        let mut config_map = ConfigMap::default();
        config_map.metadata.name = Some("guard-cleanup".to_owned());
        config_map.metadata.namespace = Some("default".to_owned());
        let time = cx.due().unwrap_or_else(|| cx.now());
        config_map.data = Some(BTreeMap::from([("last-run".to_owned(), time.to_string())]));
        // After an error, the task runs again with a growing pause.
        self.config_maps.apply(&config_map).await?;
        Ok(())
    }
}
