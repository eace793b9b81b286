//! Sessions in pods by kube's client: `exec`, `attach` and `portforward`, answered by handlers and by what is simulated.

use std::sync::Arc;

use futures::SinkExt as _;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{AttachParams, AttachedProcess, TerminalSize};
use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config};
use kubewright_testing::{
    Controllers, Program, Server, TestCluster, Workloads, eventually, unique, yaml,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy};
use tokio::sync::{Semaphore, mpsc};

/// A cluster with a running pod `web`, whose container is `main`.
async fn cluster(image: &str) -> TestCluster {
    let greeter = Program::function(async |container| {
        let listener = tokio::net::TcpListener::bind((container.address(), 7000)).await;
        let listener = listener.unwrap();
        container.log("listening");
        let greet = async {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (mut stream, mut name) = (BufReader::new(stream), String::new());
                stream.read_line(&mut name).await.unwrap();
                let greeting = format!("hello {name}");
                stream.write_all(greeting.as_bytes()).await.unwrap();
                container.log(format!("greeted {}", name.trim_end()));
            }
        };
        tokio::select! {
            () = greet => {}
            () = container.stopped() => {}
        }
        0
    });
    cluster_with(image, greeter).await
}

/// The same, where images with the name `greeter` or `echo` run this program.
async fn cluster_with(image: &str, program: Program) -> TestCluster {
    let workloads = ["greeter", "echo"]
        .into_iter()
        .fold(Workloads::default(), |workloads, image| {
            workloads.container(image, program.clone())
        });
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .controllers(Controllers::all().workloads(workloads))
        .listen()
        .start()
        .await;
    let pod: Pod = yaml(&format!(
        "{{metadata: {{name: web}}, spec: {{containers: [{{name: main, image: {image}}}]}}}}"
    ));
    cluster.create(&pod).await.expect_allowed();
    is_running(&cluster).await;
    cluster
}

async fn is_running(cluster: &TestCluster) {
    eventually("a running pod", async || {
        let status = cluster.get::<Pod>("web").await?.status?;
        let containers = status.container_statuses?;
        let running = containers.iter().all(|container| container.ready);
        running.then_some(())
    })
    .await;
}

fn pods(cluster: &TestCluster) -> Api<Pod> {
    Api::default_namespaced(cluster.client())
}

/// By TLS, as from outside of the process.
async fn pods_by_socket(cluster: &TestCluster) -> Api<Pod> {
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&cluster.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Api::default_namespaced(Client::try_from(config.unwrap()).unwrap())
}

/// What a command showed, and its exit code.
async fn ended(mut command: AttachedProcess) -> (String, String, Option<i32>) {
    let (mut out, mut err) = (String::new(), String::new());
    let status = command.take_status().unwrap();
    let (stdout, stderr) = (command.stdout(), command.stderr());
    let read_out = async {
        if let Some(mut stdout) = stdout {
            stdout.read_to_string(&mut out).await.unwrap();
        }
    };
    let read_err = async {
        if let Some(mut stderr) = stderr {
            stderr.read_to_string(&mut err).await.unwrap();
        }
    };
    let ((), (), status) = futures::join!(read_out, read_err, status);
    (out, err, status.as_ref().map(code))
}

fn code(status: &Status) -> i32 {
    if status.status.as_deref() == Some("Success") {
        return 0;
    }
    assert_eq!(
        status.reason.as_deref(),
        Some("NonZeroExitCode"),
        "{status:?}"
    );
    let causes = status.details.as_ref().unwrap().causes.as_ref().unwrap();
    assert_eq!(causes[0].reason.as_deref(), Some("ExitCode"));
    causes[0].message.as_ref().unwrap().parse().unwrap()
}

fn message(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else {
        return error.to_string();
    };
    format!("{} {}", status.code, status.message)
}

