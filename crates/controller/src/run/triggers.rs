//! What triggers add to the queue of a controller that runs.

use std::sync::Arc;

use super::{Engine, Work};
use crate::AnyObject;
use crate::informer::{Delta, Entry, Origin};
use crate::mapping::Of;
use crate::trigger::{Listening, Wanted};

impl<K: AnyObject> Engine<K> {
    /// Hears the triggers of the controller until what this returns is dropped.
    ///
    /// It has to come before the subscription: what is triggered earlier is reconciled by that, and the rest is heard.
    pub(super) fn hear_triggers(&self, work: &Arc<Work<K>>) -> Vec<Listening<K>> {
        let triggers = self.controller.triggers.iter();
        let listen = |trigger: &crate::Trigger<K>| {
            let work = Arc::clone(work);
            trigger.listen(move |wanted| work.triggered(wanted))
        };
        triggers.map(listen).collect()
    }
}

impl<K: AnyObject> Work<K> {
    fn triggered(&self, wanted: Wanted<'_>) {
        match wanted {
            Wanted::One(key) => {
                if let Some(entry) = self.objects.get(key) {
                    self.heed_triggered(entry, Origin::Watch);
                }
            }
            Wanted::All => {
                for entry in self.objects.select(|_| true) {
                    self.heed_triggered(entry, Origin::Snapshot);
                }
            }
        }
    }

    /// Heeds an object as the first list would: otherwise it would matter whether the controller was running when its object was
    /// triggered.
    pub(super) fn heed_triggered(&self, entry: Arc<Entry>, origin: Origin) {
        let as_new = Delta {
            old: None,
            new: Some(entry),
            origin,
        };
        self.heed(Of::Own, &as_new);
    }
}
