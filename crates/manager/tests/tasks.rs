//! Tasks of a program, in virtual time: when they run, how they end, and what becomes of them when the program does.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kubewright_controller::{Backoff, Error};
use kubewright_manager::{App, Program, RunError, StartError, Task, TaskContext};
use kubewright_manifests::{Install, ManifestError};
use kubewright_server::{Drain, Readiness};
use kubewright_webhook::{Change, ClusterPolicy, Review, Validated, Webhooks, validating};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(20);

/// A program at work. It ends, at once, with this.
struct Running {
    readiness: Readiness,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Running {
    async fn start(tasks: impl IntoIterator<Item = Task>) -> Self {
        let app = tasks.into_iter().fold(App::new("worker"), App::task);
        let drain = Drain::default().propagation(Duration::ZERO).grace(GRACE);
        let program = Program::new(|_| app).drain(drain);
        let started = program.start().await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        Self {
            readiness: started.readiness(),
            stop: Some(stop),
            task: tokio::spawn(started.run(async { drop(stopped.await) })),
        }
    }

    /// Stops it, and returns how long that took.
    async fn stop(mut self) -> Duration {
        let begun = Instant::now();
        self.stop.take();
        (&mut self.task).await.unwrap().unwrap();
        begun.elapsed()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A function of a task that tells of each run, and then calls another one.
fn telling<Done>(
    mut act: impl FnMut(TaskContext) -> Done + Send + 'static,
) -> (
    impl Telling,
    mpsc::UnboundedReceiver<(Instant, TaskContext)>,
)
where
    Done: Future<Output = Result<(), Error>> + Send + 'static,
{
    let (sender, runs) = mpsc::unbounded_channel();
    let act = Mutex::new(move |context: TaskContext| {
        drop(sender.send((Instant::now(), context.clone())));
        act(context)
    });
    (move |context| (act.lock().unwrap())(context), runs)
}

trait Telling: kubewright_manager::RunTask {}
impl<R: kubewright_manager::RunTask> Telling for R {}

/// The times of the next runs, from the first one on.
async fn times(
    runs: &mut mpsc::UnboundedReceiver<(Instant, TaskContext)>,
    count: usize,
) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..count {
        times.push(runs.recv().await.unwrap().0);
    }
    times.iter().map(|time| *time - times[0]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_without_times_runs_once() {
    let (run, mut runs) = telling(async |_| Ok(()));
    let running = Running::start([Task::on_each_replica("once", run)]).await;
    let (_, context) = runs.recv().await.unwrap();
    assert_eq!(
        (context.name(), context.due(), context.failures()),
        ("once", None, 0)
    );
    sleep(Duration::from_hours(24)).await;
    assert!(runs.try_recv().is_err());
    assert_eq!(running.stop().await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn periods_do_not_drift_and_those_that_pass_during_a_run_are_left_out() {
    let mut lengths = [0, 4, 25, 10, 10, 0].into_iter();
    let (run, mut runs) = telling(move |_| {
        let length = lengths.next().unwrap_or_default();
        async move {
            sleep(SECOND * length).await;
            Ok(())
        }
    });
    let task = Task::on_each_replica("tick", run).every(SECOND * 10);
    let _running = Running::start([task]).await;
    let expected = [0, 10, 20, 50, 60, 70, 80].map(|seconds| SECOND * seconds);
    let found = times(&mut runs, 7).await;
    for (found, expected) in std::iter::zip(found, expected) {
        let off = found.abs_diff(expected);
        assert!(off < SECOND / 100, "{found:?} instead of {expected:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_jitter_delays_each_run_by_itself() {
    let (run, mut runs) = telling(async |_| Ok(()));
    let task = Task::on_each_replica("tick", run)
        .every(SECOND * 60)
        .jitter(SECOND * 30);
    let begun = Instant::now();
    let _running = Running::start([task]).await;
    let mut delays = Vec::new();
    for number in 0..50 {
        let (time, _) = runs.recv().await.unwrap();
        let delay = (time - begun).checked_sub(SECOND * 60 * number).unwrap();
        assert!(delay <= SECOND * 30, "{delay:?}");
        delays.push(delay.as_secs());
    }
    delays.sort_unstable();
    delays.dedup();
    assert!(delays.len() > 5, "{delays:?}");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_in_cron_form_is_kept_by_the_time_of_the_test() {
    let (run, mut runs) = telling(async |_| Ok(()));
    let task = Task::on_each_replica("report", run)
        .cron("30 2 * * *")
        .time_zone("Asia/Kolkata");
    let _running = Running::start([task]).await;
    let mut last: Option<Timestamp> = None;
    for _ in 0..3 {
        let (_, context) = runs.recv().await.unwrap();
        let (due, now) = (context.due().unwrap(), context.now());
        assert!(due.to_string().ends_with("T21:00:00Z"), "{due}");
        let late = now.duration_since(due);
        assert!(
            late >= SignedDuration::ZERO && late < SignedDuration::from_secs(10),
            "{late}"
        );
        if let Some(last) = last {
            assert_eq!(due.duration_since(last), SignedDuration::from_hours(24));
        }
        last = Some(due);
    }
}

#[tokio::test(start_paused = true)]
async fn times_that_pass_while_the_process_stands_still_are_one_run() {
    let (run, mut runs) = telling(async |_| Ok(()));
    let _running = Running::start([Task::on_each_replica("report", run).cron("@hourly")]).await;
    let first = runs.recv().await.unwrap().1.due().unwrap();
    tokio::time::advance(Duration::from_mins(210)).await;
    let late = runs.recv().await.unwrap().1.due().unwrap();
    assert_eq!(late.duration_since(first), SignedDuration::from_hours(1));
    let next = runs.recv().await.unwrap().1.due().unwrap();
    assert_eq!(next.duration_since(first), SignedDuration::from_hours(4));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_or_panics_is_tried_again_after_pauses_that_grow() {
    let (run, mut runs) = telling(async |context: TaskContext| match context.failures() {
        0 => Err(Error::retry("the first error")),
        1 => panic!("on purpose"),
        2 => Err(Error::retry("the last error")),
        _ => Ok(()),
    });
    let backoff = Backoff::new(SECOND * 10, SECOND * 1000);
    let running = Running::start([Task::on_each_replica("once", run).retry(backoff)]).await;
    let found = times(&mut runs, 4).await;
    for (number, longest) in [(1, 10), (2, 20), (3, 40)] {
        let pause = found[number].checked_sub(found[number - 1]).unwrap();
        let longest = SECOND * longest;
        assert!(
            pause >= longest / 2 && pause <= longest + SECOND,
            "{found:?}"
        );
    }
    sleep(Duration::from_hours(24)).await;
    assert!(runs.try_recv().is_err(), "it was done");
    assert!(running.readiness.is_ready());
    assert!(!running.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_is_tried_again_before_its_next_time_and_at_it_at_the_latest() {
    let (run, mut runs) = telling(async |context: TaskContext| {
        if context.failures() < 3 {
            return Err(Error::retry("not yet"));
        }
        Ok(())
    });
    // The pauses are up to 20, 40 and 80 seconds, and at least half of that.
    let backoff = Backoff::new(SECOND * 20, SECOND * 1000);
    let task = Task::on_each_replica("tick", run)
        .every(SECOND * 65)
        .retry(backoff);
    let _running = Running::start([task]).await;
    let mut seen = Vec::new();
    let first = runs.recv().await.unwrap().0;
    for _ in 0..4 {
        let (time, context) = runs.recv().await.unwrap();
        seen.push(((time - first).as_secs(), context.failures()));
    }
    // Two retries come before the next time; the third would come after 70 seconds at the earliest.
    assert!(seen[0].0 <= 20 && seen[0].1 == 1, "{seen:?}");
    assert!(seen[1].0 <= 60 && seen[1].1 == 2, "{seen:?}");
    assert_eq!(seen[2..], [(65, 3), (130, 0)], "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_error_waits_for_the_next_time() {
    let (run, mut runs) = telling(async |_| Err(Error::terminal("no")));
    let (never, mut nevers) = telling(async |_| Err(Error::terminal("no")));
    let tasks = [
        Task::on_each_replica("tick", run).every(Duration::from_hours(1)),
        Task::on_each_replica("once", never),
    ];
    let _running = Running::start(tasks).await;
    let found = times(&mut runs, 3).await;
    assert_eq!(found[2].as_secs(), 7200);
    assert!(nevers.recv().await.is_some());
    assert!(nevers.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_run_of_hours_that_fails_is_the_first_failure() {
    let (run, mut runs) = telling(async |context: TaskContext| {
        sleep(if context.failures() < 2 {
            SECOND
        } else {
            SECOND * 3600
        })
        .await;
        Err(Error::retry("the stream has ended"))
    });
    let _running = Running::start([Task::on_each_replica("follow", run)]).await;
    let mut failures = Vec::new();
    for _ in 0..5 {
        failures.push(runs.recv().await.unwrap().1.failures());
    }
    assert_eq!(failures, [0, 1, 2, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_task_never_runs_twice_at_once() {
    let (now, most, count) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let counters = Arc::new((now, most, count));
    let run = {
        let counters = Arc::clone(&counters);
        move |_: TaskContext| {
            let counters = Arc::clone(&counters);
            async move {
                let (now, most, count) = &*counters;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                count.fetch_add(1, Ordering::SeqCst);
                sleep(Duration::from_millis(fastrand::u64(..30_000))).await;
                now.fetch_sub(1, Ordering::SeqCst);
                if fastrand::bool() {
                    return Err(Error::retry("by chance"));
                }
                Ok(())
            }
        }
    };
    let _running = Running::start([Task::on_each_replica("tick", run).every(SECOND * 10)]).await;
    sleep(Duration::from_hours(6)).await;
    assert_eq!(counters.1.load(Ordering::SeqCst), 1);
    let count = counters.2.load(Ordering::SeqCst);
    assert!(count > 500, "{count} runs");
}

/// A log that is kept.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn start() -> (Self, impl Sized) {
        let kept = Self::default();
        let writer = kept.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        // With a single subscriber, whether an event is listened to is decided by the thread that comes to it first, of any test.
        let second = tracing::Dispatch::new(tracing_subscriber::registry());
        (kept, (second, tracing::subscriber::set_default(subscriber)))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_stops_waits_for_its_tasks_and_cuts_off_and_names_those_that_do_not_stop() {
    let (kept, _log) = Kept::start();
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let polite = move |context: TaskContext| {
        let done = Arc::clone(&done);
        async move {
            assert!(!context.is_shutting_down());
            context.shutdown().await;
            sleep(SECOND * 3).await;
            done.store(true, Ordering::SeqCst);
            Ok(())
        }
    };
    let idle = |_: TaskContext| std::future::ready(Ok(()));
    let tasks = || {
        [
            Task::on_each_replica("polite", polite.clone()),
            Task::on_each_replica("idle", idle).every(Duration::from_hours(1)),
        ]
    };
    let running = Running::start(tasks()).await;
    sleep(SECOND).await;
    let took = running.stop().await;
    assert!(took >= SECOND * 3 && took < SECOND * 4, "{took:?}");
    assert!(is_done.load(Ordering::SeqCst));
    assert!(!kept.text().contains("cut off"), "{}", kept.text());

    let stubborn = Task::on_leader("stubborn", async |_: TaskContext| {
        std::future::pending().await
    });
    let running = Running::start(tasks().into_iter().chain([stubborn])).await;
    sleep(SECOND).await;
    let took = running.stop().await;
    assert!(took >= GRACE && took < GRACE + SECOND, "{took:?}");
    let text = kept.text();
    let line = text
        .lines()
        .find(|line| line.contains("did not stop"))
        .unwrap();
    assert!(line.contains(r#"task="stubborn""#), "{line}");
    assert!(
        !text.contains(r#"did not stop when it was told to: it is cut off task="polite""#),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_names_the_task_of_every_line() {
    let (kept, _log) = Kept::start();
    let (run, mut runs) = telling(async |context: TaskContext| {
        tracing::info!("a line of its own");
        match context.failures() {
            0 => Err(Error::retry("the garden is locked")),
            1 => panic!("the key broke"),
            _ => Err(Error::terminal("the garden is gone")),
        }
    });
    let _running = Running::start([Task::on_each_replica("open", run)]).await;
    for _ in 0..3 {
        runs.recv().await.unwrap();
    }
    sleep(SECOND).await;
    let text = kept.text();
    for (said, level) in [
        ("a line of its own", "INFO"),
        ("the garden is locked", "WARN"),
        ("the key broke", "ERROR"),
        ("the garden is gone", "ERROR"),
    ] {
        let line = text.lines().find(|line| line.contains(said)).expect(said);
        assert!(
            line.contains(r#"task="open""#) && line.contains(level),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_program_with_a_wrong_schedule_does_not_start() {
    let (run, _runs) = telling(async |_| Ok(()));
    let app = App::new("worker").task(Task::on_leader("report", run).cron("0 3 * *"));
    let refused = Program::new(|_| app).start().await.unwrap_err();
    assert!(matches!(refused, StartError::Tasks(_)), "{refused:?}");
    let why = std::error::Error::source(&refused).unwrap().to_string();
    assert_eq!(
        why,
        "the task `report`: invalid schedule `0 3 * *`: it has 4 fields instead of five: minute, hour, day of the month, \
         month, day of the week"
    );
}

fn deployed(app: App) -> serde_json::Value {
    let manifests = Program::new(|_| app).deployment().unwrap().manifests();
    let mut objects = manifests.objects().iter();
    let deployment = objects.find(|object| object["kind"] == "Deployment");
    deployment.expect("a Deployment")["spec"].clone()
}

#[test]
fn tasks_of_the_leader_are_installed_as_controllers_are_and_others_run_on_every_replica() {
    let idle = |_: TaskContext| std::future::ready(Ok(()));
    let app = || App::new("worker").version("1.0.0");
    let leading = || app().task(Task::on_leader("report", idle));
    let alone = deployed(leading());
    assert_eq!(
        (&alone["replicas"], &alone["strategy"]["type"]),
        (&1.into(), &"Recreate".into())
    );
    assert_eq!(deployed(leading().leader_election("worker"))["replicas"], 2);
    let each = || Task::on_each_replica("warm-up", idle);
    assert_eq!(deployed(app().task(each()))["replicas"], 2);

    let install = Install::default().replicas(2);
    let refused = Program::new(|_| leading().install(install)).deployment();
    assert_eq!(refused.unwrap_err(), ManifestError::NoLeader(2));

    // API servers evaluate the policy, and the task needs a process.
    let lenient = |_: Change<Pod>, _: Review| std::future::ready(Validated::Ok(()));
    let hook = validating("lenient", lenient);
    let policy = ClusterPolicy::new(hook, serde_json::json!({}), serde_json::json!({}));
    let webhooks = Webhooks::new("policy.example.com").with(policy);
    assert_eq!(
        deployed(app().webhooks(webhooks).task(each()))["replicas"],
        2
    );
}

async fn page(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    page
}

#[tokio::test]
async fn runs_are_counted_by_how_they_ended() {
    let (fails, mut failing) = telling(async |_| Err(Error::retry("no")));
    let (works, mut working) = telling(async |_| Ok(()));
    let app = App::new("worker")
        .task(Task::on_leader("fails", fails).retry(Backoff::new(SECOND * 3600, SECOND * 3600)))
        .task(Task::on_each_replica("works", works));
    let program = Program::new(|_| app).metrics_bind_address(([127, 0, 0, 1], 0));
    let started = program.start().await.unwrap();
    let address = started.metrics_addr().unwrap();
    let before = page(address).await;
    assert!(
        before.contains("kubewright_task_runs_total{task=\"works\",outcome=\"done\"} 0\n"),
        "{before}"
    );
    assert!(
        !before.contains("kubewright_task_last_success_timestamp_seconds{"),
        "{before}"
    );
    let running = tokio::spawn(started.run(std::future::pending()));
    failing.recv().await.unwrap();
    working.recv().await.unwrap();
    let after = timeout(Duration::from_secs(30), async {
        loop {
            let page = page(address).await;
            let all = [
                "kubewright_task_runs_total{task=\"works\",outcome=\"done\"} 1\n",
                "kubewright_task_runs_total{task=\"fails\",outcome=\"failed\"} 1\n",
                "kubewright_task_last_success_timestamp_seconds{task=\"works\"} ",
            ];
            if all.iter().all(|series| page.contains(series)) {
                return page;
            }
            tokio::task::yield_now().await;
        }
    });
    let after = after.await.unwrap();
    assert!(!after.contains("seconds{task=\"fails\"}"), "{after}");
    running.abort();
}

#[tokio::test]
async fn a_program_without_tasks_has_no_metrics_of_them() {
    let program = Program::new(|_| App::new("worker")).metrics_bind_address(([127, 0, 0, 1], 0));
    let started = program.start().await.unwrap();
    let page = page(started.metrics_addr().unwrap()).await;
    assert!(!page.contains("task"), "{page}");
}
