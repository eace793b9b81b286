//! How much the audit log keeps, which decides what the steps of a request note for it.

use serde::Serialize;

/// How much an event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Level {
    /// Who did what to which object, when, and what came of it. No object, and so no secret, is written. The default.
    #[default]
    Metadata,
    /// The object, the patch or the options of the request, too, and the patches of mutating webhooks: of Secrets as of
    /// everything else.
    Request,
    /// The answer, too: of Secrets and tokens as of everything else.
    RequestResponse,
}
