//! Defaults of horizontal pod autoscalers, in both versions.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use super::conversion;

const DEFAULT_CPU_UTILIZATION: i64 = 80;

pub(super) fn autoscaler(version: &str, object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("minReplicas", 1);
    spec.part("scaleTargetRef");
    if version == "v1" {
        return conversion::as_held(object);
    }
    if spec.list("metrics").is_empty() {
        let target =
            json!({ "type": "Utilization", "averageUtilization": DEFAULT_CPU_UTILIZATION });
        let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        spec.put("metrics", json!([cpu]));
    }
    if let Some(behavior) = spec.existing("behavior") {
        let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
        let all = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
        if let Some(up) = behavior.part("scaleUp") {
            up.fill("stabilizationWindowSeconds", 0);
            up.fill("selectPolicy", "Max");
            up.fill("policies", json!([pods, all]));
        }
        if let Some(down) = behavior.part("scaleDown") {
            down.fill("selectPolicy", "Max");
            down.fill("policies", json!([all]));
        }
    }
}
