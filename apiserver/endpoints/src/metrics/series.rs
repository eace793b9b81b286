//! What is counted of the requests with the same labels.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::histogram::Histogram;

const SECONDS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];
const ANSWER_BYTES: [f64; 7] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const EVENT_BYTES: [f64; 8] = [
    1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0,
];

/// The labels of a request but its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) resource: &'a str,
    /// The path, for what is no resource.
    pub(crate) subresource: &'a str,
    pub(crate) scope: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) dry_run: &'static str,
}

/// The counters of the requests with the same labels.
#[derive(Debug)]
pub(super) struct Series {
    group: String,
    version: String,
    resource: String,
    subresource: String,
    scope: &'static str,
    verb: &'static str,
    dry_run: &'static str,
    codes: [AtomicU64; CODES.len()],
    pub(super) seconds: Histogram,
    pub(super) answer_bytes: Histogram,
    /// Watches that go on.
    pub(super) running: AtomicI64,
    pub(super) event_bytes: Histogram,
}

impl Series {
    pub(super) fn new(labels: &Labels<'_>) -> Self {
        Self {
            group: labels.group.to_owned(),
            version: labels.version.to_owned(),
            resource: labels.resource.to_owned(),
            subresource: labels.subresource.to_owned(),
            scope: labels.scope,
            verb: labels.verb,
            dry_run: labels.dry_run,
            codes: std::array::from_fn(|_| AtomicU64::new(0)),
            seconds: Histogram::of_seconds(&SECONDS),
            answer_bytes: Histogram::of_bytes(&ANSWER_BYTES),
            running: AtomicI64::new(0),
            event_bytes: Histogram::of_bytes(&EVENT_BYTES),
        }
    }

    pub(super) fn labels(&self) -> Labels<'_> {
        Labels {
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: &self.subresource,
            scope: self.scope,
            verb: self.verb,
            dry_run: self.dry_run,
        }
    }

    pub(super) fn answered(&self, code: u16) {
        // No handler answers with another code; if one does, it is counted as the server's fault.
        let at = CODES.binary_search(&code).unwrap_or(INTERNAL);
        self.codes[at].fetch_add(1, Ordering::Relaxed);
    }

    /// The codes of the answers, with their number.
    pub(super) fn codes(&self) -> impl Iterator<Item = (u16, u64)> {
        let counted = CODES.iter().zip(&self.codes);
        counted
            .map(|(code, count)| (*code, count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
    }
}

const CODES: [u16; 27] = [
    101, 200, 201, 202, 204, 301, 304, 307, 400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413,
    415, 422, 429, 500, 501, 502, 503, 504,
];
const INTERNAL: usize = 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_in_order_so_that_each_is_found() {
        assert!(CODES.is_sorted());
        assert_eq!(CODES[INTERNAL], 500);
    }
}
