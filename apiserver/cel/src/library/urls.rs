//! URLs, as Go's `net/url` reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Declaration, guarded};
use crate::eval::{Evaluated, Failure};
use crate::value::{Key, Map, Object, Text, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded("url", "string_to_url", "(string) -> kubernetes.URL", url),
    guarded("isURL", "is_url_string", "(string) -> bool", is_url),
    guarded(
        "getScheme",
        "url_get_scheme",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.scheme.clone()),
    ),
    guarded(
        "getHost",
        "url_get_host",
        "kubernetes.URL.() -> string",
        |values| part(values, |url| url.host.clone()),
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

/// An absolute URL, or an absolute path as in the first line of a request.
#[derive(Clone, Debug)]
pub struct Url {
    scheme: String,
    user: Option<String>,
    host: String,
    /// With its escapes.
    path: String,
    query: Option<String>,
    fragment: Option<String>,
}

impl Url {
    /// Reads an absolute URL or an absolute path, as a request line has them.
    pub(crate) fn parse_request(text: &str) -> Result<Self, String> {
        Self::parse(text, true).map_err(|reason| format!("parse {text:?}: {reason}"))
    }

    fn parse(text: &str, request: bool) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && request {
            return Err("empty url".to_owned());
        }
        let (body, fragment) = match text.split_once('#') {
            Some((body, fragment)) if !request => (body, Some(fragment.to_owned())),
            _ => (text, None),
        };
        let (scheme, rest) = split_scheme(body)?;
        let (rest, query) = rest
            .split_once('?')
            .map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let mut made = Self {
            scheme: scheme.to_ascii_lowercase(),
            user: None,
            host: String::new(),
            path: String::new(),
            query: query.map(str::to_owned),
            fragment,
        };
        if !rest.starts_with('/') {
            if !made.scheme.is_empty() {
                // What follows the scheme is opaque, as in `mailto:a@b`.
                return Ok(made);
            }
            if request {
                return Err("invalid URI for request".to_owned());
            }
            if rest
                .split('/')
                .next()
                .is_some_and(|first| first.contains(':'))
            {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let mut path = rest;
        let authority = rest
            .strip_prefix("//")
            .filter(|_| !made.scheme.is_empty() || !rest.starts_with("///"));
        if let Some(after) =
            authority.filter(|_| !(request && made.scheme.is_empty() && rest.starts_with("///")))
        {
            let (authority, after) = after.split_at(after.find('/').unwrap_or(after.len()));
            made.set_authority(authority)?;
            path = after;
        }
        check_escapes(path)?;
        made.path = escaped_path(path);
        Ok(made)
    }

    fn set_authority(&mut self, authority: &str) -> Result<(), String> {
        let host = match authority.rsplit_once('@') {
            Some((user, host)) => {
                let fits = user.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)
                });
                if !fits {
                    return Err("net/url: invalid userinfo".to_owned());
                }
                self.user = Some(user.to_owned());
                host
            }
            None => authority,
        };
        let port = if let Some(inner) = host.strip_prefix('[') {
            let Some((_, after)) = inner.rsplit_once(']') else {
                return Err("missing ']' in host".to_owned());
            };
            after
        } else {
            host.rfind(':').map_or("", |at| &host[at..])
        };
        let digits = port.strip_prefix(':').unwrap_or(port);
        if !digits.bytes().all(|byte| byte.is_ascii_digit())
            || (!port.is_empty() && !port.starts_with(':'))
        {
            return Err(format!("invalid port {port:?} after host"));
        }
        if let Some(bad) = host.chars().find(|one| " \"<>\\^`{|}".contains(*one)) {
            return Err(format!(
                "invalid character {:?} in host name",
                bad.to_string()
            ));
        }
        check_escapes(host)?;
        host.clone_into(&mut self.host);
        Ok(())
    }

    /// The host without its brackets, and the port.
    fn host_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (&*self.host, ""),
        };
        let inner = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.host.is_empty() || self.user.is_some() {
            f.write_str("//")?;
            if let Some(user) = &self.user {
                write!(f, "{user}@")?;
            }
            f.write_str(&self.host)?;
        }
        f.write_str(&self.path)?;
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if let Some(fragment) = &self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

/// The scheme before the first colon, if what stands there can be one.
fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn check_escapes(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        let hex = |offset: usize| bytes.get(index + offset).is_some_and(u8::is_ascii_hexdigit);
        if *byte == b'%' && !(hex(1) && hex(2)) {
            let end = (index + 3).min(text.len());
            let shown = text.get(index..end).unwrap_or("%");
            return Err(format!("invalid URL escape {shown:?}"));
        }
    }
    Ok(())
}

/// The path with everything escaped that must be; escapes that are there stay as they are.
fn escaped_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]%".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let digit = |value: u8| char::from_digit(u32::from(value & 0xf), 16).unwrap_or('0');
            out.push('%');
            out.push(digit(byte >> 4).to_ascii_uppercase());
            out.push(digit(byte).to_ascii_uppercase());
        }
    }
    out
}

/// Undoes the escapes of a query; none if they are broken.
fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let value = digit()? * 16 + digit()?;
                out.push(u8::try_from(value).ok()?);
            }
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok()
}

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
    let parsed = Url::parse(text, false)
        .map_err(|reason| wrong(format!("parse {:?}: {reason}", &**text)))?;
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
    let pairs = only(values)?.query.clone().unwrap_or_default();
    for pair in pairs
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
