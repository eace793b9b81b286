//! The owner of the Secret: the service account of the program.

use http::Request;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::secret::{Failure, Place};

impl Place {
    /// The service account of this program, if it is in the Secret's namespace.
    ///
    /// Every user may create a SelfSubjectReview, unless an administrator has revoked that permission: then the Secret has no
    /// owner.
    pub(crate) async fn account(&self) -> Option<OwnerReference> {
        match self.user().await {
            Ok(user) => account(user, &self.namespace),
            Err(failure) => {
                tracing::debug!(secret = %self, error = %failure, "cannot tell whose the Secret is");
                None
            }
        }
    }

    async fn user(&self) -> Result<UserInfo, Failure> {
        let body = br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
        let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.to_vec())
            .map_err(kube::core::request::Error::BuildRequest);
        let answer = self.ask(request).await?;
        let review: SelfSubjectReview = answer.read("review")??;
        let status = review.status.unwrap_or_default();
        Ok(status.user_info.unwrap_or_default())
    }
}

/// A service account that was deleted and made again has another UID: what its predecessor owns is not its own.
fn account(user: UserInfo, namespace: &str) -> Option<OwnerReference> {
    let name = user.username?;
    let name = name
        .strip_prefix("system:serviceaccount:")?
        .strip_prefix(namespace)?
        .strip_prefix(':')?;
    Some(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        uid: user.uid.filter(|uid| !uid.is_empty())?,
        ..OwnerReference::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_service_account_of_the_same_namespace_can_own_the_secret() {
        for (name, uid, owner) in [
            ("system:serviceaccount:blue:policy", "1-2", Some("policy")),
            ("system:serviceaccount:blue:policy", "", None),
            ("system:serviceaccount:bluer:policy", "1-2", None),
            ("system:serviceaccount:red:policy", "1-2", None),
            ("blue:policy", "1-2", None),
        ] {
            let user = UserInfo {
                username: Some(name.to_owned()),
                uid: Some(uid.to_owned()),
                ..UserInfo::default()
            };
            let found = account(user, "blue").map(|account| account.name);
            assert_eq!(found.as_deref(), owner, "{name} {uid}");
        }
    }
}
