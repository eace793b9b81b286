//! Messages of errors as the page shows them.
//!
//! An error of the API server has no values (see `RequestError`), and one of a program's own code has what its author wrote. So that
//! a credential that slipped into such a text is not shown, what has the form of one is replaced.

/// A text that is fit to be shown: on one line, of a bounded length, and without what looks like a credential.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(LONGEST));
    let mut rest = &text[..text.floor_char_boundary(2 * LONGEST)];
    while let Some(first) = rest.chars().next() {
        if shown.len() > LONGEST {
            shown.truncate(shown.floor_char_boundary(LONGEST));
            shown.push(HIDDEN);
            break;
        }
        if let Some((keep, hide)) = credential(rest, shown.chars().next_back()) {
            shown.extend(rest[..keep].chars().map(printable));
            shown.push(HIDDEN);
            rest = &rest[keep + hide..];
            continue;
        }
        shown.push(printable(first));
        rest = &rest[first.len_utf8()..];
    }
    shown
}

/// Whether a credential is introduced here: how many bytes introduce it, and how many it has.
fn credential(text: &str, before: Option<char>) -> Option<(usize, usize)> {
    if let Some(authority) = text.strip_prefix("://") {
        return in_url(authority);
    }
    if text.starts_with("-----BEGIN ") {
        return Some((0, text.len()));
    }
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    if text.starts_with("eyJ") {
        let token = text.find(ends_word).unwrap_or(text.len());
        return (token > 20).then_some((0, token));
    }
    let word = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
    let name = text[..word].to_ascii_lowercase();
    if matches!(&*name, "bearer" | "basic") {
        let value = text[word..].strip_prefix(' ')?;
        let length = value.find(ends_word).unwrap_or(value.len());
        return (length > 0).then_some((word + 1, length));
    }
    if !SECRETS.iter().any(|secret| name.ends_with(secret)) {
        return None;
    }
    after_name(text, word, &name)
}

/// The user and the password of a URL, or its query, which signs many of them.
fn in_url(authority: &str) -> Option<(usize, usize)> {
    let url = authority.find(ends_word).unwrap_or(authority.len());
    let url = &authority[..url];
    let host = url.find(['/', '?', '#']).unwrap_or(url.len());
    // A password may have a character that a URL would have to escape.
    if let Some(at) = url.rfind('@') {
        return Some((3, at));
    }
    let query = url[host..].find('?')? + host + 1;
    Some((3 + query, url.len() - query))
}

/// The value behind a name that tells of a secret, as in `password=…`, `"token":"…"` or `api-key: …`.
fn after_name(text: &str, word: usize, name: &str) -> Option<(usize, usize)> {
    let rest = &text[word..];
    let quoted = rest.trim_start_matches(['"', '\'', '\\']);
    let is_quoted = quoted.len() < rest.len();
    let spaced = quoted.trim_start_matches(' ');
    let value = spaced.strip_prefix([':', '='])?;
    let is_assigned = spaced.starts_with('=');
    let value = value.trim_start_matches(' ');
    // `the Secret: not found` is a sentence.
    let is_sentence = !is_assigned
        && !is_quoted
        && spaced.starts_with(": ")
        && matches!(name, "secret" | "token" | "credential" | "credentials");
    if is_sentence {
        return None;
    }
    let opened = value.trim_start_matches(['"', '\'', '\\']);
    let keep = text.len() - opened.len();
    // `password: Bearer …`: the first word is not the credential.
    if let Some((introduction, length)) = credential(opened, None) {
        return Some((keep + introduction, length));
    }
    let length = if opened.len() < value.len() {
        opened.find(['"', '\''])
    } else {
        opened.find(|c: char| ends_word(c) || matches!(c, '&' | ';'))
    };
    let length = length.unwrap_or(opened.len());
    (length > 0).then_some((keep, length))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | ',' | '}' | ')' | '>' | '`')
}

fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

const HIDDEN: char = '…';
const LONGEST: usize = 512;
const SECRETS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api-key",
    "api_key",
    "access-key",
    "access_key",
    "credential",
    "credentials",
    "authorization",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_credential_is_shown_as_it_is() {
        for text in [
            "cannot update ConfigMap default/settings: conflict",
            "cannot read the Secret: not found",
            "the token: expired at 10:30",
            "https://registry.example.com/v2/: 503",
            "a basic idea",
            "key=value; tokens=3",
            "cannot decode: expected `,` at line 3, column 7",
            "ünïcödé",
        ] {
            let basic = text.replace("basic idea", "basic …");
            assert_eq!(shown(text), basic);
        }
    }

    #[test]
    fn a_text_is_one_line_of_a_bounded_length() {
        assert_eq!(shown("a\nb\u{1b}[31mc"), "a b [31mc");
        let long = shown(&"ü".repeat(10_000));
        assert!(long.len() <= LONGEST + HIDDEN.len_utf8(), "{}", long.len());
        assert!(long.ends_with(HIDDEN));
    }

    /// The forms in which credentials come into errors, with `{}` in place of the credential.
    const FORMS: [&str; 21] = [
        "cannot log in at https://admin:{}@db.example.com:5432/gardens: refused",
        "postgres://{}@db/gardens does not answer",
        "GET https://bucket.example.com/object?X-Signature={}&Expires=60: 403",
        "Authorization: Bearer {} was refused",
        "authorization: {}",
        "sent `Basic {}`",
        "bearer {}",
        "connection string host=db user=admin password={} dbname=gardens",
        "PGPASSWORD={}",
        "password: {}",
        "config is {\"password\":\"{}\",\"user\":\"admin\"}",
        "config is {\"api_key\": \"{}\"}",
        "said {\\\"token\\\":\\\"{}\\\"}",
        "client_secret='{}'",
        "client-secret={}&grant=x",
        "refresh_token={}",
        "x-api-key: {}",
        "AWS_SECRET_ACCESS_KEY={}",
        "the passphrase = {}",
        "the token eyJhbGciOiJSUzI1NiJ9.{}.x is not valid",
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    ];

    proptest! {
        #[test]
        fn a_credential_in_a_usual_form_is_never_shown(
            secret in "[A-Za-z0-9+/_.~-]{8,60}",
            form in 0..FORMS.len(),
            before in "[a-z ]{0,20}",
        ) {
            let text = format!("{before}{}{}", if before.is_empty() { "" } else { ": " }, FORMS[form].replace("{}", &secret));
            let shown = shown(&text);
            prop_assert!(!shown.contains(&secret), "{shown}");
        }

        #[test]
        fn every_text_can_be_shown(text in any::<String>()) {
            let shown = shown(&text);
            prop_assert!(shown.len() <= LONGEST + HIDDEN.len_utf8());
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}
