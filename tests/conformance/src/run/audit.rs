//! What a server writes into its audit log about the requests of a case.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// How the requests begin whose events are compared.
const PREFIX: &str = "conformance-";

/// How long an event may take behind its answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The audit log of a server, as far as it has been read.
#[derive(Debug)]
pub(crate) struct AuditLog {
    path: Option<PathBuf>,
    read: Mutex<Reader>,
}

#[derive(Debug, Default)]
struct Reader {
    file: Option<File>,
    /// A line that is not whole yet.
    rest: Vec<u8>,
    events: HashMap<String, Vec<Value>>,
}

impl AuditLog {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            read: Mutex::default(),
        }
    }

    /// The `Audit-Id` of a request whose events are to be found.
    pub(crate) fn id(request: &str) -> String {
        format!("{PREFIX}{request}")
    }

    /// The events of a request that has been answered. A request that no event ends has those that came in time.
    pub(crate) async fn events(&self, id: &str) -> Result<Vec<Value>> {
        let late = Instant::now() + TIMEOUT;
        loop {
            let found = self.take(id)?;
            if found.iter().any(is_last) || Instant::now() >= late {
                return Ok(found);
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// The events that have been written so far; they are forgotten once the last is there.
    fn take(&self, id: &str) -> Result<Vec<Value>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path.as_ref();
        let path = path.context("this case compares audit events, and the server has no log")?;
        if read.file.is_none() {
            let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
            read.file = Some(file);
        }
        let mut more = Vec::new();
        if let Some(file) = &mut read.file {
            file.read_to_end(&mut more).context("read the audit log")?;
        }
        read.add(&more)?;
        Ok(read.events.get(id).cloned().unwrap_or_default())
    }
}

impl Reader {
    fn add(&mut self, more: &[u8]) -> Result<()> {
        self.rest.extend_from_slice(more);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(());
        };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        let wanted = format!("\"auditID\":\"{PREFIX}");
        for line in String::from_utf8_lossy(&lines).lines() {
            if line.contains(&wanted) {
                let event: Value = serde_json::from_str(line).context("read an audit event")?;
                let id = event["auditID"].as_str().unwrap_or_default().to_owned();
                self.events.entry(id).or_default().push(event);
            }
        }
        Ok(())
    }
}

/// Whether an event is the last of its request. A request without a user ends with the stage `ResponseStarted`.
fn is_last(event: &Value) -> bool {
    event["stage"] != "ResponseStarted" || event["user"].get("username").is_none()
}
