//! The tokens in Secrets of the type `kubernetes.io/service-account-token`: they never expire, and are valid as long as the Secret
//! holds them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::user::{AUTHENTICATED, User};
use kubewright_storage::Store;
use serde_json::Value;

/// Who issues these tokens: the token controller of kube-controller-manager.
const ISSUER: &str = "kubernetes/serviceaccount";

/// Whether the claims are those of such a token.
pub(super) fn is_legacy(claims: &Value) -> bool {
    claims["iss"] == ISSUER
}

/// Returns the service account of a token with these claims, whose signature has been verified.
///
/// # Errors
/// The message of the real server, if a claim is missing, or if the Secret or the account is not the one that the token is of.
pub(super) fn user_of(store: &Store, token: &str, claims: &Value) -> Result<User, String> {
    let required = |claim: &str, name: &str| match claims[claim].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("{name} claim is missing")),
    };
    let subject = required("sub", "sub")?;
    let namespace = required("kubernetes.io/serviceaccount/namespace", "namespace")?;
    let secret = required("kubernetes.io/serviceaccount/secret.name", "secretName")?;
    let name = required(
        "kubernetes.io/serviceaccount/service-account.name",
        "serviceAccountName",
    )?;
    let uid = required(
        "kubernetes.io/serviceaccount/service-account.uid",
        "serviceAccountUID",
    )?;
    let mut user = User::service_account(&namespace, &name);
    if subject != user.username {
        return Err("sub claim is invalid".to_owned());
    }
    let stored = |table: &str, name: &str| {
        let object = store.get(table, &format!("{namespace}/{name}"))?;
        Some(object.value())
    };
    let secret = stored("secrets", &secret)
        .filter(|secret| secret["metadata"]["deletionTimestamp"].is_null())
        .ok_or("token has been invalidated")?;
    let held = secret["data"]["token"].as_str().unwrap_or_default();
    if STANDARD.decode(held).ok().as_deref() != Some(token.as_bytes()) {
        return Err("token does not match server's copy".to_owned());
    }
    let account = stored("serviceaccounts", &name)
        .ok_or_else(|| format!("serviceaccounts {} not found", quoted(&name)))?;
    if !account["metadata"]["deletionTimestamp"].is_null() {
        return Err(format!(
            "ServiceAccount {namespace}/{name} has been deleted"
        ));
    }
    let stored = meta_text(&account, "uid");
    if stored != uid {
        return Err(format!(
            "ServiceAccount UID ({stored}) does not match claim ({uid})"
        ));
    }
    user.uid = uid;
    user.groups.push(AUTHENTICATED.to_owned());
    Ok(user)
}

#[cfg(test)]
mod tests {
    use kubewright_storage::{Draft, Limits};
    use serde_json::json;

    use super::super::bound_tokens::{Refused, user_of};
    use super::super::tokens::ServiceAccountTokens;
    use super::*;

    fn create(store: &Store, table: &str, path: &str, object: &Value) {
        let created = store.create(table, path, Draft::new(object));
        created.expect("the object is new");
    }

    fn claims(secret: &str) -> Value {
        json!({
            "iss": "kubernetes/serviceaccount",
            "sub": "system:serviceaccount:blue:robot",
            "kubernetes.io/serviceaccount/namespace": "blue",
            "kubernetes.io/serviceaccount/secret.name": secret,
            "kubernetes.io/serviceaccount/service-account.name": "robot",
            "kubernetes.io/serviceaccount/service-account.uid": "u-1",
        })
    }

    #[test]
    fn a_token_is_valid_as_long_as_its_secret_holds_it() {
        let store = Store::new(Limits::default());
        let tokens = ServiceAccountTokens::default();
        let token = tokens.sign(&claims("token")).expect("a signed token");
        let refused = |token: &str| match user_of(&tokens, &store, token) {
            Err(Refused::Invalid(why)) => why,
            other => format!("{other:?}"),
        };
        assert_eq!(refused(&token), "token has been invalidated");
        let held = json!({"data": {"token": STANDARD.encode(&token)}});
        create(&store, "secrets", "blue/token", &held);
        assert_eq!(refused(&token), "serviceaccounts \"robot\" not found");
        let account = json!({"metadata": {"namespace": "blue", "name": "robot", "uid": "u-1"}});
        create(&store, "serviceaccounts", "blue/robot", &account);
        let (user, audiences) = user_of(&tokens, &store, &token).expect("a valid token");
        assert_eq!(user.username, "system:serviceaccount:blue:robot");
        assert_eq!(user.uid, "u-1");
        assert!(
            user.groups
                .contains(&"system:serviceaccounts:blue".to_owned())
        );
        assert_eq!(audiences, tokens.own_audiences());

        create(&store, "secrets", "blue/other", &held);
        let other = tokens.sign(&claims("other")).expect("a signed token");
        assert_eq!(refused(&other), "token does not match server's copy");
        let mut forged = claims("token");
        forged["sub"] = "system:serviceaccount:kube-system:robot".into();
        let forged = tokens.sign(&forged).expect("a signed token");
        assert_eq!(refused(&forged), "sub claim is invalid");
    }
}
