//! The simulated nodes: objects that are ready, and on which no container runs.

use kubewright_apimachinery::version::GIT_VERSION;
use serde_json::{Value, json};

use super::super::client::{Failure, NODES, Who};
use super::super::work::Context;

/// The name of a simulated node.
pub(super) fn name(at: usize) -> String {
    format!("simulated-{at}")
}

/// Makes the nodes that are not there yet, ready to take pods.
pub(crate) async fn register(cx: &Context, count: usize) -> Result<(), Failure> {
    for at in 0..count {
        let name = name(at);
        let node = Who::Node(&name);
        let made = match cx.client.create(node, &NODES, "", &object(&name)).await {
            Ok(made) => made,
            Err(failure) if failure.already_exists() => continue,
            Err(failure) => return Err(failure),
        };
        let mut ready = made;
        ready["status"] = status(&cx.clock.text(), &name, at);
        cx.client.update_status(node, &NODES, &ready).await?;
        // Nodes are registered with a taint that keeps pods away until they are known to be ready.
        let path = NODES.path("", &name);
        let controller = Who::Controller("node-controller");
        let untainted = json!({"spec": {"taints": null}});
        cx.client.merge(controller, &path, &untainted).await?;
    }
    Ok(())
}

fn object(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
        },
    })
}

fn status(now: &str, name: &str, at: usize) -> Value {
    let address = address(at);
    let condition = |what: &str, is: &str, reason: &str, message: &str| {
        json!({
            "type": what,
            "status": is,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    let room = json!({
        "cpu": "1k",
        "memory": "1Ti",
        "ephemeral-storage": "1Ti",
        "pods": "10k",
    });
    json!({
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": name},
        ],
        "capacity": room,
        "allocatable": room,
        "conditions": [
            condition(
                "MemoryPressure",
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ),
            condition(
                "DiskPressure",
                "False",
                "KubeletHasNoDiskPressure",
                "kubelet has no disk pressure",
            ),
            condition(
                "PIDPressure",
                "False",
                "KubeletHasSufficientPID",
                "kubelet has sufficient PID available",
            ),
            condition("Ready", "True", "KubeletReady", "simulated: no container runs"),
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "simulated://0",
            "kernelVersion": "",
            "kubeProxyVersion": "",
            "kubeletVersion": GIT_VERSION,
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "simulated",
            "systemUUID": "",
        },
    })
}

/// The address of a node; those behind the last one share it.
fn address(at: usize) -> String {
    format!("172.18.{}.{}", at / 250 % 256, at % 250 + 2)
}