#[tokio::test]
async fn a_handler_has_the_command_and_all_streams() {
    let cluster = cluster("nginx").await;
    cluster.pods().on_exec(async |mut session| {
        let place = [&session.namespace, &session.pod, &session.container].map(String::as_str);
        assert_eq!(place, ["default", "web", "main"]);
        session.stderr.write_all(b"reading\n").await.unwrap();
        let command = session.command.join(" ");
        session.stdout.write_all(command.as_bytes()).await.unwrap();
        copy(&mut session.stdin, &mut session.stdout).await.unwrap();
        3
    });
    for pods in [pods(&cluster), pods_by_socket(&cluster).await] {
        let streams = AttachParams::default().stdin(true);
        let mut command = pods.exec("web", ["wc", "-c"], &streams).await.unwrap();
        // More than all buffers on the way.
        let sent = "x".repeat(1 << 20);
        let mut stdin = command.stdin().unwrap();
        let send = async {
            stdin.write_all(sent.as_bytes()).await.unwrap();
            stdin.shutdown().await.unwrap();
        };
        let ((), (out, err, code)) = futures::join!(send, ended(command));
        assert_eq!(
            (out.len(), err.as_str(), code),
            (5 + sent.len(), "reading\n", Some(3))
        );
        assert!(out.starts_with("wc -cxxx"), "{}", &out[..20]);
    }
}

#[tokio::test]
async fn a_simulated_container_runs_plain_commands() {
    let cluster = cluster("nginx").await;
    let streams = AttachParams::default();
    for (command, expected) in [
        (&["echo", "hi"][..], ("hi\n", "", Some(0))),
        (
            &["sh", "-c", "echo $HOSTNAME; exit 3"],
            ("web\n", "", Some(3)),
        ),
        (
            &["cat", "/none"],
            ("", "cat: /none: No such file or directory\n", Some(1)),
        ),
    ] {
        // As a program under test reaches it.
        let pods: Api<Pod> = Api::default_namespaced(cluster.client_under_test());
        let running = pods.exec("web", command.iter().copied(), &streams).await;
        let (out, err, code) = ended(running.unwrap()).await;
        assert_eq!((out.as_str(), err.as_str(), code), expected, "{command:?}");
    }
}

#[tokio::test]
async fn what_nothing_answers_is_refused_before_the_upgrade() {
    let cluster = cluster("nginx").await;
    let (pods, streams) = (pods(&cluster), AttachParams::default());
    let error = pods.exec("web", ["psql"], &streams).await.err().unwrap();
    assert_eq!(
        message(&error),
        "501 container main is simulated, and what `psql` does is not known: answer in a test with `on_exec` of the cluster's pods"
    );
    let error = pods.attach("web", &streams).await.err().unwrap();
    assert_eq!(
        message(&error),
        "501 container main is simulated and has no output: answer in a test with `on_attach` of the cluster's pods"
    );
    let error = pods.exec("none", ["ls"], &streams).await.err().unwrap();
    assert_eq!(message(&error), "404 pods \"none\" not found");
}

#[tokio::test]
async fn a_program_is_attached_to_and_runs_no_other_commands() {
    let cluster = cluster("greeter").await;
    let (pods, streams) = (pods(&cluster), AttachParams::default());
    let error = pods.exec("web", ["true"], &streams).await.err().unwrap();
    assert!(
        message(&error).starts_with("501 container main runs a program"),
        "{error}"
    );

    let mut attached = pods.attach("web", &streams).await.unwrap();
    let mut forwarded = pods.portforward("web", &[7000]).await.unwrap();
    let mut stream = forwarded.take_stream(7000).unwrap();
    stream.write_all(b"you\n").await.unwrap();
    let mut greeting = String::new();
    stream.read_to_string(&mut greeting).await.unwrap();
    assert_eq!(greeting, "hello you\n");
    let mut line = [0; 12];
    attached
        .stdout()
        .unwrap()
        .read_exact(&mut line)
        .await
        .unwrap();
    assert_eq!(&line, b"greeted you\n");
}

#[tokio::test]
async fn attach_is_answered_by_its_own_handler() {
    let cluster = cluster("nginx").await;
    cluster
        .pods()
        .container("main")
        .on_attach(async |mut session| {
            assert!(session.command.is_empty());
            copy(&mut session.stdin, &mut session.stdout).await.unwrap();
        });
    let streams = AttachParams::default().stdin(true);
    let mut attached = pods(&cluster).attach("web", &streams).await.unwrap();
    let mut stdin = attached.stdin().unwrap();
    stdin.write_all(b"hello").await.unwrap();
    stdin.shutdown().await.unwrap();
    assert_eq!(
        ended(attached).await,
        ("hello".to_owned(), String::new(), Some(0))
    );
}

