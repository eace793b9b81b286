//! Label selectors, as an API server reads them: whether an object that was written is in the scope of a cache.

use super::entry::Metadata;

/// Requirements on labels that must all hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Requirement>);

#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, PartialEq, Eq)]
enum Test {
    Exists,
    DoesNotExist,
    In(Vec<String>),
    NotIn(Vec<String>),
    GreaterThan(i64),
    LessThan(i64),
}

impl Selector {
    /// Reads a selector such as `app=web,tier notin (cache,proxy),!old`. `None`: no API server takes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut requirements = Vec::new();
        while !rest.is_empty() {
            let (requirement, after) = requirement(rest)?;
            requirements.push(requirement);
            rest = match after.trim_start().strip_prefix(',') {
                // A comma is followed by another requirement.
                Some(after) if after.trim_start().is_empty() => return None,
                Some(after) => after.trim_start(),
                None if after.trim().is_empty() => "",
                None => return None,
            };
        }
        Some(Self(requirements))
    }

    pub(crate) fn selects(&self, metadata: &Metadata) -> bool {
        self.0.iter().all(|requirement| {
            let value = metadata.label(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.test {
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
                Test::In(values) => value.is_some_and(|value| has(values, value)),
                Test::NotIn(values) => value.is_none_or(|value| !has(values, value)),
                Test::GreaterThan(limit) => number().is_some_and(|number| number > *limit),
                Test::LessThan(limit) => number().is_some_and(|number| number < *limit),
            }
        })
    }
}

fn has(values: &[String], value: &str) -> bool {
    values.iter().any(|known| known == value)
}

/// Reads one requirement, and returns the text after it.
fn requirement(text: &str) -> Option<(Requirement, &str)> {
    let (is_negated, rest) = match text.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let (key, rest) = word(rest);
    if key.is_empty() {
        return None;
    }
    let rest = rest.trim_start();
    let make = |test, rest| {
        let key = key.to_owned();
        Some((Requirement { key, test }, rest))
    };
    if is_negated {
        return make(Test::DoesNotExist, rest);
    }
    if rest.is_empty() || rest.starts_with(',') {
        return make(Test::Exists, rest);
    }
    // The longer operators first: `=` begins `==`.
    for operator in ["==", "!=", "=", ">", "<"] {
        if let Some(rest) = rest.strip_prefix(operator) {
            let (value, rest) = word(rest.trim_start());
            let test = match operator {
                "!=" => Test::NotIn(vec![value.to_owned()]),
                ">" => Test::GreaterThan(value.parse().ok()?),
                "<" => Test::LessThan(value.parse().ok()?),
                _ => Test::In(vec![value.to_owned()]),
            };
            return make(test, rest);
        }
    }
    let (operator, rest) = word(rest);
    let (values, rest) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let values = values.split(',').map(|value| {
        let value = value.trim();
        word(value).1.is_empty().then(|| value.to_owned())
    });
    let values = values.collect::<Option<Vec<_>>>()?;
    match operator {
        "in" => make(Test::In(values), rest),
        "notin" => make(Test::NotIn(values), rest),
        _ => None,
    }
}

/// Splits off the longest beginning that has neither blanks nor operators.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| letter.is_ascii_whitespace() || "=!<>(),".contains(letter));
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::ResourceExt;
    use kube::api::{Api, ListParams};
    use kubewright_testing::{TestCluster, yaml};

    use super::*;
    use crate::Entry;

    #[tokio::test]
    async fn a_selector_selects_what_the_api_server_selects() {
        let cluster = TestCluster::start().await;
        let labels = [
            "{}",
            "{app: web}",
            "{app: web, tier: cache}",
            "{app: \"\"}",
            "{app: db, tier: cache, in: x}",
            "{size: \"9\"}",
            "{size: \"10\", app: web}",
            "{size: large, example.com/app: web}",
        ];
        for (number, labels) in labels.iter().enumerate() {
            let map: ConfigMap = yaml(&format!(
                "metadata: {{name: map-{number}, labels: {labels}}}"
            ));
            cluster.create(&map).await.expect_allowed();
        }
        let api: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        let entries: Vec<Entry> = api
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .iter()
            .map(|map| Entry::read(&serde_json::to_string(map).unwrap()).unwrap())
            .collect();
        for selector in [
            "",
            "app",
            "!app",
            "! app",
            "app=web",
            "app==web",
            "app = web",
            "app!=web",
            "app=",
            "app!=",
            "app=,tier",
            "app in (web)",
            "app in (web,db)",
            "app in ( web , )",
            "app in (,)",
            "app notin (web,db)",
            "app notin (web),tier=cache",
            "in",
            "in=x",
            "in in (x,in)",
            "size>9",
            "size > 8,app",
            "size<10",
            "size>x",
            "example.com/app=web",
            "example.com/app in (web),!tier",
            "app=web,",
            ",app",
            "app in ()",
            "app in web",
            "app is (web)",
            "app web",
            "=web",
            "app=web tier",
            "app in (web",
            "app=(web)",
            "app in (web db)",
            "!app=web",
            "!",
            "a!b",
        ] {
            let listed = api.list(&ListParams::default().labels(selector)).await;
            let selected = Selector::parse(selector).map(|selector| {
                let selected = entries
                    .iter()
                    .filter(|entry| selector.selects(entry.metadata()));
                selected
                    .map(|entry| entry.key().name().to_owned())
                    .collect::<Vec<_>>()
            });
            let listed = listed.ok().map(|list| {
                list.items
                    .iter()
                    .map(ResourceExt::name_any)
                    .collect::<Vec<_>>()
            });
            assert_eq!(selected, listed, "{selector:?}");
        }
    }
}
