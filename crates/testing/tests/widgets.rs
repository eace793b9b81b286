//! A custom resource in three versions, as `#[derive(CustomResource)]` would write them.

/// A version of the widgets.
macro_rules! widget {
    ($version:literal, $schema:literal) => {
        use std::borrow::Cow;

        use k8s_openapi::NamespaceResourceScope;
        use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
        use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
        use kube::CustomResourceExt;
        use kube::core::{ApiResource, GroupVersionKind, Resource};
        use serde::{Deserialize, Serialize};

        #[derive(Clone, Debug, Default, Deserialize, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct Widget {
            pub(crate) api_version: String,
            pub(crate) kind: String,
            pub(crate) metadata: ObjectMeta,
            pub(crate) spec: Spec,
        }

        impl Resource for Widget {
            type DynamicType = ();
            type Scope = NamespaceResourceScope;

            fn kind(_: &()) -> Cow<'_, str> {
                "Widget".into()
            }
            fn group(_: &()) -> Cow<'_, str> {
                "example.com".into()
            }
            fn version(_: &()) -> Cow<'_, str> {
                $version.into()
            }
            fn plural(_: &()) -> Cow<'_, str> {
                "widgets".into()
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl CustomResourceExt for Widget {
            fn crd() -> CustomResourceDefinition {
                kubewright_testing::yaml(&format!(
                    "{{metadata: {{name: widgets.example.com}}, spec: {{group: example.com, scope: Namespaced,
                        names: {{plural: widgets, singular: widget, kind: Widget}}, versions: [{{name: {}, served: true, storage: true,
                        schema: {{openAPIV3Schema: {{type: object, required: [spec], properties: {{spec: {}}}}}}}}}]}}}}",
                    $version, $schema
                ))
            }
            fn crd_name() -> &'static str {
                "widgets.example.com"
            }
            fn api_resource() -> ApiResource {
                ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", $version, "Widget"))
            }
            fn shortnames() -> &'static [&'static str] {
                &[]
            }
        }
    };
}

pub(crate) mod v1 {
    widget!(
        "v1",
        "{type: object, required: [area], properties: {area: {type: object, required: [width, height], properties: {width: {type: integer, minimum: 0, maximum: 4294967295}, height: {type: integer, minimum: 0, maximum: 4294967295}}}, color: {type: string}}}"
    );

    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    pub(crate) struct Spec {
        pub(crate) area: Area,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) color: Option<String>,
    }

    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    pub(crate) struct Area {
        pub(crate) width: u32,
        pub(crate) height: u32,
    }
}

pub(crate) mod v2 {
    widget!(
        "v2",
        "{type: object, required: [width, height], properties: {width: {type: integer, minimum: 0, maximum: 4294967295}, height: {type: integer, minimum: 0, maximum: 4294967295}, depth: {type: integer, minimum: 0, maximum: 255}, paint: {type: object, required: [color], properties: {color: {type: string}}}}}"
    );

    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    pub(crate) struct Spec {
        pub(crate) width: u32,
        pub(crate) height: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) depth: Option<u8>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) paint: Option<Paint>,
    }

    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    pub(crate) struct Paint {
        pub(crate) color: String,
    }
}

pub(crate) mod v1beta1 {
    widget!(
        "v1beta1",
        "{type: object, required: [size], properties: {size: {type: string, pattern: '^[0-9]{1,9}x[0-9]{1,9}$'}, color: {type: string}}}"
    );

    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    pub(crate) struct Spec {
        pub(crate) size: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) color: Option<String>,
    }
}

impl From<v1::Widget> for v2::Widget {
    fn from(hub: v1::Widget) -> Self {
        Self {
            metadata: hub.metadata,
            spec: v2::Spec {
                width: hub.spec.area.width,
                height: hub.spec.area.height,
                depth: None,
                paint: hub.spec.color.map(|color| v2::Paint { color }),
            },
            ..Self::default()
        }
    }
}

impl TryFrom<v2::Widget> for v1::Widget {
    type Error = String;

    fn try_from(spoke: v2::Widget) -> Result<Self, String> {
        if spoke.spec.depth.is_some() {
            return Err("a widget has no depth in v1".to_owned());
        }
        Ok(Self {
            metadata: spoke.metadata,
            spec: v1::Spec {
                area: v1::Area {
                    width: spoke.spec.width,
                    height: spoke.spec.height,
                },
                color: spoke.spec.paint.map(|paint| paint.color),
            },
            ..Self::default()
        })
    }
}

impl From<v1::Widget> for v1beta1::Widget {
    fn from(hub: v1::Widget) -> Self {
        let v1::Area { width, height } = hub.spec.area;
        Self {
            metadata: hub.metadata,
            spec: v1beta1::Spec {
                size: format!("{width}x{height}"),
                color: hub.spec.color,
            },
            ..Self::default()
        }
    }
}

impl TryFrom<v1beta1::Widget> for v1::Widget {
    type Error = String;

    fn try_from(spoke: v1beta1::Widget) -> Result<Self, String> {
        let size = spoke.spec.size.split_once('x');
        let size = size.and_then(|(width, height)| {
            Some(v1::Area {
                width: width.parse().ok()?,
                height: height.parse().ok()?,
            })
        });
        Ok(Self {
            metadata: spoke.metadata,
            spec: v1::Spec {
                area: size.ok_or("spec.size is not `<width>x<height>`")?,
                color: spoke.spec.color,
            },
            ..Self::default()
        })
    }
}
