//! Keeps reviews in files, beside the calls: what is slow or full costs recordings and no call.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, SystemTime};

use kubewright_server::memory_limit;
use kubewright_webhook::{Answered, Recording};

/// The reviews that wait to be written have so many bytes at most; more are not kept.
const MOST_WAITING: usize = 16 << 20;
/// What a review takes beside its JSON.
const OVERHEAD: usize = 1024;
/// So many are kept by one run of a program, so that one who forgets it does not fill a disk.
const MOST: usize = 10_000;
/// How long the end of a program waits for what is still to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Keeps reviews in the files of a directory. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    queue: Sender<Message>,
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
    is_late: Arc<AtomicBool>,
}

enum Message {
    Keep(Box<Kept>),
    /// Everything before this is written.
    End(SyncSender<()>),
}

struct Kept {
    bytes: usize,
    at: SystemTime,
    path: String,
    hook: String,
    review: String,
    answer: Option<Vec<u8>>,
}

impl Recorder {
    /// Begins to keep reviews in a directory, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made or written to.
    pub(crate) fn start(directory: &Path) -> io::Result<Self> {
        make(directory)?;
        let (queue, kept) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (directory, written) = (directory.to_owned(), Arc::clone(&waiting));
        std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || write_all(&kept, &directory, &written))?;
        let memory = memory_limit().unwrap_or(usize::MAX);
        Ok(Self {
            queue,
            waiting,
            most_waiting: MOST_WAITING.min(memory / 16),
            is_late: Arc::default(),
        })
    }

    pub(crate) fn keep(&self, answered: &Answered<'_>) {
        let bytes = answered.review.len() + answered.answer.map_or(0, <[u8]>::len) + OVERHEAD;
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.most_waiting {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            if !self.is_late.swap(true, Ordering::Relaxed) {
                tracing::warn!("reviews come faster than they can be recorded: some are not kept");
            }
            return;
        }
        let kept = Kept {
            bytes,
            at: SystemTime::now(),
            path: answered.path.to_owned(),
            hook: answered.hook.to_owned(),
            review: answered.review.to_owned(),
            answer: answered.answer.map(<[u8]>::to_vec),
        };
        // The thread that writes ends after this does.
        let _ = self.queue.send(Message::Keep(Box::new(kept)));
    }

    /// Waits until everything is written, or for a while.
    pub(crate) fn finish(&self) {
        self.finish_within(FLUSH_TIMEOUT);
    }

    fn finish_within(&self, patience: Duration) {
        let (written, end) = sync_channel(1);
        let _ = self.queue.send(Message::End(written));
        if let Err(RecvTimeoutError::Timeout) = end.recv_timeout(patience) {
            tracing::warn!("the last reviews could not be recorded in time");
        }
    }
}

/// Only the user that the program runs as may look at what is kept.
fn make(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)?;
    // That nothing can be written is found out now.
    let probe = directory.join(format!(".{}", std::process::id()));
    std::fs::write(&probe, "")?;
    std::fs::remove_file(probe)
}

fn write_all(kept: &Receiver<Message>, directory: &Path, waiting: &AtomicUsize) {
    let (mut count, mut has_failed) = (0, false);
    while let Ok(message) = kept.recv() {
        let kept = match message {
            Message::Keep(kept) => kept,
            Message::End(written) => {
                // The send fails if the caller has stopped waiting, which is no error.
                let _ = written.send(());
                continue;
            }
        };
        count += 1;
        if count == MOST + 1 {
            tracing::warn!(reviews = MOST, "no more reviews are recorded");
        }
        if count <= MOST
            && let Err(error) = write(&kept, directory, count)
            && !has_failed
        {
            has_failed = true;
            tracing::warn!(directory = %directory.display(), %error, "cannot record a review");
        }
        waiting.fetch_sub(kept.bytes, Ordering::Relaxed);
    }
}

fn write(kept: &Kept, directory: &Path, number: usize) -> io::Result<()> {
    let answer = kept.answer.as_deref();
    let recording = Recording::of(&kept.path, &kept.hook, &kept.review, answer)?;
    let mut text = serde_json::to_string_pretty(&recording)?;
    text.push('\n');
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(name(kept, directory, number))?
        .write_all(text.as_bytes())
}

