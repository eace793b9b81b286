//! Which images are legal.

use std::fmt;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use kubewright::prelude::*;

use crate::api::WhiteList;
use crate::image::Image;

/// What the WhiteLists of a namespace mean together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// An image is legal if any list has it.
    AnyList,
    /// An image is legal if all lists have it.
    AllLists,
}

/// An illegal image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offence {
    pub(crate) container: String,
    pub(crate) image: String,
    /// The names of the lists that it should be in, and is not.
    pub(crate) missing_in: Vec<String>,
}

impl Rule {
    /// The first illegal image of a pod in a namespace with these lists. Without a list, everything is legal.
    pub(crate) fn offence(self, lists: &[WhiteList], pod: &PodSpec) -> Option<Offence> {
        containers(pod).find_map(|(container, image)| {
            let missing_in: Vec<String> = lists
                .iter()
                .filter(|list| !has(list, Image::of(image)))
                .map(ResourceExt::name_any)
                .collect();
            let is_legal = match self {
                Self::AnyList => missing_in.len() < lists.len() || lists.is_empty(),
                Self::AllLists => missing_in.is_empty(),
            };
            (!is_legal).then(|| Offence {
                container: container.to_owned(),
                image: image.to_owned(),
                missing_in,
            })
        })
    }
}

/// Such as: container web: the image redis:7 is not in the WhiteList sample.
impl fmt::Display for Offence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.missing_in.len() == 1 { "" } else { "s" };
        write!(
            formatter,
            "container {}: the image {} is not in the WhiteList{plural} {}",
            self.container,
            self.image,
            self.missing_in.join(", ")
        )
    }
}

/// Every container of a pod with its image; init and ephemeral containers run, too.
pub(crate) fn containers(pod: &PodSpec) -> impl Iterator<Item = (&str, &str)> {
    fn named(container: &Container) -> (&str, Option<&String>) {
        (&container.name, container.image.as_ref())
    }
    let usual = pod.containers.iter().map(named);
    let init = pod.init_containers.iter().flatten().map(named);
    let ephemeral = pod.ephemeral_containers.iter().flatten();
    let ephemeral = ephemeral.map(|container| (&*container.name, container.image.as_ref()));
    let all = usual.chain(init).chain(ephemeral);
    all.map(|(name, image)| (name, image.map_or("", String::as_str)))
}

fn has(list: &WhiteList, image: Image<'_>) -> bool {
    let mut listed = list.spec.images.iter();
    listed.any(|listed| {
        listed.name == image.name && listed.tags.iter().any(|tag| tag == image.version)
    })
}

#[cfg(test)]
mod tests {
    use kubewright::testing::yaml;

    use super::*;

    fn list(name: &str, images: &str) -> WhiteList {
        yaml(&format!(
            "
            apiVersion: police.foo.bar/v1beta1
            kind: WhiteList
            metadata: {{name: {name}}}
            spec: {{images: [{images}]}}
            "
        ))
    }

    fn sample() -> WhiteList {
        list(
            "sample",
            "{name: nginx, tags: [latest, 1.14.2]}, {name: gcr.io/busybox, tags: [latest]}",
        )
    }

    fn pod(images: &[&str]) -> PodSpec {
        let container = |image: &&str| Container {
            name: format!("runs-{image}"),
            image: Some((*image).to_owned()),
            ..Container::default()
        };
        PodSpec {
            containers: images.iter().map(container).collect(),
            ..PodSpec::default()
        }
    }

    fn is_legal(rule: Rule, lists: &[WhiteList], image: &str) -> bool {
        rule.offence(lists, &pod(&[image])).is_none()
    }

    #[test]
    fn name_and_tag_must_be_listed_and_no_tag_is_latest() {
        for (image, legal) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.14.2", true),
            ("nginx:1.14", false),
            ("busybox", false),
            ("gcr.io/busybox", true),
            ("gcr.io/busybox:1.36", false),
            ("gcr.io:443/busybox", false),
            ("nginx@sha256:abc", false),
            ("nginx:latest@sha256:abc", false),
            ("redis", false),
        ] {
            assert_eq!(
                is_legal(Rule::AnyList, &[sample()], image),
                legal,
                "{image}"
            );
        }
    }

    #[test]
    fn ports_of_registries_and_digests_can_be_listed() {
        let list = list("own", "{name: 'reg:5000/app', tags: ['sha256:abc', '1.0']}");
        for (image, legal) in [
            ("reg:5000/app:1.0", true),
            ("reg:5000/app@sha256:abc", true),
            ("reg:5000/app:2.0@sha256:abc", true),
            ("reg:5000/app", false),
            ("reg:5000/app@sha256:def", false),
            ("app:1.0", false),
        ] {
            assert_eq!(
                is_legal(Rule::AnyList, std::slice::from_ref(&list), image),
                legal,
                "{image}"
            );
        }
    }

    #[test]
    fn one_list_is_enough_unless_all_are_required() {
        let lists = [
            sample(),
            list(
                "more",
                "{name: redis, tags: ['7']}, {name: nginx, tags: [latest]}",
            ),
        ];
        for (image, any, all) in [
            ("nginx", true, true),
            ("redis:7", true, false),
            ("gcr.io/busybox", true, false),
            ("httpd", false, false),
        ] {
            assert_eq!(is_legal(Rule::AnyList, &lists, image), any, "{image}");
            assert_eq!(is_legal(Rule::AllLists, &lists, image), all, "{image}");
        }
        let offence = Rule::AllLists.offence(&lists, &pod(&["nginx", "redis:7"]));
        assert_eq!(
            offence,
            Some(Offence {
                container: "runs-redis:7".to_owned(),
                image: "redis:7".to_owned(),
                missing_in: vec!["sample".to_owned()],
            })
        );
    }

    #[test]
    fn without_a_list_everything_is_legal_and_an_empty_one_allows_nothing() {
        for rule in [Rule::AnyList, Rule::AllLists] {
            assert!(is_legal(rule, &[], "redis"));
            assert!(!is_legal(rule, &[list("empty", "")], "nginx"));
        }
    }

    #[test]
    fn init_and_ephemeral_containers_count() {
        let spec: PodSpec = yaml(
            "
            containers: [{name: a, image: nginx}]
            initContainers: [{name: b, image: nginx}]
            ephemeralContainers: [{name: c, image: busybox}]
            ",
        );
        let offence = Rule::AnyList.offence(&[sample()], &spec).unwrap();
        assert_eq!(offence.container, "c");
        assert_eq!(containers(&spec).count(), 3);
    }
}
