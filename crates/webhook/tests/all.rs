//! Webhooks as a caller sees them: HTTP requests in, HTTP answers out.

mod bad_input;
mod calls;
mod chains;
mod declarations;
mod faults;
mod kinds;
mod mistakes;
mod outcomes;
