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

use super::legacy_tokens;
use super::tokens::ServiceAccountTokens;

/// Why a token does not authenticate a user.
#[derive(Debug)]
pub(super) enum Refused {
    /// This server has not issued the token.
    NotOurs,
    /// The token is no longer valid, with the real server's message.
    Invalid(String),
}

/// Returns the service account of a token and the audiences of the token.
///
/// # Errors
/// This server has not issued the token, it has expired, or an object that it is bound to no longer exists.
pub(super) fn user_of(
    tokens: &ServiceAccountTokens,
    store: &Store,
    token: &str,
) -> std::result::Result<(User, Vec<String>), Refused> {
    // The clocks of two machines differ.
    const LEEWAY: i64 = 60;
    let claims = claims(tokens, token)?;
    if legacy_tokens::is_legacy(&claims) {
        let user = legacy_tokens::user_of(store, token, &claims).map_err(Refused::Invalid)?;
        let audiences = tokens.own_audiences().into_iter().map(str::to_owned);
        return Ok((user, audiences.collect()));
    }
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

/// Verifies the signature of a token and returns its claims.
fn claims(tokens: &ServiceAccountTokens, token: &str) -> std::result::Result<Value, Refused> {
    let read = || {
        let (signed, signature) = token.rsplit_once('.')?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Value = serde_json::from_slice(&AS_GO.decode(claims).ok()?).ok()?;
        let signature = AS_GO.decode(signature).ok()?;
        Some((signed, signature, claims))
    };
    let (signed, signature, claims) = read().ok_or(Refused::NotOurs)?;
    let is_ours = tokens.accepts(claims["iss"].as_str().unwrap_or_default());
    if !is_ours && !legacy_tokens::is_legacy(&claims) {
        return Err(Refused::NotOurs);
    }
    if tokens.verify(signed.as_bytes(), &signature) {
        return Ok(claims);
    }
    let why = "go-jose/go-jose: error in cryptographic primitive";
    Err(Refused::Invalid(why.to_owned()))
}

/// Returns the name and the UID of an object that a token refers to.
fn reference(claim: &Value) -> (&str, &str) {
    let text = |field: &str| claim[field].as_str().unwrap_or_default();
    (text("name"), text("uid"))
}

/// Checks that the service account and the objects that the token is bound to still exist with the same UIDs.
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
        // A token that is bound to a pod names the pod's node as well; only the pod has to exist.
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
