//! The rules of names, label keys and label values, in the API server's words.
//!
//! Each function returns one sentence for each problem, and none for a valid string.
//!
//! ```
//! use kubewright_apimachinery::names;
//!
//! assert!(names::dns1123_subdomain("web.example.com").is_empty());
//! assert_eq!(names::dns1123_label("web.example"), ["must not contain dots"]);
//! assert!(names::label_key("app.kubernetes.io/name").is_empty());
//! assert_eq!(names::path_segment("a/b"), ["may not contain '/'"]);
//! ```

/// An RFC 1123 label: names of namespaces, containers, volumes.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    limit(text, LABEL_LENGTH, &mut problems);
    if !is_label(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit()) {
        if is_subdomain(text) {
            problems.push("must not contain dots".to_owned());
        } else {
            problems.push(DNS1123_LABEL.to_owned());
        }
    }
    problems
}

/// An RFC 1123 subdomain: names of most objects.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    limit(text, SUBDOMAIN_LENGTH, &mut problems);
    if !is_subdomain(text) {
        problems.push(DNS1123_SUBDOMAIN.to_owned());
    }
    problems
}

/// An RFC 1123 subdomain of letters of any case, as declarative validation checks names of drivers.
pub fn dns1123_subdomain_caseless(text: &str) -> Vec<String> {
    let mut problems = dns1123_subdomain(&text.to_ascii_lowercase());
    for problem in &mut problems {
        if problem == DNS1123_SUBDOMAIN {
            *problem = problem
                .replace("a lowercase RFC", "an RFC")
                .replace("lower case ", "")
                .replace("example.com", "Example.com");
        }
    }
    problems
}

/// An RFC 1035 label: names of services, until the rule was relaxed.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    limit(text, LABEL_LENGTH, &mut problems);
    if !is_label(text, |c| c.is_ascii_lowercase()) {
        problems.push(DNS1035_LABEL.to_owned());
    }
    problems
}

/// A qualified name: label keys, annotation keys, finalizers, names of match conditions.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (prefix, name) = match text.split_once('/') {
        None => (None, text),
        Some((prefix, name)) if !name.contains('/') => (Some(prefix), name),
        Some(_) => {
            problems.push(format!(
                "a valid label key must consist of {QUALIFIED_NAME} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            ));
            return problems;
        }
    };
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if prefix.len() > SUBDOMAIN_LENGTH {
                problems.push(format!(
                    "prefix part must be no more than {SUBDOMAIN_LENGTH} bytes"
                ));
            }
            if !is_subdomain(prefix) {
                problems.push(format!("prefix part {DNS1123_SUBDOMAIN}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH {
        problems.push(format!(
            "name part must be no more than {LABEL_LENGTH} bytes"
        ));
    }
    if !is_name_part(name) {
        problems.push(format!("name part must consist of {QUALIFIED_NAME}"));
    }
    problems
}

/// The key of a label.
pub fn label_key(text: &str) -> Vec<String> {
    qualified_name(text)
}

/// The value of a label; it may be empty.
pub fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_LENGTH {
        problems.push(format!("must be no more than {LABEL_LENGTH} bytes"));
    }
    if !text.is_empty() && !is_name_part(text) {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}

/// A name that only has to fit into a URL path: RBAC objects.
pub fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." => return vec!["may not be '.'".to_owned()],
        ".." => return vec!["may not be '..'".to_owned()],
        _ => {}
    }
    ["/", "%"]
        .into_iter()
        .filter(|c| text.contains(*c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// Names are limited in `characters` and labels in `bytes`: two functions of the real server say the same thing.
fn limit(text: &str, most: usize, problems: &mut Vec<String>) {
    if text.len() > most {
        problems.push(format!("must be no more than {most} characters"));
    }
}

fn is_subdomain(text: &str) -> bool {
    text.split('.')
        .all(|part| is_label(part, |c| c.is_ascii_lowercase() || c.is_ascii_digit()))
}

/// Lower-case letters, digits and dashes, with `first` deciding how it may begin and no dash at the end.
fn is_label(text: &str, first: impl Fn(char) -> bool) -> bool {
    text.starts_with(first)
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn is_name_part(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Returns a name made from a base (`generateName`): five characters that spell no words are appended.
pub fn generate(base: &str) -> String {
    const LONGEST_BASE: usize = 58;
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut end = base.len().min(LONGEST_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = base[..end].to_owned();
    let mut random = uuid::Uuid::new_v4().as_u128();
    let letters = LETTERS.len() as u128;
    for _ in 0..5 {
        let at = usize::try_from(random % letters).unwrap_or_default();
        name.push(char::from(LETTERS[at]));
        random /= letters;
    }
    name
}

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

const DNS1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation \
    is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS1123_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
    is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
    an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_NAME: &str = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
    character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_fine() {
        for name in ["a", "my-name", "123-abc", "0"] {
            assert_eq!(dns1123_label(name), Vec::<String>::new(), "{name}");
        }
        for name in ["a", "example.com", "1.2.3"] {
            assert_eq!(dns1123_subdomain(name), Vec::<String>::new(), "{name}");
        }
        for key in [
            "app",
            "example.com/MyName",
            "a_b.c",
            "kubernetes.io/metadata.name",
        ] {
            assert_eq!(label_key(key), Vec::<String>::new(), "{key}");
        }
        for value in ["", "MyValue", "my_value", "12345"] {
            assert_eq!(label_value(value), Vec::<String>::new(), "{value}");
        }
    }

    #[test]
    fn names_that_are_not() {
        assert_eq!(dns1123_label("A"), [DNS1123_LABEL]);
        assert_eq!(dns1123_label("-a"), [DNS1123_LABEL]);
        assert_eq!(dns1123_label(""), [DNS1123_LABEL]);
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            dns1123_label(&"a".repeat(64)),
            ["must be no more than 63 characters"]
        );
        assert_eq!(dns1123_subdomain("a..b"), [DNS1123_SUBDOMAIN]);
        assert_eq!(dns1035_label("1a"), [DNS1035_LABEL]);
        assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
        assert_eq!(label_value("-"), [LABEL_VALUE]);
        assert_eq!(
            path_segment("a/b%"),
            ["may not contain '/'", "may not contain '%'"]
        );
        assert_eq!(path_segment(".."), ["may not be '..'"]);
    }

    #[test]
    fn the_messages_keep_their_two_blanks() {
        assert!(
            DNS1123_LABEL
                .contains("(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]")
        );
    }

    #[test]
    fn generated_names_are_the_base_and_five_characters() {
        let name = generate("web-");
        assert_eq!(name.len(), 9);
        assert!(name.starts_with("web-"));
        assert!(
            name[4..]
                .bytes()
                .all(|c| b"bcdfghjklmnpqrstvwxz2456789".contains(&c))
        );
        assert_ne!(name, generate("web-"));
        assert_eq!(generate(&"x".repeat(100)).len(), 63);
    }
}
