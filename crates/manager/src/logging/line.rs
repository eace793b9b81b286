//! One event is one line of the log, of a bounded length, whatever it says.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// The longest line, in bytes. Events say less, unless a client has a say in them.
const LONGEST: usize = 16 * 1024;
/// What is left of each string of a longer line of JSON.
const LONGEST_STRING: usize = 2 * 1024;

/// How lines are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Text for a file.
    Plain,
    /// Text for a terminal: the formatter's own escape sequences are left in, and it takes out those of others.
    Coloured,
    /// One JSON object for each event.
    Json,
}

/// Makes one line of every event: the formatter writes each with a single call.
#[derive(Debug)]
pub(super) struct OneLine<W> {
    shape: Shape,
    inner: W,
}

impl<W> OneLine<W> {
    pub(super) fn of(shape: Shape, inner: W) -> Self {
        Self { shape, inner }
    }
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for OneLine<W> {
    type Writer = OneLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        OneLine::of(self.shape, self.inner.make_writer())
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        OneLine::of(self.shape, self.inner.make_writer_for(metadata))
    }
}

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(event);
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let line = match self.shape {
            Shape::Json => of_json(line),
            Shape::Plain => of_text(line, false),
            Shape::Coloured => of_text(line, true),
        };
        self.inner.write_all(format!("{line}\n").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn of_text(line: &str, has_colours: bool) -> Cow<'_, str> {
    let is_kept = |character: char| !character.is_control() || has_colours && character == '\u{1b}';
    if line.len() <= LONGEST && line.chars().all(is_kept) {
        return Cow::Borrowed(line);
    }
    let mut text = String::new();
    for character in start(line, LONGEST).chars() {
        if is_kept(character) {
            text.push(character);
        } else {
            text.extend(character.escape_default());
        }
    }
    if line.len() > LONGEST {
        text.push_str(&omitted(line.len() - LONGEST));
    }
    Cow::Owned(text)
}

/// JSON has no control characters, and must stay whole: its strings are cut, not the line.
fn of_json(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST {
        return Cow::Borrowed(line);
    }
    let Ok(mut event) = serde_json::from_str(line) else {
        return of_text(line, false);
    };
    shorten(&mut event);
    Cow::Owned(event.to_string())
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_STRING => {
            let omitted = omitted(text.len() - LONGEST_STRING);
            *text = format!("{}{omitted}", start(text, LONGEST_STRING));
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

fn start(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

fn omitted(bytes: usize) -> String {
    format!("… ({bytes} more bytes)")
}
