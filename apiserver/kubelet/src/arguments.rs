//! The arguments of a container: references to variables, and paths of volumes.

use crate::container::Mount;

/// Replaces `$(NAME)` by the variable of that name; one that there is not stays as it stands, and `$$` is a dollar sign.
pub(crate) fn expanded(text: &str, env: &[(String, String)]) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = rest
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'))
        {
            let mut known = env.iter().rev();
            if let Some((_, value)) = known.find(|(known, _)| known == name) {
                expanded.push_str(value);
            } else {
                expanded.push_str("$(");
                expanded.push_str(name);
                expanded.push(')');
            }
            rest = after;
        } else {
            expanded.push('$');
        }
    }
    expanded.push_str(rest);
    expanded
}

/// Replaces the paths of volumes by where their files are.
pub(crate) fn placed(text: &str, mounts: &[Mount]) -> String {
    let mut placed = text.to_owned();
    let mut mounts: Vec<&Mount> = mounts.iter().collect();
    mounts.sort_by_key(|mount| std::cmp::Reverse(mount.path.len()));
    for mount in mounts {
        placed = with_one_placed(&placed, mount);
    }
    placed
}

fn with_one_placed(text: &str, mount: &Mount) -> String {
    let path = mount.path.trim_end_matches('/');
    if path.is_empty() {
        return text.to_owned();
    }
    let files = mount.files.to_string_lossy();
    let mut placed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, found) = rest.split_at(at);
        let after = &found[path.len()..];
        let is_part =
            |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '/' | '.' | '-' | '_');
        let starts = placed.chars().chain(before.chars()).next_back();
        let is_whole = !starts.is_some_and(is_part)
            && after
                .chars()
                .next()
                .is_none_or(|sign| sign == '/' || !is_part(sign));
        placed.push_str(before);
        placed.push_str(if is_whole { &files } else { path });
        rest = after;
    }
    placed.push_str(rest);
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_variables_are_replaced_as_kubernetes_does() {
        let env = [("A".to_owned(), "1".to_owned())];
        for (text, expected) in [
            ("x$(A)y", "x1y"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expanded(text, &env), expected, "{text}");
        }
    }

    #[test]
    fn whole_paths_of_volumes_are_replaced() {
        let mount = |path: &str, files: &str| Mount {
            path: path.to_owned(),
            files: files.into(),
        };
        let mounts = [mount("/etc/tls", "/tmp/1"), mount("/etc/tls/ca/", "/tmp/2")];
        for (text, expected) in [
            ("--cert=/etc/tls/tls.crt", "--cert=/tmp/1/tls.crt"),
            ("/etc/tls:/etc/tls/ca", "/tmp/1:/tmp/2"),
            ("/etc/tls2", "/etc/tls2"),
            ("/x/etc/tls", "/x/etc/tls"),
        ] {
            assert_eq!(placed(text, &mounts), expected, "{text}");
        }
    }
}
