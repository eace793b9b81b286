//! The password of a Valkey, and how it is replaced while no client is refused.
//!
//! Clients read the key `password`, and every instance has to accept it at each moment. An instance reads what it accepts when it
//! starts, so a new password takes three steps: the instances learn it beside the old one (`next`), clients get it (`password`) while
//! the old one is still accepted (`previous`), and an hour later the instances forget the old one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kubewright::controller::{Context, Error, Scope};
use kubewright::prelude::*;

use crate::api::v1::{Password, Valkey};
use crate::names;

pub(crate) struct Passwords {
    secrets: Cached<Secret>,
    kept: CreateOrUpdate<Secret>,
}

/// What the instances have to accept, and since when.
pub(crate) struct Kept {
    /// It is another one whenever instances have to start again.
    pub(crate) revision: i64,
    /// Clients got another password just now.
    pub(crate) is_rotated: bool,
    /// The time of the next step, if one is known.
    pub(crate) next: Option<Timestamp>,
}

#[derive(Clone, PartialEq)]
struct State {
    password: String,
    next: Option<String>,
    previous: Option<String>,
    /// The time from which `password` is what clients read.
    since: Timestamp,
    revision: i64,
}

impl Passwords {
    pub(crate) fn new(needs: &mut Needs, own: &Scope) -> Self {
        Self {
            secrets: needs.within(own.clone()).cached(),
            kept: needs.within(own.clone()).create_or_update(),
        }
    }

    /// Makes a first password, or takes the next step of replacing it. `accepts` says whether every instance accepts the passwords of
    /// a revision.
    pub(crate) async fn keep(
        &self,
        valkey: &Arc<Valkey>,
        cx: &Context,
        accepts: impl Fn(i64) -> bool,
    ) -> Result<Kept, Error> {
        let name = names::password_secret(&valkey.name_any());
        let namespace = valkey.namespace().unwrap_or_default();
        let found = self.secrets.get((&*namespace, &*name)).await?;
        let before = found.as_ref().map(State::read).transpose()?;
        let policy = &valkey.spec.password;
        let state = match &before {
            None => State::first(cx.now())?,
            Some(state) => {
                let is_accepted = accepts(state.revision);
                state.clone().step(policy, cx.now(), is_accepted)?
            }
        };
        let secret = state.write(name, &valkey.name_any());
        cx.create_or_update(&self.kept, secret).await?;
        Ok(Kept {
            revision: state.revision,
            is_rotated: before.is_some_and(|before| before.password != state.password),
            next: state.due(policy),
        })
    }
}

impl State {
    fn first(now: Timestamp) -> Result<Self, Error> {
        Ok(Self {
            password: random()?,
            next: None,
            previous: None,
            since: now,
            revision: now.as_millisecond(),
        })
    }

    fn step(mut self, policy: &Password, now: Timestamp, is_accepted: bool) -> Result<Self, Error> {
        let is_due = self.due(policy).is_some_and(|due| due <= now);
        if let Some(next) = self.next.take_if(|_| is_accepted) {
            self.previous = Some(std::mem::replace(&mut self.password, next));
            self.since = now;
        } else if self.previous.is_some() && is_due {
            self.previous = None;
            self.revision = now.as_millisecond();
        } else if self.next.is_none() && is_due && is_accepted {
            self.next = Some(random()?);
            self.revision = now.as_millisecond();
        }
        Ok(self)
    }

    /// The time of the next step. A step that waits for the instances has none: their change leads here again.
    fn due(&self, policy: &Password) -> Option<Timestamp> {
        let after = match (&self.next, &self.previous) {
            (Some(_), _) => return None,
            (None, Some(_)) => OVERLAP,
            (None, None) => SignedDuration::from_hours(24 * i64::from(policy.rotate_every_days?)),
        };
        self.since.checked_add(after).ok()
    }

    fn read(secret: &Secret) -> Result<Self, Error> {
        let value = |key: &str| {
            let value = secret.data.as_ref()?.get(key)?;
            String::from_utf8(value.0.clone()).ok()
        };
        let number = |key: &str| secret.annotations().get(key)?.parse::<i64>().ok();
        let read = || {
            Some(Self {
                password: value("password")?,
                next: value("next"),
                previous: value("previous"),
                since: Timestamp::from_millisecond(number(SINCE)?).ok()?,
                revision: number(REVISION)?,
            })
        };
        read().ok_or_else(|| {
            let name = secret.name_any();
            Error::terminal(format!(
                "the Secret {name} was changed by hand and has no password or no {SINCE}: delete it, and a new one is made"
            ))
        })
    }

    fn write(&self, name: String, valkey: &str) -> Secret {
        let mut metadata = names::metadata(name, valkey, "password");
        metadata.annotations = Some(BTreeMap::from([
            (SINCE.to_owned(), self.since.as_millisecond().to_string()),
            (REVISION.to_owned(), self.revision.to_string()),
        ]));
        let accepted = [
            Some(&self.password),
            self.next.as_ref(),
            self.previous.as_ref(),
        ];
        let mut users = "user default on".to_owned();
        for password in accepted.into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = write!(users, " >{password}");
        }
        users.push_str(" ~* &* +@all\n");
        let mut data = BTreeMap::from([("password", self.password.clone()), ("users.acl", users)]);
        data.extend(self.next.clone().map(|next| ("next", next)));
        data.extend(self.previous.clone().map(|previous| ("previous", previous)));
        let bytes = |(key, value): (&str, String)| (key.to_owned(), ByteString(value.into_bytes()));
        Secret {
            metadata,
            data: Some(data.into_iter().map(bytes).collect()),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        }
    }
}

fn random() -> Result<String, Error> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| Error::retry(error.to_string()))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// How long clients have to read the new password.
const OVERLAP: SignedDuration = SignedDuration::from_hours(1);

const SINCE: &str = "valkey.example.com/since";
const REVISION: &str = "valkey.example.com/revision";

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(hours * 3600).unwrap()
    }

    #[test]
    fn a_password_that_clients_read_is_accepted_before_and_an_hour_after() {
        let policy = Password {
            rotate_every_days: Some(1),
        };
        let first = State::first(at(0)).unwrap();
        let step = |state: &State, hours, is_accepted| {
            state.clone().step(&policy, at(hours), is_accepted).unwrap()
        };
        assert!(step(&first, 23, true) == first, "not yet");
        assert!(
            step(&first, 24, false) == first,
            "instances are not at rest"
        );
        let learning = step(&first, 24, true);
        assert!(learning.password == first.password && learning.revision != first.revision);
        assert!(
            step(&learning, 99, false) == learning,
            "an instance does not accept it yet"
        );
        let both = step(&learning, 25, true);
        assert_eq!(Some(&both.password), learning.next.as_ref());
        assert_eq!(both.previous.as_ref(), Some(&first.password));
        assert_eq!(
            both.revision, learning.revision,
            "nothing starts again for it"
        );
        assert!(step(&both, 25, true) == both);
        let last = step(&both, 26, true);
        assert!(last.previous.is_none() && last.password == both.password);
        assert_ne!(last.revision, both.revision);
    }

    #[test]
    fn a_secret_is_read_as_it_was_written() {
        let mut state = State::first(at(7)).unwrap();
        for (next, previous) in [(None, None), (Some("n"), None), (None, Some("p"))] {
            state.next = next.map(str::to_owned);
            state.previous = previous.map(str::to_owned);
            assert!(State::read(&state.write("a".to_owned(), "a")).unwrap() == state);
        }
    }
}
