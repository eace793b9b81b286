//! URLs, read as Go's `url.ParseRequestURI` reads them.

use std::fmt;

/// An absolute URL, or an absolute path as in the first line of a request.
#[derive(Clone, Debug)]
pub struct Url {
    pub(crate) scheme: String,
    user: Option<String>,
    pub(crate) host: String,
    /// With its escapes.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    fragment: Option<String>,
}

impl Url {
    /// Reads an absolute URL or an absolute path, as a request line has them.
    pub(crate) fn parse_request(text: &str) -> Result<Self, String> {
        Self::parse(text, true).map_err(|reason| format!("parse {text:?}: {reason}"))
    }

    pub(crate) fn parse(text: &str, request: bool) -> Result<Self, String> {
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

/// Escapes a path; existing escapes stay unchanged.
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
