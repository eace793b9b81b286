//! Objects that the real server's LimitRanger and ResourceQuota plugins enforce: stored here, with a warning that this is
//! all that happens.

use super::creates;
use crate::admission::attributes::Attributes;
use crate::admission::notes::Notes;

pub(super) fn validate(attributes: &Attributes, notes: &Notes) {
    for (plural, what) in [
        ("limitranges", "limit ranges"),
        ("resourcequotas", "resource quotas"),
    ] {
        if creates(attributes, "", plural) {
            notes.warn(&format!(
                "this server stores {what} but does not enforce them"
            ));
        }
    }
}
