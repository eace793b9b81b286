//! What a token of a service account says, and whether what it is bound to is still there.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use jiff::Timestamp;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::user::{AUTHENTICATED, User};
use kubewright_storage::Store;
use serde_json::Value;

use super::tokens::ServiceAccountTokens;

/// Why a token names nobody.
#[derive(Debug)]
pub(super) enum Refused {
    /// This server has not signed it.
    NotOurs,
    /// It does not hold any more, with the reason in the words of the real server.
    Invalid(String),
}

/// The service account whom a token names and the audiences that the token is for.
///
/// # Errors
/// This server has not signed it, it has expired, or something that it is bound to is gone.
pub(super) fn user_of(
    tokens: &ServiceAccountTokens,
    store: &Store,
    token: &str,
) -> std::result::Result<(User, Vec<String>), Refused> {
    // The clocks of two machines differ.
    const LEEWAY: i64 = 60;
    let claims = claims(tokens, token)?;
    let expires = claims["exp"].as_i64().unwrap_or_default();
    if expires + LEEWAY < Timestamp::now().as_second() {
        let why = "service account token has expired";
        return Err(Refused::Invalid(why.to_owned()));
    }
    let known = &claims["kubernetes.io"];
    let namespace = known["namespace"].as_str().unwrap_or_default();
    let (name, uid) = reference(&known["serviceaccount"]);
    still_exists(store, namespace, known).map_err(Refused::Invalid)?;
    let audiences = claims["aud"].as_array().into_iter().flatten();
    let audiences = audiences.filter_map(Value::as_str).map(str::to_owned);
    let credential = format!("JTI={}", claims["jti"].as_str().unwrap_or_default());
    let mut extra = BTreeMap::new();
    let mut tell = |key: &str, value: &str| {
        if !value.is_empty() {
            let key = format!("authentication.kubernetes.io/{key}");
            extra.insert(key, vec![value.to_owned()]);
        }
    };
    tell("credential-id", &credential);
    for kind in ["pod", "node"] {
        let (name, uid) = reference(&known[kind]);
        tell(&format!("{kind}-name"), name);
        tell(&format!("{kind}-uid"), uid);
    }
    let mut user = User {
        uid: uid.to_owned(),
        extra,
        ..User::service_account(namespace, name)
    };
    user.groups.push(AUTHENTICATED.to_owned());
    Ok((user, audiences.collect()))
}

/// Base64 as Go reads it: the last character may have bits that belong to no byte.
const AS_GO: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// What a token says that this server has signed.
fn claims(tokens: &ServiceAccountTokens, token: &str) -> std::result::Result<Value, Refused> {
    let read = || {
        let (signed, signature) = token.rsplit_once('.')?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Value = serde_json::from_slice(&AS_GO.decode(claims).ok()?).ok()?;
        let signature = AS_GO.decode(signature).ok()?;
        Some((signed, signature, claims))
    };
    let (signed, signature, claims) = read().ok_or(Refused::NotOurs)?;
    if !tokens.accepts(claims["iss"].as_str().unwrap_or_default()) {
        return Err(Refused::NotOurs);
    }
    if tokens.verify(signed.as_bytes(), &signature) {
        return Ok(claims);
    }
    let why = "go-jose/go-jose: error in cryptographic primitive";
    Err(Refused::Invalid(why.to_owned()))
}

/// The name and the uid that a token says of something.
fn reference(claim: &Value) -> (&str, &str) {
    let text = |field: &str| claim[field].as_str().unwrap_or_default();
    (text("name"), text("uid"))
}

/// Whether the account and what the token is bound to are still those that they were.
fn still_exists(store: &Store, namespace: &str, known: &Value) -> std::result::Result<(), String> {
    let stored_uid = |table: &str, key: &str| {
        let object = store.get(table, key)?;
        Some(meta_text(&object.value(), "uid").to_owned())
    };
    let (name, uid) = reference(&known["serviceaccount"]);
    let stored = stored_uid("serviceaccounts", &format!("{namespace}/{name}"))
        .ok_or_else(|| format!("serviceaccounts {} not found", quoted(name)))?;
    if stored != uid {
        return Err(format!(
            "service account UID ({stored}) does not match claim ({uid})"
        ));
    }
    for kind in ["secret", "pod", "node"] {
        // The node of a pod is told of and not looked for.
        if known[kind].is_null() || kind == "node" && !known["pod"].is_null() {
            continue;
        }
        let (name, uid) = reference(&known[kind]);
        let key = match kind {
            "node" => name.to_owned(),
            _ => format!("{namespace}/{name}"),
        };
        let stored = stored_uid(&format!("{kind}s"), &key)
            .ok_or("service account token has been invalidated")?;
        if stored != uid {
            return Err(format!(
                "{kind} UID ({stored}) does not match service account {kind} ref claim ({uid})",
            ));
        }
    }
    Ok(())
}
