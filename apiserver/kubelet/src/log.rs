//! The output of a container.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, Stream};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The log of one run of a container.
#[derive(Clone, Debug)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lines: Mutex<Lines>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<(Timestamp, Bytes)>,
    bytes: usize,
    /// How many lines were forgotten.
    forgotten: usize,
    is_closed: bool,
}

/// Which part of a log is read.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "the options of pods/log")]
pub struct LogOptions {
    /// Waits for more until the container ends.
    pub follow: bool,
    /// At most so many of the last lines.
    pub tail: Option<usize>,
    /// Only lines from then on.
    pub since: Option<Timestamp>,
    /// The time before each line.
    pub timestamps: bool,
    /// At most so many bytes.
    pub limit: Option<usize>,
}

impl Default for Log {
    fn default() -> Self {
        Self(Arc::new(Inner {
            lines: Mutex::default(),
            changes: watch::Sender::new(()),
        }))
    }
}

impl Log {
    /// Adds a line with its end. The oldest lines are forgotten when there are too many.
    pub(crate) fn write(&self, line: Bytes) {
        /// As many as a kubelet keeps in a file before it begins another.
        const MOST: usize = 10 << 20;
        let mut lines = self.0.lines.lock();
        lines.bytes += size(&line);
        lines.kept.push_back((Timestamp::now(), line));
        while lines.bytes > MOST
            && let Some((_, oldest)) = lines.kept.pop_front()
        {
            lines.bytes -= size(&oldest);
            lines.forgotten += 1;
        }
        drop(lines);
        self.0.changes.send_replace(());
    }

    /// Says that nothing follows.
    pub(crate) fn close(&self) {
        self.0.lines.lock().is_closed = true;
        self.0.changes.send_replace(());
    }

    /// Reads the log.
    pub fn read(&self, options: LogOptions) -> impl Stream<Item = Bytes> + Send + use<> {
        let start = self.start(&options);
        let changes = self.0.changes.subscribe();
        let left = options.limit.unwrap_or(usize::MAX);
        let state = (self.clone(), changes, start, left, options);
        stream::unfold(
            state,
            |(log, mut changes, mut next, left, options)| async move {
                if left == 0 {
                    return None;
                }
                loop {
                    changes.mark_unchanged();
                    let (mut text, after, is_closed) = log.from(next, &options);
                    next = after;
                    if !text.is_empty() {
                        text.truncate(left);
                        let left = left - text.len();
                        return Some((Bytes::from(text), (log, changes, next, left, options)));
                    }
                    if is_closed || !options.follow || changes.changed().await.is_err() {
                        return None;
                    }
                }
            },
        )
    }

    /// The number of the first line that is read.
    fn start(&self, options: &LogOptions) -> usize {
        let lines = self.0.lines.lock();
        let end = lines.forgotten + lines.kept.len();
        let start = options.tail.map_or(0, |tail| end.saturating_sub(tail));
        let since = options.since.map_or(0, |since| {
            let earlier = lines.kept.iter().take_while(|(time, _)| *time < since);
            lines.forgotten + earlier.count()
        });
        start.max(since)
    }

    fn from(&self, next: usize, options: &LogOptions) -> (Vec<u8>, usize, bool) {
        let lines = self.0.lines.lock();
        let first = next.saturating_sub(lines.forgotten);
        let before = first.checked_sub(1).and_then(|at| lines.kept.get(at));
        // A line that was cut has its time only once.
        let mut begins = before.is_none_or(|(_, line)| line.ends_with(b"\n"));
        let mut text = Vec::new();
        for (time, line) in lines.kept.iter().skip(first) {
            if options.timestamps && begins {
                text.extend_from_slice(format!("{time:.9} ").as_bytes());
            }
            text.extend_from_slice(line);
            begins = line.ends_with(b"\n");
        }
        (text, lines.forgotten + lines.kept.len(), lines.is_closed)
    }
}

/// What a line takes, which is more than its text: empty ones count too.
fn size(line: &Bytes) -> usize {
    size_of::<(Timestamp, Bytes)>() + line.len()
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;

    fn log(lines: &[&'static str]) -> Log {
        let log = Log::default();
        for line in lines {
            log.write(Bytes::from_static(line.as_bytes()));
        }
        log
    }

    async fn text(log: &Log, options: LogOptions) -> String {
        let all: Vec<Bytes> = log.read(options).collect().await;
        String::from_utf8(all.concat()).unwrap()
    }

    #[tokio::test]
    async fn the_last_lines_and_a_number_of_bytes_can_be_asked_for() {
        let log = log(&["a\n", "b\n", "c\n"]);
        assert_eq!(text(&log, LogOptions::default()).await, "a\nb\nc\n");
        let tail = LogOptions {
            tail: Some(2),
            limit: Some(3),
            ..LogOptions::default()
        };
        assert_eq!(text(&log, tail).await, "b\nc");
    }

    #[tokio::test]
    async fn a_reader_that_follows_gets_later_lines_until_the_end() {
        let log = log(&["a\n"]);
        let follow = LogOptions {
            follow: true,
            tail: Some(0),
            ..LogOptions::default()
        };
        let mut lines = Box::pin(log.read(follow));
        assert!(lines.next().now_or_never().is_none());
        log.write(Bytes::from_static(b"b\n"));
        assert_eq!(lines.next().await.unwrap(), "b\n");
        log.close();
        assert!(lines.next().await.is_none());
    }

    #[tokio::test]
    async fn a_line_that_was_cut_has_its_time_once() {
        let log = log(&["a", "b", "c\n", "d\n"]);
        let options = LogOptions {
            timestamps: true,
            ..LogOptions::default()
        };
        let read = text(&log, options).await;
        let lines: Vec<&str> = read
            .lines()
            .filter_map(|line| Some(line.split_once(' ')?.1))
            .collect();
        assert_eq!(lines, ["abc", "d"]);
    }

    #[test]
    fn empty_lines_do_not_fill_the_memory() {
        let log = log(&vec!["\n"; 1 << 20]);
        assert!(log.0.lines.lock().kept.len() < (10 << 20) / size_of::<(Timestamp, Bytes)>());
    }
}
