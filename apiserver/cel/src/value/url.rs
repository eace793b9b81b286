//! URLs, as Go's `net/url` reads them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::netip;
use crate::quote::quoted;

/// A URL, taken apart as Go's `net/url` does it: Kubernetes' library of CEL and the checks of webhooks rest on its rules.
///
/// ```
/// use kubewright_cel::Url;
///
/// let url = Url::parse("HTTPS://policy.example.com:8443/v1?strict").unwrap();
/// assert_eq!(url.scheme(), "https");
/// assert_eq!(url.host(), "policy.example.com:8443");
/// assert_eq!(url.query(), "strict");
///
/// let refusal = Url::parse("https://a b/#c").unwrap_err();
/// assert_eq!(refusal, r#"parse "https://a b/": invalid character " " in host name"#);
/// ```
#[derive(Clone, Debug)]
pub struct Url {
    scheme: String,
    user: Option<String>,
    host: String,
    /// With its escapes.
    pub(crate) path: String,
    query: Option<String>,
    fragment: Option<String>,
}

impl Url {
    /// Reads a URL, which may be relative or have a fragment.
    ///
    /// # Errors
    ///
    /// The text of Go's error, which quotes the URL without its fragment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::read(before, false).map_err(|reason| refusal(before, &reason))?;
        if !fragment.is_empty() {
            check_escapes(fragment).map_err(|reason| refusal(text, &reason))?;
            url.fragment = Some(fragment.to_owned());
        }
        Ok(url)
    }

    /// Reads an absolute URL or an absolute path, as a request line has them.
    pub(crate) fn parse_request(text: &str) -> Result<Self, String> {
        Self::read(text, true).map_err(|reason| refusal(text, &reason))
    }

    fn read(text: &str, is_of_request: bool) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && is_of_request {
            return Err("empty url".to_owned());
        }
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = rest
            .split_once('?')
            .map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let mut made = Self {
            scheme: scheme.to_ascii_lowercase(),
            user: None,
            host: String::new(),
            path: String::new(),
            query: query.map(str::to_owned),
            fragment: None,
        };
        if text == "*" {
            text.clone_into(&mut made.path);
            return Ok(made);
        }
        let has_scheme = !made.scheme.is_empty();
        if !rest.starts_with('/') {
            if has_scheme {
                // What follows the scheme is opaque, as in `mailto:a@b`.
                return Ok(made);
            }
            if is_of_request {
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
            .filter(|after| has_scheme || !(is_of_request || after.starts_with('/')));
        if let Some(after) = authority {
            let (authority, after) = after.split_at(after.find('/').unwrap_or(after.len()));
            made.set_authority(authority)?;
            path = after;
        }
        check_escapes(path)?;
        made.path = escaped(path, IN_PATH);
        Ok(made)
    }

    fn set_authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.set_host(host)?;
        let Some(user) = user else {
            return Ok(());
        };
        let fits = user
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte));
        if !fits {
            return Err("net/url: invalid userinfo".to_owned());
        }
        check_escapes(user)?;
        let shown = match user.split_once(':') {
            Some((name, password)) => {
                format!("{}:{}", escaped(name, IN_USER), escaped(password, IN_USER))
            }
            None => escaped(user, IN_USER),
        };
        self.user = Some(shown);
        Ok(())
    }

    fn set_host(&mut self, host: &str) -> Result<(), String> {
        if host.rfind('[').is_some_and(|at| at > 0) {
            return Err("invalid IP-literal".to_owned());
        }
        let (literal, port) = if let Some(inner) = host.strip_prefix('[') {
            let Some((literal, after)) = inner.rsplit_once(']') else {
                return Err("missing ']' in host".to_owned());
            };
            (Some(literal), after)
        } else {
            // More than one colon is a mistake where the scheme is known.
            let at = if matches!(&*self.scheme, "http" | "https") {
                host.find(':')
            } else {
                host.rfind(':')
            };
            (None, at.map_or("", |at| &host[at..]))
        };
        let digits = port.strip_prefix(':').unwrap_or(port);
        if !digits.bytes().all(|byte| byte.is_ascii_digit())
            || (!port.is_empty() && !port.starts_with(':'))
        {
            return Err(format!("invalid port {} after host", quoted(port)));
        }
        check_host(host)?;
        if let Some(literal) = literal {
            check_literal(&literal.replacen("%25", "%", 1))?;
        }
        host.clone_into(&mut self.host);
        Ok(())
    }

    /// The scheme in lower case, such as `https`; empty for a relative URL.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user information, `name:password` in `https://name:password@host/`.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host with its port, as in `[::1]:8443`; empty if there is none.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What follows the question mark.
    pub fn query(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// What follows the number sign, with its escapes.
    pub fn fragment(&self) -> &str {
        self.fragment.as_deref().unwrap_or_default()
    }

    /// The host without its brackets, and the port.
    pub(crate) fn host_and_port(&self) -> (&str, &str) {
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

fn refusal(text: &str, reason: &str) -> String {
    format!("parse {}: {reason}", quoted(text))
}

/// Splits a URL into the scheme before the first colon and the rest; the scheme is empty if that prefix is not a valid one.
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
    escapes(text).try_for_each(|(shown, value)| value.map(drop).ok_or_else(|| bad_escape(shown)))
}

fn bad_escape(shown: &str) -> String {
    format!("invalid URL escape {}", quoted(shown))
}

/// The escapes of a text, and the bytes that they stand for, if they do for one.
fn escapes(text: &str) -> impl Iterator<Item = (&str, Option<u8>)> {
    text.match_indices('%').map(|(at, _)| {
        let shown = (at + 1..=at + 3).rev().find_map(|end| text.get(at..end));
        let shown = shown.unwrap_or("%");
        let value = shown
            .get(1..)
            .filter(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        (shown, value)
    })
}

/// In a host only what is not ASCII is escaped, and the percent sign before the zone of an address.
fn check_host(host: &str) -> Result<(), String> {
    for (shown, value) in escapes(host) {
        if value.is_none_or(|value| value < 0x80 && value != b'%') {
            return Err(bad_escape(shown));
        }
    }
    match host.chars().find(|one| " \\^`{|}".contains(*one)) {
        Some(bad) => Err(format!(
            "invalid character {} in host name",
            quoted(&bad.to_string())
        )),
        None => Ok(()),
    }
}

/// Only an address of version 6 is written in brackets.
fn check_literal(literal: &str) -> Result<(), String> {
    let address = literal
        .split_once('%')
        .map_or(literal, |(address, _)| address);
    if address.parse::<Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    match address.parse::<Ipv6Addr>() {
        Ok(_) if !literal.ends_with('%') => Ok(()),
        _ => Err(format!("invalid host: {}", netip::refusal(literal))),
    }
}

const IN_PATH: &[u8] = b"-_.~$&+,/:;=@!'()*[]%";
const IN_USER: &[u8] = b"-_.~$&+,;=%";

/// Escapes a part of a URL but for letters, digits and what is `kept`; existing escapes stay unchanged.
fn escaped(part: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
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
pub(crate) fn unescape(text: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::Url;

    /// What Go's `url.Parse` answered.
    #[test]
    fn urls_are_taken_apart_as_go_does() {
        for (text, scheme, host, user) in [
            ("fe80::/64", "fe80", "", None),
            ("a:b", "a", "", None),
            ("//h/x", "", "h", None),
            ("///x", "", "", None),
            ("*", "", "", None),
            ("", "", "", None),
            ("ab://a:1:2/x", "ab", "a:1:2", None),
            ("HTTPS://a", "https", "a", None),
            ("https:/a", "https", "", None),
            ("https://a\"<>/x?", "https", "a\"<>", None),
            ("https://u:p:q@h", "https", "h", Some("u:p%3Aq")),
            ("https://[::1]:80/", "https", "[::1]:80", None),
        ] {
            let url = Url::parse(text).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(
                (url.scheme(), url.host(), url.user()),
                (scheme, host, user),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_url_is_refused_in_the_words_of_go() {
        for (text, why) in [
            (":a", "missing protocol scheme"),
            ("1a:b/c", "first path segment in URL cannot contain colon"),
            ("https://a:1:2/x", "invalid port \":1:2\" after host"),
            ("https://a:b/", "invalid port \":b\" after host"),
            ("https://[::1", "missing ']' in host"),
            ("https://[::1]x", "invalid port \"x\" after host"),
            (
                "https://[1]/",
                "invalid host: ParseAddr(\"1\"): unable to parse IP",
            ),
            ("https://[1.2.3.4]/", "invalid IP-literal"),
            ("https://a[b", "invalid IP-literal"),
            ("https://a%41", "invalid URL escape \"%41\""),
            ("https://a%zz", "invalid URL escape \"%zz\""),
            ("https://a/%4", "invalid URL escape \"%4\""),
            ("https://a|b/", "invalid character \"|\" in host name"),
            ("https://u^@h", "net/url: invalid userinfo"),
            ("\u{1}", "net/url: invalid control character in URL"),
        ] {
            let refusal = Url::parse(text).expect_err(text);
            assert_eq!(
                refusal.split_once(": ").map(|(_, why)| why),
                Some(why),
                "{text}"
            );
        }
    }
}
