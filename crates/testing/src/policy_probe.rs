//! When an API server that tests share evaluates the policies of a program under test.

use std::time::Duration;

use kube::{Client, Error};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::fail;
use crate::isolation::{Isolation, unique};

/// A policy that shows when an API server evaluates those that were installed before it.
pub(crate) struct Probe {
    /// The policy and its binding.
    pub(crate) objects: [Value; 2],
    probe: Value,
}

impl Probe {
    /// One of the same kind as the policy of a binding.
    pub(crate) fn beside(binding: &Value, isolation: &Isolation) -> Self {
        let kind = binding["kind"].as_str().unwrap_or_default();
        let kind = kind.trim_end_matches("Binding");
        let name = unique("test-probe");
        let (constraints, probe) = isolation.probe_of_policies(&name);
        let object = |kind: &str, spec: Value| {
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": name},
                "spec": spec,
            })
        };
        let mut policy = json!({"matchConstraints": constraints, "failurePolicy": "Fail"});
        let mut binding = json!({"policyName": name});
        if kind == "MutatingAdmissionPolicy" {
            policy["reinvocationPolicy"] = json!("Never");
            // A mutation that fails shows it as well as one that changes the probe.
            let expression = "[JSONPatch{op: 'remove', path: '/not/there'}]";
            policy["mutations"] =
                json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]);
        } else {
            policy["validations"] = json!([{"expression": "false"}]);
            binding["validationActions"] = json!(["Deny"]);
        }
        let objects = [
            object(kind, policy),
            object(&format!("{kind}Binding"), binding),
        ];
        Self { objects, probe }
    }

    /// Waits until the API server denies the probe.
    pub(crate) async fn answered(&self, client: &Client, path: &str, timeout: Duration) {
        let name = self.objects[0]["metadata"]["name"]
            .as_str()
            .unwrap_or_default();
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_millis(2);
        loop {
            let body = self.probe.to_string().into_bytes();
            let request = match http::Request::post(path).body(body) {
                Ok(request) => request,
                Err(error) => fail(format_args!("cannot make a probe: {error}")),
            };
            let answer = match client.request::<Value>(request).await {
                Ok(_) => "it does not evaluate them".to_owned(),
                Err(Error::Api(status)) if status.message.contains(name) => return,
                Err(error) => error.to_string(),
            };
            if Instant::now() >= deadline {
                fail(format_args!(
                    "the API server does not evaluate the policies under test within {timeout:?}: {answer}"
                ));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}
