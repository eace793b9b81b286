//! What the program logs. All tests of this process share the log, so each looks for objects of its own.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use tracing_subscriber::fmt::MakeWriter;

/// The lines that name an object, once the log is kept: from the first call on.
pub(crate) fn lines_about(object: &str) -> Vec<String> {
    static LOG: LazyLock<Log> = LazyLock::new(|| {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt().with_ansi(false);
        subscriber.with_writer(log.clone()).init();
        log
    });
    let text = String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().filter(|line| line.contains(object));
    lines.map(str::to_owned).collect()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
