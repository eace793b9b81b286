//! Programs as a person meets them: what they are told by objects, and what they do about others.

use crate::session::with_program;

const LIST: &str = "\
apiVersion: police.foo.bar/v1beta1
kind: WhiteList
metadata: {name: sample}
spec: {foo: bar}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_white_list_keeps_its_deployment() {
    with_program(whitelist::app, async |person| {
        let image = "get deployment sample-deployment -o jsonpath={.spec.template.spec.containers[*].image}";
        person.file("list.yaml", LIST);
        person
            .prints("apply -f list.yaml", "whitelist.police.foo.bar/sample created")
            .await;
        person.comes_to_print(image, "nginx").await;
        person
            .shows("rollout status deployment/sample-deployment", &["successfully rolled out"])
            .await;
        person
            .prints(
                "set image deployment/sample-deployment nginx=httpd",
                "deployment.apps/sample-deployment image updated",
            )
            .await;
        person.comes_to_print(image, "nginx").await;
        let delete = "delete deployment sample-deployment -o name";
        person.prints(delete, "deployment.apps/sample-deployment").await;
        person.comes_to_print(image, "nginx").await;
        let delete = "delete whitelist sample -o name";
        person.prints(delete, "whitelist.police.foo.bar/sample").await;
        person
            .comes_to_print("get deployments,replicasets,pods -o name", "")
            .await;
    })
    .await;
}
