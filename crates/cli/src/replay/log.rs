//! Reading an audit log: line by line, within a bounded memory, past lines that are no events.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::Event;
use crate::failure::{Failure, Outcome};

/// The longest line that is read, in bytes. A write has at most two objects of 3 MiB.
const LONGEST_LINE: usize = 16 << 20;

/// How many lines that are no events are named.
const MOST_NAMED: usize = 5;

/// An audit log that is being read.
pub(crate) struct Log {
    name: String,
    reader: Box<dyn BufRead>,
    size: Option<u64>,
    /// The number of the last line that was read.
    line: usize,
    bytes: u64,
    skipped: Skipped,
    events: usize,
}

/// Lines that are no events, of one log.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) count: usize,
    /// The first of them, each with the reason.
    pub(crate) named: Vec<String>,
}

/// The kind of an object in the log, and the events of a list.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    kind: String,
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

impl Log {
    /// Opens a log; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        if path == Path::new("-") {
            let stdin = Box::new(BufReader::new(io::stdin()));
            return Self::new("standard input".to_owned(), stdin, None);
        }
        let name = path.display().to_string();
        let describe = || format!("cannot read the audit log {name}");
        let file = File::open(path).with_context(describe)?;
        let metadata = file.metadata().with_context(describe)?;
        if metadata.is_dir() {
            let text = format!("cannot read the audit log {name}: it is a directory");
            return Err(Failure::new(text).hint("name each file with an --audit-log of its own"));
        }
        let size = metadata.is_file().then_some(metadata.len());
        Self::new(
            name.clone(),
            Box::new(BufReader::with_capacity(1 << 16, file)),
            size,
        )
    }

    fn new(name: String, mut reader: Box<dyn BufRead>, size: Option<u64>) -> Outcome<Self> {
        let start = reader.fill_buf();
        let start = start.with_context(|| format!("cannot read the audit log {name}"))?;
        if let Some(command) = decompressor(start) {
            let text = format!("the audit log {name} is compressed");
            let hint = format!("decompress it: {command} FILE | kubewright replay --audit-log -");
            return Err(Failure::new(text).hint(hint));
        }
        Ok(Self {
            name,
            reader,
            size,
            line: 0,
            bytes: 0,
            skipped: Skipped::default(),
            events: 0,
        })
    }

    /// The name of the log, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line that the last events were in.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// How much of the log is read, in bytes, and how large it is, if that is known.
    pub(crate) fn progress(&self) -> (u64, Option<u64>) {
        (self.bytes, self.size)
    }

    /// Lines that were no events.
    pub(crate) fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Reads the events of the next line that has any, or none at the end.
    pub(crate) fn next(&mut self) -> Outcome<Option<Vec<Event>>> {
        loop {
            let mut text = Vec::new();
            let read = self.next_line(&mut text);
            let read = read.with_context(|| format!("cannot read the audit log {}", self.name))?;
            match read {
                Line::End => break,
                Line::TooLong => {
                    self.skip(&format!("it is longer than {} MiB", LONGEST_LINE >> 20));
                }
                Line::Whole | Line::Last if text.trim_ascii().is_empty() => {}
                Line::Whole | Line::Last => match events(&text) {
                    Ok(events) if events.is_empty() => {}
                    Ok(events) => {
                        self.events += events.len();
                        return Ok(Some(events));
                    }
                    Err(why) if read == Line::Last => {
                        self.skip(&format!("{why}; the log ends in it"));
                    }
                    Err(why) => self.skip(&why),
                },
            }
        }
        if self.events > 0 {
            return Ok(None);
        }
        let Some(first) = self.skipped.named.first() else {
            return Err(Failure::new(format!(
                "the audit log {} is empty",
                self.name
            )));
        };
        let text = format!("{} has no audit event: {first}", self.name);
        Err(Failure::new(text).hint("pass a log of kube-apiserver --audit-log-path, with an event of audit.k8s.io/v1 on each line"))
    }

    fn skip(&mut self, why: &str) {
        self.skipped.count += 1;
        if self.skipped.named.len() < MOST_NAMED {
            self.skipped
                .named
                .push(format!("line {}: {why}", self.line));
        }
    }

    /// Reads a line without its end. Of a line that is too long nothing is kept.
    fn next_line(&mut self, line: &mut Vec<u8>) -> io::Result<Line> {
        let mut is_too_long = false;
        let mut is_started = false;
        loop {
            let read = self.reader.fill_buf()?;
            if read.is_empty() {
                return Ok(match (is_started, is_too_long) {
                    (false, _) => Line::End,
                    (true, true) => Line::TooLong,
                    (true, false) => Line::Last,
                });
            }
            if !is_started {
                is_started = true;
                self.line += 1;
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            if line.len() + part.len() > LONGEST_LINE {
                is_too_long = true;
                *line = Vec::new();
            }
            if !is_too_long {
                line.extend_from_slice(part);
            }
            let used = end.map_or(read.len(), |end| end + 1);
            self.reader.consume(used);
            self.bytes += used as u64;
            if end.is_some() {
                return Ok(if is_too_long {
                    Line::TooLong
                } else {
                    Line::Whole
                });
            }
        }
    }
}

/// What was read of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Whole,
    /// The last one, which has no end: its writer may have been stopped.
    Last,
    TooLong,
    End,
}

