//! The user of a request: `userInfo` of admission reviews, token reviews and audit events.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The user of a request without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";

/// The group of every user who is authenticated.
pub const AUTHENTICATED: &str = "system:authenticated";

/// The group of every user who is not authenticated.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";

/// The user who sent a request, or as whom it acts.
///
/// ```
/// use kubewright_apimachinery::user::User;
///
/// let user = User::service_account("kube-system", "job-controller");
/// assert_eq!(user.username, "system:serviceaccount:kube-system:job-controller");
/// assert_eq!(user.groups[1], "system:serviceaccounts:kube-system");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the four members of userInfo")]
pub struct User {
    /// The name, such as `kubernetes-admin`.
    pub username: String,
    /// The uid; often empty.
    pub uid: String,
    /// The groups, such as `system:masters`.
    pub groups: Vec<String>,
    /// What the authenticator adds.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Returns the user of a service account, without the groups that every authenticated user has.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            username: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
            ..Self::default()
        }
    }

    /// Returns the user as `userInfo` shows it: without members that are empty.
    pub fn user_info(&self) -> Value {
        let mut info = Map::new();
        if !self.username.is_empty() {
            info.insert("username".to_owned(), self.username.as_str().into());
        }
        if !self.uid.is_empty() {
            info.insert("uid".to_owned(), self.uid.as_str().into());
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), self.groups.clone().into());
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(info)
    }
}
