//! How a program talks to its clients: which versions of TLS it speaks, and whom it answers.

use kubewright_server::{ClientCheck, Server};

use crate::App;

/// What was said about TLS.
#[derive(Debug, Default)]
pub(crate) struct Tls {
    pub(crate) clients: Option<ClientCheck>,
    pub(crate) accepts_tls12: bool,
}

impl Tls {
    pub(crate) fn set_up<S>(self, server: Server<S>, app: &App) -> Server<S> {
        let server = match self.clients {
            Some(check) => server.clients(check.except_at(conversion_paths(app))),
            None => server,
        };
        if self.accepts_tls12 {
            server.accept_tls12()
        } else {
            server
        }
    }
}

fn conversion_paths(app: &App) -> Vec<String> {
    let conversions = app.hooks().conversions();
    conversions
        .into_iter()
        .map(|conversion| conversion.path)
        .collect()
}