/// In the order of time, also when several replicas write into one directory.
fn name(kept: &Kept, directory: &Path, number: usize) -> PathBuf {
    let at = kept.at.duration_since(SystemTime::UNIX_EPOCH);
    let at = at.unwrap_or_default().as_millis();
    let process = std::process::id();
    directory.join(format!("{at:013}-{process}-{number:05}-{}.json", kept.hook))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::Request;
    use k8s_openapi::api::core::v1::Secret;
    use kubewright_webhook::{
        Change, Create, Mutated, Review, Validated, Webhooks, deny, mutating, validating,
    };
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    async fn short(change: Change<Secret>, _: Review) -> Validated {
        let data = change.object().data.clone().unwrap_or_default();
        if data.values().any(|value| value.0.len() < 8) {
            return deny("a password has eight characters");
        }
        Ok(())
    }

    async fn label(change: Change<Secret>, _: Review) -> Mutated<Secret> {
        let mut secret = change.into_object();
        let labels = secret.metadata.labels.get_or_insert_default();
        labels.insert("seen".to_owned(), "yes".to_owned());
        Ok(secret)
    }

    fn webhooks() -> Webhooks {
        Webhooks::new("example.com")
            .with(validating("short", short).on([Create]))
            .with(mutating("label", label).on([Create]))
    }

    async fn call(webhooks: &Webhooks, path: &str, password: &str) {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "u", "operation": "CREATE",
                "kind": {"group": "", "version": "v1", "kind": "Secret"},
                "resource": {"group": "", "version": "v1", "resource": "secrets"},
                "object": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"password": password}},
            },
        });
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(review.to_string())
            .unwrap();
        let answered: Result<_, Infallible> = webhooks.clone().oneshot(request).await;
        assert_eq!(answered.unwrap().status(), 200);
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    #[tokio::test]
    async fn every_review_is_kept_with_its_answer_and_without_secrets() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("a/b");
        let recorder = Recorder::start(&directory).unwrap();
        let webhooks = webhooks();
        let own = recorder.clone();
        webhooks.observe(move |answered| own.keep(answered));
        call(&webhooks, "/short", "aHVudGVyMg==").await;
        call(&webhooks, "/label", "aHVudGVyMg==").await;
        recorder.finish();
        let files = files(&directory);
        let kept: Vec<Recording> = files
            .iter()
            .map(|file| {
                let text = std::fs::read_to_string(file).unwrap();
                assert!(!text.contains("aHVudGVyMg"), "{text}");
                serde_json::from_str(&text).unwrap()
            })
            .collect();
        let [short, label] = &kept[..] else {
            panic!("two files: {files:?}")
        };
        assert_eq!((short.path(), short.hook()), ("/short", "short"));
        assert_eq!(
            short.answer().unwrap()["status"]["message"],
            "a password has eight characters"
        );
        let patch: &Value = &label.answer().unwrap()["patch"];
        assert_eq!(patch[0]["value"], json!({"seen": "yes"}));
        #[cfg(unix)]
        for path in [&directory, &files[0]] {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    }

    #[test]
    fn a_disk_that_hangs_does_not_hold_up_the_end() {
        let (recorder, _unread) = hanging();
        recorder.finish_within(Duration::from_millis(20));
    }

    /// A recorder whose entries are not written.
    fn hanging() -> (Recorder, Receiver<Message>) {
        let (queue, unread) = channel();
        let recorder = Recorder {
            queue,
            waiting: Arc::default(),
            most_waiting: 16 * 1024,
            is_late: Arc::default(),
        };
        (recorder, unread)
    }

    #[tokio::test]
    async fn what_waits_to_be_written_is_held_to_a_number_of_bytes() {
        let (recorder, unread) = hanging();
        let (webhooks, own) = (webhooks(), recorder.clone());
        webhooks.observe(move |answered| own.keep(answered));
        for _ in 0..10 {
            call(&webhooks, "/short", &"YWFh".repeat(1000)).await;
        }
        let waiting = recorder.waiting.load(Ordering::Relaxed);
        assert!(waiting <= 16 * 1024, "{waiting}");
        let kept = unread.try_iter().count();
        assert!((1..5).contains(&kept), "{kept}");
        assert!(recorder.is_late.load(Ordering::Relaxed));
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_found_out_at_the_start() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Recorder::start(&file.path().join("a")).is_err());
        assert!(Recorder::start(file.path()).is_err());
    }
}
