//! The source of a request: client addresses and user agent.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::USER_AGENT;

/// Returns the addresses of `X-Forwarded-For`, of `X-Real-Ip` unless it is among them, and of the connection unless it is
/// the last one already.
pub(super) fn addresses(headers: &HeaderMap, connection: Option<IpAddr>) -> Vec<String> {
    let forwarded = text(headers, "x-forwarded-for").split(',');
    let mut addresses: Vec<IpAddr> = forwarded
        .filter_map(|part| part.trim().parse().ok())
        .collect();
    if let Ok(real) = text(headers, "x-real-ip").parse()
        && !addresses.contains(&real)
    {
        addresses.push(real);
    }
    if let Some(connection) = connection
        && addresses.last() != Some(&connection)
    {
        addresses.push(connection);
    }
    addresses.iter().map(ToString::to_string).collect()
}

/// Returns the user agent of the client, truncated to 1024 bytes.
pub(super) fn user_agent(headers: &HeaderMap) -> String {
    const MOST: usize = 1024;
    let text = text(headers, USER_AGENT.as_str());
    match text.get(..MOST) {
        Some(start) if text.len() > MOST => format!("{start}...TRUNCATED"),
        _ => text.to_owned(),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (http::HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn proxies_come_before_the_connection_and_no_address_comes_twice() {
        let connection = Some([127, 0, 0, 1].into());
        let all = headers(&[
            ("x-forwarded-for", "10.1.1.1, unknown ,::1"),
            ("x-real-ip", "10.1.1.1"),
        ]);
        assert_eq!(
            addresses(&all, connection),
            ["10.1.1.1", "::1", "127.0.0.1"]
        );
        let real = headers(&[("x-real-ip", "127.0.0.1")]);
        assert_eq!(addresses(&real, connection), ["127.0.0.1"]);
        assert!(addresses(&HeaderMap::new(), None).is_empty());
    }

    #[test]
    fn the_name_of_a_client_is_cut() {
        let long = "x".repeat(1025);
        let name = user_agent(&headers(&[("user-agent", &long)]));
        assert_eq!(name, format!("{}...TRUNCATED", "x".repeat(1024)));
        let short = "x".repeat(1024);
        assert_eq!(user_agent(&headers(&[("user-agent", &short)])), short);
    }
}
