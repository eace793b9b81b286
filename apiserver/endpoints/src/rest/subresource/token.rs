//! `serviceaccounts/token`: signed tokens for service accounts, and reading them back.

use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kubewright_admission::Operation;
use kubewright_apimachinery::accessor::{meta_text, metadata_mut};
use kubewright_apimachinery::conform::Medium;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time::{now, seconds};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::token_request;
use crate::body::Body;
use crate::rest::call::Call;
use crate::rest::decode::{self, Decoded};
use crate::rest::metadata::{clear_owned, settle_namespace};
use crate::rest::query::WriteOptions;
use crate::rest::{answer, tracking};

/// Answers a `TokenRequest` with a token.
pub(super) async fn request(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let Some(part) = call.resource.subresource("token") else {
        return Err(Status::no_such_resource());
    };
    let Decoded {
        object: mut request,
        empties,
        ..
    } = decode::body(call, &part.kind, &options)?;
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = 3600.into();
    }
    call.audit(&part.kind, &request);
    // The uid is a precondition here.
    let uid = meta_text(&request, "uid").to_owned();
    clear_owned(&mut request);
    settle_namespace(call, &mut request)?;
    let mut attributes = call.attributes(Operation::Create, options.to_value("CreateOptions"));
    attributes.kind = part.kind.clone();
    attributes.dry_run = options.dry_run;
    attributes.object = request;
    attributes.empties = empties;
    tracking::mutate(call, &options, &mut attributes).await?;
    check_name(call, &attributes.object)?;
    let account = call.value(&*call.stored()?).await?;
    check_uid(call, &uid, &account)?;
    let request = &mut attributes.object;
    let audiences = request["spec"]["audiences"].as_array();
    if audiences.is_none_or(Vec::is_empty) {
        request["spec"]["audiences"] = json!(call.shared.access.service_accounts.own_audiences());
    }
    let metadata = metadata_mut(request);
    for (field, value) in [
        ("name", call.path.name.clone()),
        ("namespace", call.path.namespace.clone()),
        ("uid", meta_text(&account, "uid").to_owned()),
        ("creationTimestamp", now()),
    ] {
        metadata.insert(field.to_owned(), value.into());
    }
    let errors = token_request::check(request);
    if !errors.is_empty() {
        let (group, kind) = ("authentication.k8s.io", "TokenRequest");
        return Err(Status::invalid(group, kind, "", &errors));
    }
    let lasts = request["spec"]["expirationSeconds"].as_i64();
    call.validate(&attributes).await?;
    attributes.write_empties(Medium::Json);
    let mut request = attributes.object;
    let bound = bound_to(call, &request["spec"]["boundObjectRef"])?;
    let ends = Timestamp::now() + SignedDuration::from_secs(lasts.unwrap_or_default());
    let token = if options.dry_run {
        String::new()
    } else {
        sign(call, &account, &request, bound, ends)?
    };
    request["status"] = json!({"token": token, "expirationTimestamp": seconds(ends)});
    let output = call.output.of_the_object();
    Ok(answer::value(StatusCode::CREATED, &output, &request))
}

/// The name and the namespace of the request, if it has any, are those of the account.
fn check_name(call: &Call, request: &Value) -> Result<()> {
    let name = &call.path.name;
    for (field, wanted) in [("name", name), ("namespace", &call.path.namespace)] {
        let said = meta_text(request, field);
        if !said.is_empty() && said != wanted {
            let path = format!("metadata.{field}");
            let why = format!("must match the service account {field} if specified");
            let error = FieldError::invalid(&Path::new(&path), said, &why);
            return Err(invalid(name, error));
        }
    }
    Ok(())
}

/// The uid of the request, if it has any, is that of the account.
fn check_uid(call: &Call, said: &str, account: &Value) -> Result<()> {
    let uid = meta_text(account, "uid");
    if said.is_empty() || said == uid {
        return Ok(());
    }
    let why = format!(
        "the UID in the token request ({said}) does not match the UID of the service account ({uid})"
    );
    let (group, kind) = ("authentication.k8s.io", "TokenRequest");
    Err(Status::conflict(group, kind, &call.path.name, &why))
}

/// The claims about the object that a token is bound to, and can be looked up when the token is used.
fn bound_to(call: &Call, bound: &Value) -> Result<Map<String, Value>> {
    let mut claims = Map::new();
    if !bound.is_object() {
        return Ok(claims);
    }
    let text = |name: &str| bound[name].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let (version, in_core) = match text("apiVersion").split_once('/') {
        Some((group, version)) => (format!("{group}/{version}"), false),
        None => (format!("/{}", text("apiVersion")), true),
    };
    let (plural, key) = match kind {
        "Pod" if in_core => ("pods", call.key(name)),
        "Secret" if in_core => ("secrets", call.key(name)),
        "Node" if in_core => ("nodes", name.to_owned()),
        _ => {
            // The gate is closed, so that these are refused like others, in more words.
            let more = if token_request::is_of_webhook(bound) {
                " (feature gate APIServerWebhookAuthenticationToken is disabled)"
            } else {
                ""
            };
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {version}, Kind={kind}{more}"
            )));
        }
    };
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let store = &call.shared.store;
    let Some(object) = store.get(plural, &key) else {
        return Err(Status::not_found("", plural, name));
    };
    let object = object.value();
    if kind == "Pod" {
        let account = &call.path.name;
        if object["spec"]["serviceAccountName"] != account.as_str() {
            let account = quoted(account);
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {account} to pod running with different \
                 serviceaccount name."
            )));
        }
        if let Some(node) = object["spec"]["nodeName"].as_str() {
            let stored = store.get("nodes", node).map(|node| node.value());
            let mut claim = json!({"name": node});
            if let Some(stored) = stored {
                claim["uid"] = meta_text(&stored, "uid").into();
            }
            claims.insert("node".to_owned(), claim);
        }
    }
    let (said, uid) = (text("uid"), meta_text(&object, "uid"));
    if !said.is_empty() && said != uid {
        let why = format!(
            "the UID in the bound object reference ({said}) does not match the UID in record. The \
             object might have been deleted and then recreated"
        );
        return Err(Status::conflict("", kind, name, &why));
    }
    claims.insert(kind.to_lowercase(), json!({"name": name, "uid": uid}));
    Ok(claims)
}

fn invalid(name: &str, error: FieldError) -> Status {
    Status::invalid("authentication.k8s.io", "TokenRequest", name, &[error])
}

fn sign(
    call: &Call,
    account: &Value,
    request: &Value,
    bound: Map<String, Value>,
    ends: Timestamp,
) -> Result<String> {
    let id = Uuid::new_v4().to_string();
    call.notes.annotate(
        "authentication.kubernetes.io/issued-credential-id",
        format!("JTI={id}"),
    );
    let issued = Timestamp::now().as_second();
    let (namespace, name) = (&call.path.namespace, &call.path.name);
    let mut known = bound;
    known.insert("namespace".to_owned(), namespace.as_str().into());
    let account = json!({"name": name, "uid": meta_text(account, "uid")});
    known.insert("serviceaccount".to_owned(), account);
    let tokens = &call.shared.access.service_accounts;
    let claims = json!({
        "aud": request["spec"]["audiences"],
        "exp": ends.as_second(),
        "iat": issued,
        "iss": tokens.issuer(),
        "jti": id,
        "kubernetes.io": known,
        "nbf": issued,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
    });
    tokens
        .sign(&claims)
        .ok_or_else(|| Status::plain("failed to generate token: the system has no random numbers"))
}
