//! The hints of endpoints, by which traffic stays in the zone or on the node, as the `trafficDistribution` of a Service asks.

use serde_json::{Map, Value, json};

use super::super::object::text;

/// What a Service asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    Anywhere,
    SameZone,
    SameNode,
}

impl Distribution {
    pub(super) fn of(service: &Value) -> Self {
        match text(service, "/spec/trafficDistribution") {
            "PreferClose" | "PreferSameZone" => Self::SameZone,
            "PreferSameNode" => Self::SameNode,
            _ => Self::Anywhere,
        }
    }

    /// Sets the hints of all endpoints of a slice, and says whether any was different before.
    pub(super) fn hint(self, endpoints: &mut [Value]) -> bool {
        let mut changed = false;
        for endpoint in endpoints {
            if self != Self::Anywhere && endpoint["conditions"]["ready"] != true {
                continue;
            }
            let hints = self.hints(endpoint);
            let Some(endpoint) = endpoint.as_object_mut() else {
                continue;
            };
            if endpoint.get("hints") != hints.as_ref() {
                changed = true;
                match hints {
                    Some(hints) => endpoint.insert("hints".to_owned(), hints),
                    None => endpoint.remove("hints"),
                };
            }
        }
        changed
    }

    fn hints(self, endpoint: &Value) -> Option<Value> {
        let mut hints = Map::new();
        let fields = [
            ("forZones", "zone", self != Self::Anywhere),
            ("forNodes", "nodeName", self == Self::SameNode),
        ];
        for (hint, field, asked) in fields {
            if let Some(name) = endpoint.get(field).filter(|_| asked) {
                hints.insert(hint.to_owned(), json!([{"name": name}]));
            }
        }
        (!hints.is_empty()).then_some(Value::Object(hints))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_endpoints_get_the_hints_that_the_service_asks_for() {
        let endpoint =
            |ready| json!({"conditions": {"ready": ready}, "zone": "z", "nodeName": "n"});
        let rows = [
            ("PreferClose", json!({"forZones": [{"name": "z"}]})),
            ("PreferSameZone", json!({"forZones": [{"name": "z"}]})),
            (
                "PreferSameNode",
                json!({"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}),
            ),
        ];
        for (asked, hints) in rows {
            let distribution = Distribution::of(&json!({"spec": {"trafficDistribution": asked}}));
            let mut endpoints = [endpoint(true), endpoint(false)];
            assert!(distribution.hint(&mut endpoints));
            assert_eq!(endpoints[0]["hints"], hints, "{asked}");
            assert!(endpoints[1].get("hints").is_none());
            assert!(!distribution.hint(&mut endpoints));
            assert!(Distribution::Anywhere.hint(&mut endpoints));
            assert_eq!(endpoints[0], endpoint(true));
        }
    }
}
