//! Webhooks as a caller sees them: HTTP requests in, HTTP answers out.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what goes wrong here is a failed test"
)]

mod bad_input;
mod calls;
mod chains;
mod conversions;
mod declarations;
mod faults;
mod kinds;
#[cfg(feature = "compile-tests")]
mod mistakes;
mod outcomes;
mod shadow;