#[tokio::test]
async fn a_terminal_has_one_output_and_its_size_arrives() {
    let cluster = cluster("nginx").await;
    cluster.pods().on_exec(async |mut session| {
        assert!(session.tty);
        let size = session.terminal.resized().await.unwrap();
        let text = format!("{}x{}", size.width, size.height);
        session.stderr.write_all(text.as_bytes()).await.unwrap();
        0
    });
    let streams = AttachParams::interactive_tty();
    let mut command = pods(&cluster).exec("web", ["top"], &streams).await.unwrap();
    let (width, height) = (120, 40);
    let size = TerminalSize { width, height };
    command.terminal_size().unwrap().send(size).await.unwrap();
    let (out, _, code) = ended(command).await;
    assert_eq!((out.as_str(), code), ("120x40", Some(0)));
}

#[tokio::test]
async fn sessions_run_beside_each_other() {
    let cluster = cluster("nginx").await;
    let met = Arc::new(tokio::sync::Barrier::new(8));
    cluster.pods().on_exec({
        let met = met.clone();
        move |session| {
            let met = met.clone();
            async move {
                met.wait().await;
                session.command[0].parse().unwrap()
            }
        }
    });
    let (pods, streams) = (pods_by_socket(&cluster).await, AttachParams::default());
    let run = async |code: i32| {
        let command = pods.exec("web", [code.to_string()], &streams).await;
        assert_eq!(ended(command.unwrap()).await.2, Some(code));
    };
    futures::future::join_all((0..8).map(run)).await;
}

/// Says when it is dropped.
struct Dropped(mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        // A test that has failed does not listen.
        let _ = self.0.send(());
    }
}

/// A handler that never ends; the first receiver has a message when it has begun, and then one when it was dropped.
fn endless(cluster: &TestCluster) -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    cluster.pods().on_exec(move |session| {
        let sender = sender.clone();
        async move {
            sender.send(()).unwrap();
            let _dropped = Dropped(sender);
            let _session = session;
            std::future::pending().await
        }
    });
    receiver
}

