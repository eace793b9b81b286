//! `Impersonate-*` headers: `kubectl --as`. There are several modes of impersonation, tried from the one that needs the
//! narrowest permission to the one that needs the widest.

use std::collections::HashMap;

use http::HeaderMap;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED};
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::{percent, user::User};
use parking_lot::Mutex;

use super::authorizer::{Authorizer, check, forbidden};
use super::question::{About, Question};

/// The user that a request impersonates.
#[derive(Debug)]
#[non_exhaustive]
pub struct Impersonated {
    /// The user.
    pub user: User,
    /// The verb of constrained impersonation that allowed it; empty for the legacy verb `impersonate`.
    pub constraint: String,
}

/// The modes of impersonation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The node that the sender, a service account, runs on.
    AssociatedNode,
    AnyNode,
    ServiceAccount,
    /// A user that is neither a node nor a service account.
    UserInfo,
    /// Any user, with the verb `impersonate` for all requests.
    Legacy,
}

/// The mode that last succeeded for each user, which is tried first for the next request.
#[derive(Debug, Default)]
pub struct LastModes(Mutex<HashMap<String, Mode>>);

/// One attempt to impersonate a user in one mode.
struct Attempt<'a> {
    authorizer: &'a dyn Authorizer,
    sender: &'a User,
    wanted: &'a User,
    mode: Mode,
}

const MODES: [Mode; 5] = [
    Mode::AssociatedNode,
    Mode::AnyNode,
    Mode::ServiceAccount,
    Mode::UserInfo,
    Mode::Legacy,
];

/// Returns the impersonated user, or `None` if the headers name none; `request` is what the request itself asks for. Before
/// 1.36, impersonation was not constrained.
///
/// # Errors
/// 403 if the sender may not impersonate, 400 for parts without a user.
pub fn impersonated(
    authorizer: &dyn Authorizer,
    version: KubernetesVersion,
    last: &LastModes,
    headers: &HeaderMap,
    request: &Question<'_>,
) -> Result<Option<Impersonated>> {
    let is_constrained = version >= KubernetesVersion::V1_36;
    let wanted = wanted(headers);
    if wanted.username.is_empty() {
        if wanted.groups.is_empty() && wanted.uid.is_empty() && wanted.extra.is_empty() {
            return Ok(None);
        }
        return Err(Status::bad_request(if is_constrained {
            format!(
                "requested {} without impersonating a user name",
                shown(&wanted)
            )
        } else {
            format!(
                "requested {} without impersonating a user",
                references(&wanted)
            )
        }));
    }
    let sender = request.user;
    let preferred = last.of(sender).filter(|_| is_constrained);
    let modes: &[Mode] = if is_constrained {
        &MODES
    } else {
        &[Mode::Legacy]
    };
    let others = modes
        .iter()
        .copied()
        .filter(|mode| Some(*mode) != preferred);
    let mut refusal = None;
    for mode in preferred.into_iter().chain(others) {
        let attempt = Attempt {
            authorizer,
            sender,
            wanted: &wanted,
            mode,
        };
        match attempt.user(request) {
            None => {}
            Some(Ok(user)) => {
                last.set(sender, mode);
                let constraint = match mode {
                    Mode::Legacy => String::new(),
                    mode => mode.verb(),
                };
                return Ok(Some(Impersonated { user, constraint }));
            }
            Some(Err(status)) => refusal = refusal.or(Some(status)),
        }
    }
    // The legacy mode applies to every user, so at least one refusal exists.
    Err(refusal.unwrap_or_else(|| Status::plain("all impersonation modes failed")))
}

/// Reads the user to impersonate from the headers, unchecked.
fn wanted(headers: &HeaderMap) -> User {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let groups = headers.get_all("impersonate-group").iter();
    let groups = groups.filter_map(|value| value.to_str().ok());
    let mut wanted = User {
        username: text("impersonate-user"),
        uid: text("impersonate-uid"),
        groups: groups.map(str::to_owned).collect(),
        ..User::default()
    };
    for (header, value) in headers {
        let Some(key) = header.as_str().strip_prefix("impersonate-extra-") else {
            continue;
        };
        if let Ok(value) = value.to_str() {
            let key = percent::decode(key).to_lowercase();
            wanted.extra.entry(key).or_default().push(value.to_owned());
        }
    }
    wanted
}

