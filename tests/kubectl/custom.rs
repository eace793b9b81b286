//! Custom resources: define, wait, apply, columns, explain, patch, scale, server-side apply, delete.

use crate::change::deleted;
use crate::session::with_each_kubectl_since;

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            description: What the widget is like.
            type: object
            properties: {size: {type: integer, minimum: 1}, replicas: {type: integer}}
          status: {type: object, properties: {replicas: {type: integer}}}
";

const WIDGET: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: 3, replicas: 1}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_resource_is_handled_like_any_other() {
    with_each_kubectl_since(27, async |person| {
        person.file("definition.yaml", DEFINITION);
        person.file("widget.yaml", WIDGET);
        person
            .prints(
                "apply -f definition.yaml",
                "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
            )
            .await;
        person
            .prints(
                "wait --for condition=established crd/widgets.example.com",
                "customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met",
            )
            .await;
        person
            .prints("apply -f widget.yaml", "widget.example.com/a created")
            .await;
        person
            .prints("apply -f widget.yaml", "widget.example.com/a unchanged")
            .await;
        person.prints("get wd", "NAME   SIZE\na      3").await;
        person
            .prints("scale widget a --replicas=5", "widget.example.com/a scaled")
            .await;
        person
            .prints(
                "get widget a -o jsonpath={.spec.replicas},{.metadata.generation}",
                "5,2",
            )
            .await;
        person
            .prints(
                "patch widget a --type=merge -p '{\"spec\":{\"size\":4}}'",
                "widget.example.com/a patched",
            )
            .await;
        let explained = person.run("explain widget.spec").await;
        assert!(
            explained.out.contains("What the widget is like."),
            "{explained:?}"
        );
        person.file("widget.yaml", &WIDGET.replace("size: 3", "size: 9"));
        let refused = person
            .run("apply --server-side --field-manager=other -f widget.yaml")
            .await;
        assert!(refused.err.contains("conflict"), "{refused:?}");
        person
            .prints(
                "apply --server-side --field-manager=other --force-conflicts -f widget.yaml",
                "widget.example.com/a serverside-applied",
            )
            .await;
        person.file("widget.yaml", &WIDGET.replace("size: 3", "size: 0"));
        let refused = person
            .run("apply --server-side --field-manager=other -f widget.yaml")
            .await;
        assert!(
            refused.err.contains("should be greater than or equal to 1"),
            "{refused:?}"
        );
        let deleted = deleted(person.minor(), "widget.example.com \"a\"");
        person.prints("delete widget a", &deleted).await;
        person
            .prints(
                "delete crd widgets.example.com",
                "customresourcedefinition.apiextensions.k8s.io \"widgets.example.com\" deleted",
            )
            .await;
    })
    .await;
}
