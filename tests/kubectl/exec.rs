//! `exec`, `attach` and `port-forward`, over SPDY or WebSockets as each kubectl does it.

use std::process::Stdio;

use kubewright_testing::{Controllers, Program, Workloads};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines, copy,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStderr, ChildStdout};

use crate::session::{Session, with_controllers, with_these_controllers};

async fn run(session: &Session, image: &str) {
    session
        .prints(
            &format!("run web --image={image} --port=7000"),
            "pod/web created",
        )
        .await;
    session
        .comes_to_print("get pod web -o jsonpath={.status.phase}", "Running")
        .await;
}

#[tokio::test]
async fn a_plain_command_runs_in_a_simulated_container() {
    with_controllers(async |session| {
        run(session, "nginx").await;
        session.prints("exec web -- echo hi", "hi").await;
        session
            .fails(
                "exec web -- sh -c 'echo $HOSTNAME; exit 3'",
                3,
                "web",
                "command terminated with exit code 3",
            )
            .await;
        let printed = session.run("exec web -- psql").await;
        assert_eq!(printed.code, 1);
        assert!(
            printed.err.contains("answer in a test with `on_exec`"),
            "{printed:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_handler_reads_what_is_piped_into_a_command() {
    with_controllers(async |session| {
        run(session, "nginx").await;
        session.cluster.pods().on_exec(async |mut session| {
            let read = copy(&mut session.stdin, &mut session.stdout).await;
            session.stderr.write_all(b"read all\n").await.unwrap();
            i32::from(read.unwrap() == 0)
        });
        let text = "line\n".repeat(100_000);
        let printed = session.pipes("exec -i web -- cat", &text).await;
        assert_eq!(
            (printed.code, printed.out.as_str(), printed.err.as_str()),
            (0, text.trim_end(), "read all")
        );
        let printed = session.run("exec web -- cat").await;
        assert_eq!((printed.code, printed.out.as_str()), (1, ""));
    })
    .await;
}

#[tokio::test]
async fn an_attached_client_talks_to_a_handler() {
    with_controllers(async |session| {
        run(session, "nginx").await;
        session.cluster.pods().on_attach(async |mut session| {
            copy(&mut session.stdin, &mut session.stdout).await.unwrap();
        });
        let printed = session.pipes("attach -i web", "hello\n").await;
        assert_eq!(
            (printed.code, printed.out.as_str()),
            (0, "hello"),
            "{printed:?}"
        );
    })
    .await;
}

/// A kubectl that forwards a free port of this machine.
struct Forwarding {
    port: u16,
    errors: Lines<BufReader<ChildStderr>>,
    // It would end if it could not write.
    _output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

async fn forward(session: &Session) -> Forwarding {
    let mut child = session
        .command("port-forward pod/web :7000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = output.next_line().await.unwrap().unwrap();
    let (_, port) = line.split_once("127.0.0.1:").unwrap();
    Forwarding {
        port: port.split(' ').next().unwrap().parse().unwrap(),
        errors: BufReader::new(child.stderr.take().unwrap()).lines(),
        _output: output,
        _child: child,
    }
}

async fn asked(port: u16, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_forwarded_port_leads_to_a_handler() {
    with_controllers(async |session| {
        run(session, "nginx").await;
        session
            .cluster
            .pods()
            .on_port_forward(async |mut connection| {
                let mut text = String::new();
                connection.stream.read_to_string(&mut text).await?;
                let answer = format!("{} to {}", text, connection.port);
                connection.stream.write_all(answer.as_bytes()).await
            });
        let Forwarding { port, .. } = &forward(session).await;
        for text in ["one", "two"] {
            assert_eq!(asked(*port, text).await, format!("{text} to 7000"));
        }
        let all = (0..20).map(async |at| asked(*port, &at.to_string()).await);
        for (at, answer) in futures::future::join_all(all).await.iter().enumerate() {
            assert_eq!(*answer, format!("{at} to 7000"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_forwarded_port_leads_to_a_program() {
    let server = Program::function(async |container| {
        let listener = TcpListener::bind((container.address(), 7000))
            .await
            .unwrap();
        let serve = async {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).await.unwrap();
                stream
                    .write_all(text.to_uppercase().as_bytes())
                    .await
                    .unwrap();
            }
        };
        tokio::select! {
            () = serve => 1,
            () = container.stopped() => 0,
        }
    });
    let workloads = Workloads::default().container("shouter", server);
    with_these_controllers(&Controllers::all().workloads(workloads), async |session| {
        run(session, "shouter").await;
        let forwarding = forward(session).await;
        assert_eq!(asked(forwarding.port, "hello").await, "HELLO");
    })
    .await;
}

#[tokio::test]
async fn a_port_without_a_program_refuses_connections() {
    with_controllers(async |session| {
        run(session, "nginx").await;
        let mut forwarding = forward(session).await;
        asked(forwarding.port, "").await;
        let error = forwarding.errors.next_line().await.unwrap().unwrap();
        assert!(
            error.contains("error forwarding port 7000 to pod "),
            "{error}"
        );
        assert!(error.contains("connect: connection refused"), "{error}");
    })
    .await;
}
