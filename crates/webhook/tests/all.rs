//! Webhooks as a caller sees them: HTTP requests in, HTTP answers out.

mod calls;
mod outcomes;
