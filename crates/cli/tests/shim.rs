//! `kubewright assets shim`, and the programs that it writes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, Config};
use kubewright_certificates::Authority;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::command::{Ran, run};

/// The directory that the command prints.
async fn written(folder: &Path) -> PathBuf {
    let ran = run(folder, &["assets", "shim", "assets"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let printed = PathBuf::from(ran.out.strip_suffix('\n').expect("a line"));
    assert_eq!(
        printed,
        std::path::absolute(folder.join("assets")).expect("a path")
    );
    printed
}

async fn answer(program: PathBuf, arguments: &[&str]) -> Ran {
    Ran::of(Command::new(program).args(arguments)).await
}

/// A program that serves, and what it said until it did; `mark` is before its address.
async fn serving(
    program: PathBuf,
    arguments: &[String],
    mark: &str,
) -> (Child, Vec<String>, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.expect("a line") {
        if let Some((_, rest)) = line.split_once(mark) {
            let address = rest.split(';').next().expect("an address").to_owned();
            return (child, said, address);
        }
        said.push(line);
    }
    unreachable!("it ended: {said:?}")
}

/// A client without credentials that trusts the certificate in a `--cert-dir`.
fn trusting(certificates: &Path, url: &str) -> Config {
    let trust =
        std::fs::read(certificates.join("apiserver.crt")).expect("what the test made is valid");
    let trust =
        kubewright_certificates::TrustBundle::from_pem(trust).expect("what the test made is valid");
    let mut config = Config::new(url.parse().expect("what the test made is valid"));
    config.root_cert = Some(
        trust
            .certificates()
            .iter()
            .map(|one| one.to_vec())
            .collect(),
    );
    config
}

/// The authority of clients as envtest has one, and the flag that names its certificate.
fn client_authority(folder: &Path) -> (Authority, String) {
    let authority = Authority::new("envtest").expect("what the test made is valid");
    let certificate = folder.join("client-ca.crt");
    std::fs::write(&certificate, authority.certificate_pem()).expect("what the test made is valid");
    (
        authority,
        format!("--client-ca-file={}", certificate.display()),
    )
}

fn become_admin(config: &mut Config, authority: &Authority) {
    let day = Duration::from_hours(24);
    let admin = authority
        .sign_client("admin", "system:masters", day)
        .expect("what the test made is valid");
    config.auth_info.client_certificate_data = Some(STANDARD.encode(admin.certificate_pem()));
    config.auth_info.client_key_data = Some(STANDARD.encode(admin.key_pem()).into());
}

/// Creates a Pod without a ServiceAccount in a namespace that has none.
async fn created_pod(config: Config) -> kube::Result<Pod> {
    let pods = Api::<Pod>::namespaced(
        Client::try_from(config).expect("what the test made is valid"),
        "default",
    );
    let pod = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let pod = serde_json::from_value(pod).expect("what the test made is valid");
    pods.create(&PostParams::default(), &pod).await
}

#[cfg(unix)]
async fn ends_well_on_sigterm(mut child: Child) {
    let id = child.id().expect("what the test made is valid").to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status().await;
    assert!(killed.expect("what the test made is valid").success());
    assert_eq!(
        child
            .wait()
            .await
            .expect("what the test made is valid")
            .code(),
        Some(0)
    );
}

#[tokio::test]
async fn the_programs_answer_what_envtest_asks_before_it_starts_them() {
    let folder = tempfile::tempdir().unwrap();
    let assets = written(folder.path()).await;
    // A second time, as in every shell that sets the variable.
    written(folder.path()).await;

    let help = answer(assets.join("kube-apiserver"), &["--help"]).await;
    assert_eq!(help.code, Some(0));
    assert!(help.out.contains("--client-ca-file"), "{}", help.out);
    assert!(!help.out.contains("--insecure-port"), "{}", help.out);
    let version = answer(assets.join("kube-apiserver"), &["--version"]).await;
    assert!(
        version.out.starts_with("Kubernetes v1.37."),
        "{}",
        version.out
    );
    let unknown = answer(assets.join("kube-apiserver"), &["--insecure-port=0"]).await;
    assert_eq!(unknown.code, Some(1));
    assert_eq!(unknown.err, "Error: unknown flag: --insecure-port\n");

    let help = answer(assets.join("etcd"), &["--help"]).await;
    assert_eq!(help.code, Some(0));
    assert!(help.out.contains("--unsafe-no-fsync"), "{}", help.out);
    let unknown = answer(assets.join("etcd"), &["--nosuch"]).await;
    assert_eq!(unknown.code, Some(2));
    assert_eq!(unknown.err, "flag provided but not defined: -nosuch\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_client_of_an_authority_of_the_tests_own_is_served_and_one_without_a_certificate_sees_health()
 {
    let folder = tempfile::tempdir().unwrap();
    let assets = written(folder.path()).await;
    let (authority, ca) = client_authority(folder.path());
    let keys = folder.path().join("sa-signer.key");
    std::fs::write(&keys, authority.key_pem()).unwrap();
    let certificates = folder.path().join("certificates");
    let arguments = [
        "--authorization-mode=RBAC".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", certificates.display()),
        ca,
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--etcd-servers=http://127.0.0.1:2379".to_owned(),
        "--feature-gates=SomeFeature=true".to_owned(),
        "--secure-port=0".to_owned(),
        "--service-account-issuer=https://localhost/".to_owned(),
        format!("--service-account-key-file={}", keys.display()),
        format!("--service-account-signing-key-file={}", keys.display()),
        "--profiling=false".to_owned(),
    ];
    let program = assets.join("kube-apiserver");
    let (child, said, url) = serving(program, &arguments, "API server on ").await;
    assert_eq!(
        said,
        [
            "kube-apiserver: --etcd-servers has no effect: objects are kept in memory",
            "kube-apiserver: --feature-gates has no effect: every feature has its default",
            "kube-apiserver: --profiling has no effect",
        ]
    );

    let mut config = trusting(&certificates, &url);
    let stranger = Client::try_from(config.clone()).unwrap();
    for path in ["/healthz", "/readyz", "/livez"] {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(
            stranger.request_text(request).await.unwrap(),
            "ok",
            "{path}"
        );
    }
    let namespaces = Api::<Namespace>::all(stranger);
    let refused = namespaces.list(&ListParams::default()).await.unwrap_err();
    assert!(
        refused.to_string().contains("system:anonymous"),
        "{refused}"
    );

    become_admin(&mut config, &authority);
    let namespaces = Api::<Namespace>::all(Client::try_from(config.clone()).unwrap());
    assert!(namespaces.get("default").await.is_ok());
    assert!(created_pod(config).await.is_ok());
    ends_well_on_sigterm(child).await;
}

#[tokio::test]
async fn admission_plugins_run_as_in_kube_apiserver_unless_the_flags_say_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let program = written(folder.path()).await.join("kube-apiserver");
    let certificates = folder.path().join("certificates");
    let (authority, ca) = client_authority(folder.path());
    let arguments = [
        ca,
        format!("--cert-dir={}", certificates.display()),
        "--secure-port=0".to_owned(),
        "--enable-admission-plugins=AlwaysPullImages".to_owned(),
        "--disable-admission-plugins=PodNodeSelector".to_owned(),
    ];
    let (_child, said, url) = serving(program.clone(), &arguments, "API server on ").await;
    assert_eq!(
        said,
        [
            "kube-apiserver: --enable-admission-plugins=AlwaysPullImages has no effect: this server does not have the plugin"
        ]
    );
    let mut config = trusting(&certificates, &url);
    become_admin(&mut config, &authority);
    let refused = created_pod(config).await.unwrap_err();
    let why =
        "error looking up service account default/default: serviceaccount \"default\" not found";
    assert!(refused.to_string().contains(why), "{refused}");

    let unknown = answer(program, &["--disable-admission-plugins=Nonsense"]).await;
    assert_eq!(unknown.code, Some(1));
    let why = "disable-admission-plugins plugin \"Nonsense\" is unknown";
    assert!(unknown.err.contains(why), "{}", unknown.err);
}

#[cfg(unix)]
#[tokio::test]
async fn etcd_answers_health_checks_until_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let assets = written(folder.path()).await;
    let arguments = [
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        format!("--data-dir={}", folder.path().display()),
        "--advertise-client-urls=http://127.0.0.1:0".to_owned(),
        "--listen-client-urls=http://127.0.0.1:0".to_owned(),
        "--unsafe-no-fsync=true".to_owned(),
    ];
    let (child, _, address) = serving(assets.join("etcd"), &arguments, "at http://").await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(
        answer.ends_with(r#"{"health":"true","reason":""}"#),
        "{answer}"
    );
    ends_well_on_sigterm(child).await;
}
