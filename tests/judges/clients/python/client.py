"""The Python client against an API server: typed and dynamic objects, patches, apply, watches and sub-resources."""

import base64
import sys
import threading

from kubernetes import client, config, dynamic, watch

NAMESPACE = "python-client"


def expect(condition, sentence):
    if not condition:
        sys.exit(f"python: expected that {sentence}")


def expect_status(code, reason, call):
    try:
        call()
    except client.ApiException as refused:
        expect(refused.status == code, f"{reason}: the server answers {code}, not {refused.status}: {refused.body}")
        return refused
    sys.exit(f"python: expected that {reason}: the server answers {code}")


def typed(core):
    data = {"a": "1"}
    made = core.create_namespaced_config_map(
        NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="typed", labels={"app": "x"}), data=data)
    )
    expect(made.data == data and made.metadata.uid, "a created ConfigMap comes back with its data and a uid")
    expect_status(409, "a second create conflicts", lambda: core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata={"name": "typed"})))

    read = core.read_namespaced_config_map("typed", NAMESPACE)
    read.data["b"] = "2"
    replaced = core.replace_namespaced_config_map("typed", NAMESPACE, read)
    expect(replaced.data == {"a": "1", "b": "2"}, "a replaced ConfigMap has both keys")
    stale = expect_status(409, "an update of an old version conflicts", lambda: core.replace_namespaced_config_map("typed", NAMESPACE, made))
    expect("the object has been modified" in stale.body, "a conflict says that the object has been modified")

    patched = core.patch_namespaced_config_map("typed", NAMESPACE, {"data": {"a": None, "c": "3"}})
    expect(patched.data == {"b": "2", "c": "3"}, "a merge removes null and adds the rest")
    patched = core.patch_namespaced_config_map("typed", NAMESPACE, [{"op": "replace", "path": "/data/b", "value": "4"}])
    expect(patched.data["b"] == "4", "a JSON patch replaces")

    secret = core.create_namespaced_secret(NAMESPACE, client.V1Secret(metadata={"name": "s"}, string_data={"k": "v"}))
    expect(base64.b64decode(secret.data["k"]) == b"v", "stringData is stored as data")

    for i in range(7):
        core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata={"name": f"page-{i}", "labels": {"page": "yes"}}))
    pages, names, token = 0, [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="page=yes", limit=3, _continue=token)
        pages, token = pages + 1, page.metadata._continue
        names += [item.metadata.name for item in page.items]
        if not token:
            break
    expect(pages == 3 and names == [f"page-{i}" for i in range(7)], "a list of seven has three pages of three")
    gone = core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="page=yes")
    expect(gone is not None and not core.list_namespaced_config_map(NAMESPACE, label_selector="page=yes").items, "a collection is deleted")


def watches(core):
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    events, stream = [], watch.Watch()

    def change():
        core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata={"name": "watched"}))
        core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"k": "v"}})
        core.delete_namespaced_config_map("watched", NAMESPACE)

    changes = threading.Thread(target=change)
    changes.start()
    for event in stream.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=30):
        events.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            stream.stop()
    changes.join()
    expect(events == [(kind, "watched") for kind in ("ADDED", "MODIFIED", "DELETED")], f"a watch sees three events, not {events}")


def custom(api):
    notes = dynamic.DynamicClient(api).resources.get(api_version="judges.example.com/v1", kind="Note")
    made = notes.create({"apiVersion": "judges.example.com/v1", "kind": "Note", "metadata": {"name": "n"}, "spec": {"copies": 2}}, namespace=NAMESPACE)
    expect(made.spec.copies == 2 and made.spec.text == "empty", "a note has the default of its schema")
    for copies in (0, 4):
        refused = expect_status(
            422, f"{copies} copies are out of bounds",
            lambda: notes.create({"metadata": {"name": "m"}, "apiVersion": "judges.example.com/v1", "kind": "Note", "spec": {"copies": copies}}, namespace=NAMESPACE),
        )
        expect("spec.copies" in str(refused.body), "the refusal names the field")
    applied = notes.server_side_apply(
        {"apiVersion": "judges.example.com/v1", "kind": "Note", "metadata": {"name": "n"}, "spec": {"copies": 3}},
        namespace=NAMESPACE, field_manager="judge", force_conflicts=True,
    )
    expect(applied.spec.copies == 3, "an apply with force takes the field over")
    status = notes.status.patch(body={"status": {"printed": 3}}, name="n", namespace=NAMESPACE, content_type="application/merge-patch+json")
    expect(status.status.printed == 3, "the status is patched by its sub-resource")
    expect(notes.get(name="n", namespace=NAMESPACE).metadata.generation == 2, "a change of the status leaves the generation")


def main():
    api = config.new_client_from_config()
    core = client.CoreV1Api(api)
    core.create_namespace(client.V1Namespace(metadata={"name": NAMESPACE}))
    typed(core)
    watches(core)
    custom(api)
    reviews = client.AuthorizationV1Api(api)
    review = reviews.create_self_subject_access_review(
        client.V1SelfSubjectAccessReview(spec={"resourceAttributes": {"verb": "get", "resource": "pods"}})
    )
    expect(review.status.allowed, "the administrator may get pods")
    expect(client.VersionApi(api).get_code().major == "1", "the server has a version")
    expect({group.name for group in client.ApisApi(api).get_api_versions().groups} >= {"apps", "batch", "judges.example.com"}, "groups are discovered")
    core.delete_namespace(NAMESPACE)
    print("python: the client's program passed")


if __name__ == "__main__":
    main()
