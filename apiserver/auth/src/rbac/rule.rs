//! One rule of a role: which requests it allows, which other rules it covers, and how error messages show it.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View as _;
use serde_json::{Map, Value, json};

use crate::question::{About, Question};

/// Verbs on resources or on paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    urls: Vec<String>,
}

/// Verbs, groups, resources, sub-resources or paths of all names.
const ALL: &str = "*";

impl Rule {
    /// The rules of a Role or ClusterRole.
    pub fn all_of(role: &Value) -> Vec<Self> {
        role.list("rules").iter().map(Self::of).collect()
    }

    fn of(rule: &Value) -> Self {
        let strings = |field| {
            let strings = rule.list(field).iter().filter_map(Value::as_str);
            strings.map(str::to_owned).collect()
        };
        Self {
            verbs: strings("verbs"),
            groups: strings("apiGroups"),
            resources: strings("resources"),
            names: strings("resourceNames"),
            urls: strings("nonResourceURLs"),
        }
    }

    /// The two rules that allow everything.
    pub fn everything() -> [Self; 2] {
        let all = || vec![ALL.to_owned()];
        let resources = Self {
            verbs: all(),
            groups: all(),
            resources: all(),
            ..Self::default()
        };
        let urls = Self {
            verbs: all(),
            urls: all(),
            ..Self::default()
        };
        [resources, urls]
    }

    /// Whether the rule allows a request.
    pub fn allows(&self, question: &Question<'_>) -> bool {
        if !has_or_all(&self.verbs, question.verb) {
            return false;
        }
        match question.about {
            About::Path(path) => self.urls.iter().any(|url| url_covers(url, path)),
            About::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has_or_all(&self.groups, group)
                    && self
                        .resources
                        .iter()
                        .any(|allowed| names_resource(allowed, resource, subresource))
                    && (self.names.is_empty() || has(&self.names, name))
            }
        }
    }

    /// Whether the rule grants at least what `single` grants, a rule with one verb and one resource, name or path.
    fn covers(&self, single: &Self) -> bool {
        let names = if single.names.is_empty() {
            self.names.is_empty()
        } else {
            self.names.is_empty() || has_all(&self.names, &single.names)
        };
        names
            && (has(&self.verbs, ALL) || has_all(&self.verbs, &single.verbs))
            && (has(&self.groups, ALL) || has_all(&self.groups, &single.groups))
            && single
                .resources
                .iter()
                .all(|resource| self.covers_resource(resource))
            && single
                .urls
                .iter()
                .all(|path| self.urls.iter().any(|url| url_covers(url, path)))
    }

    fn covers_resource(&self, resource: &str) -> bool {
        let of_all = || {
            let (_, subresource) = resource.split_once('/')?;
            let wanted = |have: &&String| have.strip_prefix("*/") == Some(subresource);
            self.resources.iter().find(wanted)
        };
        has(&self.resources, ALL) || has(&self.resources, resource) || of_all().is_some()
    }

    /// Splits the rule into rules with one verb and one resource, name or path each.
    fn singles(&self) -> Vec<Self> {
        let mut singles = Vec::new();
        let one = |text: &String| vec![text.clone()];
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let single = Self {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        singles.push(single);
                        continue;
                    }
                    singles.extend(self.names.iter().map(|name| Self {
                        names: one(name),
                        ..single.clone()
                    }));
                }
            }
        }
        for url in &self.urls {
            singles.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                urls: one(url),
                ..Self::default()
            }));
        }
        singles
    }

    /// Formats the rule as the error message of a refused escalation shows it.
    fn shown(&self) -> String {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| format!("{name}:{}", list(values)))
            .collect();
        format!("{{{}}}", parts.join(", "))
    }

    /// As it stands among the resource rules of a review, if it is about resources.
    pub fn for_resources(&self) -> Option<Value> {
        let lists = [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
        ];
        (!self.resources.is_empty()).then(|| self.as_value(&lists))
    }

    /// As it stands among the rules about paths of a review, if it is about paths.
    pub fn for_paths(&self) -> Option<Value> {
        (!self.urls.is_empty()).then(|| self.as_value(&[("nonResourceURLs", &self.urls)]))
    }

    fn as_value(&self, lists: &[(&str, &Vec<String>)]) -> Value {
        let mut value = Map::new();
        value.insert("verbs".to_owned(), json!(self.verbs));
        for (name, values) in lists.iter().filter(|(_, values)| !values.is_empty()) {
            value.insert((*name).to_owned(), json!(values));
        }
        Value::Object(value)
    }
}

/// Returns the wanted rules that none of the held rules covers, one per line; `None` if all are covered.
pub(super) fn not_covered(had: &[Rule], wanted: &[Rule]) -> Option<String> {
    // Rules that differ only in their verbs are merged.
    let mut resources: BTreeMap<[Vec<String>; 3], Rule> = BTreeMap::new();
    let mut shown = BTreeSet::new();
    let singles = wanted.iter().flat_map(Rule::singles);
    for missing in singles.filter(|single| !had.iter().any(|rule| rule.covers(single))) {
        if !missing.urls.is_empty() {
            shown.insert(missing.shown());
            continue;
        }
        let key = [
            missing.groups.clone(),
            missing.resources.clone(),
            missing.names.clone(),
        ];
        match resources.get_mut(&key) {
            Some(rule) => rule.verbs.extend(missing.verbs),
            None => {
                resources.insert(key, missing);
            }
        }
    }
    shown.extend(resources.values().map(Rule::shown));
    let lines: Vec<String> = shown.into_iter().collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Formats a list of strings as Go's `%q` does.
pub(super) fn list(strings: &[String]) -> String {
    let items: Vec<String> = strings.iter().map(|string| quoted(string)).collect();
    format!("[{}]", items.join(" "))
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|have| have == text)
}

