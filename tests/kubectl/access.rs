//! Authorization: roles and bindings that a user creates, and the requests that they allow.

use crate::session::with_each_kubectl;

#[tokio::test(flavor = "multi_thread")]
async fn somebody_may_do_what_a_role_says_and_no_more() {
    with_each_kubectl(async |person| {
        person
            .prints(
                "create role reader --verb=get,list --resource=configmaps",
                "role.rbac.authorization.k8s.io/reader created",
            )
            .await;
        person
            .prints(
                "create rolebinding readers --role=reader --user=jane",
                "rolebinding.rbac.authorization.k8s.io/readers created",
            )
            .await;
        person
            .prints("auth can-i list configmaps --as jane", "yes")
            .await;
        for question in [
            "auth can-i delete configmaps --as jane",
            "auth can-i list configmaps --as joe",
            "auth can-i list configmaps --as jane -n kube-system",
            "auth can-i list configmaps --as jane -A",
            "auth can-i get /metrics --as jane",
        ] {
            let printed = person.run(question).await;
            assert_eq!((printed.out.as_str(), printed.code), ("no", 1), "{question}");
        }
        person
            .shows(
                "auth can-i --list --as jane",
                &["configmaps ", "[get list]", "[/healthz]"],
            )
            .await;
        person.prints("get configmaps --as jane", "").await;
        person
            .refuses(
                "get secrets --as jane",
                "Error from server (Forbidden): secrets is forbidden: User \"jane\" cannot list resource \
                 \"secrets\" in API group \"\" in the namespace \"default\"",
            )
            .await;
        person
            .refuses(
                "delete configmap a --as jane",
                "Error from server (Forbidden): configmaps \"a\" is forbidden: User \"jane\" cannot delete \
                 resource \"configmaps\" in API group \"\" in the namespace \"default\"",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reconcile_makes_roles_what_a_file_says() {
    with_each_kubectl(async |person| {
        let file = |verbs: &str, user: &str| {
            let text = format!(
                "apiVersion: rbac.authorization.k8s.io/v1\n\
                 kind: Role\n\
                 metadata: {{name: reader, namespace: default}}\n\
                 rules: [{{apiGroups: [''], resources: [configmaps], verbs: [{verbs}]}}]\n\
                 ---\n\
                 apiVersion: rbac.authorization.k8s.io/v1\n\
                 kind: RoleBinding\n\
                 metadata: {{name: readers, namespace: default}}\n\
                 roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}}\n\
                 subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]\n"
            );
            person.file("access.yaml", &text);
        };
        let reconciled = "role.rbac.authorization.k8s.io/reader reconciled\n\
                          rolebinding.rbac.authorization.k8s.io/readers reconciled";
        file("get", "jane");
        person
            .prints("auth reconcile -f access.yaml", reconciled)
            .await;
        person
            .prints("auth can-i get configmaps --as jane", "yes")
            .await;
        file("get, watch", "joe");
        person
            .prints(
                "auth reconcile -f access.yaml --remove-extra-subjects",
                reconciled,
            )
            .await;
        person
            .prints("auth can-i watch configmaps --as joe", "yes")
            .await;
        let printed = person.run("auth can-i get configmaps --as jane").await;
        assert_eq!(printed.out, "no");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_cannot_bind_a_role_with_more_permissions() {
    with_each_kubectl(async |person| {
        person
            .prints(
                "create role binder --verb=create --resource=rolebindings",
                "role.rbac.authorization.k8s.io/binder created",
            )
            .await;
        person
            .prints(
                "create rolebinding binders --role=binder --user=jane",
                "rolebinding.rbac.authorization.k8s.io/binders created",
            )
            .await;
        person
            .refuses(
                "create rolebinding all --clusterrole=cluster-admin --user=joe --as jane",
                "error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io \"all\" is \
                 forbidden: user \"jane\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
                 permissions not currently held:\n\
                 {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n\
                 {NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
            )
            .await;
        person
            .prints(
                "create rolebinding more --role=binder --user=joe --as jane",
                "rolebinding.rbac.authorization.k8s.io/more created",
            )
            .await;
    })
    .await;
}
