//! The headers in which a front proxy says whose request it passes on.

use http::{HeaderMap, HeaderName, HeaderValue};
use kubewright_apimachinery::user::User;

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const EXTRA: &str = "x-remote-extra-";

/// Takes out what the client says of this kind, and says who the user is.
///
/// # Errors
/// The user has a name, a group or another value that no header can hold.
pub(super) fn identify(headers: &mut HeaderMap, user: &User) -> Result<(), String> {
    let claimed: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(EXTRA))
        .cloned()
        .collect();
    for name in claimed.iter().chain([&USER, &UID, &GROUP]) {
        headers.remove(name);
    }
    headers.insert(USER, value(&user.username)?);
    if !user.uid.is_empty() {
        headers.insert(UID, value(&user.uid)?);
    }
    for group in &user.groups {
        headers.append(GROUP, value(group)?);
    }
    for (key, values) in &user.extra {
        let name = format!("{EXTRA}{}", escaped(key));
        let name = HeaderName::from_bytes(name.as_bytes());
        let name = name.map_err(|_| format!("no header can hold the key {key:?}"))?;
        for text in values {
            headers.append(&name, value(text)?);
        }
    }
    Ok(())
}

fn value(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| format!("no header can hold {text:?}"))
}

/// The key with each byte that a header's name cannot have as `%` and its number.
fn escaped(key: &str) -> String {
    use std::fmt::Write as _;
    let mut name = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            name.push(char::from(byte));
        } else {
            // A string takes every write.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
        let values = headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect()
    }

    #[test]
    fn the_user_is_the_authenticated_one_whatever_the_client_claims() {
        let mut headers = HeaderMap::new();
        for (name, claimed) in [
            ("x-remote-user", "admin"),
            ("x-remote-uid", "0"),
            ("x-remote-group", "system:masters"),
            ("x-remote-extra-scopes", "all"),
            ("accept", "application/json"),
        ] {
            headers.insert(name, HeaderValue::from_static(claimed));
        }
        let user = User {
            username: "jane".to_owned(),
            groups: vec!["dev".to_owned(), "system:authenticated".to_owned()],
            extra: [(
                "example.com/Scope%".to_owned(),
                vec!["a".to_owned(), "b".to_owned()],
            )]
            .into(),
            ..User::default()
        };
        identify(&mut headers, &user).unwrap();
        assert_eq!(all(&headers, "x-remote-user"), ["jane"]);
        assert_eq!(
            all(&headers, "x-remote-group"),
            ["dev", "system:authenticated"]
        );
        assert_eq!(
            all(&headers, "x-remote-extra-example.com%2fscope%25"),
            ["a", "b"]
        );
        assert_eq!(headers.len(), 6);
    }

    #[test]
    fn a_user_whom_no_header_can_name_is_not_passed_on_as_another_one() {
        let user = User {
            username: "jane\r\nx-remote-group: system:masters".to_owned(),
            ..User::default()
        };
        assert!(identify(&mut HeaderMap::new(), &user).is_err());
    }
}