/// The events of a line: one, or those of an EventList.
fn events(line: &[u8]) -> Result<Vec<Event>, String> {
    let not_json = |error: serde_json::Error| {
        format!("it is not a whole JSON object (column {})", error.column())
    };
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let head: Head<'_> = serde_json::from_str(text).map_err(not_json)?;
    let event = |text: &str| {
        let event = serde_json::from_str::<Event>(text);
        event.map_err(|error| format!("it is not an audit event (column {})", error.column()))
    };
    match (&*head.api_version, &*head.kind) {
        ("audit.k8s.io/v1", "Event") => Ok(vec![event(text)?]),
        ("audit.k8s.io/v1", "EventList") => {
            head.items.iter().map(|item| event(item.get())).collect()
        }
        ("", "") => Err("it has no apiVersion and kind".to_owned()),
        (api_version, kind) => Err(format!(
            "it is of the kind {} of {}, not an Event of audit.k8s.io/v1",
            kind.escape_debug(),
            api_version.escape_debug()
        )),
    }
}

/// The program that decompresses a file that begins like this.
fn decompressor(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], _); 4] = [
        (&[0x1f, 0x8b], "gunzip -c"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd -dc"),
        (&[0xfd, 0x37, 0x7a, 0x58, 0x5a], "xz -dc"),
        (b"BZh", "bzip2 -dc"),
    ];
    let found = known.iter().find(|(magic, _)| start.starts_with(magic));
    found.map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bytes: &[u8]) -> Log {
        let reader = io::Cursor::new(bytes.to_vec());
        Log::new("a.log".to_owned(), Box::new(reader), None).unwrap()
    }

    fn line(id: &str) -> String {
        format!(r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"{id}"}}"#)
    }

    /// The lines and the ids of all events, and the lines that were skipped.
    fn read(bytes: &[u8]) -> (Vec<(usize, String)>, Vec<String>) {
        let mut log = log(bytes);
        let mut found = Vec::new();
        while let Some(events) = log.next().unwrap() {
            found.extend(events.into_iter().map(|event| (log.line(), event.audit_id)));
        }
        (found, log.skipped().named.clone())
    }

    #[test]
    fn events_come_with_their_lines_and_lists_of_them_too() {
        let list = format!(
            r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{{}},"items":[{},{}]}}"#,
            line("b"),
            line("c")
        );
        let text = format!("{}\n\n{list}\r\n{}", line("a"), line("d"));
        let (found, skipped) = read(text.as_bytes());
        let expected = [(1, "a"), (3, "b"), (3, "c"), (4, "d")];
        assert_eq!(found, expected.map(|(line, id)| (line, id.to_owned())));
        assert!(skipped.is_empty(), "{skipped:?}");
    }

    #[test]
    fn lines_that_are_no_events_are_named_and_the_rest_is_read() {
        let pod = r#"{"kind":"Pod","apiVersion":"v1"}"#;
        let text = format!("{}\nnot json\n{pod}\n[]\n{{}}\n", line("a"));
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(b"\xff\xfe\n");
        let whole = line("b");
        bytes.extend_from_slice(format!("{whole}\n{}", &whole[..30]).as_bytes());
        let (found, skipped) = read(&bytes);
        assert_eq!(found, [(1, "a".to_owned()), (7, "b".to_owned())]);
        assert_eq!(skipped.len(), MOST_NAMED);
        assert_eq!(
            skipped[0],
            "line 2: it is not a whole JSON object (column 2)"
        );
        assert_eq!(
            skipped[1],
            "line 3: it is of the kind Pod of v1, not an Event of audit.k8s.io/v1"
        );
        assert_eq!(skipped[3], "line 5: it has no apiVersion and kind");
        assert_eq!(skipped[4], "line 6: it is not UTF-8");
    }

    #[test]
    fn a_last_line_that_is_not_whole_is_said_to_be_the_last() {
        let text = format!("{}\n{}", line("a"), &line("b")[..20]);
        let (found, skipped) = read(text.as_bytes());
        assert_eq!(found.len(), 1);
        assert!(
            skipped[0].starts_with("line 2: it is not a whole JSON object"),
            "{skipped:?}"
        );
        assert!(skipped[0].ends_with("; the log ends in it"), "{skipped:?}");
    }

    #[test]
    fn a_line_beyond_the_limit_is_passed_over_without_being_kept() {
        let mut bytes = vec![b'x'; LONGEST_LINE + 1];
        bytes.push(b'\n');
        bytes.extend_from_slice(line("a").as_bytes());
        let (found, skipped) = read(&bytes);
        assert_eq!(found, [(2, "a".to_owned())]);
        assert_eq!(skipped, ["line 1: it is longer than 16 MiB"]);
    }

    fn refused(bytes: &[u8]) -> String {
        let reader = Box::new(io::Cursor::new(bytes.to_vec()));
        let opened = Log::new("a.log".to_owned(), reader, None);
        let failure = opened.and_then(|mut log| log.next().map(drop)).unwrap_err();
        failure.lines().join("\n")
    }

    #[test]
    fn a_log_without_events_is_refused_with_the_reason() {
        assert_eq!(refused(b""), "error: the audit log a.log is empty");
        assert_eq!(refused(b"\n\n"), "error: the audit log a.log is empty");
        let other = refused(b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n");
        assert!(
            other.contains("a.log has no audit event: line 1: it is of the kind Pod"),
            "{other}"
        );
        let compressed = refused(b"\x1f\x8b\x08\x00");
        assert!(compressed.contains("is compressed"), "{compressed}");
        assert!(compressed.contains("gunzip -c FILE"), "{compressed}");
    }
}