impl LastModes {
    fn of(&self, user: &User) -> Option<Mode> {
        self.0.lock().get(&user.username).copied()
    }

    fn set(&self, user: &User, mode: Mode) {
        const MOST: usize = 1024;
        let mut modes = self.0.lock();
        if modes.len() >= MOST {
            modes.clear();
        }
        modes.insert(user.username.clone(), mode);
    }
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::AnyNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    /// The verb that the sender needs on the impersonated user.
    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".to_owned(),
            mode => format!("impersonate:{}", mode.name()),
        }
    }

    fn fits(self, wanted: &User, sender: &User) -> bool {
        let named_only =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (node(&wanted.username), service_account(&wanted.username));
        match self {
            Self::AssociatedNode => {
                let runs_on = match sender.extra.get(NODE_NAME).map(Vec::as_slice) {
                    Some([node]) => Some(node.as_str()),
                    _ => None,
                };
                let is_account = service_account(&sender.username).is_some();
                named_only && node.is_some() && is_account && runs_on == node
            }
            Self::AnyNode => named_only && node.is_some(),
            Self::ServiceAccount => named_only && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

impl Attempt<'_> {
    /// Returns the impersonated user, or `None` if the mode does not apply to the wanted user.
    fn user(&self, request: &Question<'_>) -> Option<Result<User>> {
        if !self.mode.fits(self.wanted, self.sender) {
            return None;
        }
        Some(self.may_do(request).and_then(|()| self.may_be()))
    }

    fn constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    /// Checks that the sender may do what the request asks for while it impersonates a user.
    fn may_do(&self, request: &Question<'_>) -> Result<()> {
        if !self.constrained() {
            return Ok(());
        }
        let verb = format!("impersonate-on:{}:{}", self.mode.name(), request.verb);
        let question = Question {
            verb: &verb,
            ..*request
        };
        check(self.authorizer, &question).map(drop)
    }

    /// Checks that the sender may impersonate every part of the wanted user: name, UID, groups and extra.
    fn may_be(&self) -> Result<User> {
        let mut user = self.wanted.clone();
        self.may_be_named(&mut user)?;
        if !user.uid.is_empty() {
            self.ask(AUTHENTICATION, "uids", "", "", &user.uid)?;
        }
        self.may_be_in_groups()?;
        self.may_have_extra()?;
        let implied = if user.username == ANONYMOUS {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        let is_in = |name: &str| user.groups.iter().any(|group| group == name);
        if !is_in(implied) && !is_in(UNAUTHENTICATED) {
            user.groups.push(implied.to_owned());
        }
        Ok(user)
    }

    fn may_be_named(&self, user: &mut User) -> Result<()> {
        let group = self.group_of_users();
        let name = user.username.clone();
        if let Some((namespace, account)) = service_account(&name) {
            if user.groups.is_empty() {
                user.groups = User::service_account(namespace, account).groups;
            }
            return self.ask(group, "serviceaccounts", "", namespace, account);
        }
        match node(&name).filter(|_| self.constrained()) {
            Some(node) => {
                user.groups = vec!["system:nodes".to_owned()];
                let of_all = self.mode == Mode::AssociatedNode;
                self.ask(group, "nodes", "", "", if of_all { "*" } else { node })
            }
            None => self.ask(group, "users", "", "", &name),
        }
    }

    fn may_be_in_groups(&self) -> Result<()> {
        let (groups, of) = (&self.wanted.groups, self.group_of_users());
        if self.constrained() {
            if groups.iter().any(String::is_empty) {
                let why = "impersonating the empty string group is not allowed";
                return Err(self.refused(of, "groups", "", why));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let why = "impersonating the system:masters group is not allowed";
                return Err(self.refused(of, "groups", MASTERS, why));
            }
            if groups.len() >= MANY && self.ask(of, "groups", "", "", "*").is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.ask(of, "groups", "", "", group))
    }

    fn may_have_extra(&self) -> Result<()> {
        let extra = &self.wanted.extra;
        let (of, resource) = (AUTHENTICATION, "userextras");
        if self.constrained() {
            if let Some(why) = extra.iter().find_map(|(key, values)| faulty(key, values)) {
                return Err(self.refused(of, resource, "", &why));
            }
            let many = extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.ask(of, resource, "*", "", "*").is_ok() {
                return Ok(());
            }
        }
        extra.iter().try_for_each(|(key, values)| {
            let mut values = values.iter();
            values.try_for_each(|value| self.ask(of, resource, key, "", value))
        })
    }

    /// The API group of the resources `users` and `groups` in permissions.
    fn group_of_users(&self) -> &'static str {
        if self.constrained() {
            AUTHENTICATION
        } else {
            ""
        }
    }

    fn ask(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<()> {
        let about = About::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            fields: None,
        };
        let question = Question {
            user: self.sender,
            verb: &self.mode.verb(),
            about,
        };
        check(self.authorizer, &question).map(drop)
    }

    fn refused(&self, group: &str, resource: &str, name: &str, why: &str) -> Status {
        let about = About::Resource {
            group,
            resource,
            subresource: "",
            namespace: "",
            name,
            fields: None,
        };
        let question = Question {
            user: self.sender,
            verb: &self.mode.verb(),
            about,
        };
        forbidden(&question, why)
    }
}

/// Returns the error for an extra attribute that constrained impersonation does not allow.
fn faulty(key: &str, values: &[String]) -> Option<String> {
    let prefixed = key.split_once('/').is_some_and(|(domain, path)| {
        names::dns1123_subdomain(domain).is_empty() && !path.is_empty()
    });
    if !prefixed {
        let path = Path::new("extra.key");
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        let error = FieldError::invalid(&path, key, why);
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: {error}"
        ));
    }
    let empty = values.iter().any(String::is_empty);
    empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// The user as Go prints its struct.
