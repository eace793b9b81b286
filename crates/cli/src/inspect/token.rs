//! The token by which a program knows who looks: a short one of a ServiceAccount that may do nothing else, since the program sees it.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client, Error};

use crate::failure::{Failure, Outcome};

/// Has the API server make a token of a ServiceAccount.
pub(crate) async fn token(client: &Client, namespace: &str, account: &str) -> Outcome<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(LIFETIME),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let parameters = PostParams::default();
    let made = accounts.create_token_request(account, &parameters, &request);
    let made = made.await.map_err(|error| {
        let hints: &[String] = match &error {
            Error::Api(status) if status.code == 404 => &[
                format!("create one that may look inside, and nothing else: kubectl create serviceaccount {account} --namespace {namespace}"),
                format!("bind the role to it: kubectl create clusterrolebinding {account} --clusterrole {account} --serviceaccount {namespace}:{account}"),
                "or name another with --service-account, or pass a token with --token".to_owned(),
            ],
            Error::Api(status) if status.code == 403 => &[
                format!("have an administrator let you `create` serviceaccounts/token in the namespace {namespace}, or give you a token for --token"),
            ],
            _ => &[],
        };
        let what = format!("cannot get a token of the ServiceAccount {namespace}/{account}");
        let failure = Failure::from(anyhow::Error::from(error).context(what));
        hints.iter().fold(failure, |failure, hint| failure.hint(hint.clone()))
    })?;
    let token = made.status.and_then(|status| status.token);
    token.ok_or_else(|| Failure::new("the API server answers without a token"))
}

/// The shortest life that API servers give a token, in seconds.
const LIFETIME: i64 = 600;
