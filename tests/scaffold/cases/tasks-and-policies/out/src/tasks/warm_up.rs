//! The task warm-up: records when it has run. Replace this example with your own work.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::Error;
use kubewright::prelude::*;

/// Declares the task, which every replica runs. The handles are its permissions.
pub fn task(needs: &mut Needs) -> Task {
    let task = WarmUpTask {
        config_maps: needs.named("guard-warm-up").applier(),
    };
    Task::on_each_replica("warm-up", task)
}

struct WarmUpTask {
    config_maps: Applier<ConfigMap>,
}

impl RunTask for WarmUpTask {
    async fn run(&self, cx: TaskContext) -> Result<(), Error> {
        let mut config_map = ConfigMap::default();
        config_map.metadata.name = Some("guard-warm-up".to_owned());
        config_map.metadata.namespace = Some("default".to_owned());
        let time = cx.now();
        config_map.data = Some(BTreeMap::from([("last-run".to_owned(), time.to_string())]));
        // After an error, the task runs again with a growing pause.
        self.config_maps.apply(&config_map).await?;
        Ok(())
    }
}
