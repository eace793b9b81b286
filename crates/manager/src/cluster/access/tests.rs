//! Kubeconfigs that are accepted, and those that are refused.

use super::*;

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "current-context: east\n\
         contexts: [{{name: east, context: {{cluster: east, user: robot}}}}]\n\
         clusters: [{{name: east, cluster: {{{cluster}}}}}]\n\
         users: [{{name: robot, user: {{{user}}}}}]\n"
    )
}

async fn why(text: &str) -> String {
    match client(text.as_bytes()).await {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

const SERVER: &str = "server: 'https://east.example.com'";

#[tokio::test]
async fn a_kubeconfig_with_a_token_is_accepted() {
    assert_eq!(why(&kubeconfig(SERVER, "token: hunter2")).await, "accepted");
}

#[tokio::test]
async fn a_kubeconfig_that_runs_or_reads_something_or_does_not_verify_is_refused() {
    let with = |more: &str| format!("{SERVER}, {more}");
    for (text, expected) in [
        (kubeconfig(SERVER, "exec: {command: /bin/sh}"), "`exec`"),
        (
            kubeconfig(SERVER, "auth-provider: {name: gcp}"),
            "`auth-provider`",
        ),
        (
            kubeconfig(SERVER, "tokenFile: /var/run/token"),
            "`tokenFile`",
        ),
        (
            kubeconfig(SERVER, "client-certificate: /a"),
            "`client-certificate`",
        ),
        (kubeconfig(SERVER, "client-key: /a"), "`client-key`"),
        (
            kubeconfig(&with("certificate-authority: /a"), ""),
            "`certificate-authority`",
        ),
        (
            kubeconfig(&with("insecure-skip-tls-verify: true"), ""),
            "`insecure-skip-tls-verify`",
        ),
        (
            kubeconfig(&with("proxy-url: 'http://a'"), ""),
            "`proxy-url`",
        ),
        (
            kubeconfig("server: 'http://east.example.com'", ""),
            "`https`",
        ),
        (
            kubeconfig("server: 'https://a:hunter2@east.example.com'", ""),
            "`https`",
        ),
        (kubeconfig("server: 'file:///etc'", ""), "`https`"),
        (kubeconfig("", ""), "`https`"),
    ] {
        let why = why(&text).await;
        assert!(why.contains(expected), "{text}: {why}");
        assert!(!why.contains("hunter2"), "{why}");
    }
}

#[tokio::test]
async fn what_the_current_context_does_not_use_does_not_matter() {
    let text = kubeconfig(SERVER, "token: hunter2").replace(
        "users: [",
        "users: [{name: other, user: {exec: {command: /bin/sh}}}, ",
    );
    assert_eq!(why(&text).await, "accepted");
}

#[tokio::test]
async fn what_is_no_kubeconfig_is_refused_without_quoting_it() {
    let good = kubeconfig(SERVER, "token: hunter2");
    for (text, expected) in [
        (String::new(), "it has no `current-context`"),
        ("hunter2".to_owned(), "it is not a kubeconfig"),
        ("{users: [hunter2".to_owned(), "it is not a kubeconfig"),
        ("{}".to_owned(), "it has no `current-context`"),
        (
            format!("kind: Config\n{good}---\nkind: Secret\n"),
            "documents are not all kubeconfigs",
        ),
        (
            good.replace("name: robot", "name: other"),
            "it has no user `robot`",
        ),
        (
            good.replace("name: east, cluster", "name: west, cluster"),
            "it has no cluster `east`",
        ),
        (
            good.replace("name: east, context", "name: west, context"),
            "it has no context `east`",
        ),
        (
            kubeconfig(
                &format!("{SERVER}, certificate-authority-data: hunter2"),
                "",
            ),
            "cannot be used",
        ),
        (
            kubeconfig(
                SERVER,
                "client-certificate-data: hunter2, client-key-data: hunter2",
            ),
            "cannot be used",
        ),
        (
            format!("{good}{}", "#".repeat(LARGEST)),
            "larger than 256 KiB",
        ),
    ] {
        let why = why(&text).await;
        assert!(why.contains(expected), "{text}: {why}");
        assert!(!why.contains("hunter2"), "{why}");
    }
}