fn has_or_all(list: &[String], text: &str) -> bool {
    list.iter().any(|have| have == ALL || have == text)
}

fn has_all(list: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|text| has(list, text))
}

fn names_resource(allowed: &str, resource: &str, subresource: &str) -> bool {
    if allowed == ALL {
        return true;
    }
    if subresource.is_empty() {
        return allowed == resource;
    }
    let of = |resource| {
        let rest = allowed.strip_prefix(resource)?.strip_prefix('/')?;
        (rest == subresource).then_some(())
    };
    of(resource).or_else(|| of(ALL)).is_some()
}

fn url_covers(url: &str, path: &str) -> bool {
    url == path || url.ends_with('*') && path.starts_with(url.trim_end_matches('*'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_apimachinery::user::User;

    fn rule(value: &Value) -> Rule {
        Rule::of(value)
    }

    /// Whether a rule allows `VERB group resource/subresource name`, or `VERB /path`.
    fn allows(value: &Value, asked: &str) -> bool {
        let words: Vec<&str> = asked.split(' ').collect();
        let about = match words.as_slice() {
            [_, path] => About::Path(path),
            [_, group, resource, name] => {
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                About::Resource {
                    group,
                    resource,
                    subresource,
                    namespace: "",
                    name,
                    fields: None,
                }
            }
            _ => panic!("{asked}"),
        };
        let user = User::default();
        rule(value).allows(&Question {
            user: &user,
            verb: words[0],
            about,
        })
    }

    #[test]
    fn a_rule_allows_what_it_names() {
        let pods = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]});
        assert!(allows(&pods, "get  pods a"));
        assert!(allows(&pods, "list  pods "));
        for refused in [
            "watch  pods ",
            "get apps pods a",
            "get  nodes a",
            "get  pods/log a",
            "get /pods",
        ] {
            assert!(!allows(&pods, refused), "{refused}");
        }
    }

    #[test]
    fn stars_stand_for_all() {
        let verbs = json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]});
        assert!(allows(&verbs, "anything  pods a"));
        let groups = json!({"verbs": ["get"], "apiGroups": ["*"], "resources": ["pods"]});
        assert!(allows(&groups, "get metrics.k8s.io pods a"));
        let resources = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["*"]});
        assert!(allows(&resources, "get  pods a"));
        assert!(allows(&resources, "get  pods/log a"));
        assert!(!allows(&resources, "get /healthz"));
    }

    #[test]
    fn a_subresource_is_named_with_its_resource_or_with_a_star() {
        let status =
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/status", "*/scale"]});
        assert!(allows(&status, "get  pods/status a"));
        assert!(allows(&status, "get  things/scale a"));
        for refused in [
            "get  pods a",
            "get  nodes/status a",
            "get  scale a",
            "get  a/scale/b c",
        ] {
            assert!(!allows(&status, refused), "{refused}");
        }
        let star = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/*"]});
        assert!(!allows(&star, "get  pods/log a"));
    }

    #[test]
    fn names_narrow_a_rule_and_do_not_match_a_list() {
        let named = json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]});
        assert!(allows(&named, "get  pods a"));
        assert!(!allows(&named, "get  pods b"));
        assert!(!allows(&named, "list  pods "));
    }

    #[test]
    fn a_path_ends_in_a_star_or_is_exact() {
        let paths = json!({"verbs": ["get"], "nonResourceURLs": ["/logs", "/healthz/*", "/a**"]});
        for allowed in ["get /logs", "get /healthz/", "get /healthz/etcd", "get /ab"] {
            assert!(allows(&paths, allowed), "{allowed}");
        }
        for refused in ["get /logs/", "get /healthz", "post /logs", "get  pods a"] {
            assert!(!allows(&paths, refused), "{refused}");
        }
    }

    #[test]
    fn what_is_missing_is_shown_with_its_verbs_together() {
        let had = [rule(
            &json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "*/scale"]}),
        )];
        let wanted = [
            rule(
                &json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}),
            ),
            rule(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["things/scale"]})),
            rule(
                &json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments"],
                "resourceNames": ["b", "a"]}),
            ),
            rule(&json!({"verbs": ["get", "post"], "nonResourceURLs": ["/x"]})),
        ];
        assert_eq!(
            not_covered(&had, &wanted).unwrap(),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}\n\
             {APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"a\"], Verbs:[\"get\"]}\n\
             {APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"b\"], Verbs:[\"get\"]}\n\
             {NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}\n\
             {NonResourceURLs:[\"/x\"], Verbs:[\"post\"]}",
        );
        assert_eq!(not_covered(&had, &had), None);
    }

    #[test]
    fn everything_covers_everything_and_a_name_does_not_cover_all_names() {
        let pods = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
        let named = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]});
        let everything = Rule::everything();
        assert_eq!(not_covered(&everything, &everything), None);
        assert_eq!(not_covered(&everything, &[rule(&pods)]), None);
        assert_eq!(not_covered(&[rule(&pods)], &[rule(&named)]), None);
        assert!(not_covered(&[rule(&named)], &[rule(&pods)]).is_some());
        assert!(not_covered(&[rule(&pods)], &everything).is_some());
    }
}
