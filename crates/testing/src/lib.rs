//! A cluster in your test process.
