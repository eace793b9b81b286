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

/// The terminal, or whatever stands in for it.
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

    /// A result, on standard output.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        let _guard = self.out.lock();
        // A reader that went away (`| head`) is no reason to fail: what was to be done is done.
        let _ = writeln!(io::stdout().lock(), "{}", text.as_ref());
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

    /// Says that something long begins; its end, with the time it took, is said by [`Step::done`].
    pub(crate) fn step(&self, what: &str) -> Step<'_> {
        self.note(format!("{} {what} …", self.paint(Tone::Faint, "·")));
        Step {
            ui: self,
            started: Instant::now(),
        }
    }
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
