//! The requests of an informer.

use http::Request;
use kube::client::Body;
use kube::core::Request as Requests;
use kube::core::params::{ListParams, WatchParams};
use kube::core::request::Error;

use super::cache::Informer;

/// What is asked of the API server.
pub(crate) enum Ask<'a> {
    /// A watch that begins with all objects there are.
    StreamedList { seconds: u32 },
    /// A part of a list.
    Page { token: Option<&'a str> },
    /// As little as tells the version that the API server is at.
    Version,
    /// Which resources of the kind's group and version the API server serves.
    Resources,
    /// What has changed since.
    Watch { since: &'a str, seconds: u32 },
}

impl Informer {
    pub(crate) fn request(&self, ask: &Ask<'_>) -> Result<Request<Body>, Error> {
        if let Ask::Resources = ask {
            return Request::get(self.kind().group_path())
                .body(Body::empty())
                .map_err(Error::BuildRequest);
        }
        let scope = self.scope();
        let requests = Requests::new(self.kind().path(scope.namespace()));
        let labels = scope.labels.clone();
        let fields = scope.name().map(|name| format!("metadata.name={name}"));
        let watch = |seconds: u32, send_initial_events: bool| WatchParams {
            label_selector: labels.clone(),
            field_selector: fields.clone(),
            timeout: Some(seconds),
            bookmarks: true,
            send_initial_events,
        };
        let request = match *ask {
            // No resource version: the list is as new as the moment it is asked for.
            Ask::StreamedList { seconds } => requests.watch(&watch(seconds, true), ""),
            Ask::Watch { since, seconds } => requests.watch(&watch(seconds, false), since),
            Ask::Resources | Ask::Version => {
                let mut list = ListParams::default().limit(1);
                // A role for one name does not permit to list the others.
                list.field_selector.clone_from(&fields);
                requests.list(&list)
            }
            Ask::Page { token } => {
                let mut list = ListParams::default().limit(PAGE);
                list.label_selector.clone_from(&labels);
                list.field_selector.clone_from(&fields);
                list.continue_token = token.map(str::to_owned);
                requests.list(&list)
            }
        };
        let request = match ask {
            Ask::StreamedList { .. } | Ask::Watch { .. } => self.kind().asks_for_object(request),
            Ask::Page { .. } | Ask::Version | Ask::Resources => self.kind().asks_for_list(request),
        };
        Ok(request?.map(Body::from))
    }
}

const PAGE: u32 = 500;
