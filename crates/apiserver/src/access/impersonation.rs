//! `Impersonate-*` headers: `kubectl --as`.

use http::HeaderMap;

use super::{AUTHENTICATED, Question, UNAUTHENTICATED, check as check_rights};
use crate::admission::User;
use crate::field::quoted;
use crate::kinds::names;
use crate::rest::path::decoded;
use crate::server::Shared;
use crate::status::{Result, Status};

/// The user whom the request acts as, if that is another than the sender.
///
/// # Errors
/// 403 if the sender may not impersonate, 400 for parts without a user.
pub(crate) fn impersonated(
    shared: &Shared,
    user: &User,
    headers: &HeaderMap,
) -> Result<Option<User>> {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    };
    let name = text("impersonate-user");
    let mut groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect();
    let mut wanted = User {
        username: name.to_owned(),
        uid: text("impersonate-uid").to_owned(),
        ..User::default()
    };
    for (header, value) in headers {
        let Some(key) = header.as_str().strip_prefix("impersonate-extra-") else {
            continue;
        };
        if let Ok(value) = value.to_str() {
            let key = decoded(key).to_lowercase();
            wanted.extra.entry(key).or_default().push(value.to_owned());
        }
    }
    if name.is_empty() {
        if groups.is_empty() && wanted.uid.is_empty() && wanted.extra.is_empty() {
            return Ok(None);
        }
        wanted.groups = groups;
        return Err(Status::bad_request(format!(
            "requested {} without impersonating a user name",
            shown(&wanted)
        )));
    }
    let service_account = service_account(name);
    check(shared, user, name, service_account)?;
    if let Some((namespace, _)) = service_account
        && groups.is_empty()
    {
        groups = vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
    }
    let everybody = if name == "system:anonymous" {
        UNAUTHENTICATED
    } else {
        AUTHENTICATED
    };
    if !groups.iter().any(|group| group == everybody) {
        groups.push(everybody.to_owned());
    }
    wanted.groups = groups;
    Ok(Some(wanted))
}

fn check(
    shared: &Shared,
    user: &User,
    name: &str,
    service_account: Option<(&str, &str)>,
) -> Result<()> {
    let (resource, namespace, target) = match service_account {
        Some((namespace, account)) => ("serviceaccounts", namespace, account),
        None => ("users", "", name),
    };
    let question = Question {
        user,
        verb: "impersonate",
        group: "",
        resource,
        namespace,
        name: target,
        subresource: "",
        path: "",
    };
    check_rights(&*shared.access.authorizer, &question)
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

fn service_account(name: &str) -> Option<(&str, &str)> {
    let (namespace, account) = name
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    let valid =
        names::dns1123_label(namespace).is_empty() && names::dns1123_subdomain(account).is_empty();
    valid.then_some((namespace, account))
}
