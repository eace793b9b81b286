//! The steps of a rotation: what is written over what was read.

use std::time::Duration;

use tokio::time::timeout;

use super::events::RotationEvent;
use super::publication::Publication;
use super::record::Record;
use super::replica::Wish;
use super::root::Root;
use super::rotation::Rotation;
use super::secret::FIELD_MANAGER;
use super::state::{Due, Moment, State};
use super::work::Work;
use crate::TrustBundle;

/// How long an answer about the objects may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl Work<'_> {
    /// What to write, and what has happened then; `None` if something is not published yet.
    pub(super) async fn wanted(
        &self,
        wish: Wish<Root>,
        record: &Record,
        why: String,
        at: &Moment,
        publication: &impl Publication,
    ) -> Result<Option<(State<Root>, RotationEvent)>, String> {
        let make = async |generation| {
            let Rotation {
                keys,
                owner,
                timing,
                ..
            } = &self.rotation;
            let key = keys.make_aside().await;
            key.and_then(|key| Root::make(owner, generation, at.now, timing.authority, key))
                .map_err(|error| format!("cannot make an authority: {error}"))
        };
        let due = match wish {
            Wish::Restore(state) => {
                let writer = record.other_writer(FIELD_MANAGER).map(str::to_owned);
                let now = self.rotation.clock.moment().now;
                return Ok(Some((
                    state.restored(now),
                    RotationEvent::Restored { why, writer },
                )));
            }
            Wish::Make if self.replica.state().is_none() => {
                return Ok(Some((State::first(make(1).await?), RotationEvent::Created)));
            }
            Wish::Make => Due::Replace,
            Wish::Step(due) => due,
        };
        let Some(state) = self.replica.state() else {
            return Ok(None);
        };
        let generation = state.generation + 1;
        let wanted = match due {
            Due::Replace => {
                let new = make(generation).await?;
                let event = RotationEvent::Replaced { generation };
                (state.replaced(at.now, || new), event)
            }
            Due::Stage => {
                let event = RotationEvent::Staged { generation };
                (state.staged(make(generation).await?), event)
            }
            Due::Publish | Due::Switch => {
                let is_published = self.is_published(state.trusted(), publication).await?;
                match (due, is_published) {
                    (Due::Publish, false) => return Ok(None),
                    (Due::Publish, true) => {
                        // From now on, not from before it was asked.
                        let now = self.rotation.clock.moment().now;
                        (state.published(Some(now)), RotationEvent::Published)
                    }
                    (_, false) => (state.published(None), RotationEvent::Unpublished),
                    (_, true) => {
                        // It counts from when nothing can be signed any more, which is after this.
                        let now = self.rotation.clock.moment().now;
                        (state.switched(now), RotationEvent::Switched { generation })
                    }
                }
            }
            Due::Retire => (
                state.retired(at.now, &self.rotation.timing),
                RotationEvent::Retired,
            ),
            Due::Wait(..) => return Ok(None),
        };
        Ok(Some(wanted))
    }

    pub(super) async fn is_published(
        &self,
        roots: impl Iterator<Item = &Root>,
        publication: &impl Publication,
    ) -> Result<bool, String> {
        let trust = TrustBundle::of(roots.map(|root| root.certificate().clone()).collect());
        let asking = publication.is_published(&trust);
        timeout(REQUEST_TIMEOUT, asking)
            .await
            .map_err(|_| format!("no answer within {REQUEST_TIMEOUT:?} as to what is published"))?
            .map_err(|error| format!("cannot find out what is published: {error}"))
    }
}
