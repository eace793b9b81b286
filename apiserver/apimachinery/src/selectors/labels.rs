//! Label selectors, as text in a query and as an object in a webhook configuration.

use serde_json::{Map, Value};

use super::parse;
use super::requirement::{Operator, Requirement};

/// The labels of an object, however they are kept.
pub trait LabelValues {
    /// Returns the value of a label.
    fn value(&self, key: &str) -> Option<&str>;
}

impl LabelValues for Map<String, Value> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }
}

/// Requirements that must all hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<Requirement>);

impl Labels {
    /// Reads the query form: `k=v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`, `k>1`, `k<1`, joined by commas.
    ///
    /// # Errors
    /// The text that the API server answers, `unable to parse requirement: …` or what it found instead of a comma.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::selector(text).map(Self)
    }

    /// Reads the object form (`matchLabels`, `matchExpressions`). An absent (null) selector matches nothing: `None`.
    ///
    /// # Errors
    /// An operator that does not exist, or values that do not fit it.
    pub fn from_object(selector: &Value) -> Result<Option<Self>, String> {
        let Value::Object(selector) = selector else {
            return Ok(None);
        };
        let mut requirements = Vec::new();
        for (key, value) in selector
            .get("matchLabels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = value.as_str().unwrap_or_default();
            requirements.push(Requirement::new(key, Operator::In, vec![value.to_owned()])?);
        }
        for expression in selector
            .get("matchExpressions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            requirements.push(Requirement::from_object(expression)?);
        }
        Ok(Some(Self(requirements)))
    }

    /// Whether the selector says nothing, and so matches everything.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is meant; `None` for an object without any.
    pub fn matches(&self, labels: Option<&impl LabelValues>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.value(&requirement.key));
            requirement.matches(value)
        })
    }

    /// Whether the labels in `object.metadata.labels` are meant.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.is_empty() || self.matches(object["metadata"]["labels"].as_object())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_decide_as_documented() {
        let labels = json!({"app": "web", "tier": "front", "n": "5", "empty": ""});
        let table = [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app=db", false),
            ("app!=db", true),
            ("missing!=db", true),
            ("app in (web,db)", true),
            ("app in (db)", false),
            ("app notin (db)", true),
            ("missing notin (db)", true),
            ("app", true),
            ("missing", false),
            ("!missing", true),
            ("!app", false),
            ("n>4", true),
            ("n > 5", false),
            ("n<6", true),
            ("app>4", false),
            ("app=web,tier=front", true),
            ("app=web, tier=back", false),
            ("empty=", true),
            ("empty in ()", true),
            (" app = web ", true),
            ("example.com/x!=1,app", true),
        ];
        for (selector, expected) in table {
            let selected = Labels::parse(selector).unwrap().matches(labels.as_object());
            assert_eq!(selected, expected, "{selector}");
        }
    }

    #[test]
    fn objects_and_strings_select_the_same_labels() {
        let object = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}],
        });
        let selector = Labels::from_object(&object).unwrap().unwrap();
        assert_eq!(
            selector,
            Labels::parse("app=web,tier notin (back)").unwrap()
        );
    }

    #[test]
    fn an_absent_selector_selects_nothing_and_an_empty_one_everything() {
        assert_eq!(Labels::from_object(&Value::Null), Ok(None));
        assert!(
            Labels::from_object(&json!({}))
                .unwrap()
                .unwrap()
                .matches(None::<&Map<String, Value>>)
        );
    }

    #[test]
    fn an_unknown_operator_is_refused() {
        let object =
            json!({"matchExpressions": [{"key": "a", "operator": "Like", "values": ["x"]}]});
        assert_eq!(
            Labels::from_object(&object),
            Err("\"Like\" is not a valid label selector operator".to_owned())
        );
    }
}
