//! Certificate signing: requests of kubelets are approved, and approved requests to the signers of Kubernetes are signed.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::client::{Api, Failure, Who};
use super::graph::{Change, Graph};
use super::object::{Item, list, text};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome, Requested};

/// The controllers of CertificateSigningRequests.
#[derive(Debug)]
pub(super) struct Certificates;

const TABLE: &str = "certificatesigningrequests.certificates.k8s.io";
const API: Api = Api::of_cluster_in("/apis/certificates.k8s.io/v1", "certificatesigningrequests");
const WHO: Who<'static> = Who::Controller("certificate-controller");

const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";

impl Controller for Certificates {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) => look(cx, &item).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn look(cx: &Context, item: &Item) -> Outcome {
    let request = item.object.value();
    let has = |what: &str| {
        list(&request, "/status/conditions")
            .iter()
            .any(|condition| condition["type"] == what && condition["status"] == "True")
    };
    let signed = !text(&request, "/status/certificate").is_empty();
    if signed || has("Denied") || has("Failed") {
        return Ok(Next::Done);
    }
    let Some(pem) = pem(&request) else {
        return Ok(Next::Done);
    };
    if has("Approved") {
        return sign(cx, request, &pem).await;
    }
    approve(cx, request, &pem).await
}

/// The request in PEM, which the API server has checked.
fn pem(request: &Value) -> Option<String> {
    let bytes = BASE64_STANDARD
        .decode(text(request, "/spec/request"))
        .ok()?;
    String::from_utf8(bytes).ok()
}

fn usages(request: &Value) -> Vec<&str> {
    let usages = list(request, "/spec/usages").iter();
    usages.filter_map(Value::as_str).collect()
}

/// Approves the request for the client certificate of a kubelet, if its user may make it.
async fn approve(cx: &Context, mut request: Value, pem: &str) -> Outcome {
    if text(&request, "/spec/signerName") != KUBELET_CLIENT {
        return Ok(Next::Done);
    }
    let requested = cx.authority.read(pem).map_err(Failure::own)?;
    if kubelet_client(&requested, &usages(&request)).is_err() {
        return Ok(Next::Done);
    }
    let own = requested.common_name == text(&request, "/spec/username");
    let recognized = [
        (
            own,
            "selfnodeclient",
            "Auto approving self kubelet client certificate after SubjectAccessReview.",
        ),
        (
            true,
            "nodeclient",
            "Auto approving kubelet client certificate after SubjectAccessReview.",
        ),
    ];
    for (is, subresource, message) in recognized {
        if !is || !may(cx, &request, subresource).await? {
            continue;
        }
        let condition = json!({
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
        });
        add_condition(&mut request, condition);
        let path = API.path("", text(&request, "/metadata/name"));
        let path = format!("{path}/approval");
        cx.client.put(WHO, &path, &request).await?;
        return Ok(Next::Done);
    }
    Ok(Next::Done)
}

fn add_condition(request: &mut Value, condition: Value) {
    let conditions = &mut request["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Value::Array(conditions) = conditions {
        conditions.push(condition);
    }
}

/// Asks whether the user of a request may create requests of this sort.
async fn may(cx: &Context, request: &Value, subresource: &str) -> Result<bool, Failure> {
    let spec = &request["spec"];
    let mut review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": spec["username"],
            "resourceAttributes": {
                "group": "certificates.k8s.io",
                "resource": "certificatesigningrequests",
                "verb": "create",
                "subresource": subresource,
                "version": "*",
            },
        },
    });
    for name in ["uid", "groups", "extra"] {
        if !spec[name].is_null() {
            review["spec"][name] = spec[name].clone();
        }
    }
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = cx.client.post(WHO, path, &review).await?;
    Ok(answer["status"]["allowed"] == true)
}

/// Signs an approved request, if its signer is one of Kubernetes.
async fn sign(cx: &Context, mut request: Value, pem: &str) -> Outcome {
    let requested = cx.authority.read(pem).map_err(Failure::own)?;
    let usages = usages(&request);
    let valid = match text(&request, "/spec/signerName") {
        "kubernetes.io/kube-apiserver-client" => client(&usages),
        KUBELET_CLIENT => kubelet_client(&requested, &usages),
        "kubernetes.io/kubelet-serving" => kubelet_serving(&requested, &usages),
        "kubernetes.io/legacy-unknown" => Ok(()),
        _ => return Ok(Next::Done),
    };
    let now = cx.clock.now().as_second();
    let signed = valid.and_then(|()| {
        let times = validity(now, request["spec"]["expirationSeconds"].as_i64());
        cx.authority.sign(pem, &usages, times)
    });
    match signed {
        Ok(certificate) => {
            request["status"]["certificate"] = BASE64_STANDARD.encode(certificate).into();
        }
        Err(message) => {
            let condition = json!({
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": message,
                "lastUpdateTime": cx.clock.text(),
            });
            add_condition(&mut request, condition);
        }
    }
    cx.client.update_status(WHO, &API, &request).await?;
    Ok(Next::Done)
}

