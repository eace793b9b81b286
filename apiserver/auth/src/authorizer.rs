//! Authorizers, their decisions, and the error message of a forbidden request (spec section C.10).

use std::fmt;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::selectors::Fields;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::user::{MASTERS, UNAUTHENTICATED, User};
use kubewright_cel::Target;

use super::question::{About, Question};
use super::rbac::policy::RoleReference;
use super::rbac::rule::Rule;

/// Decides whether a user may do something.
pub trait Authorizer: fmt::Debug + Send + Sync {
    /// Answers one question.
    fn decide(&self, question: &Question<'_>) -> Decision;

    /// Lists what a user may do in a namespace, or in the whole cluster if `namespace` is empty.
    fn rules(&self, user: &User, namespace: &str) -> Rules;
}

/// The decision of an authorizer, with a reason, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer is a yes or none")]
pub enum Decision {
    /// The authorizer allows the request.
    Allow(String),
    /// The authorizer does not allow the request; another one may.
    NoOpinion(String),
}

/// The rules that apply to a user, as far as the authorizer can list them.
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "authorizers make it")]
pub struct Rules {
    /// The rules.
    pub told: Vec<Rule>,
    /// Roles that bindings of the user name and that do not exist.
    pub missing: Vec<RoleReference>,
    /// Why the list is incomplete, if the user may do more than rules can express.
    pub untold: Option<&'static str>,
}

/// Allows everything to authenticated users, and public paths to anonymous ones.
#[derive(Debug)]
pub(crate) struct AllowAuthenticated;

impl Authorizer for AllowAuthenticated {
    fn decide(&self, question: &Question<'_>) -> Decision {
        if is_known(question.user) || is_public(question) {
            Decision::Allow(String::new())
        } else {
            Decision::NoOpinion(String::new())
        }
    }

    fn rules(&self, user: &User, _: &str) -> Rules {
        let rules = is_known(user).then(Rule::everything);
        Rules {
            told: rules.into_iter().flatten().collect(),
            ..Rules::default()
        }
    }
}

fn is_known(user: &User) -> bool {
    let is_in = |name: &str| user.groups.iter().any(|group| group == name);
    !is_in(UNAUTHENTICATED) || is_in(MASTERS)
}

/// Answers an access check of an expression, in a request of `requester`.
pub fn answer_expression(
    authorizer: &dyn Authorizer,
    requester: &User,
    check: &kubewright_cel::AccessCheck<'_>,
) -> kubewright_cel::Decision {
    let account;
    let user = match check.user {
        kubewright_cel::User::Requester => requester,
        kubewright_cel::User::ServiceAccount { namespace, name } => {
            // Not in the group `system:authenticated`, as the real server has it in expressions.
            account = User::service_account(namespace, name);
            &account
        }
    };
    let fields;
    let about = match check.target {
        Target::Path(path) => About::Path(path),
        Target::Resource(resource) => {
            fields = Fields::parse(resource.field_selector).ok();
            About::Resource {
                group: resource.group,
                resource: resource.resource,
                subresource: resource.subresource,
                namespace: resource.namespace,
                name: resource.name,
                fields: fields.as_ref(),
            }
        }
    };
    let decision = authorizer.decide(&Question {
        user,
        verb: check.verb,
        about,
    });
    let (allowed, reason) = match decision {
        Decision::Allow(reason) => (true, reason),
        Decision::NoOpinion(reason) => (false, reason),
    };
    kubewright_cel::Decision {
        allowed,
        reason,
        error: String::new(),
    }
}

/// Whether the question is about a path that every client may read: health and version (the role
/// `system:public-info-viewer`).
fn is_public(question: &Question<'_>) -> bool {
    const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let About::Path(path) = question.about else {
        return false;
    };
    question.verb == "get" && PUBLIC.contains(&path)
}

/// Asks the authorizer, and returns the reason if it allows the request.
///
/// # Errors
/// 403 if it does not.
pub fn check(authorizer: &dyn Authorizer, question: &Question<'_>) -> Result<String> {
    match authorizer.decide(question) {
        Decision::Allow(why) => Ok(why),
        Decision::NoOpinion(why) => Err(forbidden(question, &why)),
    }
}

/// Returns the Status of a forbidden request; `why` may be empty.
pub fn forbidden(question: &Question<'_>, why: &str) -> Status {
    let Question { user, verb, about } = *question;
    let user = quoted(&escaped(&user.username));
    let verb = escaped(verb);
    let because = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    match about {
        About::Path(path) => {
            let path = quoted(&escaped(path));
            let message = format!("forbidden: User {user} cannot {verb} path {path}{because}");
            let mut status = Status::new(403, "Forbidden", message);
            status.details_mut();
            status
        }
        About::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            ..
        } => {
            let what = if subresource.is_empty() {
                quoted(&escaped(resource))
            } else {
                quoted(&escaped(&format!("{resource}/{subresource}")))
            };
            let place = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {}", quoted(&escaped(namespace)))
            };
            let group_text = quoted(&escaped(group));
            let text = format!(
                "User {user} cannot {verb} resource {what} in API group {group_text} {place}{because}"
            );
            Status::forbidden(group, resource, name, &text)
        }
    }
}

/// Escapes HTML: user-chosen strings are shown on consoles that may be web pages.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct DenyAll;

    impl Authorizer for DenyAll {
        fn decide(&self, _: &Question<'_>) -> Decision {
            Decision::NoOpinion(String::new())
        }

        fn rules(&self, _: &User, _: &str) -> Rules {
            Rules::default()
        }
    }

    fn refusal(about: About<'_>) -> String {
        let user = User {
            username: "a<b".to_owned(),
            ..User::default()
        };
        let question = Question {
            user: &user,
            verb: "get",
            about,
        };
        check(&DenyAll, &question).unwrap_err().message().to_owned()
    }

    #[test]
    fn refusals_name_the_user_the_verb_and_the_thing() {
        assert_eq!(
            refusal(About::Resource {
                group: "apps",
                resource: "deployments",
                subresource: "scale",
                namespace: "ns",
                name: "web",
                fields: None,
            }),
            "deployments.apps \"web\" is forbidden: User \"a&lt;b\" cannot get resource \
             \"deployments/scale\" in API group \"apps\" in the namespace \"ns\"",
        );
        assert_eq!(
            refusal(About::Resource {
                group: "",
                resource: "nodes",
                subresource: "",
                namespace: "",
                name: "",
                fields: None,
            }),
            "nodes is forbidden: User \"a&lt;b\" cannot get resource \"nodes\" in API group \
             \"\" at the cluster scope",
        );
        assert_eq!(
            refusal(About::Path("/logs")),
            "forbidden: User \"a&lt;b\" cannot get path \"/logs\"",
        );
    }
}
