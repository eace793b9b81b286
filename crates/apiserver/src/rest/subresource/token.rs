//! `serviceaccounts/token`: signed tokens for service accounts, and reading them back.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::access::AUTHENTICATED;
use crate::admission::{Operation, User};
use crate::field::{FieldError, Path};
use crate::rest::answer;
use crate::rest::body::Body;
use crate::rest::call::{Call, meta_text, metadata_mut};
use crate::rest::decode::{self, Decoded};
use crate::rest::metadata::{clear_owned, now, seconds, settle_namespace};
use crate::rest::query::WriteOptions;
use crate::rest::tracking;
use crate::schema::Medium;
use crate::server::Shared;
use crate::status::{Result, Status};

/// Who signs and accepts the tokens, where a request does not say it.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Answers a `TokenRequest` with a token.
pub(super) async fn request(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let Some(part) = call.resource.subresource("token") else {
        return Err(Status::no_such_resource());
    };
    let Decoded {
        object: mut request,
        empties,
    } = decode::body(call, &part.kind, &options)?;
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = 3600.into();
    }
    call.audit(&part.kind, &request);
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
    let request = &mut attributes.object;
    let audiences = request["spec"]["audiences"].as_array();
    if audiences.is_none_or(Vec::is_empty) {
        request["spec"]["audiences"] = json!([ISSUER]);
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
    let lasts = check(request)?;
    check_bound(call, &request["spec"]["boundObjectRef"])?;
    call.validate(&attributes).await?;
    attributes.write_empties(Medium::Json);
    let mut request = attributes.object;
    let ends = Timestamp::now() + SignedDuration::from_secs(lasts);
    let token = if options.dry_run {
        String::new()
    } else {
        sign(call, &account, &request, ends)
    };
    request["status"] = json!({"token": token, "expirationTimestamp": seconds(ends)});
    let output = call.output.of_the_object();
    Ok(answer::value(StatusCode::CREATED, &output, &request))
}

/// The service account whom a token names and the audiences that the token is for, if this server signed it and it still
/// holds.
pub(crate) fn user_of(shared: &Shared, token: &str) -> Option<(User, Vec<String>)> {
    let (signed, signature) = token.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    hmac::verify(&key(shared), signed.as_bytes(), &signature).ok()?;
    let (_, claims) = signed.split_once('.')?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    if claims["exp"].as_i64()? <= Timestamp::now().as_second() {
        return None;
    }
    let known = &claims["kubernetes.io"];
    let namespace = known["namespace"].as_str()?;
    let account = &known["serviceaccount"];
    let (name, uid) = (account["name"].as_str()?, account["uid"].as_str()?);
    let stored = shared
        .store
        .get("serviceaccounts", &format!("{namespace}/{name}"))?;
    if meta_text(&stored.value(), "uid") != uid {
        return None;
    }
    let audiences = claims["aud"].as_array().into_iter().flatten();
    let audiences = audiences.filter_map(Value::as_str).map(str::to_owned);
    let credential = format!("JTI={}", claims["jti"].as_str().unwrap_or_default());
    let user = User {
        username: format!("system:serviceaccount:{namespace}:{name}"),
        uid: uid.to_owned(),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            AUTHENTICATED.to_owned(),
        ],
        extra: [(
            "authentication.kubernetes.io/credential-id".to_owned(),
            vec![credential],
        )]
        .into(),
    };
    Some((user, audiences.collect()))
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

/// A token may be bound to what can be looked up when it is used.
fn check_bound(call: &Call, bound: &Value) -> Result<()> {
    if !bound.is_object() {
        return Ok(());
    }
    let text = |name: &str| bound[name].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let (version, in_core) = match text("apiVersion").split_once('/') {
        Some((group, version)) => (format!("{group}/{version}"), false),
        None => (
            format!("/{}", text("apiVersion")),
            text("apiVersion") == "v1",
        ),
    };
    let (plural, key) = match kind {
        "Pod" if in_core => ("pods", call.key(name)),
        "Secret" if in_core => ("secrets", call.key(name)),
        "Node" if in_core => ("nodes", name.to_owned()),
        _ => {
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {version}, Kind={kind}"
            )));
        }
    };
    let Some(object) = call.shared.store.get(plural, &key) else {
        return Err(Status::not_found("", plural, name));
    };
    let (said, uid) = (text("uid"), meta_text(&object.value(), "uid").to_owned());
    if !said.is_empty() && said != uid {
        let why = format!(
            "the UID in the bound object reference ({said}) does not match the UID in record. The \
             object might have been deleted and then recreated"
        );
        return Err(Status::conflict("", plural, name, &why));
    }
    Ok(())
}

fn invalid(name: &str, error: FieldError) -> Status {
    Status::invalid("authentication.k8s.io", "TokenRequest", name, &[error])
}

fn check(request: &Value) -> Result<i64> {
    const SHORTEST: i64 = 600;
    const LONGEST: i64 = 1 << 32;
    let lasts = request["spec"]["expirationSeconds"]
        .as_i64()
        .unwrap_or_default();
    let path = Path::new("spec.expirationSeconds");
    let wrong = if lasts < SHORTEST {
        Some("may not specify a duration less than 10 minutes")
    } else if lasts > LONGEST {
        Some("may not specify a duration larger than 2^32 seconds")
    } else {
        None
    };
    match wrong {
        None => Ok(lasts),
        Some(why) => {
            let error = FieldError::invalid(&path, lasts, why);
            Err(invalid("", error))
        }
    }
}

fn sign(call: &Call, account: &Value, request: &Value, ends: Timestamp) -> String {
    let id = Uuid::new_v4().to_string();
    call.notes.annotate(
        "authentication.kubernetes.io/issued-credential-id",
        format!("JTI={id}"),
    );
    let issued = Timestamp::now().as_second();
    let (namespace, name) = (&call.path.namespace, &call.path.name);
    let mut known = json!({
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": meta_text(account, "uid")},
    });
    let bound = &request["spec"]["boundObjectRef"];
    if let Some(kind) = bound["kind"].as_str() {
        known[kind.to_lowercase()] = json!({"name": bound["name"], "uid": bound["uid"]});
    }
    let claims = json!({
        "aud": request["spec"]["audiences"],
        "exp": ends.as_second(),
        "iat": issued,
        "iss": ISSUER,
        "jti": id,
        "kubernetes.io": known,
        "nbf": issued,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
    });
    let header = json!({"alg": "HS256", "typ": "JWT"});
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(&claims));
    let signature = hmac::sign(&key(&call.shared), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// The key is made from the admin's token, which is as secret and lives as long.
fn key(shared: &Shared) -> hmac::Key {
    let secret = format!("service accounts {}", shared.access.token());
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())
}
