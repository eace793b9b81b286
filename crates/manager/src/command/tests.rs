//! How command lines are read.

use super::*;

/// Greets pods.
#[derive(Debug, Args)]
struct Options {
    /// What to say
    #[arg(long)]
    greeting: String,
}

#[derive(Debug, Args)]
struct NoOptions {}

fn asked<O: Args>(line: &str) -> Result<Asked<O>, clap::Error> {
    parse(line.split(' ').map(OsString::from))
}

fn run_flags<O: Args>(line: &str) -> RunFlags {
    match asked::<O>(line).unwrap().task {
        Task::Run(flags) => *flags,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_command_is_sound() {
    command::<Options>().debug_assert();
    command::<NoOptions>().debug_assert();
}

#[test]
fn to_run_is_the_default() {
    for line in ["hook --certificates /tls", "hook run --certificates /tls"] {
        let flags = run_flags::<NoOptions>(line);
        assert_eq!(flags.listen.to_string(), "0.0.0.0:9443");
        assert_eq!(flags.identity.certificates, Some(PathBuf::from("/tls")));
        assert_eq!((flags.grace, flags.propagation), (30, 5));
        assert_eq!(flags.log_format, LogFormat::Text);
        assert_eq!(flags.log_level.to_string(), "info");
    }
}

#[test]
fn every_flag_of_run_is_read() {
    let flags = run_flags::<NoOptions>(
        "hook --listen 127.0.0.1:0 --metrics-bind-address 127.0.0.1:8080 --health-probe-bind-address 127.0.0.1:8081 --self-signed 127.0.0.1,hook.blue.svc --write-ca ca.crt --grace 60 --propagation 0 --log-format json --log-level debug",
    );
    assert_eq!(flags.listen.to_string(), "127.0.0.1:0");
    assert_eq!(
        flags.metrics_bind_address,
        Some(([127, 0, 0, 1], 8080).into())
    );
    assert_eq!(
        flags.health_probe_bind_address,
        Some(([127, 0, 0, 1], 8081).into())
    );
    assert_eq!(flags.identity.self_signed, ["127.0.0.1", "hook.blue.svc"]);
    assert_eq!(flags.write_ca, Some(PathBuf::from("ca.crt")));
    assert_eq!((flags.grace, flags.propagation), (60, 0));
    assert_eq!(flags.log_format, LogFormat::Json);
    assert_eq!(flags.log_level.to_string(), "debug");
}

#[test]
fn every_command_takes_the_options_of_the_program() {
    for line in [
        "hook --greeting hi --certificates /tls",
        "hook run --greeting hi --certificates /tls",
        "hook manifests --greeting hi --url https://127.0.0.1:8080",
        "hook crds --greeting hi",
        "hook permissions --greeting hi",
        "hook version --greeting hi",
    ] {
        assert_eq!(
            asked::<Options>(line).unwrap().options.greeting,
            "hi",
            "{line}"
        );
    }
}

#[test]
fn manifests_know_where_the_program_is_reached() {
    for (line, endpoint) in [
        (
            "hook manifests --url https://127.0.0.1:8080",
            "https://127.0.0.1:8080",
        ),
        (
            "hook manifests --service blue/hook",
            "service blue/hook:443",
        ),
    ] {
        let Task::Manifests(flags) = asked::<NoOptions>(line).unwrap().task else {
            panic!("{line}");
        };
        assert_eq!(flags.endpoint().unwrap().to_string(), endpoint);
    }
}

/// Looks after a namespace.
#[derive(Debug, Args)]
struct Narrow {
    #[arg(long)]
    namespace: Option<String>,
}

#[test]
fn options_of_the_program_go_before_flags_of_the_same_name() {
    command::<Narrow>().debug_assert();
    let line = "hook manifests --namespace watched --install-namespace system --image a";
    let asked = asked::<Narrow>(line).unwrap();
    assert_eq!(asked.options.namespace.as_deref(), Some("watched"));
    let Task::Manifests(flags) = asked.task else {
        panic!("{line}");
    };
    assert_eq!(flags.namespace.as_deref(), Some("system"));
    assert_eq!(flags.image.as_deref(), Some("a"));
}

/// Has options of every form.
#[derive(Debug, Args)]
struct Many {
    #[arg(long)]
    dry_run: bool,
    #[arg(short, action = ArgAction::Count)]
    verbose: u8,
    #[arg(long, value_delimiter = ',')]
    users: Vec<String>,
    #[arg(long, default_value = "a")]
    text: String,
    #[arg(short)]
    number: Option<u8>,
}

#[test]
fn options_are_written_so_that_they_are_read_as_the_same() {
    let line = "hook manifests --users a,b -vv --dry-run --users c -n 3";
    let first = asked::<Many>(line).unwrap();
    assert_eq!(
        first.written,
        [
            "--dry-run",
            "-v",
            "-v",
            "--users=a",
            "--users=b",
            "--users=c",
            "-n3"
        ]
    );
    let again = format!("hook run --certificates c {}", first.written.join(" "));
    let again = asked::<Many>(&again).unwrap();
    assert_eq!(
        format!("{:?}", again.options),
        format!("{:?}", first.options)
    );
    assert_eq!(again.options.text, "a");
    assert_eq!((again.options.verbose, again.options.number), (2, Some(3)));
    assert_eq!(again.options.users, ["a", "b", "c"]);
    assert!(again.options.dry_run);
}

#[test]
fn flags_of_an_installation_have_long_names_everywhere() {
    for line in [
        "hook manifests --namespace system --image a",
        "hook manifests --install-namespace system --install-image a",
    ] {
        let Task::Manifests(flags) = asked::<NoOptions>(line).unwrap().task else {
            panic!("{line}");
        };
        assert_eq!(flags.namespace.as_deref(), Some("system"), "{line}");
        assert_eq!(flags.image.as_deref(), Some("a"), "{line}");
    }
}

#[test]
fn clients_are_checked_if_there_is_an_authority_for_them() {
    let base = "hook --certificates /tls";
    let check = |more: &str| {
        run_flags::<NoOptions>(&format!("{base}{more}"))
            .clients
            .check()
    };
    assert!(check("").is_none());
    let shown = |more: &str| format!("{:?}", check(more).unwrap());
    let text = shown(" --client-ca /etc/client-ca.crt");
    assert!(text.contains("/etc/client-ca.crt"), "{text}");
    assert!(text.contains("Refuse"), "{text}");
    let text = shown(" --client-ca ca.crt --client-name a,b --other-clients observe");
    assert!(text.contains(r#"{"a", "b"}"#), "{text}");
    assert!(text.contains("Observe"), "{text}");
}

#[test]
fn tls_is_of_version_1_3_unless_1_2_is_asked_for_and_never_older() {
    let base = "hook --certificates /tls";
    let version = |more: &str| run_flags::<NoOptions>(&format!("{base}{more}")).tls_min_version;
    assert_eq!(version(""), TlsVersion::Tls13);
    assert_eq!(version(" --tls-min-version 1.2"), TlsVersion::Tls12);
    let older = asked::<NoOptions>(&format!("{base} --tls-min-version 1.1"));
    assert_eq!(older.unwrap_err().kind(), ErrorKind::InvalidValue);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    for (line, kind, word) in [
        (
            "hook --self-signed a --certificates b",
            ErrorKind::ArgumentConflict,
            "--certificates",
        ),
        (
            "hook api-server kubeconfig --client-certificate c --client-key k",
            ErrorKind::MissingRequiredArgument,
            "--service",
        ),
        (
            "hook manifests --check",
            ErrorKind::MissingRequiredArgument,
            "--into",
        ),
        (
            "hook manifests --ca-file a",
            ErrorKind::MissingRequiredArgument,
            "--url",
        ),
        (
            "hook manifests --service a/b --image c",
            ErrorKind::ArgumentConflict,
            "--image",
        ),
        (
            "hook manifests --url http://a",
            ErrorKind::ValueValidation,
            "https://",
        ),
        (
            "hook manifests --url https://a --service b/c",
            ErrorKind::ArgumentConflict,
            "--url",
        ),
        (
            "hook --log-level a=b=c --certificates c",
            ErrorKind::ValueValidation,
            "--log-level",
        ),
        (
            "hook --listen here --certificates c",
            ErrorKind::ValueValidation,
            "--listen",
        ),
        (
            "hook --certificates c --client-name a",
            ErrorKind::MissingRequiredArgument,
            "--client-ca",
        ),
        (
            "hook --certificates c --other-clients observe",
            ErrorKind::MissingRequiredArgument,
            "--client-ca",
        ),
        (
            "hook api-server kubeconfig --service a/b --client-key k",
            ErrorKind::MissingRequiredArgument,
            "--client-certificate",
        ),
        ("hook walk", ErrorKind::InvalidSubcommand, "walk"),
    ] {
        let error = asked::<NoOptions>(line).unwrap_err();
        assert_eq!(error.kind(), kind, "{line}: {error}");
        assert!(error.to_string().contains(word), "{line}: {error}");
    }
}

#[test]
fn help_tells_of_the_program_its_options_and_commands() {
    let help = asked::<Options>("hook --help").unwrap_err().to_string();
    for text in [
        "Greets pods",
        "--greeting",
        "What to say",
        "--certificates",
        "manifests",
    ] {
        assert!(help.contains(text), "no {text} in {help}");
    }
    let help = asked::<Options>("hook manifests --help")
        .unwrap_err()
        .to_string();
    assert!(
        help.starts_with("Prints the install manifests of this program"),
        "{help}"
    );
    assert!(!help.contains("--listen"), "{help}");
}

#[test]
fn what_options_say_of_themselves_is_not_said_of_the_commands_that_take_them() {
    /// How gardens are watered.
    ///
    /// There are two ways.
    #[derive(Debug, Args)]
    struct Watering {}

    for command in command::<Watering>().get_subcommands() {
        let about = command.get_about().map(ToString::to_string);
        assert!(about.is_some_and(|about| !about.contains("gardens")));
        assert_eq!(command.get_long_about().map(ToString::to_string), None);
    }
}