#[tokio::test]
async fn a_handler_ends_when_its_client_goes_away() {
    let cluster = cluster("nginx").await;
    let mut events = endless(&cluster);
    for pods in [pods(&cluster), pods_by_socket(&cluster).await] {
        let command = pods.exec("web", ["sleep"], &AttachParams::default()).await;
        events.recv().await.unwrap();
        drop(command);
        events.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_command_is_killed_with_its_pod() {
    let cluster = cluster("nginx").await;
    let mut events = endless(&cluster);
    let command = pods(&cluster)
        .exec("web", ["sleep"], &AttachParams::default())
        .await;
    events.recv().await.unwrap();
    cluster.delete::<Pod>("web").await.expect_allowed();
    let (_, _, code) = ended(command.unwrap()).await;
    assert_eq!(code, Some(137));
    events.recv().await.unwrap();
}

#[tokio::test]
async fn sessions_end_when_the_server_is_stopped() {
    let cluster = cluster("nginx").await;
    let mut events = endless(&cluster);
    let command = pods(&cluster)
        .exec("web", ["sleep"], &AttachParams::default())
        .await;
    events.recv().await.unwrap();
    cluster.server().stop();
    events.recv().await.unwrap();
    assert_eq!(ended(command.unwrap()).await.2, None);
}

#[tokio::test]
async fn a_handler_that_panics_is_an_error_of_the_command() {
    let cluster = cluster("nginx").await;
    cluster.pods().on_exec(async |session| {
        assert_eq!(
            session.command,
            ["other"],
            "the operator asks for something else"
        );
        0
    });
    let command = pods(&cluster)
        .exec("web", ["this"], &AttachParams::default())
        .await;
    let mut command = command.unwrap();
    let status = command.take_status().unwrap().await.unwrap();
    assert_eq!(status.reason.as_deref(), Some("InternalError"));
    let message = status.message.unwrap();
    assert!(
        message.contains("the operator asks for something else"),
        "{message}"
    );
}

#[tokio::test]
async fn a_container_that_does_not_run_is_not_found() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .controllers(Controllers::all())
        .start()
        .await;
    let name = unique("done");
    let pod: Pod = yaml(&format!(
        "
        metadata: {{name: {name}}}
        spec: {{restartPolicy: Never, containers: [{{name: main, image: x, command: ['true']}}]}}"
    ));
    cluster.create(&pod).await.expect_allowed();
    eventually("a completed pod", async || {
        let phase = cluster.get::<Pod>(&name).await?.status?.phase?;
        (phase == "Succeeded").then_some(())
    })
    .await;
    let error = pods(&cluster)
        .exec(&name, ["ls"], &AttachParams::default())
        .await;
    let error = message(&error.err().unwrap());
    assert!(error.contains("container not found (\"main\")"), "{error}");
}

#[tokio::test]
async fn ports_lead_to_a_handler() {
    let cluster = cluster("nginx").await;
    let pods = pods(&cluster);
    let mut refused = pods.portforward("web", &[8080]).await.unwrap();
    let error = refused.take_error(8080).unwrap().await.unwrap();
    assert!(
        error.starts_with("error forwarding port 8080 to pod "),
        "{error}"
    );
    assert!(error.contains("connect: connection refused"), "{error}");

    cluster
        .pods()
        .named("web")
        .on_port_forward(async |mut connection| {
            let (mut read, mut write) = tokio::io::split(&mut connection.stream);
            copy(&mut read, &mut write).await.map(drop)
        });
    let mut forwarded = pods.portforward("web", &[8080, 8081]).await.unwrap();
    for port in [8081, 8080] {
        let mut stream = forwarded.take_stream(port).unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut echoed = [0; 4];
        stream.read_exact(&mut echoed).await.unwrap();
        assert_eq!(&echoed, b"ping");
    }
}

#[tokio::test]
async fn a_handler_that_does_not_read_holds_up_its_own_client_alone() {
    let cluster = cluster("nginx").await;
    let go = Arc::new(Semaphore::new(0));
    cluster.pods().container("main").on_exec({
        let go = go.clone();
        move |_session| {
            let go = go.clone();
            async move {
                go.acquire().await.unwrap().forget();
                0
            }
        }
    });
    let streams = AttachParams::default().stdin(true);
    let pods = pods_by_socket(&cluster).await;
    let mut command = pods.exec("web", ["sleep"], &streams).await.unwrap();
    let mut stdin = command.stdin().unwrap();
    let flood = async { while stdin.write_all(&[0; 1 << 10]).await.is_ok() {} };
    let others = async {
        assert!(cluster.get::<Pod>("web").await.is_some());
        go.add_permits(1);
        ended(command).await.2
    };
    tokio::select! {
        () = flood => {}
        code = others => assert_eq!(code, Some(0)),
    }
}

#[tokio::test]
async fn a_connection_through_the_proxy_becomes_what_the_program_makes_of_it() {
    let program = Program::function(async |container| {
        let listener = tokio::net::TcpListener::bind((container.address(), 7000)).await;
        let (mut stream, _) = listener.unwrap().accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        assert!(head.starts_with("get /chat?loud http/1.1\r\n"), "{head}");
        assert!(head.contains("upgrade: echo\r\n"), "{head}");
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        let (mut read, mut written) = stream.split();
        copy(&mut read, &mut written).await.unwrap();
        container.stopped().await;
        0
    });
    let cluster = cluster_with("echo", program).await;
    let path = "/api/v1/namespaces/default/pods/web:7000/proxy/chat?loud";
    let answer = eventually("a program that listens", async || {
        let request = http::Request::get(path)
            .header("connection", "Upgrade")
            .header("upgrade", "echo")
            .body(kube::client::Body::empty());
        let answer = cluster.client().send(request.unwrap()).await.unwrap();
        (answer.status() != 503).then_some(answer)
    })
    .await;
    assert_eq!(answer.status(), 101);
    assert_eq!(answer.headers()["upgrade"], "echo");
    let upgraded = hyper::upgrade::on(answer).await.unwrap();
    let mut stream = hyper_util::rt::TokioIo::new(upgraded);
    stream.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
}
