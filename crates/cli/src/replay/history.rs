//! The objects that a log has shown so far: the objects before later requests.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

/// What an object is known by: group, resource, namespace and name.
type Key = (String, String, String, String);

/// Objects, the most recent ones within a number of bytes.
pub(crate) struct History {
    objects: HashMap<Key, Remembered>,
    /// In the order in which they were remembered; an object that was remembered again is there twice.
    order: VecDeque<(u64, Key)>,
    bytes: usize,
    most_bytes: usize,
    next: u64,
    forgotten: usize,
}

struct Remembered {
    number: u64,
    text: String,
}

impl History {
    /// Remembers no more than so many bytes of JSON.
    pub(crate) fn of(most_bytes: usize) -> Self {
        Self {
            objects: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            most_bytes,
            next: 0,
            forgotten: 0,
        }
    }

    /// Remembers an object as it is now.
    pub(crate) fn remember(&mut self, group: &str, resource: &str, object: &Value) {
        let metadata = &object["metadata"];
        let Some(name) = metadata["name"].as_str() else {
            return;
        };
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        let key = key(group, resource, namespace, name);
        self.forget_key(&key);
        let text = object.to_string();
        self.bytes += text.len();
        let number = self.next;
        self.next += 1;
        self.order.push_back((number, key.clone()));
        self.objects.insert(key, Remembered { number, text });
        while self.bytes > self.most_bytes {
            let Some((number, key)) = self.order.pop_front() else {
                break;
            };
            if self
                .objects
                .get(&key)
                .is_some_and(|known| known.number == number)
            {
                self.forget_key(&key);
                self.forgotten += 1;
            }
        }
        if self.order.len() > 2 * self.objects.len() + 1024 {
            let objects = &self.objects;
            let is_current = |(number, key): &(u64, Key)| {
                objects
                    .get(key)
                    .is_some_and(|known| known.number == *number)
            };
            self.order.retain(is_current);
        }
    }

    /// Forgets an object that was deleted.
    pub(crate) fn forget(&mut self, group: &str, resource: &str, namespace: &str, name: &str) {
        self.forget_key(&key(group, resource, namespace, name));
    }

    /// The object as the log has last shown it, if that was in this version.
    pub(crate) fn last(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        api_version: &str,
    ) -> Option<Value> {
        let known = self.objects.get(&key(group, resource, namespace, name))?;
        let object: Value = serde_json::from_str(&known.text).ok()?;
        (object["apiVersion"] == api_version).then_some(object)
    }

    /// How many objects there was no room for.
    pub(crate) fn forgotten(&self) -> usize {
        self.forgotten
    }

    fn forget_key(&mut self, key: &Key) {
        if let Some(known) = self.objects.remove(key) {
            self.bytes -= known.text.len();
        }
    }
}

fn key(group: &str, resource: &str, namespace: &str, name: &str) -> Key {
    [group, resource, namespace, name].map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, image: &str) -> Value {
        let metadata = json!({"name": name, "namespace": "blue"});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "image": image})
    }

    fn last(history: &History, name: &str) -> Option<Value> {
        history.last("", "pods", "blue", name, "v1")
    }

    #[test]
    fn the_last_object_of_a_name_counts_until_it_is_deleted() {
        let mut history = History::of(1 << 20);
        history.remember("", "pods", &pod("a", "one"));
        history.remember("", "pods", &pod("a", "two"));
        assert_eq!(last(&history, "a"), Some(pod("a", "two")));
        assert_eq!(history.last("", "pods", "blue", "a", "v2"), None);
        history.forget("", "pods", "blue", "a");
        assert_eq!(last(&history, "a"), None);
    }

    #[test]
    fn the_objects_that_were_not_seen_for_longest_make_room() {
        let size = pod("0", "x").to_string().len();
        let mut history = History::of(size * 3);
        for name in ["0", "1", "2"] {
            history.remember("", "pods", &pod(name, "x"));
        }
        history.remember("", "pods", &pod("0", "y"));
        history.remember("", "pods", &pod("3", "x"));
        assert_eq!(last(&history, "1"), None);
        assert_eq!(last(&history, "0"), Some(pod("0", "y")));
        assert_eq!(history.forgotten(), 1);
    }

    #[test]
    fn an_object_that_changes_all_the_time_takes_the_room_of_one() {
        let mut history = History::of(1 << 20);
        for number in 0..10_000 {
            history.remember("", "pods", &pod("a", &number.to_string()));
        }
        assert!(history.order.len() <= 1027, "{}", history.order.len());
        assert_eq!(history.forgotten(), 0);
    }
}
