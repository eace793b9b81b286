//! The only place that prints. Results go to standard output, everything else to standard error.
//!
//! Colour and moving lines appear on a terminal only, and not when `NO_COLOR` is set; what is printed reads the same
//! without them.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Instant;

/// How a piece of text is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Added,
    Removed,
    Faint,
    Strong,
}

/// Standard output and standard error, be they a terminal or not.
#[derive(Debug)]
pub(crate) struct Ui {
    colour: bool,
    out: Mutex<()>,
}

impl Ui {
    /// A Ui on this process's standard streams.
    pub(crate) fn new() -> Self {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            colour,
            out: Mutex::new(()),
        }
    }

    /// Whether results are coloured.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// A result, on standard output.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        let _guard = self.out.lock();
        // A reader that went away (`| head`) is no reason to fail: what was to be done is done.
        let _ = writeln!(io::stdout().lock(), "{}", text.as_ref());
    }

    /// A result for programs, on standard output.
    pub(crate) fn json(&self, value: &serde_json::Value) {
        self.line(format!("{value:#}"));
    }

    /// A remark for the person, on standard error.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        let _guard = self.out.lock();
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    /// `text` in its tone, if there is colour.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good | Tone::Added => "32",
            Tone::Bad | Tone::Removed => "31",
            Tone::Faint => "2",
            Tone::Strong => "1",
        };
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Clears the line of a [`Progress`], so that results do not follow it on its line.
    pub(crate) fn clear_progress(&self) {
        if io::stderr().is_terminal() {
            let _guard = self.out.lock();
            // A reader that went away is no reason to fail.
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }

    /// Says that something long begins; its end, with the time it took, is said by [`Step::done`].
    pub(crate) fn step(&self, what: &str) -> Step<'_> {
        self.note(format!("{} {what} …", self.paint(Tone::Faint, "·")));
        Step {
            ui: self,
            started: Instant::now(),
        }
    }
}

/// How far a download is: a line that moves on a terminal, and now and then a line elsewhere.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    ui: &'a Ui,
    moving: bool,
    have: u64,
    total: Option<u64>,
    /// The percentage, or the number of 16 MB, that was last told.
    told: u64,
}

impl<'a> Progress<'a> {
    /// Begins where `have` bytes are there already.
    pub(crate) fn new(ui: &'a Ui, have: u64, total: Option<u64>) -> Self {
        Self {
            ui,
            moving: io::stderr().is_terminal(),
            have,
            total,
            told: 0,
        }
    }

    /// Says that more bytes are there.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.have += bytes as u64;
        let every = if self.moving { 1 } else { 25 };
        let (step, text) = match self.total.filter(|total| *total > 0) {
            Some(total) => {
                let percent = self.have * 100 / total;
                let of = format!("{percent} % of {}", megabytes(total));
                (percent / every, of)
            }
            None => (self.have >> 24, megabytes(self.have)),
        };
        if step > self.told {
            self.told = step;
            let _guard = self.ui.out.lock();
            let mut stream = io::stderr().lock();
            // A reader that went away is no reason to fail.
            let _ = if self.moving {
                write!(stream, "\r\x1b[K  {text}")
            } else {
                writeln!(stream, "  {text}")
            };
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.moving && self.told > 0 {
            let _guard = self.ui.out.lock();
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}

/// Something long that has begun.
#[derive(Debug)]
#[must_use = "a step that began has to end"]
pub(crate) struct Step<'a> {
    ui: &'a Ui,
    started: Instant,
}

impl Step<'_> {
    /// Says that it is done, with its result.
    pub(crate) fn done(self, result: &str) {
        let took = Instant::now().duration_since(self.started);
        let took = if took.as_millis() < 1000 {
            format!("{} ms", took.as_millis())
        } else {
            format!("{:.1} s", took.as_secs_f64())
        };
        let mark = self.ui.paint(Tone::Good, "✓");
        let took = self.ui.paint(Tone::Faint, &format!("({took})"));
        self.ui.note(format!("{mark} {result} {took}"));
    }
}