fn shown(user: &User) -> String {
    let list = |values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        format!("[]string{{{}}}", values.join(", "))
    };
    let groups = match user.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => list(groups),
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries = user.extra.iter();
        let entries: Vec<String> = entries
            .map(|(key, values)| format!("{}:{}", quoted(key), list(values)))
            .collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:\"\", UID:{}, Groups:{groups}, Extra:{extra}}}",
        quoted(&user.uid)
    )
}

/// The parts of the user as Go prints the references by which they were asked for, before 1.36.
fn references(user: &User) -> String {
    let group = |group: &String| format!("{{Group  {group}    }}");
    let mut all: Vec<String> = user.groups.iter().map(group).collect();
    let of = "authentication.k8s.io/v1";
    for (key, values) in &user.extra {
        let extra = |value: &String| format!("{{UserExtra  {value}  {of}  {key}}}");
        all.extend(values.iter().map(extra));
    }
    if !user.uid.is_empty() {
        all.push(format!("{{UID  {}  {of}  }}", user.uid));
    }
    format!("[{}]", all.join(" "))
}

fn service_account(name: &str) -> Option<(&str, &str)> {
    let (namespace, account) = name
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    let valid =
        names::dns1123_label(namespace).is_empty() && names::dns1123_subdomain(account).is_empty();
    valid.then_some((namespace, account))
}

fn node(name: &str) -> Option<&str> {
    let node = name.strip_prefix("system:node:")?;
    names::dns1123_subdomain(node).is_empty().then_some(node)
}

/// The key of the extra attribute with the node's name, which the token of a pod's service account sets.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The API group of the resources that constrained impersonation checks.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// From this number of groups or extra attributes on, a permission on all of them is tried first.
const MANY: usize = 4;
