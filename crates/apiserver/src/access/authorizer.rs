//! The question "may they?", who answers it, and the words of a refusal (spec section C.10).

use std::fmt;

use super::UNAUTHENTICATED;
use crate::admission::User;
use crate::field::quoted;
use crate::status::{Result, Status};

/// Decides whether a user may do something.
pub(crate) trait Authorizer: fmt::Debug + Send + Sync {
    /// Answers one question.
    fn decide(&self, question: &Question<'_>) -> Decision;
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) user: &'a User,
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    /// The resource; empty for a path.
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The path of a request that is about no resource.
    pub(crate) path: &'a str,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    /// Nothing allows it; with a reason, if there is more to say than that.
    NoOpinion(String),
}

/// Lets every authenticated user do everything, and the others ask what is public.
#[derive(Debug)]
pub(crate) struct AllowAuthenticated;

impl Authorizer for AllowAuthenticated {
    fn decide(&self, question: &Question<'_>) -> Decision {
        let is_in = |name: &str| question.user.groups.iter().any(|group| group == name);
        let unknown = is_in(UNAUTHENTICATED) && !is_in("system:masters");
        if unknown && !is_public(question) {
            return Decision::NoOpinion(String::new());
        }
        Decision::Allow
    }
}

/// What anybody may ask: whether the server lives, and what it is (the role `system:public-info-viewer`).
fn is_public(question: &Question<'_>) -> bool {
    const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    question.resource.is_empty() && question.verb == "get" && PUBLIC.contains(&question.path)
}

/// Asks, and words the refusal.
///
/// # Errors
/// 403 for what is not allowed.
pub(crate) fn check(authorizer: &dyn Authorizer, question: &Question<'_>) -> Result<()> {
    match authorizer.decide(question) {
        Decision::Allow => Ok(()),
        Decision::NoOpinion(why) => Err(forbidden(question, &why)),
    }
}

fn forbidden(question: &Question<'_>, why: &str) -> Status {
    let Question {
        user,
        verb,
        group,
        resource,
        subresource,
        namespace,
        name,
        path,
    } = *question;
    let user = quoted(&escaped(&user.username));
    let because = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    if resource.is_empty() {
        let path = quoted(&escaped(path));
        let message = format!("forbidden: User {user} cannot {verb} path {path}{because}");
        let mut status = Status::new(403, "Forbidden", message);
        status.details_mut();
        return status;
    }
    let what = if subresource.is_empty() {
        quoted(resource)
    } else {
        quoted(&format!("{resource}/{subresource}"))
    };
    let place = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {}", quoted(namespace))
    };
    let group_text = quoted(group);
    let text = format!(
        "User {user} cannot {verb} resource {what} in API group {group_text} {place}{because}"
    );
    Status::forbidden(group, resource, name, &text)
}

/// What a user chose is shown on consoles that may be web pages.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nobody;

    impl Authorizer for Nobody {
        fn decide(&self, _: &Question<'_>) -> Decision {
            Decision::NoOpinion(String::new())
        }
    }

    fn refusal(resource: &str, subresource: &str, namespace: &str, name: &str) -> String {
        let user = User {
            username: "a<b".to_owned(),
            ..User::default()
        };
        let question = Question {
            user: &user,
            verb: "get",
            group: if resource == "deployments" {
                "apps"
            } else {
                ""
            },
            resource,
            subresource,
            namespace,
            name,
            path: "/logs",
        };
        check(&Nobody, &question).unwrap_err().message().to_owned()
    }

    #[test]
    fn refusals_name_the_user_the_verb_and_the_thing() {
        assert_eq!(
            refusal("deployments", "scale", "ns", "web"),
            "deployments.apps \"web\" is forbidden: User \"a&lt;b\" cannot get resource \
             \"deployments/scale\" in API group \"apps\" in the namespace \"ns\"",
        );
        assert_eq!(
            refusal("nodes", "", "", ""),
            "nodes is forbidden: User \"a&lt;b\" cannot get resource \"nodes\" in API group \
             \"\" at the cluster scope",
        );
        assert_eq!(
            refusal("", "", "", ""),
            "forbidden: User \"a&lt;b\" cannot get path \"/logs\"",
        );
    }
}
