//! URLs, as Go's `net/url` reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::url::unescape;
use crate::value::{Key, Map, Object, Text, Url, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded("url", "string_to_url", "(string) -> kubernetes.URL", url),
    guarded("isURL", "is_url_string", "(string) -> bool", is_url),
    guarded(
        "getScheme",
        "url_get_scheme",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.scheme().to_owned()),
    ),
    guarded(
        "getHost",
        "url_get_host",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.host().to_owned()),
    ),
    guarded(
        "getHostname",
        "url_get_hostname",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.host_and_port().0.to_owned()),
    ),
    guarded(
        "getPort",
        "url_get_port",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.host_and_port().1.to_owned()),
    ),
    guarded(
        "getEscapedPath",
        "url_get_escaped_path",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.path.clone()),
    ),
    guarded(
        "getQuery",
        "url_get_query",
        "kubernetes.URL.() -> map(string, list(string))",
        query,
    ),
];

fn url<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text)] = values else {
        return Err(Failure::no_such_overload());
    };
    let wrong = |reason: String| {
        Failure::new(format!(
            "URL parse error during conversion from string: {reason}"
        ))
    };
    Url::parse_request(text).map_err(wrong)?;
    let parsed = Url::parse(text).map_err(wrong)?;
    Ok(Value::Object(Object::Url(Arc::new(parsed))))
}

fn is_url<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(text)] => Ok(Value::Bool(Url::parse_request(text).is_ok())),
        _ => Err(Failure::no_such_overload()),
    }
}

fn only<'v>(values: &'v [Value<'_>]) -> Result<&'v Url, Failure> {
    match values {
        [Value::Object(Object::Url(url))] => Ok(url),
        _ => Err(Failure::no_such_overload()),
    }
}

fn part<'a>(values: &[Value<'a>], of: fn(&Url) -> String) -> Evaluated<'a> {
    only(values).map(|url| Value::text(of(url)))
}

fn query<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let mut found: BTreeMap<Key<'a>, Vec<Value<'a>>> = BTreeMap::new();
    for pair in only(values)?
        .query()
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (unescape(name), unescape(value)) {
            found
                .entry(Key::String(Text::Shared(name.into())))
                .or_default()
                .push(Value::text(value));
        }
    }
    let entries = found
        .into_iter()
        .map(|(name, values)| (name, Value::list(values)))
        .collect();
    Ok(Value::Map(Map::Values(Arc::new(entries))))
}