/// The times between which a certificate is valid: a year at most, and a little before now for clocks that differ.
fn validity(now: i64, wanted: Option<i64>) -> (i64, i64) {
    const YEAR: i64 = 365 * 24 * 3600;
    const LEAST: i64 = 10 * 60;
    const BACKDATE: i64 = 5 * 60;
    const SHORT: i64 = 8 * 3600;
    let lifetime = wanted.map_or(YEAR, |wanted| wanted.clamp(LEAST, YEAR));
    let end = if lifetime < SHORT {
        lifetime
    } else {
        lifetime - BACKDATE
    };
    (now - BACKDATE, now + end)
}

fn client(usages: &[&str]) -> Result<(), String> {
    const CLIENT: &str = "client auth";
    let other = usages
        .iter()
        .find(|usage| !matches!(**usage, CLIENT | "digital signature" | "key encipherment"));
    if let Some(other) = other {
        return Err(format!("invalid usage for client certificate: {other}"));
    }
    if !usages.contains(&CLIENT) {
        return Err(format!(
            "missing required usage for client certificate: {CLIENT}"
        ));
    }
    Ok(())
}

fn kubelet_client(requested: &Requested, usages: &[&str]) -> Result<(), String> {
    of_nodes(requested)?;
    let [dns, addresses, emails, uris] = requested.alternative_names;
    for (number, what) in [
        (dns, "DNS"),
        (emails, "Email"),
        (addresses, "IP"),
        (uris, "URI"),
    ] {
        if number > 0 {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    named_as_node(requested)?;
    exactly(usages, "client auth")
}

fn kubelet_serving(requested: &Requested, usages: &[&str]) -> Result<(), String> {
    of_nodes(requested)?;
    let [dns, addresses, emails, uris] = requested.alternative_names;
    if dns + addresses == 0 {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    for (number, what) in [(emails, "Email"), (uris, "URI")] {
        if number > 0 {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    exactly(usages, "server auth")?;
    named_as_node(requested)
}

fn of_nodes(requested: &Requested) -> Result<(), String> {
    if requested.organizations == ["system:nodes"] {
        return Ok(());
    }
    Err("subject organization is not system:nodes".to_owned())
}

fn named_as_node(requested: &Requested) -> Result<(), String> {
    if requested.common_name.starts_with("system:node:") {
        return Ok(());
    }
    Err("subject common name does not begin with system:node:".to_owned())
}

/// Asserts that the usages are those of a kubelet's certificate; not every key enciphers other keys.
fn exactly(usages: &[&str], purpose: &str) -> Result<(), String> {
    let mut sorted = usages.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let all = if purpose < "digital signature" {
        [purpose, "digital signature", "key encipherment"]
    } else {
        ["digital signature", "key encipherment", purpose]
    };
    let without: Vec<&str> = all
        .into_iter()
        .filter(|usage| *usage != "key encipherment")
        .collect();
    if sorted == all || sorted == without {
        return Ok(());
    }
    Err(format!("usages did not match [{}]", all.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_gets_a_certificate_of_its_node_alone() {
        let requested = |organization: &str, name: &str, alternative_names| Requested {
            common_name: name.to_owned(),
            organizations: vec![organization.to_owned()],
            alternative_names,
        };
        let node = requested("system:nodes", "system:node:a", [0; 4]);
        let usages = ["key encipherment", "digital signature", "client auth"];
        assert_eq!(kubelet_client(&node, &usages), Ok(()));
        assert_eq!(kubelet_client(&node, &usages[1..]), Ok(()));
        for (requested, usages, message) in [
            (
                requested("other", "system:node:a", [0; 4]),
                &usages[..],
                "subject organization is not system:nodes",
            ),
            (
                requested("system:nodes", "jane", [0; 4]),
                &usages,
                "subject common name does not begin with system:node:",
            ),
            (
                requested("system:nodes", "system:node:a", [1, 0, 0, 0]),
                &usages,
                "DNS subjectAltNames are not allowed",
            ),
            (
                node,
                &["server auth"],
                "usages did not match [client auth digital signature key encipherment]",
            ),
        ] {
            assert_eq!(kubelet_client(&requested, usages), Err(message.to_owned()));
        }
        let serving = requested("system:nodes", "system:node:a", [1, 1, 0, 0]);
        let usages = ["digital signature", "server auth"];
        assert_eq!(kubelet_serving(&serving, &usages), Ok(()));
    }

    #[test]
    fn a_certificate_is_valid_for_ten_minutes_at_least_and_a_year_at_most() {
        for (wanted, valid) in [
            (None, (700, 1000 + 365 * 24 * 3600 - 300)),
            (Some(60), (700, 1600)),
            (Some(3600), (700, 4600)),
            (Some(9 * 3600), (700, 1000 + 9 * 3600 - 300)),
            (Some(i64::MAX), (700, 1000 + 365 * 24 * 3600 - 300)),
        ] {
            assert_eq!(validity(1000, wanted), valid, "{wanted:?}");
        }
    }
}
